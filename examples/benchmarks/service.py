"""
An HTTP service under load
==========================

Starts the service of ``examples/service`` on loopback, and asks it from eight threads
of another process: single payments, each followed by its label, then batches of 100,
and at last 20,000 single requests, before and after which the memory is measured. A
row counts when it is predicted, and once more when it is learned::

    python examples/benchmarks/service.py
    python examples/benchmarks/service.py --mixture
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import local

import numpy as np

FOLDER = Path(__file__).parents[1] / "service"

#: The service with a mixture.
MIXTURE = """
import app
from sklearn_scinol import HedgeClassifier
app.ScInOLClassifier = HedgeClassifier
"""

# %%
# Requests
# --------


def payments(n):
    rng = np.random.default_rng(0)
    amounts = rng.lognormal(3.0, 2.0, n).round(2)
    shops = rng.integers(50, size=n)
    rows = [
        {"shop": f"shop {shop}", "amount": amount}
        for shop, amount in zip(shops.tolist(), amounts.tolist(), strict=True)
    ]
    return rows, (amounts > 50.0).astype(int).tolist()


class Service:
    """The service in a process of its own, and clients, a connection each."""

    def __init__(self, port, folder, mixture, n_clients):
        start = f"{MIXTURE if mixture else 'import app'}\nimport uvicorn\n"
        start += f"uvicorn.run(app.app, port={port}, log_level='warning')"
        path = os.pathsep.join([str(FOLDER), *filter(None, sys.path)])
        environment = os.environ | {"MODEL_FOLDER": folder, "PYTHONPATH": path}
        command = [sys.executable, "-c", start]
        self.process = subprocess.Popen(command, env=environment)
        self.port, self.connections = port, local()
        self.pool = ThreadPoolExecutor(n_clients)

    def wait(self):
        """Wait until it answers."""
        while self.process.poll() is None:
            try:
                return self.ask("GET", "health")
            except OSError:
                del self.connections.own
                time.sleep(0.1)
        raise SystemExit("The service did not start.")

    def ask(self, method, path, body=None):
        if not hasattr(self.connections, "own"):
            self.connections.own = HTTPConnection("127.0.0.1", self.port)
        connection, data = self.connections.own, json.dumps(body)
        headers = {"Content-Type": "application/json"}
        connection.request(method, f"/{path}", data, headers)
        answer = connection.getresponse()
        content = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{answer.status}: {content}")
        return content

    def memory(self):
        """Return the memory of the process in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1e3

    def pay(self, k, row, label):
        self.ask("POST", f"payments/{k}", row)
        self.ask("POST", f"payments/{k}/label", label)

    def pay_many(self, start, rows, labels):
        keys = [str(start + i) for i in range(len(rows))]
        self.ask("POST", "payments", dict(zip(keys, rows, strict=True)))
        self.ask("POST", "labels", dict(zip(keys, labels, strict=True)))

    def rate(self, do, calls, n_rows):
        """Return how many rows are predicted or learned in a second."""
        start = time.perf_counter()
        for done in [self.pool.submit(do, *call) for call in calls]:
            done.result()
        return 2 * n_rows / (time.perf_counter() - start)


# %%
# Measuring
# ---------


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--mixture", action="store_true", help="HedgeClassifier")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--requests", type=int, default=20_000, help="for memory")
    options = parser.parse_args()
    n, n_singles, n_batched = options.requests // 2, 1000, 40_000
    rows, labels = payments(max(n, n_batched))
    with TemporaryDirectory() as folder:
        arguments = options.port, folder, options.mixture, options.clients
        service = Service(*arguments)
        try:
            service.wait()
            singles = [(k, rows[k], labels[k]) for k in range(n_singles)]
            rate = service.rate(service.pay, singles, n_singles)
            print(f"single rows: {rate:,.0f} a second")
            batches = [
                (10**6 + k, rows[k : k + 100], labels[k : k + 100])
                for k in range(0, n_batched, 100)
            ]
            rate = service.rate(service.pay_many, batches, n_batched)
            print(f"batches of 100: {rate:,.0f} rows a second")
            before = service.memory()
            singles = [(10**7 + k, rows[k], labels[k]) for k in range(n)]
            service.rate(service.pay, singles, n)
            after = service.memory()
            print(f"memory: {before:.0f} MB, after {2 * n:,} requests {after:.0f} MB")
        finally:
            service.process.terminate()
            service.process.wait()


if __name__ == "__main__":
    main()
