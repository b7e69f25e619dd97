"""Payments that are predicted when they come, and learned when their labels come."""

import json
import logging
import math
import time
from collections import OrderedDict
from contextlib import suppress
from copy import deepcopy
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple

import numpy as np
from versions import Versions

from sklearn_scinol.evaluation import LossMonitor

#: Payments that wait at most, and learned ones whose answers are known.
MAX_PAYMENTS = 100_000


class ConflictError(Exception):
    """A key came again with another row or label."""


class Payment(NamedTuple):
    """Payment of a key: a hash of its row, the answer, and the label if any."""

    row: bytes
    fraud: float
    label: int | None = None


class Payments:
    """A model, and the payments that wait; one thread at a time changes them.

    What comes is logged before anything changes, and after a restart it is done once
    more in the same order. So the model is then the same, to the last bit.
    """

    def __init__(self, folder, new_model):
        self.lock, self.saving = Lock(), Lock()
        self.waiting, self.learned = OrderedDict(), OrderedDict()
        self.monitor, self.loss = LossMonitor(), 0.0
        self.last_saved = self.last_learned = None
        self.versions = Versions(folder)
        model, rest, events = self.versions.load() or (new_model(), {}, [])
        self.last_error, self.model = self.versions.error, model
        self.late = model.row_by_row().with_late_labels(max_waiting=MAX_PAYMENTS)
        for key, row in rest.pop("rows", ()):
            self.late.keep_one(row, key)
        self.late.n_dropped = rest.pop("n_dropped", 0)
        vars(self).update(rest)
        for event in events:
            with suppress(ValueError):  # it was refused then, too
                for what, entries in event.items():
                    {"rows": self._predict, "labels": self._learn}[what](entries)
        try:
            self.save(always=True)
        except BaseException:
            self.versions.close()
            raise

    def predict(self, rows):
        """Return the predictions of rows by key; each then waits for its label."""
        with self.lock:
            new = {}
            for key, row in rows.items():
                known = self._known(key)
                if known is None:
                    new[key] = row
                elif known.row != _hash(row):
                    raise ConflictError(f"Another row came under the key {key!r}.")
            answers = {key: self._known(key).fraud for key in rows if key not in new}
            if new:
                self._log({"rows": new})
                answers |= self._predict(new)
            return answers

    def learn(self, labels):
        """Learn payments that wait; one whose label comes twice is learned once."""
        with self.lock:
            new = {}
            for key, label in labels.items():
                if key in self.waiting:
                    new[key] = label
                elif key not in self.learned:
                    raise KeyError(f"No payment waits under the key {key!r}.")
                elif self.learned[key].label != label:
                    raise ConflictError(f"Another label came under the key {key!r}.")
            if new:
                self._log({"labels": new})
                self._learn(new)

    def save(self, *, always=False):
        """Save a version, if anything came since the last."""
        with self.saving:
            with self.lock:
                if not (always or self.versions.size or self.last_error):
                    return
                self.versions.begin()
                model = deepcopy(self.model)
                rest = {
                    "rows": self.late.items(),
                    "n_dropped": self.late.n_dropped,
                    "waiting": self.waiting.copy(),
                    "learned": self.learned.copy(),
                    "monitor": deepcopy(self.monitor),
                    "loss": self.loss,
                    "last_learned": self.last_learned,
                }
            self.versions.save(model, rest)
            self.last_saved = time.time()

    def save_often(self, closes, seconds=60.0):
        while not closes.wait(seconds):
            try:
                self.save()
                self.last_error = None
            except Exception as error:  # of any kind: the next time may succeed
                self.last_error = f"The model was not saved: {error}"
                logging.exception("The model was not saved.")

    def close(self):
        try:
            self.save()
        finally:
            self.versions.close()

    def health(self):
        with self.lock:
            return {
                "last_saved": _iso(self.last_saved),
                "last_learned": _iso(self.last_learned),
                "learned": self.model.n_samples_seen_,
                "waiting": len(self.late),
                "dropped": self.late.n_dropped,
                "version": self.versions.number,
                "last_error": self.last_error,
            }

    def _known(self, key):
        return self.waiting.get(key) or self.learned.get(key)

    def _log(self, event):
        try:
            self.versions.append(event)
        except OSError as error:
            self.last_error = f"The log could not be written: {error}"
            raise

    def _predict(self, rows):
        if len(rows) == 1:
            [(key, row)] = rows.items()
            shares = self.late.predict_proba_one(row, key)[np.newaxis]
        else:
            given = [*rows.values()], [*rows]
            shares = self.late.predict_many(*given, method="predict_proba")
        frauds = dict(zip(rows, shares[:, 1].tolist(), strict=True))
        for key, fraud in frauds.items():
            self.waiting[key] = Payment(_hash(rows[key]), fraud)
        while len(self.waiting) > len(self.late):  # the oldest were dropped
            self.waiting.popitem(last=False)
        return frauds

    def _learn(self, labels):
        if len(labels) == 1:
            self.late.learn_one(*labels.keys(), *labels.values())
        else:
            self.late.learn_many([*labels], [*labels.values()])
        losses = []
        for key, label in labels.items():
            payment = self.waiting.pop(key)._replace(label=label)
            self.learned[key] = payment
            share = payment.fraud if label else 1.0 - payment.fraud
            losses.append(-math.log(max(share, 1e-15)))
        while len(self.learned) > MAX_PAYMENTS:
            self.learned.popitem(last=False)
        self.monitor.update(losses)
        self.loss += sum(losses)
        self.last_learned = time.time()


def _hash(row):
    return blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest()


def _iso(seconds):
    return None if seconds is None else time.strftime("%FT%TZ", time.gmtime(seconds))
