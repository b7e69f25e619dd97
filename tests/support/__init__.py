"""What several tests share: cases, references, comparisons."""

from pathlib import Path

#: The folder of the repository.
ROOT = Path(__file__).parents[2]
