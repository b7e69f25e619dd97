"""Axes of the displays."""

from sklearn.utils._optional_dependencies import check_matplotlib_support


def axes_for(display, ax):
    """Return the axes for a display: `ax`, or new ones if it is None."""
    check_matplotlib_support(f"{type(display).__name__}.plot")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax
