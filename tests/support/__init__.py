"""Cases, references and comparisons that several test files share."""

from pathlib import Path

#: The folder of the repository.
ROOT = Path(__file__).parents[2]


def is_left_out(path):
    """Whether this is a source archive, and the file a figure that it lacks."""
    return path.suffix == ".png" and (ROOT / "PKG-INFO").exists()
