"""Models in files come back as they were, or the file says in a sentence why not."""

import copy
import json
import os
import pickle
import re
import stat
import struct
import threading
import tracemalloc
import warnings
import zipfile
from datetime import time
from io import BytesIO
from operator import attrgetter

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.comparisons import assert_identical
from support.copies import saved
from support.kinds import KINDS
from support.registry import CASES, PUBLIC_ESTIMATORS

import sklearn_scinol
from sklearn_scinol import (
    DFEGClassifier,
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalClassifier,
    ScInOLClassifier,
)
from sklearn_scinol.estimators.boosted_trees import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
)
from sklearn_scinol.evaluation import LossMonitor
from sklearn_scinol.evaluation.scores import LabelScore, MeanScore, R2Score, Rows
from sklearn_scinol.experts import AdaHedge, FixedShare
from sklearn_scinol.models.linear import LinearModel
from sklearn_scinol.persistence import FORMAT_VERSION, HEADER, TRUSTED_TYPES, load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    OnlineTargetEncoder,
    RandomFourierFeatures,
    TableEncoder,
)

skops = pytest.importorskip("skops.io", reason="skops is not installed")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def fitted(estimator=ScInOLClassifier):
    X, y = data()
    return estimator().partial_fit(X, y, classes=[0, 1])


def data(n=30):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (X[:, 0] > X[:, 1]).astype(int)


def dot(x, y):
    """A kernel of one's own."""
    return x @ y


# What comes back.


@pytest.mark.cases(1)
@pytest.mark.parametrize("estimator", [HedgeClassifier, HedgeRegressor])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_default_experts_go_on(estimator, container, path):
    """Experts that see the same rows have one transform, before and after."""
    X, y = data(60)
    original = estimator(max_iter=1, tol=None).fit(container(X), y)
    revived = saved(original, path)
    for model in original, revived:
        transforms = {id(expert._model.features) for expert in model.estimators_}
        assert len(transforms) < len(model.estimators_)
        model.partial_fit(container(X), y)
    assert_identical(vars(revived), vars(original))


@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_estimators_that_have_not_learned(estimator, path):
    revived = saved(estimator(), path)
    assert type(revived) is estimator
    assert vars(revived) == vars(estimator())


def in_line(*steps):
    return make_pipeline(*steps).fit(*data())


def of_text():
    text = HashingVectorizer(n_features=2**18)  # 8 MB that are nearly all 0
    texts = ["a good day", "a bad day", "good", "bad"]
    return make_pipeline(text, ScInOLClassifier()).fit(texts, [1, 0, 1, 0])


def with_experts(**experts):
    return HedgeClassifier([*experts.items()]).partial_fit(*data(), classes=[0, 1])


SGD = SGDClassifier(loss="log_loss", random_state=0)
COLUMNS = ColumnTransformer([("scaled", StandardScaler(), [0, 2])])
#: Models with parts from elsewhere, and rows that they predict.
WITH_OTHERS = {
    "scaler": (lambda: in_line(StandardScaler(), ScInOLClassifier()), data()[0]),
    "columns": (lambda: in_line(COLUMNS, ScInOLClassifier()), data()[0]),
    "text": (of_text, ["a good bad day"]),
    "experts": (lambda: with_experts(sgd=SGD, bayes=GaussianNB()), data()[0]),
}


@pytest.mark.parametrize(("make", "X"), WITH_OTHERS.values(), ids=WITH_OTHERS)
def test_models_with_parts_from_elsewhere(make, X, path):
    original = make()
    revived = saved(original, path)
    assert_array_equal(revived.predict_proba(X), original.predict_proba(X))
    if hasattr(original, "partial_fit"):
        for model in original, revived:
            model.partial_fit(*data())
        assert_array_equal(revived.weights_, original.weights_)
    assert path.stat().st_size < 300_000


def test_fit_goes_on(path):
    """The state of a random generator is saved as well."""
    options = {"max_iter": 3, "tol": None, "warm_start": True}
    original = ScInOLClassifier(**options, random_state=np.random.RandomState(0))
    revived = saved(original.fit(*data()), path)
    assert_identical(revived.fit(*data()).coef_, original.fit(*data()).coef_)
    assert revived.loss_curve_ == original.loss_curve_


@pytest.mark.parametrize("algorithm", [AdaHedge, FixedShare])
def test_weights_of_experts(algorithm, path):
    losses = np.random.default_rng(0).random((40, 3))
    original = algorithm(3)
    original.update(losses[:20])
    revived = saved(original, path)
    assert_array_equal(revived.update(losses[20:]), original.update(losses[20:]))


# What is trusted.


@pytest.mark.thorough
def test_trusted_types_are_those_of_models():
    """All that models have, and nothing else."""
    models = [kind.learn(clone(kind.estimator), 0) for kind in KINDS.values()]
    models += [estimator() for estimator in PUBLIC_ESTIMATORS]
    models.append(make_online_pipeline(OnlineBinner()).fit([[1.0]]))
    row = {"n": 1.0, "c": "x", "d": np.datetime64("2020-01-01"), "t": "a", "b": True}
    row |= {"undecided": None, "of_day": time(12)}
    models.append(TableEncoder(kinds={"t": "text"}).fit([row], ["a"]))
    models.append(OnlineScaler().fit([[1.0]]))
    models.append(OnlineTargetEncoder().fit([["a"]], [1.0]))
    models += [OnlineHistory().fit([["a"]], [1.0]), AdaHedge(2)]
    sets = OnlineConformalClassifier(ScInOLClassifier())
    models.append(sets.fit([[0.0], [1.0]], [0, 1]))
    models.append(RandomFourierFeatures().fit([[1.0]]))
    boosted = [BoostedTreesClassifier(), BoostedTreesRegressor()]
    models += [model.fit([[0.0], [1.0]], [0, 1]) for model in boosted]
    models.append(models[0]._serve([[0.0] * models[0].n_features_in_])[1])
    empty = Rows(y=np.empty(0), predictions={}, sample_weight=None, classes=None)
    models += [LabelScore(), MeanScore(), R2Score(), empty, LossMonitor()]
    assert models[-1].update(np.arange(10_000)).size > 0
    traits = attrgetter("estimator", "loss", "algorithm", "is_joint")
    covering = {trait: case for case in CASES for trait in traits(case)}
    for case in covering.values():
        X, y = case.data(n_samples=4)
        models.append(case.partial_fit(case.make(), X, y))
    found = skops.get_untrusted_types(data=skops.dumps(models))
    assert found == sorted(TRUSTED_TYPES)
    assert all(name.startswith("sklearn_scinol.") for name in TRUSTED_TYPES)


def test_types_from_elsewhere(path):
    X, _ = data()
    original = with_experts(net=MLPClassifier(3), ours=ScInOLClassifier())
    save(original, path)
    optimizer = "sklearn.neural_network._stochastic_optimizers.AdamOptimizer"
    with pytest.raises(TypeError, match=r"not trusted: pass `trusted=\[") as caught:
        load(path)
    assert optimizer in str(caught.value)
    assert "sklearn_scinol" not in str(caught.value)
    with pytest.raises(TypeError, match=r"should be a list, got 'sklearn\."):
        load(path, trusted=optimizer)
    revived = load(path, trusted=[optimizer])
    assert_array_equal(revived.predict_proba(X), original.predict_proba(X))


def test_functions_as_kernels(path):
    X, y = data()
    original = DFEGClassifier(kernel=dot).partial_fit(X, y, classes=[0, 1])
    save(original, path)
    with pytest.raises(TypeError, match=rf"pass `trusted=\['{__name__}\.dot'\]`"):
        load(path)
    for trusted in [dot], [f"{__name__}.dot"]:
        revived = load(path, trusted=trusted)
        assert_array_equal(revived.decision_function(X), original.decision_function(X))


class Malicious:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return os._exit, (1,)


def write_schema(path, **schema):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))


def write_type(path, module, name):
    """A file of skops that has a type, or a function as if it was one."""
    kind = {"__module__": module, "__class__": name, "__loader__": "TypeNode"}
    write_schema(path, **kind, protocol=2)


def test_no_code_of_a_file_is_run(path):
    write_type(path, "os", "_exit")
    with pytest.raises(TypeError, match=r"\['os\._exit'\]"):
        load(path)
    path.write_bytes(pickle.dumps(Malicious()))
    assert A_PICKLE in refused(path)


def test_types_that_are_not_there(path):
    write_type(path, "nowhere", "Thing")
    with pytest.raises(ValueError, match="No module named 'nowhere'"):
        load(path, trusted=["nowhere.Thing"])


def test_learners_are_tuples():
    """A file cannot have another type called in their place."""
    model = LinearModel.__new__(LinearModel)
    with pytest.raises(AttributeError, match="_make"):
        model.__setstate__({"learner": (str, ("text",))})


# What cannot be saved.


def with_another_predict():
    model = fitted()
    model.predict = np.abs
    return model


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: fitted(lambda: DFEGClassifier(kernel=lambda x, y: x @ y)),
            "DFEGClassifier cannot be saved: .* no attribute '<lambda>'",
        ),
        (
            lambda: ScInOLClassifier(class_weight={False: 1.0, True: 2.0}),
            "keys False and True of class_weight: use 0 and 1",
        ),
        (
            lambda: make_pipeline(ScInOLClassifier(class_weight={np.True_: 2.0})),
            "Pipeline cannot be saved: .* of scinolclassifier__class_weight: use",
        ),
        (threading.Lock, "lock cannot be saved: "),
        (with_another_predict, "there is no predict"),
    ],
    ids=["lambda", "booleans", "booleans-in-a-pipeline", "lock", "attribute"],
)
def test_what_cannot_be_saved(make, words, path):
    save(fitted(), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match=words) as caught:
        save(make(), path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]


# All of a file, or nothing.


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_save_that_fails(function, error, path, monkeypatch):
    def fail(*arguments):
        raise error

    save(fitted(), path)
    before = path.read_bytes()
    monkeypatch.setattr(os, function, fail)
    with pytest.raises(type(error)) as caught:
        save(fitted(HedgeClassifier), path)
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]
    if isinstance(error, OSError):
        assert caught.value.filename == str(path)


def test_a_folder_that_is_missing(tmp_path):
    path = tmp_path / "missing" / "model.skops"
    with pytest.raises(FileNotFoundError) as caught:
        save(fitted(), path)
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError):
        load(path)


@pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices")
def test_what_is_not_a_regular_file(path):
    pipe, link = path.with_name("pipe"), path.with_name("link")
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for special in pipe, link, path.parent, "/dev/null":
        with pytest.raises(FileExistsError, match="is not a regular file: choose"):
            save(fitted(), special)
    assert pipe.is_fifo()
    assert {*path.parent.iterdir()} == {pipe, link}


@pytest.mark.skipif(os.name != "posix", reason="needs modes and links of files")
def test_modes_and_links(path):
    path.write_bytes(b"")
    expected = stat.S_IMODE(path.stat().st_mode)
    path.unlink()
    save(fitted(), path)
    assert stat.S_IMODE(path.stat().st_mode) == expected
    path.chmod(0o640)
    link = path.with_name("link")
    link.symlink_to(path.name)
    save(fitted(HedgeClassifier), link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert isinstance(load(path), HedgeClassifier)


# Files that are something else.


A_PICKLE = "is a pickle, which can run any code"
DAMAGED = "is not a saved model, or is damaged"


def refused(path):
    """The sentence that a file is refused with, which takes little memory."""
    tracemalloc.start()
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**26
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def rewritten(path, change=bytes, parts=()):
    """Save a model, change the structure in its file, and add parts or other ones."""
    save(fitted(), path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["schema.json"] = change(contents["schema.json"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, **dict(parts)}.items():
            archive.writestr(name, content)
    return path


def npy(array):
    np.save(file := BytesIO(), array)
    return file.getvalue()


@pytest.mark.parametrize(("n", "size"), [(1, 3), (40, 10**5)])
def test_attributes_that_are_unknown(n, size, path):
    """Lists of arrays that are one part of the file."""

    def change(schema):
        schema = json.loads(schema)
        state = schema["content"]
        state["key_types"]["content"].append(state["key_types"]["content"][0])
        array = {"__class__": "ndarray", "__module__": "numpy", "type": "numpy"}
        array |= {"__loader__": "NdArrayNode", "file": "big.npy"}
        arrays = [array | {"__id__": 10**6 + i} for i in range(n)]
        of_list = {"__class__": "list", "__module__": "builtins", "content": arrays}
        of_list |= {"__loader__": "ListNode", "__id__": 9999}
        state["content"]["extra"] = of_list
        return json.dumps(schema)

    parts = {"big.npy": npy(np.zeros(size))}
    assert DAMAGED in refused(rewritten(path, change, parts))


def test_nodes_that_are_numbers(path):
    def change(schema):
        return schema.replace(b'"content": {', b'"content": {"x":1,')

    assert DAMAGED in refused(rewritten(path, change))


def test_pickles(path):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(fitted(), protocol))
        assert A_PICKLE in refused(path)
    joblib.dump(fitted(), path)
    assert A_PICKLE in refused(path)


def test_archives_of_something_else(path):
    joblib.dump(fitted(), path, compress=3)
    assert DAMAGED in refused(path)
    with path.open("wb") as file:
        np.savez(file, X=np.zeros(3))
    assert DAMAGED in refused(path)
    write_schema(path)
    assert "cannot be loaded: " in refused(path)


@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION + 1])
def test_another_format(version, path):
    header = json.dumps({"format_version": version, "version": "99.0.0"})
    message = refused(rewritten(path, parts={HEADER: header}))
    assert f"has format version {version}" in message
    assert "99.0.0, which wrote it" in message


@pytest.mark.parametrize("header", ["{}", "[]", "no json"])
def test_headers_of_something_else(header, path):
    assert DAMAGED in refused(rewritten(path, parts={HEADER: header}))


@pytest.mark.parametrize("shape", [b"(2000000000000,)", b"(-1, -3)"])
def test_arrays_of_other_sizes(shape, path):
    array = npy(np.zeros(3))
    other = array.replace(b"(3,), }" + b" " * (len(shape) - 4), shape + b", }")
    assert other != array
    assert DAMAGED in refused(rewritten(path, parts={"x.npy": other}))


def test_damaged_files(path):
    """A byte that is changed is noticed, or does not matter."""
    original = fitted()
    save(original, path)
    whole = path.read_bytes()
    n_noticed = 0
    for place in range(0, len(whole), 13):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            assert_identical(vars(load(path)), vars(original))
        except ValueError as error:
            # A damaged size may be more than fits into memory.
            known = DAMAGED, "bytes of memory to load"
            assert any(words in str(error) for words in known)
            n_noticed += 1
    assert n_noticed > len(whole) / 13 / 2


def test_truncated_files(path):
    save(fitted(), path)
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 29), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=DAMAGED):
            load(path)


def test_files_are_those_of_skops(path):
    original = fitted()
    skops.dump(original, path)
    assert_identical(vars(load(path)), vars(original))
    save(original, path)
    revived = skops.load(path, trusted=TRUSTED_TYPES)
    assert_identical(vars(revived), vars(original))


# Versions.

MESSAGE = "Trying to unpickle estimator ScInOLClassifier from version 0.0.1 when using"


def dumped_by_joblib(model):
    joblib.dump(model, file := BytesIO())
    return file.getvalue()


def of_another_version(monkeypatch, write):
    """What is written for a model by another version."""
    with monkeypatch.context() as patch:
        for module in sklearn_scinol, sklearn_scinol.estimators.online_estimator:
            patch.setattr(module, "__version__", "0.0.1")
        return write(fitted())


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (pickle.dumps, pickle.loads),
        (skops.dumps, lambda data: skops.loads(data, trusted=TRUSTED_TYPES)),
        (dumped_by_joblib, lambda data: joblib.load(BytesIO(data))),
    ],
    ids=["pickle", "skops", "joblib"],
)
def test_pickles_of_another_version(write, read, monkeypatch):
    data = of_another_version(monkeypatch, write)
    with pytest.warns(InconsistentVersionWarning, match=MESSAGE):
        revived = read(data)
    assert_identical(vars(revived), vars(fitted()))
    read(write(revived))


def test_files_of_another_version(monkeypatch, path):
    """Their format says that they can be read."""
    of_another_version(monkeypatch, lambda model: save(model, path))
    assert_identical(vars(load(path)), vars(fitted()))
    of_another_version(monkeypatch, lambda model: skops.dump(model, path))
    with pytest.warns(InconsistentVersionWarning, match=MESSAGE):
        load(path)
    with pytest.raises(InconsistentVersionWarning), warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)


def test_steps_of_another_version_of_scikit_learn(monkeypatch, path):
    X, y = data()
    model = make_pipeline(StandardScaler(), ScInOLClassifier()).fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.base.__version__", "1.0")
        save(model, path)
    with pytest.warns(InconsistentVersionWarning) as caught:
        load(path)
    assert {str(one.message.estimator_name) for one in caught} == {
        "StandardScaler",
        "Pipeline",
    }


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, clone])
def test_copies_have_no_version(copied):
    """Only what is stored has one."""
    original = fitted()
    assert vars(copied(original)).keys() <= vars(original).keys()


# Files that would take much memory, and are refused before they are unpacked.


def test_parts_that_overlap(path):
    save(fitted(), path)
    with zipfile.ZipFile(path) as archive:
        n_parts, name = len(archive.infolist()), archive.infolist()[0].filename.encode()
    data = path.read_bytes()
    end = data.rfind(b"PK\5\6")
    fields = [*struct.unpack("<4s4H2LH", data[end : end + 22])]
    entries = data[fields[6] : fields[6] + fields[5]]
    first = entries[: 46 + len(name)]
    for more in first, first.replace(name, b"9" * len(name)):  # of another name, too
        fields[3] = fields[4] = n_parts + 30
        fields[5] = len(entries) + 30 * len(more)
        tail = struct.pack("<4s4H2LH", *fields)
        path.write_bytes(data[: fields[6]] + entries + more * 30 + tail)
        assert "is damaged" in refused(path)


def test_spaces_in_the_structure(path):
    spaces = b" " * 2**25
    message = refused(rewritten(path, lambda schema: schema[:-1] + spaces + b"}"))
    needed = int(re.search(r"pass `max_bytes=(\d+)`", message)[1])
    assert_identical(vars(load(path, max_bytes=needed)), vars(fitted()))
    with pytest.raises(ValueError, match="bytes of memory to load, more than"):
        load(path, max_bytes=needed - 1)


def test_archives_in_archives(path):
    with zipfile.ZipFile(file := BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", npy(np.zeros(2**20)))
    rewritten(path, parts={"inner.npz": file.getvalue()})
    with pytest.raises(ValueError, match="bytes of memory to load, more than"):
        load(path, max_bytes=2**23)


def test_steps_that_do_not_fit(path):
    X, y = data()
    model = make_online_pipeline(OnlineScaler(), ScInOLClassifier())
    model.partial_fit(X, y, classes=[0, 1])
    other = ScInOLClassifier().partial_fit(X[:, :1], y, classes=[0, 1])
    model.steps[1] = ("scinolclassifier", other)
    with pytest.raises(TypeError, match="takes 3 columns"):
        save(model, path)
    skops.dump(model, path)
    assert DAMAGED in refused(path)
