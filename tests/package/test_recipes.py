"""The recipes of the page *Streams and clusters*, and what they do after failures."""

import importlib
import inspect
import os
import sys
from importlib.util import find_spec

import pytest
import snippets
from snippets import ENGINES, PAGES, ROOT, STAND_INS
from support.comparisons import assert_identical

from sklearn_scinol import config_context, pipeline

PAGE = ROOT / "doc" / "howto" / "clusters.md"


def recipe(text):
    """The block of the page that has a text."""
    (found,) = (s for s in snippets.snippets(PAGE) if text in s.source)
    return found


def skip_if_missing(name):
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed: the nightly tests have it")


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_engines(name):
    skip_if_missing(name)
    found = {s.name: s for page in PAGES for s in snippets.snippets(page)}
    shown = {key: s.shown for key, s in found.items() if s.engine == name}
    assert shown
    assert snippets.run(PAGES, name) == shown


def run(snippet, folder, old, new):
    """What a block prints that has one text changed."""
    assert snippet.source.count(old) == 1
    page = folder / "page.md"
    source = snippet.source.replace(old, new)
    page.write_text(f"```python\n{source}```\n", encoding="utf-8")
    (said,) = snippets.run([page], snippet.engine).values()
    return said


@pytest.mark.slow
def test_spark_passes_a_batch_again(tmp_path):
    skip_if_missing("pyspark")
    snippet = recipe("foreachBatch")
    again = """
from os import remove
remove("checkpoint/commits/2")
remove("checkpoint/commits/.2.crc")
writer.option("checkpointLocation", "checkpoint").start().awaitTermination()
assert Path("checkpoint/commits/2").exists()
spark.stop()
"""
    assert run(snippet, tmp_path, "\nspark.stop()\n", again) == snippet.shown


@pytest.fixture
def broker(monkeypatch, tmp_path):
    """The stand-in for a broker, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(STAND_INS)
    monkeypatch.delitem(sys.modules, "kafka", raising=False)
    yield importlib.import_module("kafka").broker
    del sys.modules["kafka"]


def follow(source):
    names = {}
    with config_context(engine="numpy"):
        exec(source, names)
    return names["state"]


def assert_same(state, expected):
    """That all is equal to the last bit, but losses of chunks, cut elsewhere."""
    for each in state, expected:
        del each["model"][-1].loss_curve_
    assert_identical(state, expected)


@pytest.mark.parametrize("seconds", ["60", "-1"])
def test_kafka_goes_on_after_failures(broker, seconds):
    """The last start has learned all, as one does that nothing stops."""
    source = recipe("kafka").source.replace("> 60:", f"> {seconds}:")
    expected = follow(source)
    assert expected["offsets"] == {0: 311}
    os.remove("model.skops")
    for broker["fails_after"] in 2, 1, 3, 4:
        with pytest.raises(ConnectionError):
            follow(source)
        assert os.path.exists("model.skops") == (seconds == "-1")
    broker["fails_after"] = None
    state = follow(source)
    assert_same(state, expected)
    assert_identical(follow(source)["offsets"], expected["offsets"])  # nothing new


def test_partitions_of_kafka(broker):
    source = recipe("kafka").source.replace("> 60:", "> -1:")
    broker["n_partitions"], broker["fails_after"] = 3, 3
    with pytest.raises(ConnectionError):
        follow(source)
    broker["fails_after"] = None
    state = follow(source)
    assert state["offsets"] == dict.fromkeys(range(3), 311)
    assert state["model"].n_samples_seen_ == 900


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own
def test_stand_in_is_like_kafka():
    skip_if_missing("kafka")
    client = importlib.import_module("kafka")
    if str(STAND_INS) in client.__file__:
        pytest.skip("kafka-python is not installed: the nightly tests have it")
    spec = importlib.util.spec_from_file_location("stand_in", STAND_INS / "kafka.py")
    stand_in = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_in)
    ours, theirs = stand_in.KafkaConsumer, client.KafkaConsumer
    assert ours.DEFAULT_CONFIG.keys() <= theirs.DEFAULT_CONFIG.keys()
    for name, method in vars(ours).items():
        if inspect.isfunction(method):
            expected = inspect.signature(getattr(theirs, name))
            assert inspect.signature(method) == expected
    assert stand_in.TopicPartition._fields == client.TopicPartition._fields


@pytest.mark.parametrize("fails_after", [1, 2])
def test_days_go_on_after_failures(monkeypatch, tmp_path, fails_after):
    """A job that stops within a file learns all of it the next time."""
    monkeypatch.chdir(tmp_path)
    source = recipe("def learn_new_files").source
    source = source.replace("target=", "chunk_rows=30, target=")
    expected = follow(source)
    os.remove("model.skops")
    learn, n_calls = pipeline.OnlinePipeline.partial_fit, []

    def fail(model, *args, **kwargs):
        n_calls.append(model)
        if len(n_calls) == fails_after + 4:  # in the second file
            raise KeyboardInterrupt
        return learn(model, *args, **kwargs)

    monkeypatch.setattr(pipeline.OnlinePipeline, "partial_fit", fail)
    with pytest.raises(KeyboardInterrupt):
        follow(source)
    assert len(n_calls) == fails_after + 4
    state = follow(source)
    assert_same(state, expected)
