"""The service of the examples, over HTTP: what it answers, learns and keeps."""

import copy
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPException
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from support import ROOT
from support.steps import assert_same_steps

from sklearn_scinol import config

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("prometheus_client", reason="prometheus_client is missing")
pytest.importorskip("skops", reason="skops is not installed")

FOLDER = ROOT / "examples" / "service"
PATH = {"PYTHONPATH": os.pathsep.join([str(FOLDER), *filter(None, sys.path)])}


@pytest.fixture
def service(load, monkeypatch, tmp_path):
    """The script; its threads are in no need of a compiler."""
    monkeypatch.syspath_prepend(FOLDER)
    numpy_engine = SimpleNamespace(config={"engine": "numpy"})
    monkeypatch.setattr(config, "_local", numpy_engine)
    monkeypatch.setenv("MODEL_FOLDER", str(tmp_path))
    return load("app")


def request(address, path, body=None, timeout=60):
    """Return the status and the answer."""
    data = body if body is None or type(body) is bytes else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with urlopen(Request(address + path, data, headers), timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@contextmanager
def running(service):
    """Run the service on a free port; yield a function that sends requests."""
    options = {"loop": "asyncio", "ws": "none", "log_level": "warning"}
    server = uvicorn.Server(uvicorn.Config(service.app, port=0, **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        host, port = server.servers[0].sockets[0].getsockname()

        yield partial(request, f"http://{host}:{port}/")
    finally:
        server.should_exit = True
        thread.join()


def counts(send):
    """Return how many rows were learned, wait, and were dropped."""
    answer = send("health")[1]
    return [answer[name] for name in ("learned", "waiting", "dropped")]


def payments(n):
    rng = np.random.default_rng(0)
    shops = rng.choice(["books", "phones", "flowers"], n)
    amounts = rng.lognormal(3.0, 2.0, n).round(2)
    rows = [
        {"shop": str(shop), "amount": float(amount) if amount > 1.0 else None}
        for shop, amount in zip(shops, amounts, strict=True)
    ]
    return rows, (amounts > 50.0).astype(int).tolist()


def test_what_is_learned(service):
    """Predictions and the model are those of the estimator itself, to the last bit."""
    rows, labels = payments(30)
    model = service.new_model()
    plain = model.row_by_row().with_late_labels()
    with running(service) as send:
        for k, row in enumerate(rows):
            answer = {"fraud": plain.predict_proba_one(row, k)[1]}
            assert send(f"payments/{k}", row) == (200, answer)
            if k % 2:
                continue
            for late in {k, max(k - 1, 0)}:  # of all but one
                label = labels[late]
                learned = 200, {"learned": str(late)}
                assert send(f"payments/{late}/label", label) == learned
                plain.learn_one(late, label)
        assert counts(send) == [2 + 29, 1, 0]
        answer = service.app.state.payments.model
        assert np.array_equal(answer.predict_proba(rows), model.predict_proba(rows))


def told(payments):
    """Return all that must be the same after a restart."""
    late = payments.late
    rows, _ = globals()["payments"](30)
    return (
        payments.model.predict_proba(rows).tobytes(),
        [*late],
        [*payments.waiting.items()],
        [*payments.learned.items()],
        payments.loss,
        payments.monitor.n_samples_seen_,
    )


@pytest.mark.cases(3)
@pytest.mark.parametrize("damage", [None, "torn", "model", "rest", "all", "line"])
def test_after_a_crash(damage, service, tmp_path, caplog):
    """All is as it was, also if the newest version does not load."""
    rows, labels = payments(40)
    first = service.Payments(tmp_path, service.new_model)
    for start in 0, 20:
        keys = [str(k) for k in range(start, start + 20)]
        for k in keys[:10]:
            first.predict({k: rows[int(k)]})
        first.predict({k: rows[int(k)] for k in keys[10:]})
        first.learn({k: labels[int(k)] for k in keys[5:15]})
        first.learn({keys[0]: labels[start]})
        with pytest.raises(ValueError, match="Column 'amount'"):
            first.predict({"bad": {"shop": "books", "amount": "much"}})
        if not start:
            first.save()
    expected = told(first)
    first.versions.close()
    newest, log = tmp_path / "model-00000002.skops", tmp_path / "log-00000002.jsonl"
    rest = newest.with_name("rest-00000002.pickle")
    for path, content in {
        "torn": [(log, log.read_bytes() + b'{"labels": {"2')],
        "model": [(newest, newest.read_bytes()[:1000])],
        "rest": [(rest, b"")],
        "all": [(path, b"") for path in tmp_path.glob("model-*")],
        "line": [(log, b"\0" + log.read_bytes())],
    }.get(damage, ()):
        path.write_bytes(content)
    if damage in ("all", "line"):
        with pytest.raises(RuntimeError, match=r"loads\.|line 1, is damaged"):
            service.Payments(tmp_path, service.new_model)
        return
    again = service.Payments(tmp_path, service.new_model)
    assert told(again) == expected
    words = "Version 2 of the model does not load"
    assert (words in str(again.health()["last_error"])) == (damage in ("model", "rest"))
    assert (words in caplog.text) == (damage in ("model", "rest"))
    assert again.versions.number == 3
    for k in range(4):
        again.predict({f"new {k}": rows[k]})
        again.save()
    versions = sorted(path.name for path in tmp_path.glob("model-*"))
    assert versions == [f"model-0000000{k}.skops" for k in (5, 6, 7)]
    assert len([*tmp_path.iterdir()]) == 10  # with that of the lock
    again.close()


KILLED = """
import sys
import uvicorn
import app

app.compile_loops = lambda: None
uvicorn.run(app.app, port=int(sys.argv[1]), log_level="warning")
"""


def test_killed_under_load(tmp_path):
    """Eight clients ask again until each has an answer; each label is learned once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | PATH | {"MODEL_FOLDER": str(tmp_path)}
    rows, labels = payments(100)
    answers, stops = [], time.monotonic() + 240.0

    def start():
        command = [sys.executable, "-c", KILLED, str(port)]
        return subprocess.Popen(command, env=environment)

    def ask(*request_of):
        while time.monotonic() < stops:
            with suppress(OSError, HTTPException):
                return request(f"http://127.0.0.1:{port}/", *request_of, timeout=10)[1]
            time.sleep(0.02)
        raise AssertionError("The service does not answer.")

    def pay(k):
        first = ask(f"payments/{k}", rows[k])
        ask(f"payments/{k}/label", labels[k])
        assert ask(f"payments/{k}", rows[k]) == first
        answers.append(k)

    server = start()
    try:
        with ThreadPoolExecutor(8) as clients:
            paying = [clients.submit(pay, k) for k in range(100)]
            while len(answers) < 40 and not any(
                each.done() and each.exception() for each in paying
            ):
                time.sleep(0.005)
            server.kill()
            server.wait()
            server = start()
            for each in paying:
                each.result()
        health = ask("health")
        assert [health[name] for name in ("learned", "waiting")] == [102, 0]
    finally:
        server.kill()
        server.wait()


def test_retries(service):
    """A key may come again with the same row or label, and not with another one."""
    rows, labels = payments(4)
    with running(service) as send:
        for k in 0, 1, 0:
            answer = send("payments/1", rows[1])
            assert send("payments/1", dict(reversed(rows[1].items()))) == answer
            if k:
                assert send("payments/1/label", 1) == (200, {"learned": "1"})
        assert counts(send) == [3, 0, 0]
        status, said = send("payments/1", rows[2])
        assert status == 409
        assert "Another row" in said["detail"]
        assert send("payments", {"2": rows[2], "1": rows[2]})[0] == 409
        assert send("payments/1/label", 0)[0] == 409
        assert send("labels", {"1": 1, "7": 1})[0] == 404
        assert counts(send) == [3, 0, 0]
        both = send("payments", {"1": rows[1], "2": rows[2]})[1]["fraud"]
        assert both["1"] == answer[1]["fraud"]
        assert send("labels", {"1": 1, "2": labels[2]})[0] == 200
        assert counts(send) == [4, 0, 0]


def test_metrics(service):
    """In the text format of Prometheus."""
    parser = pytest.importorskip("prometheus_client.parser")
    rows, labels = payments(20)
    for name in "rows", "requests", "seconds":
        getattr(service.metrics, name).clear()
    with running(service) as send:
        send("payments", {str(k): row for k, row in enumerate(rows)})
        send("labels", {str(k): label for k, label in enumerate(labels[:18])})
        send("payments/99/label", 1)
    held = service.app.state.payments
    text = service.metrics.text(held).decode()
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }
    share = held.model.input_report_["shop"]["unseen_lately"]
    for key, value in {
        ("rows_total", "predicted"): 20,
        ("rows_total", "labelled"): 18,
        ("requests_total", "/payments/{key}/label", "404"): 1,
        ("request_seconds_count", "/labels"): 1,
        ("learned",): 20,
        ("waiting",): 2,
        ("loss_count",): 18,
        ("alarms",): 0,
        ("failing",): 0,
        ("input_share", "shop", "unseen"): share,
    }.items():
        assert found[f"payments_{key[0]}", *key[1:]] == value, key
    assert found["payments_loss_sum",] > 0.0
    assert share > 0.0


def test_where_nothing_can_be_written(service, tmp_path, monkeypatch):
    """The service does not start, or refuses rows and says so."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        service.Payments(tmp_path / "file", service.new_model)
    held = service.Payments(tmp_path, service.new_model)
    log, full = held.versions.log, held.versions

    class Full:
        truncate = log.truncate

        def write(self, line):
            return log.write(line[:5])

    full.log = Full()
    with pytest.raises(OSError, match="No space"):
        held.predict({"1": payments(1)[0][0]})
    assert "No space" in held.health()["last_error"]
    assert len(held.late) == log.seek(0, 2) == 0
    full.log = log
    full.close()


def test_a_folder_is_of_one_process(service, tmp_path):
    held = service.Payments(tmp_path, service.new_model)
    with pytest.raises(RuntimeError, match="Another process uses"):
        service.Payments(tmp_path, service.new_model)
    held.close()
    service.Payments(tmp_path, service.new_model).close()


def test_requests_of_the_page(service):
    page = (ROOT / "doc" / "howto" / "http_service.md").read_text("utf-8")
    answers = page.partition("```text\n")[2].partition("```")[0].splitlines()
    request = r"^curl localhost:8000/(\S+)(?: --json '?(.+?)'?)?$"
    with running(service) as send:
        for path, body in re.findall(request, page, re.MULTILINE):
            status, answer = send(path, body.encode() or None)
            assert status == 200
            expected = json.loads(answers.pop(0))
            number = expected.get("fraud")
            if isinstance(number, dict):
                answer, expected = answer["fraud"], number
            assert answer == expected or answer == pytest.approx(expected, rel=1e-9)
    assert not answers


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("payments/1", b'{"shop": ', "JSON decode error"),
        ("payments/1", {"shop": ["books"]}, "valid string"),
        ("payments/1", {"shop": "books", "amount": "much"}, "Column 'amount'"),
        ("payments/1", b'{"shop": "books", "amount": 1e999}', "contains infinity"),
        ("payments/1", {"shop": "books", "amount": 10**400}, "int too large"),
        ("payments/1", {"shop": "books", "country": "NO"}, "unseen at fit .*country"),
        ("payments/0/label", 2, "should be 0 or 1"),
        ("payments/0/label", "fraud", "should be 0 or 1"),
    ],
)
def test_bad_input(path, body, words, service):
    """The answer says why; the model is as it was, and the payment goes on waiting."""
    with running(service) as send:
        send("payments/0", {"shop": "books", "amount": 8.0})
        model = service.app.state.payments.model
        before, state = copy.deepcopy(model), counts(send)
        status, answer = send(path, body)
        assert status == 422
        assert re.search(words, str(answer["detail"]))
        assert_same_steps(model, before)
        assert counts(send) == state
        assert send("payments/0/label", 0)[0] == 200
