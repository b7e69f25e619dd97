"""The demonstration's learners, run by Node, and those of Python: the same numbers."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from support import ROOT

from sklearn_scinol import ScInOLClassifier

FOLDER = ROOT / "doc" / "_static" / "try_it"
SCRIPT = f"""
require({json.dumps(str(FOLDER / "learners.js"))});
require({json.dumps(str(FOLDER / "stream.js"))});
const {{ ScInOL2, SGD, makeStream, meanLosses }} = globalThis.tryIt;
function predictions(learner, {{ X, y }}) {{
  return X.map((x, t) => {{
    const p = learner.predict(x);
    learner.learn(y[t]);
    return p;
  }});
}}
function streamAndPredictions(learner, nRows, unit) {{
  const stream = makeStream(nRows, unit);
  return [stream, predictions(learner, stream)];
}}
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
"""


@pytest.fixture
def node():
    """Evaluate JavaScript; `input` is the second argument."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")

    def evaluate(expression, data=None):
        source = f"{SCRIPT} console.log(JSON.stringify({expression}));"
        answer = subprocess.run(
            [program, "-e", source],
            input=json.dumps(data),
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(answer.stdout)

    return evaluate


def arrays(stream):
    return np.array(stream["X"]), np.array(stream["y"])


def scinol2(X, y):
    """The package's probabilities of label 1, each before the row is learned."""
    model = ScInOLClassifier()
    learned = model.partial_fit_predict(X, y, classes=[0, 1], method="predict_proba")
    return learned[:, 1]


@pytest.mark.cases(3)
@pytest.mark.parametrize("unit", [1e-4, 0.1, 1, 10, 1e4])
def test_scinol2(node, unit):
    stream, found = node("streamAndPredictions(new ScInOL2(3), 2000, input)", unit)
    expected = scinol2(*arrays(stream))
    assert np.ptp(expected) > 0.9
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_scinol2_does_not_depend_on_units(node):
    """Exactly for powers of two, and up to rounding for the powers of ten shown."""
    whole = "(unit) => predictions(new ScInOL2(3), makeStream(2000, unit))"
    one, *others = node(f"input.map({whole})", [1, 2**-13, 2**13])
    assert others == [one, one]
    last = "(unit) => meanLosses(new ScInOL2(3), makeStream(2000, unit)).at(-1)"
    losses = node(f"input.map({last})", [10.0**k for k in range(-4, 5)])
    assert np.ptp(losses) < 1e-12


@pytest.mark.parametrize("unit", [0.01, 1, 100])
@pytest.mark.parametrize("rate", [1e-5, 1e-3])
def test_sgd(node, unit, rate):
    """It is scikit-learn's."""
    stream, found = node(f"streamAndPredictions(new SGD(3, {rate}), 500, {unit})")
    X, y = arrays(stream)
    model = SGDClassifier(
        "log_loss", penalty=None, learning_rate="constant", eta0=rate, shuffle=False
    )
    expected = [0.5]
    for t in range(len(X) - 1):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        expected.append(model.predict_proba(X[t + 1 : t + 2])[0, 1])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
