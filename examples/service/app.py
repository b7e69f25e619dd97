"""
Predict payments over HTTP, and learn each when its label comes
===============================================================

One process predicts and learns::

    pip install ".[fast,persistence]" -r examples/service/requirements.txt
    MODEL_FOLDER=/var/lib/payments uvicorn --app-dir examples/service app:app

The folder has the model, and the payments that wait for their labels: as they were
encoded, with what was predicted. Both are saved every minute and at the end, and loaded
at the start; pickles run code, so let nobody else write to the folder.
"""

import logging
import os
import pickle
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Annotated

from fastapi import Body, FastAPI, HTTPException

import sklearn_scinol
from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.persistence import load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

#: Payments of the past, with the columns of all payments, and which were fraud.
PAST = [{"shop": "books", "amount": 12.5}, {"shop": "phones", "amount": 900.0}]
LABELS = [0, 1]


def new_model():
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    return model.partial_fit(PAST, LABELS, classes=[0, 1])


def compile_loops():
    """Compile, unless it was done before, so that the first request is fast."""
    with suppress(ValueError):  # without Numba
        sklearn_scinol.compile(new_model(), PAST, LABELS)


class Service:
    """A model and the rows that wait for their labels."""

    def __init__(self, folder):
        self.model_file = Path(folder, "model.skops")
        self.rows_file = Path(folder, "waiting.pickle")
        self.model = load(self.model_file) if self.model_file.exists() else new_model()
        self.late = self.model.row_by_row().with_late_labels(max_waiting=100_000)
        if self.rows_file.exists():
            for key, row in pickle.loads(self.rows_file.read_bytes()):
                self.late.keep_one(row, key)

    def save(self):
        # Rows first: one that is learned meanwhile is saved twice, rather than not.
        new_file = self.rows_file.with_suffix(".new")
        new_file.write_bytes(pickle.dumps(self.late.items()))
        new_file.replace(self.rows_file)
        save(self.model, self.model_file)

    def save_often(self, closes, seconds=60.0):
        while not closes.wait(seconds):
            try:
                self.save()
            except OSError:
                logging.exception("The model was not saved.")


@asynccontextmanager
async def lifespan(app):
    app.state.service = service = Service(os.environ.get("MODEL_FOLDER", "."))
    compile_loops()
    closes = Event()
    saver = Thread(target=service.save_often, args=[closes])
    saver.start()
    yield
    closes.set()
    saver.join()
    service.save()


app = FastAPI(title="Payments", lifespan=lifespan)


@contextmanager
def http_errors():
    """Answer 404 for an unknown key, and 422 for a row or label that is not usable."""
    try:
        yield
    except KeyError as error:
        raise HTTPException(404, error.args[0]) from error
    except ValueError as error:
        raise HTTPException(422, str(error)) from error


# Without "async", so that FastAPI calls each in a thread, where it may wait for others.
@app.post("/payments/{key}")
def predict(key: str, row: dict[str, bool | int | float | str | None]):
    with http_errors():
        _, fraud = app.state.service.late.predict_proba_one(row, key)
    return {"fraud": float(fraud)}


@app.post("/payments/{key}/label")
def learn(key: str, label: Annotated[int, Body()]):
    with http_errors():
        app.state.service.late.learn_one(key, label)
    return {"learned": key}


@app.get("/state")
def state():
    late, model = app.state.service.late, app.state.service.model
    n_rows = model.n_samples_seen_
    return {"learned": n_rows, "waiting": len(late), "dropped": late.n_dropped}
