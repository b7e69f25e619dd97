"""What learners declare, and that one can be added as CONTRIBUTING says."""

import textwrap
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.outside import LeastSquares
from support.packages import run
from support.registry import ENGINES, LEARNERS, thoroughly
from support.sums import linear

from sklearn_scinol.learners.interface import make_learner, traits
from sklearn_scinol.losses import SquaredError
from sklearn_scinol.models.base import Chunk
from sklearn_scinol.models.linear import LinearModel

# What papers say of the algorithms; the registry goes by what the learners say.

FACTS = {
    "scale_invariant": "scinol1 scinol2 nag sfmd k17 freegrad coin",
    "bounded_gradients": "scinol1 scinol2 k17 freegrad coin",
    "implicit": "adaimplicit constant iomd online_newton code",
    "in_ball": "adaimplicit constant iomd ogd adaogd koolen orabona_pal",
    "bounds_regret": (
        "scinol1 scinol2 adaimplicit constant iomd sgd ogd adaogd kernel_gd dfeg "
        "koolen orabona_pal"
    ),
    "reaches": "scinol1 scinol2 nag sfmd k17 freegrad coin",
    "touches_all": "adam online_newton",
    "by_row": (
        "adaimplicit constant iomd sgd ogd adaogd kernel_gd nag k17 dfeg koolen "
        "orabona_pal code"
    ),
    "by_vector": "online_newton",
}


@pytest.mark.parametrize("trait", FACTS)
def test_traits(trait):
    having = {name for name in LEARNERS if getattr(traits(LEARNERS[name]), trait)}
    assert having == set(FACTS[trait].split())


def test_learners_that_divide_by_the_number_of_features():
    values = {"n_coordinates": 7, "learning_rate": 0.5, "normalizer": "max"}
    for name in "sfmd", "k17":
        assert 7 in make_learner(LEARNERS[name], values)
        counts = "n_coordinates" in LEARNERS[name].parameters.values()
        assert counts


# A learner of coordinates: its file and one line.

TOY = textwrap.dedent('''
    """Gradient descent with the step size 1 / sqrt(t) for each coordinate."""

    from typing import NamedTuple

    import numpy as np

    __all__ = ["Toy"]


    class State(NamedTuple):
        w: np.ndarray


    class Toy(NamedTuple):
        State = State
        parameters = {}
        scale_invariant = False
        bounded_gradients = False
        stays_finite = False
        keeps_first = False

        def initial_state(self):
            return State(w=0.0)

        def weight(self, s, i, x, t):
            return s.w[i]

        def update(self, s, i, x, g, w, t):
            s.w[i] -= g * x / np.sqrt(t)
''')

USE_TOY = textwrap.dedent("""
    import numpy as np
    from scipy import sparse
    from sklearn_scinol import config_context
    from sklearn_scinol.baselines import BaselineClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = ((X * [1.0, -2.0, 0.5, 0.0]).sum(axis=1) > 0.3).astype(int)
    weights = np.zeros(5)
    for t, (x, label) in enumerate(zip(np.column_stack([X, np.ones(300)]), y), 1):
        sign = 2 * label - 1
        weights += sign * x / (1 + np.exp(sign * (weights @ x))) / np.sqrt(t)

    for engine in "numpy", "numba":
        for container in np.array, sparse.csr_array:
            with config_context(engine=engine):
                model = BaselineClassifier(algorithm="toy", center=False)
                model.partial_fit(container(X), y, classes=[0, 1])
                assert model.score(X, y) > 0.9
            learned = [*model.coef_[0], *model.intercept_]
            np.testing.assert_allclose(learned, weights, rtol=1e-10)
            assert not hasattr(model, "regret_bound")
    with config_context(engine="numpy"):
        several = BaselineClassifier("toy", loss="hinge", average=True)
        assert several.fit(X, (X[:, 0] > 0) + y).score(X, (X[:, 0] > 0) + y) > 0.7
    print("learned")
""")


@pytest.mark.thorough
def test_adding_a_learner(package):
    """Its file, and one line that names it."""
    pytest.importorskip("numba", reason="numba is not installed")
    (package / "learners" / "toy.py").write_text(TOY, "utf-8")
    names = package / "learners" / "__init__.py"
    source = names.read_text("utf-8")
    line = "BASELINES = {\n"
    assert source.count(line) == 1
    source = source.replace(line, f'from .toy import Toy\n\n{line}    "toy": Toy,\n')
    names.write_text(source, "utf-8")
    assert run(USE_TOY, package, NUMBA_DISABLE_JIT="1") == "learned\n"


# A learner of rows as vectors, with a matrix of its own.


def least_squares(X, Y, penalty):
    """Predictions before each row, and the weights after all."""
    X = np.column_stack([X, np.ones(len(X))])

    def solved(r):
        return np.linalg.solve(
            penalty * np.eye(X.shape[1]) + X[:r].T @ X[:r], X[:r].T @ Y[:r]
        )

    return np.array([X[r] @ solved(r) for r in range(len(X))]), solved(len(X)).T


@pytest.mark.parametrize(
    ("n_outputs", "engine"),
    [*product([1, 2], ENGINES), *thoroughly((1, "numba")), (2, "numba")],
    indirect=["engine"],
)
def test_learner_of_vectors(n_outputs, engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (
        linear(X, rng.normal(size=(3, n_outputs)))
        + 1.0
        + 0.1 * rng.normal(size=(40, 1))
    )
    expected, weights = least_squares(X, Y, 0.5)
    model = LinearModel(
        LeastSquares(0.5),
        SquaredError(),
        3,
        n_outputs,
        fit_intercept=True,
        average=0,
    )
    before = []
    for rows in np.split(np.arange(40), [1, 2, 30]):
        before.append(model.decision(X[rows[:1]])[0])
        ((_, said, all_finite),) = model.learn(Chunk(X[rows], Y[rows]))
        assert all_finite
        assert_allclose(said[0], before[-1], rtol=1e-12, atol=1e-15)
        # The loss is (y - p)^2 / 2, or the step would be twice as long.
        assert_allclose(said, expected[rows], rtol=1e-10, atol=1e-12)
    coef, intercept = model.coefficients()
    assert_allclose(np.column_stack([coef, intercept]), weights, rtol=1e-12)
    assert_allclose(model.decision(X), X @ coef.T + intercept, rtol=1e-12)
    assert model.traits.by_vector
    assert model.traits.touches_all
