"""
=======================================
What the history of keys tells a model
=======================================

:class:`~sklearn_scinol.preprocessing.OnlineHistory` adds to each payment what the
stream knows of its card. Stolen cards are used in bursts, and for more than their
owners pay: so the model learns to look at the time since the card's last payment, at
how many it had within the hour, and at how the amount differs from those before.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineHistory, TableEncoder

rng = np.random.default_rng(0)
n_cards, n_fair, n_bursts = 100, 6000, 300
minutes = np.r_[
    rng.uniform(0, 60_000, n_fair),
    (rng.uniform(0, 60_000, (n_bursts, 1)) + np.arange(5) * 4.0).ravel(),
]
card = np.r_[
    rng.integers(n_cards, size=n_fair), rng.integers(n_cards, size=n_bursts).repeat(5)
]
stolen = np.arange(card.size) >= n_fair
usual = rng.normal(3, 1, n_cards)[card]
frame = pd.DataFrame(
    {
        "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(minutes, unit="min"),
        "card": [f"card {each}" for each in card],
        "amount": np.exp(rng.normal(usual + 1.5 * stolen, 0.5)),
        "stolen": stolen,
    }
).sort_values("when")
y = frame.pop("stolen").to_numpy()

history = OnlineHistory(["card"], time="when")
model = make_online_pipeline(history, TableEncoder(), ScInOLClassifier())
model.partial_fit(frame, y, classes=[False, True])
figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(9, 3.2))
model.plot_terms(
    ["card_since_last", "card_count_1h", "card_amount_ratio_32"], axes=axes
)
plt.show()
