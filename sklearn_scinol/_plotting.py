"""Axes of the displays."""

from ._optional import import_optional


def axes_for(display, ax):
    """Return the axes for a display: `ax`, or new ones if it is None."""
    plt = import_optional("matplotlib.pyplot", f"{type(display).__name__}.plot")
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax
