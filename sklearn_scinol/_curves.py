"""Where the curves over the rows of a stream have their points."""

__all__ = ["point_after"]

# Some hundred points for any stream, so that they cost little beside learning.
SPACING = 0.1


def point_after(n):
    """Number of rows at the point after that of `n`: one more up to 20, then 10 %."""
    return n + max(1, int(SPACING * n))
