"""Models in files come back as they were, or the file says in a sentence why not."""

import copy
import json
import os
import pickle
import re
import stat
import struct
import subprocess
import sys
import threading
import tracemalloc
import warnings
import zipfile
from datetime import time
from io import BytesIO
from itertools import count
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
from support.copies import COPIES, saved
from support.kinds import KINDS
from support.registry import (
    CASES,
    LAYOUTS,
    PUBLIC_ESTIMATORS,
    REPRESENTATIVES,
    thinned,
)

import sklearn_scinol
from sklearn_scinol import (
    DFEGClassifier,
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalClassifier,
    ScInOLClassifier,
    persistence,
)
from sklearn_scinol.experts import AdaHedge, FixedShare
from sklearn_scinol.models.linear import LinearModel
from sklearn_scinol.persistence import FORMAT_VERSION, TRUSTED_TYPES, load, save
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

THROUGH_SKOPS = [COPIES["saved"], COPIES["skops"]]


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


@thinned(REPRESENTATIVES, layout=LAYOUTS, through=THROUGH_SKOPS)
def test_copies_go_on(case, layout, through, path):
    X, y = case.data()
    X, half = layout.container(X), len(y) // 2
    original = case.make(center=layout.center)
    case.partial_fit(original, X[:half], y[:half])
    revived = through(original, path)
    assert_identical(vars(revived), vars(original))
    assert_identical(case.decision(revived, X), case.decision(original, X))
    assert_identical(
        case.charged(revived, X[half:], y[half:]),
        case.charged(original, X[half:], y[half:]),
    )
    assert_identical(vars(revived), vars(original))


@pytest.mark.cases(1)
@pytest.mark.parametrize("estimator", [HedgeClassifier, HedgeRegressor])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_default_experts_go_on(estimator, container, path):
    X, y = data(60)
    X, classes = container(X), {}
    if estimator is HedgeClassifier:
        classes["classes"] = [0, 1]
    original = estimator().partial_fit(X[:30], y[:30], **classes)
    revived = saved(original, path)
    # Experts that see the same rows have one transform, before and after.
    transforms = [
        {id(expert._model.features) for expert in model.estimators_}
        for model in (original, revived)
    ]
    assert len(transforms[0]) == len(transforms[1]) < len(original.estimators_)
    assert_identical(vars(revived), vars(original))
    for model in original, revived:
        model.partial_fit(X[30:], y[30:])
    assert_identical(vars(revived), vars(original))


@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_estimators_that_have_not_learned(estimator, path):
    revived = saved(estimator(), path)
    assert type(revived) is estimator
    assert vars(revived) == vars(estimator())


def test_fit_goes_on(path):
    """The state of a random generator is saved as well."""
    X, y = data()
    random_state = np.random.RandomState(0)
    original = ScInOLClassifier(
        max_iter=3, tol=None, warm_start=True, random_state=random_state
    ).fit(X, y)
    revived = saved(original, path)
    assert_identical(revived.fit(X, y).coef_, original.fit(X, y).coef_)
    assert revived.loss_curve_ == original.loss_curve_


def test_labels_and_names(path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = data()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    labels = np.array(["no", "yes"], dtype=object)
    weights = {"no": 1.0, "yes": 2.0}
    original = ScInOLClassifier(class_weight=weights).partial_fit(
        frame, labels[y], classes=labels
    )
    revived = saved(original, path)
    assert_array_equal(revived.feature_names_in_, ["a", "b", "c"])
    assert_array_equal(revived.predict(frame), original.predict(frame))
    assert revived.class_weight == weights
    with pytest.raises(ValueError, match="feature names should match"):
        revived.predict(frame[["b", "a", "c"]])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(), ScInOLClassifier()],
        [ColumnTransformer([("scaled", StandardScaler(), [0, 2])]), HedgeClassifier()],
    ],
    ids=["scaled", "columns"],
)
def test_pipelines(steps, path):
    X, y = data()
    original = make_pipeline(*steps).fit(X, y)
    revived = saved(original, path)
    assert_array_equal(revived.decision_function(X), original.decision_function(X))


def test_text(path):
    texts = ["a good day", "a bad day", "good", "bad"]
    original = make_pipeline(
        HashingVectorizer(n_features=2**18), ScInOLClassifier()
    ).fit(texts, [1, 0, 1, 0])
    revived = saved(original, path)
    assert_array_equal(revived.predict(texts), original.predict(texts))
    assert path.stat().st_size < 100_000  # of the 8 MB that are nearly all 0


@pytest.mark.parametrize("algorithm", [AdaHedge, FixedShare])
def test_weights_of_experts(algorithm, path):
    losses = np.random.default_rng(0).random((40, 3))
    original = algorithm(3)
    original.update(losses[:20])
    revived = saved(original, path)
    assert_array_equal(revived.update(losses[20:]), original.update(losses[20:]))


def test_what_is_written_is_read_once(path, monkeypatch):
    """Each look at a file takes as long as loading it."""
    looks = []
    for name in "dumps", "loads", "get_untrusted_types":
        function = getattr(skops, name)

        def noted(*arguments, name=name, function=function, **keywords):
            looks.append(name)
            return function(*arguments, **keywords)

        monkeypatch.setattr(skops, name, noted)
    save(fitted(HedgeClassifier), path)
    assert looks == ["dumps", "loads"]


def test_a_model_that_is_mapped_from_a_file(path):
    X, _ = data()
    joblib.dump(fitted(), path)
    mapped = joblib.load(path, mmap_mode="r")
    assert isinstance(mapped._model.fields, np.memmap)
    save(mapped, path.with_name("other"))
    revived = load(path.with_name("other"))
    assert_array_equal(revived.decision_function(X), mapped.decision_function(X))


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
    models.append(models[0]._serve([[0.0] * models[0].n_features_in_])[1])
    traits = attrgetter("estimator", "loss", "algorithm", "is_joint")
    covering = {trait: case for case in CASES for trait in traits(case)}
    for case in covering.values():
        X, y = case.data(n_samples=4)
        models.append(case.partial_fit(case.make(), X, y))
    found = skops.get_untrusted_types(data=skops.dumps(models))
    assert found == sorted(TRUSTED_TYPES)
    assert all(name.startswith("sklearn_scinol.") for name in TRUSTED_TYPES)


def test_experts_of_scikit_learn(path):
    X, y = data()
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    experts = [("sgd", sgd), ("bayes", GaussianNB())]
    original = HedgeClassifier(experts).partial_fit(X, y, classes=[0, 1])
    revived = saved(original, path)
    for model in original, revived:
        model.partial_fit(X, y)
    assert_array_equal(revived.weights_, original.weights_)
    assert_array_equal(revived.predict_proba(X), original.predict_proba(X))


def test_types_from_elsewhere(path):
    X, y = data()
    experts = [("net", MLPClassifier(3)), ("ours", ScInOLClassifier())]
    original = HedgeClassifier(experts).partial_fit(X, y, classes=[0, 1])
    save(original, path)
    optimizer = "sklearn.neural_network._stochastic_optimizers.AdamOptimizer"
    with pytest.raises(TypeError, match=r"not trusted: pass `trusted=\[") as caught:
        load(path)
    assert optimizer in str(caught.value)
    assert "sklearn_scinol" not in str(caught.value)
    assert str(path) in str(caught.value)
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


def write_type(path, module, name):
    """A file of skops that has a type, or a function as if it was one."""
    schema = {"__module__": module, "__class__": name, "__loader__": "TypeNode"}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps({**schema, "protocol": 2}))


def test_no_code_of_a_file_is_run(path):
    write_type(path, "os", "_exit")
    with pytest.raises(TypeError, match=r"\['os\._exit'\]"):
        load(path)
    path.write_bytes(pickle.dumps(Malicious()))
    with pytest.raises(ValueError, match="is a pickle, which can run any code"):
        load(path)


def test_types_that_are_not_there(path):
    write_type(path, "nowhere", "Thing")
    with pytest.raises(
        ValueError, match=r"cannot be loaded: .* module named 'nowhere'"
    ):
        load(path, trusted=["nowhere.Thing"])


def test_learners_are_tuples():
    """A file cannot have another type called in their place."""
    model = LinearModel.__new__(LinearModel)
    with pytest.raises(AttributeError, match="_make"):
        model.__setstate__({"learner": (str, ("text",))})


# What cannot be saved.


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
        (lambda: threading.Lock(), "lock cannot be saved: "),
    ],
    ids=["lambda", "booleans", "booleans-in-a-pipeline", "lock"],
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


KILLED = """
import os, sys
from sklearn_scinol import ScInOLRegressor, config_context, persistence
with config_context(engine="numpy"):
    model = ScInOLRegressor().partial_fit([[1.0]], [2.0])
    os.replace = lambda *arguments: os._exit(9)
    persistence.save(model, sys.argv[1])
"""


@pytest.mark.thorough
def test_a_process_that_is_killed(path):
    save(fitted(), path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert done.returncode == 9
    assert path.read_bytes() == before
    assert load(path).n_samples_seen_ == 30


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


def refused(path):
    """The sentence that a file is refused with."""
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


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
            revived = load(path)
        except ValueError as error:
            # A damaged size may be more than fits into memory.
            known = "is not a saved model, or is damaged", "bytes of memory to load"
            assert any(words in str(error) for words in known)
            n_noticed += 1
        else:
            assert_identical(vars(revived), vars(original))
    assert n_noticed > len(whole) / 13 / 2


def test_truncated_files(path):
    save(fitted(), path)
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 29), len(whole) - 1]:
        path.write_bytes(whole[:size])
        assert "is not a saved model, or is damaged" in refused(path)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol, path):
    path.write_bytes(pickle.dumps(fitted(), protocol))
    assert "is a pickle, which can run any code" in refused(path)


def test_files_of_joblib(path):
    joblib.dump(fitted(), path)
    assert "is a pickle, which can run any code" in refused(path)
    joblib.dump(fitted(), path, compress=3)
    assert "is not a saved model, or is damaged" in refused(path)


def test_archives_of_something_else(path):
    with path.open("wb") as file:
        np.savez(file, X=np.zeros(3))
    assert "is not a saved model, or is damaged" in refused(path)


def test_files_of_skops_alone(path):
    original = fitted()
    skops.dump(original, path)
    assert_identical(vars(load(path)), vars(original))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
    assert "cannot be loaded: " in refused(path)


def test_files_are_those_of_skops(path):
    original = fitted()
    save(original, path)
    revived = skops.load(path, trusted=TRUSTED_TYPES)
    assert_identical(vars(revived), vars(original))


def with_header(path, header):
    """Put another header into a file."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents[persistence.HEADER] = header
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION + 1])
def test_another_format(version, path):
    save(fitted(), path)
    with_header(path, json.dumps({"format_version": version, "version": "99.0.0"}))
    message = refused(path)
    assert f"has format version {version}" in message
    assert "load it with version 99.0.0, which wrote it" in message


def test_headers_of_something_else(path):
    save(fitted(), path)
    for header in "{}", "[]", "no json":
        with_header(path, header)
        assert "is not a saved model, or is damaged" in refused(path)


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InconsistentVersionWarning):
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


def rewritten(path, change, **contents):
    """Change the structure in a file, and add parts to its archive."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["schema.json"] = change(parts["schema.json"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**parts, **contents}.items():
            archive.writestr(name.replace("_npy", ".npy"), content)


def npy(array):
    np.save(file := BytesIO(), array)
    return file.getvalue()


def with_extra(n, ids):
    """Give a model an attribute of `n` arrays."""

    def change(schema):
        schema = json.loads(schema)
        array = {
            "__class__": "ndarray",
            "__module__": "numpy",
            "__loader__": "NdArrayNode",
            "type": "numpy",
            "file": "big.npy",
        }
        state = schema["content"]
        state["key_types"]["content"].append(state["key_types"]["content"][0])
        state["content"]["extra"] = {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "__id__": 9999,
            "content": [array | {"__id__": next(ids)} for _ in range(n)],
        }
        return json.dumps(schema)

    return change


def refused_in_little_memory(path):
    tracemalloc.start()
    message = refused(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**26
    return message


def test_many_references_to_one_part(path):
    save(fitted(), path)
    rewritten(path, with_extra(40, count(10**6)), big_npy=npy(np.zeros(10**5)))
    assert "is damaged" in refused_in_little_memory(path)


def test_attributes_that_are_unknown(path):
    save(fitted(), path)
    rewritten(path, with_extra(1, count(10**6)), big_npy=npy(np.zeros(3)))
    assert "is damaged" in refused(path)
    rewritten(
        path, lambda schema: schema.replace(b'"content": {', b'"content": {"x":1,')
    )
    assert "is damaged" in refused(path)
    model = fitted()
    model.predict = np.abs
    with pytest.raises(TypeError, match="there is no predict"):
        save(model, path)


def test_parts_that_overlap(path):
    save(fitted(), path)
    with zipfile.ZipFile(path) as archive:
        part = archive.infolist()[0]
    data = path.read_bytes()
    end = data.rfind(b"PK\5\6")
    fields = [*struct.unpack("<4s4H2LH", data[end : end + 22])]
    entries = data[fields[6] : fields[6] + fields[5]]
    name = part.filename.encode()
    again = entries[: 46 + len(name)].replace(name, b"9" * len(name))
    for more in entries[: 46 + len(name)], again:  # of the same name, or another
        fields[3] = fields[4] = len(archive.infolist()) + 30
        fields[5] = len(entries) + 30 * len(more)
        tail = struct.pack("<4s4H2LH", *fields)
        path.write_bytes(data[: fields[6]] + entries + more * 30 + tail)
        assert "is damaged" in refused(path)


def test_spaces_in_the_structure(path):
    save(fitted(), path)
    rewritten(path, lambda schema: schema[:-1] + b" " * 2**25 + schema[-1:])
    message = refused_in_little_memory(path)
    assert "pass `max_bytes=" in message
    needed = int(re.search(r"`max_bytes=(\d+)`", message)[1])
    assert_identical(vars(load(path, max_bytes=needed)), vars(fitted()))
    with pytest.raises(ValueError, match="bytes of memory to load, more than"):
        load(path, max_bytes=needed - 1)


@pytest.mark.parametrize("shape", [b"(2000000000000,)", b"(-1, -3)"])
def test_arrays_of_other_sizes(shape, path):
    save(fitted(), path)
    array = npy(np.zeros(3))
    other = array.replace(b"(3,), }" + b" " * (len(shape) - 4), shape + b", }")
    assert other != array
    rewritten(path, lambda schema: schema, big_npy=other)
    assert "is damaged" in refused_in_little_memory(path)


def test_archives_in_archives(path):
    save(fitted(), path)
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", npy(np.zeros(2**20)))
    rewritten(path, lambda schema: schema, inner_npz=file.getvalue())
    with pytest.raises(ValueError, match="bytes of memory to load, more than"):
        load(path, max_bytes=2**23)


def test_steps_that_do_not_fit(path):
    X, y = data()
    model = make_online_pipeline(OnlineScaler(), ScInOLClassifier())
    model.partial_fit(X, y, classes=np.unique(y))
    save(model, path)
    other = ScInOLClassifier().partial_fit(X[:, :1], y, classes=np.unique(y))
    model.steps[1] = ("scinolclassifier", other)
    with pytest.raises(TypeError, match=f"takes {X.shape[1]} columns"):
        save(model, path)
    skops.dump(model, path)
    assert "is damaged" in refused(path)
