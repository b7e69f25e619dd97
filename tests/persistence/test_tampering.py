"""Files whose models do not fit together are refused before anything learns from them.

`TAMPERED_STATES=10000` tries so many changes at random, on the compiled engine as well.
"""

import copy
import os
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("skops", reason="skops is not installed")

from fuzz import Failed
from skops import io
from support.tampering import TAMPERED, fitted, outcome

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.persistence import load, save

N_STATES = int(os.environ.get("TAMPERED_STATES", len(TAMPERED)))
IS_LONG = "TAMPERED_STATES" in os.environ and bool(find_spec("numba"))


def first_row(array):
    return array[:1].copy()


#: A kind of model, something in it, and what makes another thing of that.
CHANGES = {
    "first": ("scinol2", "_model.first", first_row),
    "fields": ("scinol2", "_model.fields", lambda a: a[..., :1].copy()),
    "fields-float32": ("scinol2", "_model.fields", np.float32),
    "fields-nan": ("scinol2", "_model.fields", lambda a: a * np.nan),
    "shared": ("dfeg", "_model.shared", first_row),
    "none": ("scinol2", "_model.clock", lambda _: None),
    "outputs": ("scinol2", "_model.n_outputs", lambda n: n + 1),
    "features": ("scinol2", "n_features_in_", lambda _: 100_000),
    "classes": ("scinol2", "classes_", lambda a: a[:2]),
    "parameter": ("scinol2", "max_iter", lambda _: -1),
    "learner": ("scinol2", "_model.learner", lambda a: a._replace(initial_wealth="1")),
    "learner-in-itself": (
        "adaftrl-orabona_pal",
        "_model.learner",
        lambda a: a._replace(radius=a),
    ),
    "learner-of-outputs": (
        "adaftrl-orabona_pal",
        "_model.learner",
        lambda a: a._replace(radius=(1.0, 1.0, 1.0)),
    ),
    "moments": ("scinol2", "_model.features.moments", first_row),
    "units-cut": ("scinol2", "_model.features.units.seen", first_row),
    "units": ("scinol2", "_model.features.units.exponents", np.int64),
    "limits": ("scinol2-clipped", "_model.features.limits.ratio", lambda _: np.nan),
    "newton": ("online_newton", "_model.arrays", lambda a: (a[0], first_row(a[1]))),
    "origin": ("online_newton", "_model.origin", first_row),
    "bins": ("bins", "0._state.edges", lambda a: a[:, :-2].copy()),
    "fourier": ("fourier", "0._state.directions", first_row),
    "directions": (
        "online_newton-random_features",
        "_model.fourier.directions",
        lambda a: a[:, :1].copy(),
    ),
    "no directions": ("fourier", "0._state.directions", lambda a: a[:0].copy()),
    "kernel": ("kernel", "_model.kernel", lambda _: {}),
    "kernel-parameters": (
        "kernel-sparse",
        "_model.kernel.parameters",
        lambda a: {**a, "gamma": np.zeros(3)},
    ),
    "vectors": (
        "kernel-sparse",
        "_model.vectors._indices._buffer_and_size",
        lambda a: (a[0] + 100, a[1]),
    ),
    "slots": (
        "table",
        "1._encoding.groups.1.vocabulary.slots",
        lambda a: a._replace(n_used=a.n_used + 100),
    ),
    "columns": ("table", "1.n_features_in_", lambda _: 2**40),
    "candidates": (
        "neighbors-candidates",
        "_model.memory.features",
        lambda a: a[:, :, :-1].copy(),
    ),
    "signs": ("neighbors-candidates", "_model.memory.n_features", lambda _: 2**40),
    "no-steps": ("table", "steps", lambda _: []),
    "odd-steps": ("table", "steps", lambda steps: [*steps, steps[0][:1]]),
    "unit": (
        "scinol2",
        "_model.weight_scale.numbers",
        lambda a: a * np.where(np.arange(7) > 0, 1.0, 1e-300),
    ),
    "start": ("table", "1._encoding.groups.1.start", lambda _: -5),
    "hashed": ("table", "1._encoding.hashed.first", first_row),
    "places": (
        "table",
        "1._encoding.hashed.remembered",
        lambda a: [(columns + 100, names) for columns, names in a],
    ),
    "weights": ("hedge", "_model.hedges.0.n_experts", lambda _: 9),
    "expert": ("hedge", "_model.experts.0.estimator._model.fields", first_row),
    "expert-features": ("hedge", "n_features_in_", lambda n: n + 1),
    "adahedge": ("adahedge", "n_experts", lambda _: 100),
}


@pytest.mark.parametrize(("kind", "place", "make"), CHANGES.values(), ids=CHANGES)
def test_states_that_do_not_fit_together(kind, place, make, tmp_path):
    model, path = copy.deepcopy(fitted(kind)), tmp_path / "model.skops"
    save(model, path)
    load(path)
    whole = path.read_bytes()
    *steps, name = place.split(".")
    part = model
    for step in steps:
        part = part[int(step)] if step.isdigit() else getattr(part, step)
    setattr(part, name, make(getattr(part, name)))
    with pytest.raises(TypeError, match=" cannot be saved: "):
        save(model, path)
    assert path.read_bytes() == whole
    io.dump(model, path)
    with pytest.raises(ValueError, match="is not a saved model, or is damaged"):
        load(path)


def test_parameters_of_estimators_that_have_not_learned(tmp_path):
    """They are refused when rows come, as ever; but there they must be."""
    path = tmp_path / "model.skops"
    model = ScInOLClassifier(max_iter=-1)
    save(model, path)
    assert load(path).max_iter == -1
    del model.max_iter
    io.dump(model, path)
    with pytest.raises(ValueError, match="or is damaged"):
        load(path)


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["numpy", *["numba"] * IS_LONG])
@pytest.mark.parametrize("name", TAMPERED)
def test_random_changes(name, engine, tmp_path):
    for seed in range(-(-N_STATES // len(TAMPERED))):
        try:
            outcome(name, seed, engine, tmp_path / "model.skops")
        except Failed as failure:
            failure.add_note(f"This was seed {seed}.")
            raise
