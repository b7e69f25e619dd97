"""What the displays have in common."""

from sklearn.utils._optional_dependencies import check_matplotlib_support

__all__ = ["axes_for"]


def axes_for(display, ax):
    """Axes for a display to draw on: `ax`, or those of a new figure if it is None."""
    check_matplotlib_support(f"{type(display).__name__}.plot")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots()
    display.ax_, display.figure_ = ax, ax.figure
    return ax
