"""Cases, references and comparisons that several test files share."""

from pathlib import Path

#: The folder of the repository.
ROOT = Path(__file__).parents[2]
