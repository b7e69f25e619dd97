"""Points of curves over the rows of a stream."""

# Some hundred points for any stream, at little cost beside learning.
SPACING = 0.1


def point_after(n):
    """Return the row of the point after `n`: one more up to 20, then 10 %."""
    return n + max(1, int(SPACING * n))
