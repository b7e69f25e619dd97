"""Axes and legends of the displays."""

from ._optional import import_optional

#: Least share of the axes that curves keep where a legend needs room.
MIN_SHARE = 0.4


def axes_for(display, ax):
    """Return the axes for a display: `ax`, or new ones if it is None."""
    plt = import_optional("matplotlib.pyplot", f"{type(display).__name__}.plot")
    if ax is None:
        _, ax = plt.subplots(figsize=(8.0, 4.8), layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def curves_of(ax):
    """Return the lines of axes but for those at alarms."""
    return [line for line in ax.lines if line.get_transform() == ax.transData]


def draw_legend(ax, **options):
    """Draw a legend beside the axes, where a layout engine of the figure makes room.

    Without one it is in the axes, which get room above all curves if it covers any and
    no limits were set before.
    """
    if ax.figure.get_layout_engine() is not None:
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), **options)
        return
    legend = ax.legend(**options)
    if ax.get_autoscaley_on() and _covers(legend, ax):
        legend.set_loc("upper right")
        _, bottom = ax.transAxes.inverted().transform(legend.get_window_extent().min)
        to_data = ax.transAxes - ax.transData
        ax.set_ybound(upper=to_data.transform((0.0, 1.0 / max(bottom, MIN_SHARE)))[1])


def _covers(legend, ax):
    """Whether a legend covers a curve or an area."""
    ax.get_xlim()  # limits follow the curves
    box = legend.get_window_extent()
    return any(
        path.transformed(ax.transData).intersects_bbox(box, filled)
        for artists, filled in ((curves_of(ax), False), (ax.collections, True))
        for artist in artists
        for path in (artist.get_paths() if filled else [artist.get_path()])
    )
