"""
Predict payments over HTTP, and learn each when its label comes
===============================================================

One process predicts and learns::

    pip install ".[fast,persistence]" -r examples/service/requirements.txt
    MODEL_FOLDER=/var/lib/payments uvicorn --app-dir examples/service app:app

The folder has the last three versions of the model, with the payments that wait for
their labels, and a log of what came since. All is loaded at the start; pickles run
code, so let nobody else write to the folder.
"""

import os
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Event, Thread
from typing import Annotated, Literal

from fastapi import Body, FastAPI, HTTPException, Response
from metrics import Metrics
from payments import ConflictError, Payments

import sklearn_scinol
from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

#: Payments of the past, with the columns of all payments, and which were fraud.
PAST = [{"shop": "books", "amount": 12.5}, {"shop": "phones", "amount": 900.0}]
LABELS = [0, 1]

Row = dict[str, bool | int | float | str | None]
Label = Literal[0, 1]
Rows = Annotated[dict[str, Row], Body(max_length=1000)]
Labels = Annotated[dict[str, Label], Body(max_length=1000)]


def new_model():
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    return model.partial_fit(PAST, LABELS, classes=[0, 1])


def compile_loops():
    """Compile, unless it was done before, so that the first request is fast."""
    with suppress(ValueError):  # without Numba
        sklearn_scinol.compile(new_model(), PAST, LABELS)


@asynccontextmanager
async def lifespan(app):
    folder = os.environ.get("MODEL_FOLDER", ".")
    # Saves a version, or the service does not start.
    app.state.payments = payments = Payments(folder, new_model)
    compile_loops()
    closes = Event()
    saver = Thread(target=payments.save_often, args=[closes])
    saver.start()
    yield
    closes.set()
    saver.join()
    payments.close()


app = FastAPI(title="Payments", lifespan=lifespan)
app.state.metrics = metrics = Metrics()
app.add_middleware(metrics.watch)


@contextmanager
def http_errors():
    """Answer 404 for an unknown key, 409 for a known one with another row or label.

    And 422 for a row that is not usable, 503 if nothing can be written.
    """
    try:
        yield
    except KeyError as error:
        raise HTTPException(404, error.args[0]) from error
    except ConflictError as error:
        raise HTTPException(409, str(error)) from error
    except ValueError as error:
        raise HTTPException(422, str(error)) from error
    except OSError as error:
        raise HTTPException(503, f"Nothing can be written: {error}") from error


# Without "async", so that FastAPI calls each in a thread, where it may wait for others.
@app.post("/payments")
def predict_many(rows: Rows):
    with http_errors():
        frauds = app.state.payments.predict(rows)
    metrics.rows.labels("predicted").inc(len(rows))
    return {"fraud": frauds}


@app.post("/labels")
def learn_many(labels: Labels):
    with http_errors():
        app.state.payments.learn(labels)
    metrics.rows.labels("labelled").inc(len(labels))
    return {"learned": [*labels]}


@app.post("/payments/{key}")
def predict(key: str, row: Row):
    return {"fraud": predict_many({key: row})["fraud"][key]}


@app.post("/payments/{key}/label")
def learn(key: str, label: Annotated[Label, Body()]):
    learn_many({key: label})
    return {"learned": key}


@app.get("/health")
def health():
    return app.state.payments.health()


@app.get("/metrics")
def show_metrics():
    text = metrics.text(app.state.payments)
    return Response(text, media_type="text/plain; version=0.0.4")
