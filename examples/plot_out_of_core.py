"""
=======================================
Learning from a file larger than memory
=======================================

:func:`~sklearn_scinol.streams.read_table` reads a file in chunks, which the model
learns one after the other. Only a few chunks are in memory, however large the file is.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import ProgressiveValidationDisplay
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder
from sklearn_scinol.streams import read_table

rng = np.random.default_rng(0)
frame = pd.DataFrame(rng.normal(size=(10_000, 5)), columns=list("abcde"))
frame["city"] = rng.choice(["Oslo", "Rome", "Turku"], len(frame))
frame["y"] = (frame["a"] + (frame["city"] == "Rome") + rng.normal(size=10_000) > 0) * 1

with TemporaryDirectory() as folder:
    path = Path(folder, "rows.csv")
    frame.to_csv(path, index=False)
    ProgressiveValidationDisplay.from_estimator(
        make_online_pipeline(TableEncoder(), ScInOLClassifier()),
        read_table(path, target="y", chunk_rows=1000),
        classes=[0, 1],
        name="ScInOLClassifier",
        negate_score=True,
    )
plt.show()
