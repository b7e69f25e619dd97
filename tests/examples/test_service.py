"""The service of the examples, over HTTP: what it answers, learns and keeps."""

import copy
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from support import ROOT
from support.steps import assert_same_steps

from sklearn_scinol import config
from sklearn_scinol.persistence import load as load_model
from sklearn_scinol.persistence import save as save_model

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("skops", reason="skops is not installed")

FOLDER = ROOT / "examples" / "service"


@pytest.fixture
def service(load, monkeypatch, tmp_path):
    """The script; its threads are in no need of a compiler."""
    monkeypatch.syspath_prepend(FOLDER)
    numpy_engine = SimpleNamespace(config={"engine": "numpy"})
    monkeypatch.setattr(config, "_local", numpy_engine)
    monkeypatch.setenv("MODEL_FOLDER", str(tmp_path))
    return load("app")


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

        def send(path, body=None):
            """Return the status and the answer."""
            data = body if body is None or type(body) is bytes else dumped(body)
            headers = {"Content-Type": "application/json"}
            request = Request(f"http://{host}:{port}/{path}", data, headers)
            try:
                with urlopen(request, timeout=60) as answer:
                    return answer.status, json.load(answer)
            except HTTPError as error:
                with error:
                    return error.code, json.load(error)

        yield send
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def saving(service, seconds):
    """Save again and again in a thread, as the service does every minute."""
    closes = threading.Event()
    saver = threading.Thread(target=service.save_often, args=[closes, seconds])
    saver.start()
    try:
        yield
    finally:
        closes.set()
        saver.join()


def loaded_again(model, folder):
    """Return a copy that was saved, and whose pickles are therefore equal."""
    save_model(model, folder / "copy.skops")
    return load_model(folder / "copy.skops")


def dumped(body):
    return json.dumps(body).encode()


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
            for late in {k, max(k - 1, 0)}:
                label = labels[late]
                learned = 200, {"learned": str(late)}
                assert send(f"payments/{late}/label", label) == learned
                plain.learn_one(late, label)
        state = {"learned": 2 + 29, "waiting": 1, "dropped": 0}
        assert send("state") == (200, state)
        assert_same_steps(service.app.state.service.model, model)


@pytest.mark.thorough
def test_a_restart_loses_nothing(service, tmp_path):
    """The model goes on as it was, and labels come after a restart, too."""
    rows, labels = payments(20)
    with running(service) as send:
        for k, row in enumerate(rows):
            send(f"payments/{k}", row)
        for k in range(0, 20, 2):
            send(f"payments/{k}/label", labels[k])
        before = service.app.state.service.model
        waiting = dict(service.app.state.service.late.items())["3"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.skops",
        "waiting.pickle",
    }
    with running(service) as send:
        after = service.app.state.service.model
        before = loaded_again(before, tmp_path)
        assert_same_steps(after, before)
        assert send("state")[1] == {"learned": 12, "waiting": 10, "dropped": 0}
        assert send("payments/3/label", labels[3])[0] == 200
        late = before.row_by_row().with_late_labels().keep_one(waiting, 3)
        late.learn_one(3, labels[3])
        assert_same_steps(after, before)
    assert load_model(tmp_path / "model.skops")[-1].n_samples_seen_ == 13


def test_requests_of_the_page(service):
    page = (ROOT / "doc" / "howto" / "http_service.md").read_text("utf-8")
    answers = page.partition("```text\n")[2].partition("```")[0].splitlines()
    request = r"^curl localhost:8000/(\S+)(?: --json '?(.+?)'?)?$"
    with running(service) as send:
        for path, body in re.findall(request, page, re.MULTILINE):
            status, answer = send(path, body.encode() or None)
            assert status == 200
            expected = json.loads(answers.pop(0))
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
        ("payments/0/label", 2, r"unseen labels: \[2\]"),
        ("payments/0/label", "fraud", "valid integer"),
    ],
)
def test_bad_input(path, body, words, service):
    """The answer says why; the model is as it was, and the payment goes on waiting."""
    with running(service) as send:
        send("payments/0", {"shop": "books", "amount": 8.0})
        model = service.app.state.service.model
        before, state = copy.deepcopy(model), send("state")
        status, answer = send(path, body)
        assert status == 422
        assert re.search(words, str(answer["detail"]))
        assert_same_steps(model, before)
        assert send("state") == state
        assert send("payments/0/label", 0)[0] == 200


@pytest.mark.thorough
def test_requests_at_once(service, tmp_path):
    """None is lost, and each payment is learned once, even if its label comes twice."""
    rows, labels = payments(120)

    def pay(k):
        assert send(f"payments/{k}", rows[k])[0] == 200
        label = f"payments/{k}/label", labels[k]
        return [labelling.submit(send, *label) for _ in range(2)]

    with (
        running(service) as send,
        ThreadPoolExecutor(4) as paying,
        ThreadPoolExecutor(8) as labelling,
        saving(service.app.state.service, 0.0),
    ):
        for twice in [*paying.map(pay, range(120))]:
            assert sorted(each.result()[0] for each in twice) == [200, 404]
        assert send("state")[1] == {"learned": 122, "waiting": 0, "dropped": 0}
    assert load_model(tmp_path / "model.skops")[-1].n_samples_seen_ == 122


#: Check that a request compiles nothing, with a folder that is empty or read-only.
REQUESTS = """
import sys
import tempfile

if "read-only" in sys.argv:
    def refuse(*_, **__):
        raise OSError("read-only")

    tempfile.TemporaryFile = refuse
import app
from sklearn_scinol.engines.numba_engine import disk_cache

missing = []
tell = disk_cache.tell_missing
disk_cache.tell_missing = lambda: (missing.append(1), tell())
app.compile_loops()
assert bool(missing) == ("empty" in sys.argv), missing
missing.clear()
service = app.Service(".")
service.late.predict_proba_one({"shop": "flowers", "amount": 1.0}, "1")
service.late.learn_one("1", 1)
assert not missing
"""


@pytest.mark.thorough
def test_a_request_compiles_nothing(tmp_path):
    """Nor does a later start, such as one in a container."""
    pytest.importorskip("numba", reason="numba is not installed")
    cache = tmp_path / "cache"
    path = os.pathsep.join([str(FOLDER), *filter(None, sys.path)])
    environment = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache), "NUMBA_OPT": "0"}
    for option in "empty", "read-only":
        done = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", REQUESTS, option],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
