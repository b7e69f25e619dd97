"""Reports at the end of `learn` and `predict`: printed, and as JSON.

Bad rows by reason; what is missing, unseen, out of range or of another type in each
column; scores; rates of reading and of learning, without the time for compiling.
"""

import json
import re
from collections import Counter
from contextlib import closing

import numpy as np

from .._files import check_regular_file, replacing
from ..engines.clock import learning_time, stopped
from .common import check_not_read, encoder_of, print_line
from .scores import NAMES

HELP = (
    "also write rows, bad rows by reason, what is missing, unseen, out of range or of "
    "another type in each column, and rates as JSON"
)

#: Maximum number of reasons that are told apart.
MAX_REASONS = 100

#: Maximum number of columns that are printed, and the least share of any of their rows.
MAX_COLUMNS, MIN_SHARE = 10, 0.01

#: A bad value at the beginning of a reason: it is left out, to count reasons.
VALUE = re.compile(r"^has .*?(?=( in column .*)?, which )")

LINE = "{:26}{:>14}".format

LINE_OF_COLUMN = "{:26}{:>14}{:>14}{:>14}{:>14}".format


class Report:
    """Record of what a command has read, and how long that and its work took.

    `work`, "learned" or "predicted", is what is done with rows. Of rows that were read
    before this command, `n_before`, `reasons` counts the bad ones.
    """

    def __init__(self, work, n_before=0, reasons=()):
        self.work, self.n_before, self.n_rows = work, int(n_before), 0
        self.reasons = Counter({str(why): int(n) for why, n in dict(reasons).items()})
        self.seconds_of_reading = 0.0
        self._start = learning_time(), stopped()

    def chunks(self, stream):
        """Iterate over the chunks of a stream, and report them."""
        with closing(stream._chunks(is_last=True)) as chunks:
            while True:
                start = learning_time()
                chunk = next(chunks, None)
                self.seconds_of_reading += learning_time() - start
                if chunk is None:
                    return
                self.n_rows += sum(span.n_rows for span in chunk.spans)
                for row in chunk.bad:
                    reason = VALUE.sub("has a value", row.reason)
                    if len(self.reasons) >= MAX_REASONS and reason not in self.reasons:
                        reason = "has something else"
                    self.reasons[reason] += 1
                yield chunk

    def state(self):
        """Return `n_before` and `reasons` of a report that goes on."""
        return self.n_before + self.n_rows, dict(self.reasons)

    def finish(self, columns=None, result=None):
        """Return the report as plain data, of shares by columns and running scores."""
        start, stopped_before = self._start
        working = learning_time() - start - self.seconds_of_reading
        seconds = {"read": self.seconds_of_reading, self.work: working}
        found = {}
        if result is not None:  # JSON has no NaN
            scores = result["scores"].items()
            found["scores"] = {
                k: float(x) if np.isfinite(x) else None for k, x in scores
            }
            if result["alarms"] is not None:
                found["alarms"] = [dict(vars(each)) for each in result["alarms"]]
        return {
            "rows": self.n_before + self.n_rows,
            "bad_rows": dict(self.reasons.most_common()),
            "columns": columns,
            **found,
            "seconds": seconds | {"compiled": stopped() - stopped_before},
            "rows_per_second": {
                name: self.n_rows / max(value, 1e-9) for name, value in seconds.items()
            },
        }


def shares_by_column(model):
    """Return `input_report_` of the columns that a model is given, or None."""
    shares = getattr(model, "input_report_", None)
    names = {*getattr(model, "feature_names_in_", ())}
    return shares and {name: of for name, of in shares.items() if name in names}


def sums_by_column(model, X):
    """Return numbers of rows with what a model has not seen, in order of `MEASURES`."""
    if (encoder := encoder_of(model)) is None:
        return {}
    steps = [step for _, step in model.steps]
    for step in steps[: steps.index(encoder)]:
        X = step.transform(X)
    return {
        name: np.sum([*flags.values()], axis=1)
        for name, flags in encoder.input_flags(X).items()
        if name in model.feature_names_in_
    }


def check(path, files):
    """Raise an error, before any work, if no report can be written there."""
    if path is not None:
        check_regular_file(path)
        check_not_read(path, files)


def write(path, report):
    """Write a report as JSON, all or nothing."""
    if path is not None:
        with replacing(path, "x", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
            file.write("\n")


def print_report(report, n_scored=None):
    """Print a report, and return it; `n_scored` of its rows were scored."""
    bad_rows = report["bad_rows"]
    n_rows = report["rows"] - sum(bad_rows.values()) if n_scored is None else n_scored
    print_line(LINE("rows", f"{n_rows:,}"))
    if bad_rows:
        print_line(LINE("bad rows left out", f"{sum(bad_rows.values()):,}"))
    for reason, n in bad_rows.items():
        print_line(f"{n:>12,}  {reason}")
    for name, score in report.get("scores", {}).items():
        score = np.nan if score is None else score
        score = -score if name.startswith("neg_") else score
        print_line(LINE(NAMES[name], f"{score:.6g}"))
    if "alarms" in report:
        print_line(LINE("alarms", f"{len(report['alarms']):,}"))
    for name, rate in report["rows_per_second"].items():
        print_line(LINE(f"rows {name} per second", f"{rate:,.0f}"))
    _print_columns(report["columns"] or {})
    return report


def _print_columns(columns):
    """Print shares of the columns where one is not small, the largest first."""
    shares = {name: [*each.values()][:4] for name, each in columns.items()}
    named = [name for name in shares if max(shares[name]) >= MIN_SHARE]
    named.sort(key=lambda name: -max(shares[name]))
    if named:
        names = "missing", "unseen", "out of range", "other type"
        print_line(LINE_OF_COLUMN("rows by column", *names))
    for name in named[:MAX_COLUMNS]:
        print_line(LINE_OF_COLUMN(name, *(f"{share:.2%}" for share in shares[name])))
    if len(named) > MAX_COLUMNS:
        print_line(f"and {len(named) - MAX_COLUMNS} more columns")
