"""Axes and legends of the displays."""

from ._optional import import_optional


def axes_for(display, ax):
    """Return the axes for a display: `ax`, or new ones if it is None."""
    plt = import_optional("matplotlib.pyplot", f"{type(display).__name__}.plot")
    if ax is None:
        _, ax = plt.subplots(figsize=(8.0, 4.8), layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def draw_legend(ax, **options):
    """Draw a legend beside the axes, where a layout engine of the figure makes room.

    Without one it is in the axes.
    """
    if ax.figure.get_layout_engine() is not None:
        options |= {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    ax.legend(**options)
