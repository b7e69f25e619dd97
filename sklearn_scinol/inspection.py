"""Plots of what models have learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from numbers import Integral
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_scalar
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ._docstrings import described_as
from ._optional import import_optional
from .config import current_engine
from .tables.encoding import Encoding
from .tables.terms import Term, table_terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Term", "TermsDisplay"]

# Number of functions that are drawn by default, at most.
MAX_TERMS = 9

# Characters of a note in an inch of a figure.
NOTE_WIDTH = 14

# Points on the axis of a feature, without the points on both sides of each edge.
N_POINTS = 50

# Parts of a :class:`Term` that are drawn as bars side by side, and parts of dates.
BARS = "category", "boolean", "text"
OF_DATES = "time", "season", "weekday", "hour"

# Largest and smallest values of a category, and words of a text, each, at most.
N_BARS = 5

# Bars that an axis has room for, at least.
MIN_BARS = 5

# Inches along an axis: for the label of a tick, of a bar, and of a day or an hour.
TICK = 0.65
BAR = 0.155
PART = 0.36

# Characters of labels of bars and of titles.
MAX_LABEL = 20
MAX_TITLE = 30


@dataclass(kw_only=True, eq=False, repr=False)
class TermsDisplay:
    """Plot of the functions of features, or of a table's columns, that a model adds up.

    The model is an additive one, or the last step of a pipeline that is linear, after a
    :class:`~sklearn_scinol.preprocessing.TableEncoder`. Terms are in the unit of the
    decision: log odds or logits for the log loss, the target in regression. All axes of
    terms have the same limits, and what is zero is grey.

    Create it with :meth:`from_estimator`, or the method `plot_terms` of an estimator or
    a pipeline. Terms come in the order of their variation: the largest value of a term
    less the smallest one.

    *Additive models.* Each feature has a curve. Only its differences have a meaning: it
    is shifted so that 0 is the middle of its range.

    *Tables.* The terms of all columns at a row's values, the intercept, and
    `interactions` of the encoder if there are any, add up to the row's decision.

    ========  =======================================================================
    number    a curve of the standardised value and of its bin; dots are numbers that
              the encoder gives a column of their own, with the effect of that
    category  bars: the values with the five largest and the five smallest terms
    boolean   bars for false, which has the term 0, and true
    date      plots of their own for time, season, weekday and hour
    time      a curve of the hour of the day
    text      bars: words and pairs of words, as values of a category
    ========  =======================================================================

    A red cross at the right of a curve, or a red bar, is the term of a missing value,
    if there was any. ScInOL predicts a row with other weights if a value of it exceeds
    all before; there the decision is not the sum of the terms.

    *Mixtures.* Functions and coefficients of a mixture are means of those of its linear
    and additive experts. Other experts, such as those of random features and
    neighbours, have none. Nor have the pools of a classifier, which multiply
    probabilities. A note below the plots of a new figure names what is not shown. It
    explains dots and red marks too.

    Parameters
    ----------
    terms : list of Term
        The terms: their features or columns, points and values.
    label : str, default=None
        The class whose decision the terms make up; None in regression.
    not_shown : list of str, default=[]
        Parts of the model that are in no term.
    unit : str, default=""
        Unit of a classifier's terms: "log odds" or "logit" for the log loss, "decision"
        for others.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Axes with the plots.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier, ScInOLRegressor
    >>> from sklearn_scinol.inspection import TermsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScInOLClassifier(additive=True).partial_fit(X, y, classes=[0, 1])
    >>> display = TermsDisplay.from_estimator(model, [0, 7])
    >>> plt.show()

    Of a table:

    >>> from sklearn_scinol.pipeline import make_online_pipeline
    >>> from sklearn_scinol.preprocessing import TableEncoder
    >>> cities, rooms = ["Oslo", "Rome"] * 100, [2, 2, 3, 3] * 50
    >>> flats = [{"city": city, "rooms": n} for city, n in zip(cities, rooms)]
    >>> model = make_online_pipeline(TableEncoder(), ScInOLRegressor())
    >>> model = model.partial_fit(flats, [900.0, 700.0, 950.0, 750.0] * 50)
    >>> display = TermsDisplay.from_estimator(model)
    >>> [term.column for term in display.terms]
    ['city', 'rooms']
    >>> list(display.terms[0].points)
    ['Oslo', 'Rome']
    >>> plt.show()
    """

    terms: list[Term]
    label: str | None = None
    not_shown: list[str] = field(default_factory=list)
    unit: str = ""

    def plot(self, axes: Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Plot the terms.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            Axes to draw on, one for each term. None stands for a new figure.

        Returns
        -------
        display : object
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there are not as many axes as terms.
        """
        import_optional("matplotlib", f"{type(self).__name__}.plot")
        self._make_axes(axes)
        of_terms = [[term.missing, *term.values] for term in self.terms]
        values = np.concatenate([[0.0], *of_terms])
        margin = 0.05 * np.ptp(values) or 1.0
        limits = values.min() - margin, values.max() + margin
        name_of_terms = f"term ({self.unit})" if self.unit else "term"
        for ax, term in zip(self.axes_, self.terms, strict=True):
            if term.part in BARS:
                _draw_bars(ax, term)
                ax.set(xlim=limits, xlabel=name_of_terms)
                ax.locator_params("x", nbins=min(3, _n_that_fit(ax, "x", TICK)))
            else:
                _draw_curve(ax, term)
                ax.set(ylim=limits, ylabel=name_of_terms)
            name = _label(term.column, MAX_TITLE)
            ax.set_title(f"{name} ({term.part})" if term.part in OF_DATES else name)
            if not (term.values.any() or term.missing):
                _grey_out(ax.title, *ax.lines)
        return self

    def _make_axes(self, axes):
        """Set the axes for the terms: the given ones, or those of a new figure.

        That has notes at the bottom, and the class as its title.
        """
        n = len(self.terms)
        if axes is None:
            import matplotlib.pyplot as plt

            n_columns = min(n, 3)
            n_rows = -(-n // max(n_columns, 1))
            size = 4 * max(n_columns, 1), 3 * max(n_rows, 1)
            figure = plt.figure(figsize=size, layout="constrained")
            axes = [figure.add_subplot(n_rows, n_columns, i + 1) for i in range(n)]
            notes = []
            if any(term.recurs.any() for term in self.terms):
                notes.append("dots: numbers that recur")
            if any(term.missing for term in self.terms):
                notes.append("red: missing value")
            if self.not_shown:
                notes.append(f"not shown: {', '.join(self.not_shown)}")
            if notes:
                note = fill(_plain_text("; ".join(notes)), NOTE_WIDTH * size[0])
                figure.supxlabel(note, fontsize="small")
            if self.label:
                figure.suptitle(f"terms of class {_label(self.label, MAX_TITLE)}")
        self.axes_ = [*np.ravel(axes)]
        if len(self.axes_) != n:
            raise ValueError(f"Expected {n} axes, got {len(self.axes_)}.")
        self.figure_ = self.axes_[0].figure if n else None

    @classmethod
    @described_as(plot)
    def from_estimator(
        cls,
        estimator: Any,
        features: Sequence[int | str] | None = None,
        *,
        output: int = 0,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> Self:
        """Plot the terms of a fitted estimator or pipeline.

        Parameters
        ----------
        estimator : object
            An additive estimator of this package, or a mixture with additive experts.
            Or a pipeline whose last step has coefficients, and the step before it is a
            :class:`~sklearn_scinol.preprocessing.TableEncoder`.
        features : list of {int, str}, default=None
            Features, by index or name, or columns of the table, by name, in the order
            of the plots; columns without names are "x0", "x1" and so on. None stands
            for the terms with the largest variation, up to nine.
        output : int, default=0
            Index of the output: of a class if there are more than two, or of a target.

        Raises
        ------
        AttributeError
            If the last step of a pipeline has no coefficients.
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator has not learned anything.
        ValueError
            If it has no terms, a feature or the output does not exist, the edges of
            bins are not known yet, or a column had no values yet.
        """
        import_optional("matplotlib", f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        is_additive = getattr(estimator, "_is_additive", False)
        find_terms = _additive_terms if is_additive else _terms_of_table
        model, n_outputs, terms, not_shown = find_terms(estimator, features, output)
        if features is None:
            terms.sort(key=lambda term: -term.variation)
            if n_smaller := len(terms[MAX_TERMS:]):
                not_shown.append(f"{n_smaller} smaller term{'s' * (n_smaller > 1)}")
            terms = terms[:MAX_TERMS]
        label, unit = None, ""
        if is_classifier(model):
            label, unit = str(model.classes_[-n_outputs:][output]), "decision"
            if getattr(model, "loss", None) == "log_loss":
                unit = "log odds" if n_outputs == 1 else "logit"
        return cls(terms=terms, label=label, not_shown=not_shown, unit=unit).plot(axes)


# Functions that find what to plot: each returns the model, its number of outputs, the
# terms of one output, and the names of the parts that are in no term.


def _additive_terms(estimator, features, output):
    """Find the terms of an additive model."""
    n_outputs, bins = estimator._model.n_outputs, estimator._additive_model.bins
    check_scalar(output, "output", Integral, min_val=0, max_val=n_outputs - 1)
    if not bins.is_fixed:
        raise ValueError(
            "There are no functions yet: they are learned from row "
            f"{bins.n_samples + 1} on."
        )
    names, with_bins = _check_feature_names_in(estimator), bins.has_edges
    chosen = np.flatnonzero(with_bins).tolist()
    if features is not None:
        chosen = [_index(each, names) for each in features]
    terms = []
    for j in chosen:
        if not with_bins[j]:
            raise ValueError(
                f"Feature {names[j]!r} has no function: it had fewer than three values "
                "in the first rows."
            )
        points = _points(bins.edges[j])
        values = estimator._term(j, points)[:, output]
        values = values - (0.5 * values.min() + 0.5 * values.max())
        recurs = np.zeros(points.shape, bool)
        terms.append(Term(names[j], "number", points, values, recurs, 0.0))
    return estimator, n_outputs, terms, [*getattr(estimator, "_not_in_terms", ())]


def _terms_of_table(estimator, features, output):
    """Find the terms of a pipeline that encodes tables."""
    steps = [step for _, step in getattr(estimator, "steps", ())]
    encoder, last = [None, None, *steps][-2:]
    encoding = getattr(encoder, "_encoding", None)
    if not (isinstance(encoding, Encoding) and encoder.sparse_output):
        raise ValueError(
            f"The estimator {type(estimator).__name__} should be an additive one, or a "
            "pipeline with a TableEncoder before its last step that gives sparse rows."
        )
    model = getattr(last, "_explained", last)
    coefs = np.atleast_2d(model.coef_)
    check_scalar(output, "output", Integral, min_val=0, max_val=len(coefs) - 1)
    terms = table_terms(current_engine(), encoding, coefs[output])
    if features is not None:
        for name in features:
            _check_column(name, encoder.kinds_, terms)
        terms = [each for name in features for each in terms if each.column == name]
    not_shown = [" & ".join(names) for names in encoding.interactions]
    not_shown += getattr(model, "_not_in_coef", [])
    return model, len(coefs), terms, not_shown


def _index(feature, names):
    """Return the index of a feature, given by index or by name."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"Feature {feature!r} not in feature_names")
        return int(np.flatnonzero(names == feature)[0])
    check_scalar(feature, "feature", Integral, min_val=0, max_val=len(names) - 1)
    return int(feature)


def _points(edges):
    """Return points on the axis of a feature: evenly spaced, and beside each edge."""
    edges = edges[~np.isnan(edges)]
    margin = 0.1 * (edges[-1] - edges[0]) or max(abs(edges[0]), 1.0)
    points = np.linspace(edges[0] - margin, edges[-1] + margin, N_POINTS)
    # An edge belongs to the bin below it.
    return np.unique(np.concatenate([points, edges, np.nextafter(edges, np.inf)]))


def _check_column(name, kinds, terms):
    if name not in kinds:
        raise ValueError(f"The table has no column {name!r} (columns: {[*kinds]}).")
    if not any(term.column == name for term in terms):
        raise ValueError(f"Column {name!r} has no term: it had no values yet.")


def _draw_bars(ax, term):
    """Draw the largest and the smallest values of strings, from top to bottom."""
    labels, values = term.points.tolist(), term.values.tolist()
    # Without the bars of others and of a missing value.
    n = min(N_BARS, max(1, (_n_that_fit(ax, "y", BAR) - 2) // 2))
    if n_more := max(len(values) - 2 * n, 0):
        labels[n:-n] = [f"({n_more:,} more)"]
        values[n:-n] = [0.0]
    colors = ["C0"] * len(values)
    if term.missing:
        labels.append("(missing)")
        values.append(term.missing)
        colors.append("C3")
    places = np.arange(len(values))
    ax.barh(places, values, color=colors)
    ax.set_yticks(places, map(_label, labels), fontsize="small")
    _grey_out(*compress(ax.get_yticklabels(), np.equal(values, 0.0)))
    ax.set_ylim(max(len(values), MIN_BARS) - 0.5, -0.5)
    ax.axvline(0.0, color="0.6", linewidth=0.8)


def _draw_curve(ax, term):
    """Draw the function of a number, or of a part of a date."""
    if term.part in ("weekday", "hour"):
        places = np.arange(term.points.size)
        ax.bar(places, term.values)
        step = 6 if term.part == "hour" else 1
        step *= -(-places.size // (step * _n_that_fit(ax, "x", PART)))
        shown = places[::step]
        ax.set_xticks(shown, term.points[shown])
    else:
        line = ~term.recurs
        ax.plot(term.points[line], term.values[line])
        ax.plot(term.points[term.recurs], term.values[term.recurs], ".", color="C0")
    if term.part == "number":
        ax.locator_params("x", nbins=min(4, _n_that_fit(ax, "x", TICK)))
    elif term.part in ("time", "season"):
        ax.margins(x=0.0)
        _space_dates(ax, is_season=term.part == "season")
    ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    if term.missing:
        at_the_right = ax.get_yaxis_transform()
        ax.plot([0.98], [term.missing], "x", color="C3", transform=at_the_right)


# Figures, axes and labels.


def _grey_out(*artists):
    """Draw lines and texts of what is zero in grey."""
    for artist in artists:
        artist.set_color("0.6")


def _n_that_fit(ax, name, size):
    """Return how many things of a size in inches fit along an axis, at least one."""
    extent = ax.get_window_extent()
    length = extent.width if name == "x" else extent.height
    return max(1, int(length / ax.figure.dpi / size))


def _space_dates(ax, is_season):
    from matplotlib import dates

    n = _n_that_fit(ax, "x", TICK)
    if is_season:
        ax.xaxis.set_major_locator(
            dates.MonthLocator([1, 4, 7, 10] if n > 2 else [1, 7])
        )
        ax.xaxis.set_major_formatter(dates.DateFormatter("%b"))
    else:
        locator = dates.AutoDateLocator(minticks=2, maxticks=min(n + 1, 5))
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _label(text, width=MAX_LABEL):
    """Return a label of a few characters."""
    text = str(text)
    return _plain_text(text if len(text) <= width else f"{text[: width - 1]}…")


def _plain_text(text):
    """Return printable text in one line, in which dollars are no formulas."""
    text = "".join(each if each.isprintable() else " " for each in text)
    return text.replace("$", r"\$")
