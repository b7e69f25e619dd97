"""Compiling ahead, and the message where compiling takes long."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

import sklearn_scinol
from sklearn_scinol import ScInOLClassifier, config_context

pytest.importorskip("numba", reason="numba is not installed")

#: Counts loops that are not in the cache, in a process with an empty one.
SCRIPT = """
import logging
import sys
import numpy as np
import sklearn_scinol
from sklearn_scinol import HedgeClassifier, ScInOLClassifier
from sklearn_scinol.engines.numba_engine import disk_cache, sharing
records = []
handler = logging.Handler()
handler.emit = lambda record: records.append(record.getMessage())
sharing.logger.addHandler(handler)
sharing.logger.setLevel(logging.INFO)
sharing.MANY_SECONDS = 0.001
missing = []
tell = disk_cache.tell_missing
disk_cache.tell_missing = lambda: (missing.append(1), tell())
X = np.random.default_rng(0).standard_normal((9, 2))
experts = [("a", ScInOLClassifier()), ("b", ScInOLClassifier(center=False))]
y = np.arange(9) % 2
for model in ScInOLClassifier(new_classes="add"), HedgeClassifier(
    experts, new_classes="add"
):
    if sys.argv[1] == "ahead":
        sklearn_scinol.compile(model, X, y)
        assert not hasattr(model, "classes_")
        assert missing
        missing.clear()
    model.partial_fit(X, y)
    assert bool(missing) == (sys.argv[1] == "first")
    missing.clear()
    model.partial_fit(X, np.arange(9) % 3)
    model.predict(X)
    assert not missing
    assert model.classes_.size == 3
assert len(records) == (sys.argv[1] == "first"), records
assert all("sklearn_scinol.compile" in record for record in records)
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["ahead", "first"])
def test_a_new_label_compiles_nothing(when, tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, when],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr


def test_nothing_to_compile():
    X, y = np.eye(2), [0, 1]
    with (
        config_context(engine="auto"),
        pytest.raises(TypeError, match="no part of SGD"),
    ):
        sklearn_scinol.compile(SGDClassifier(), X, y)
    with config_context(engine="numpy"), pytest.raises(ValueError, match="'numpy'"):
        sklearn_scinol.compile(ScInOLClassifier(), X, y)
