"""Plots of scores and of the regret over the rows of a stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, cycle, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._docstrings import described_as
from .._optional import import_optional
from .._plotting import axes_for, curves_of, draw_legend
from .._typing import Labels
from .._validation import last_step
from .comparator import Comparator
from .monitor import Alarm, LossMonitor
from .progressive import ProgressiveValidationResult, progressive_validation
from .regret import RegretCurveResult, regret_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

#: Styles of the lines at alarms.
ALARM_STYLES = {"rise": "--", "fall": ":"}

#: Number of alarms, at least, that make a band, and the share of the rows that is at
#: most between one and the next.
MIN_BAND, BAND_GAP = 4, 0.02

#: Share of the rows whose scores need not fit into the plot, at the start.
FIRST_ROWS = 0.1


@dataclass(kw_only=True, eq=False, repr=False)
class ProgressiveValidationDisplay:
    """Running score of an estimator on a stream, as a curve over the rows.

    With a window, a thinner curve in the same colour is the score of the latest rows.
    Alarms are vertical lines: dashed where losses rose, dotted where they fell; bands
    are alarms close together. With the metric "coverage", dots at the last row are
    those of the `groups` of :class:`~sklearn_scinol.OnlineConformalRegressor`.
    The axis of scores has the range that the curves have after the first tenth of the
    rows: scores of the first rows are often far from all later ones. A note above the
    axes says what is cropped; ``display.ax_.autoscale()`` shows it as well.

    Create it with :meth:`from_result` or :meth:`from_estimator`. To compare estimators,
    draw further ones on the `ax_` of the first.

    Parameters
    ----------
    n_samples, scores : ndarray of shape (n_points,)
        Number of rows scored up to each point, and the score over them.
    score_name : str, default=None
        Name of the score in scikit-learn, as "neg_log_loss".
    name : str, default=None
        Name of the estimator, for the legend.
    window_n_samples, window_scores : ndarray of shape (n_window_points,), default=None
        Number of rows up to each point, and the score over the latest of them.
    alarms : list of Alarm, default=None
        Alarms of a :class:`LossMonitor`.
    window : int, default=None
        Size of the window, for the legend.
    group_scores : dict, default=None
        Scores of groups of rows over the whole stream, by the groups' labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure with the axes.
    line_ : matplotlib Line2D
        The curve of all rows.
    window_line_ : matplotlib Line2D or None
        The curve of the latest rows.
    alarm_lines_ : list of matplotlib Line2D
        The vertical lines at the alarms.
    alarm_bands_ : list of matplotlib Patch
        The bands of alarms close together.

    See Also
    --------
    progressive_validation : Compute the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.evaluation import (
    ...     ProgressiveValidationDisplay, progressive_validation
    ... )
    >>> X, y = load_wine(return_X_y=True)
    >>> result = progressive_validation(
    ...     ScInOLClassifier(), [(X, y)], metrics="neg_log_loss", classes=[0, 1, 2]
    ... )
    >>> display = ProgressiveValidationDisplay.from_result(result, negate_score=True)
    >>> display.ax_.get_ylabel()
    'Log loss'
    """

    n_samples: ArrayLike
    scores: ArrayLike
    score_name: str | None = None
    name: str | None = None
    window_n_samples: ArrayLike | None = None
    window_scores: ArrayLike | None = None
    alarms: list[Alarm] | None = None
    window: int | None = None
    group_scores: dict[Any, float] | None = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        negate_score: bool = False,
        alarms: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None stands for a new figure.
        name : str, default=None
            Name for the legend. None stands for the attribute `name`.
        negate_score : bool, default=False
            Whether to draw the score with the opposite sign: a loss as a loss.
        alarms : bool, default=True
            Whether to draw the alarms, if there are any.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot` for the curve of all rows.

        Returns
        -------
        display : object
            The display, drawn.
        """
        ax = axes_for(self, ax)
        name = self.name if name is None else name
        if name is not None:
            kwargs = {"label": name, **kwargs}
        sign = -1.0 if negate_score else 1.0
        (self.line_,) = ax.plot(
            self.n_samples, sign * np.asarray(self.scores), **kwargs
        )
        self.window_line_ = None
        if self.window_scores is not None:
            size = "" if self.window is None else f" {self.window:,}"
            labels = [kwargs["label"]] if "label" in kwargs else []
            (self.window_line_,) = ax.plot(
                self.window_n_samples,
                sign * np.asarray(self.window_scores),
                color=self.line_.get_color(),
                linewidth=0.4 * self.line_.get_linewidth(),
                label=", ".join([*labels, f"last{size} rows"]),
            )
        self.alarm_lines_: list[Line2D] = []
        self.alarm_bands_: list[Patch] = []
        if alarms and self.alarms:
            self._draw_alarms(ax, self.alarms)
        self._draw_groups(ax, sign)
        ax.set(xlabel="Rows", ylabel=_score_label(self.score_name, negate_score))
        _fit_later_scores(ax)
        if ax.get_legend_handles_labels()[0]:
            draw_legend(ax)
        return self

    @classmethod
    @described_as(plot)
    def from_result(
        cls,
        result: ProgressiveValidationResult,
        *,
        metric: str | None = None,
        name: str | None = None,
        negate_score: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a curve of a result of :func:`progressive_validation`.

        Parameters
        ----------
        result : ProgressiveValidationResult
            The result.
        metric : str, default=None
            Name of the metric to draw. None stands for the first.
        name : str, default=None
            Name for the legend. None stands for the estimator's class.

        Raises
        ------
        ValueError
            If the result has no such metric.
        """
        if metric is None:
            metric = next(iter(result.curves))
        if metric not in result.curves:
            raise ValueError(
                f"The result has no metric {metric!r}, only {list(result.curves)}."
            )
        window_curves = result.window_curves
        display = cls(
            n_samples=result.n_samples,
            scores=result.curves[metric],
            score_name=metric,
            name=type(result.estimator).__name__ if name is None else name,
            window_n_samples=result.window_n_samples,
            window_scores=None if window_curves is None else window_curves[metric],
            alarms=result.alarms,
            window=result.window,
            group_scores=_coverage_of_groups(result) if metric == "coverage" else None,
        )
        return display.plot(ax, negate_score=negate_score, **kwargs)

    @classmethod
    @described_as(progressive_validation, from_result)
    def from_estimator(
        cls,
        estimator: Any,
        stream: Iterable[Any],
        *,
        metrics: str | list[str] | dict[str, Any] | None = None,
        classes: Labels | None = None,
        target: str | None = None,
        window: int | None = None,
        delay: float | str | timedelta | None = None,
        time: str | int | None = None,
        label_time: str | int | None = None,
        monitor: LossMonitor | None = None,
        progress: bool = True,
        name: str | None = None,
        negate_score: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Run :func:`progressive_validation` and draw its first metric.

        Returns
        -------
        display : object
            The display, drawn.
        """
        import_optional("matplotlib", f"{cls.__name__}.from_estimator")
        result = progressive_validation(
            estimator,
            stream,
            metrics=metrics,
            classes=classes,
            target=target,
            window=window,
            delay=delay,
            time=time,
            label_time=label_time,
            monitor=monitor,
            progress=progress,
        )
        return cls.from_result(
            result, name=name, negate_score=negate_score, ax=ax, **kwargs
        )

    def _draw_alarms(self, ax, alarms):
        """Draw lines at alarms, and bands where several are close together."""
        color, rows = self.line_.get_color(), [each.row for each in alarms]
        width = BAND_GAP * np.max([*rows, *np.ravel(self.n_samples)])
        ends = [0, *np.flatnonzero(np.diff(rows) > width) + 1, len(rows)]
        runs = [alarms[slice(*pair)] for pair in pairwise(ends)]
        label = "Alarms close together"
        for run in runs:
            if len(run) >= MIN_BAND:
                span = run[0].row, run[-1].row
                band = ax.axvspan(*span, color=color, alpha=0.15, lw=0, label=label)
                self.alarm_bands_.append(band)
                label = "_"  # one entry in the legend
        for direction, style in ALARM_STYLES.items():
            label = f"Alarm: {direction} of the losses"
            for each in chain(*(run for run in runs if len(run) < MIN_BAND)):
                if each.direction == direction:
                    line = ax.axvline(each.row, c=color, ls=style, lw=1, label=label)
                    self.alarm_lines_.append(line)
                    label = "_"

    def _draw_groups(self, ax, sign):
        """Draw scores of groups as dots at the last row."""
        for marker, (label, score) in zip(
            cycle("osD^v<>PX*"), (self.group_scores or {}).items(), strict=False
        ):
            ax.plot(
                np.ravel(self.n_samples)[-1:],
                [sign * score],
                marker,
                color=self.line_.get_color(),
                fillstyle="none",
                label=f"Group: {label}",
            )


def _fit_later_scores(ax):
    """Set the range of scores to that of all curves after the first rows.

    Limits that were set before stay, and limits set here follow later autoscaling.
    """
    if not ax.get_autoscaley_on() or ax.get_yscale() != "linear":
        return
    rows, scores = np.concatenate([line.get_xydata() for line in curves_of(ax)]).T
    scores, rows = scores[np.isfinite(scores)], rows[np.isfinite(scores)]
    later = scores[rows > FIRST_ROWS * rows.max(initial=0.0)]
    if later.size and np.ptp(later) > 0.0:
        margin = ax.margins()[1] * np.ptp(later)
        low, high = later.min() - margin, later.max() + margin
        ax.set_ybound(low, high)
        cropped = [
            f"{x:.3g}" for x in (scores.min(), scores.max()) if not low <= x <= high
        ]
        note = f"first rows cropped, which reach {' and '.join(cropped)}"
        ax.set_title(
            note if cropped else "", loc="right", fontsize="small", color="0.4"
        )


def _coverage_of_groups(result):
    """Return the coverage of each group of rows, or None if there is one group."""
    coverage = getattr(last_step(result.estimator), "group_coverage_", {})
    if len(coverage) < 2:
        return None
    return {label: float(np.mean(share)) for label, share in coverage.items()}


def _score_label(score_name, negate_score):
    """Words for a score: "Log loss" for the negated "neg_log_loss"."""
    name = "score" if score_name is None else score_name
    positive = name.removeprefix("neg_")
    negative = negate_score == (name == positive)
    label = f"negative {positive}" if negative else positive
    return label.replace("_", " ").capitalize()


@dataclass(kw_only=True, eq=False, repr=False)
class RegretCurveDisplay:
    """Regret of an estimator on a stream and its bound, as curves over the rows.

    Create it with :meth:`from_result` or :meth:`from_estimator`. To compare estimators,
    draw further ones on the `ax_` of the first.

    Parameters
    ----------
    n_samples, regret, bound : ndarray of shape (n_points,)
        Number of rows learned up to each point, the regret on them, and its bound.
    name : str, default=None
        Name of the estimator, for the legend.
    tuned_bound : ndarray of shape (n_points,), default=None
        Bound with learning rates tuned in hindsight, see :class:`RegretCurveResult`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure with the axes.
    line_ : matplotlib Line2D
        The curve of the regret.
    bound_line_ : matplotlib Line2D
        The curve of the bound, dashed in the same colour.
    tuned_bound_line_ : matplotlib Line2D or None
        The curve of `tuned_bound`, dotted, if the estimator has it.

    See Also
    --------
    regret_curve : Compute the curves.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol import ScInOLRegressor
    >>> from sklearn_scinol.evaluation import RegretCurveDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = RegretCurveDisplay.from_estimator(
    ...     ScInOLRegressor(center=False), [(X, y)]
    ... )
    >>> display.ax_.get_ylabel()
    'Regret'
    >>> bool((display.regret <= display.bound).all())
    True
    """

    n_samples: ArrayLike
    regret: ArrayLike
    bound: ArrayLike
    name: str | None = None
    tuned_bound: ArrayLike | None = None

    @described_as(ProgressiveValidationDisplay.plot)
    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot` for the regret.
        """
        ax = axes_for(self, ax)
        name = self.name if name is None else name

        def label(curve):
            return curve.capitalize() if name is None else f"{name}, {curve}"

        n, keywords = self.n_samples, {"label": label("regret"), **kwargs}
        (self.line_,) = ax.plot(n, self.regret, **keywords)
        color, self.tuned_bound_line_ = self.line_.get_color(), None
        (self.bound_line_,) = ax.plot(
            n, self.bound, color=color, linestyle="--", label=label("bound")
        )
        if self.tuned_bound is not None:
            (self.tuned_bound_line_,) = ax.plot(
                n,
                self.tuned_bound,
                color=color,
                linestyle=":",
                label=label("bound if tuned"),
            )
        ax.set(xlabel="Rows", ylabel="Regret")
        draw_legend(ax)
        return self

    @classmethod
    @described_as(plot)
    def from_result(
        cls,
        result: RegretCurveResult,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves of a result of :func:`regret_curve`.

        Parameters
        ----------
        result : RegretCurveResult
            The result.
        name : str, default=None
            Name for the legend. None stands for the estimator's class.
        """
        display = cls(
            n_samples=result.n_samples,
            regret=result.regret,
            bound=result.bound,
            name=type(result.estimator).__name__ if name is None else name,
            tuned_bound=None
            if np.isnan(result.tuned_bound[-1])
            else result.tuned_bound,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    @described_as(regret_curve, from_result)
    def from_estimator(
        cls,
        estimator: Any,
        stream: Iterable[Any],
        *,
        comparator: Comparator | tuple[ArrayLike, ArrayLike] | None = None,
        classes: Labels | None = None,
        target: str | None = None,
        progress: bool = True,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Run :func:`regret_curve` and draw its result.

        Returns
        -------
        display : object
            The display, drawn.
        """
        import_optional("matplotlib", f"{cls.__name__}.from_estimator")
        result = regret_curve(
            estimator,
            stream,
            comparator=comparator,
            classes=classes,
            target=target,
            progress=progress,
        )
        return cls.from_result(result, name=name, ax=ax, **kwargs)
