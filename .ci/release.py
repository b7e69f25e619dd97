"""What has to fit before a version is published, and what is said of it.

    python .ci/release.py check TAG    files agree with the tag, v0.2.0 or v0.2.0rc1
    python .ci/release.py notes TAG    the changes of that version

Needs only Python. Prints a sentence for each thing that is wrong; the status is then 1.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TAG = re.compile(r"v((\d+\.\d+\.\d+)(rc\d+)?)")


def field(pattern, *parts):
    """What a line of a file says, or None."""
    text = ROOT.joinpath(*parts).read_text(encoding="utf-8")
    found = re.search(pattern, text, re.MULTILINE)
    return found and found[1]


def versions(tag):
    """The version of a tag, and that of the release that it is or leads to."""
    found = TAG.fullmatch(tag)
    if not found:
        sys.exit(f"{tag} is no tag of a release (v0.2.0) or a candidate (v0.2.0rc1).")
    return found[1], found[2]


def check(tag):
    """Sentences that say what does not fit the tag."""
    version, release = versions(tag)
    heading = rf"^## \[{re.escape(release)}\] - (\d{{4}}-\d\d-\d\d)$"
    date = field(heading, "CHANGELOG.md")
    repository = field(r'^Repository = "(.*)"$', "pyproject.toml")
    expected = [
        (version, r'^__version__ = "(.*)"$', "sklearn_scinol", "_version.py"),
        (release, r"^version: (.*)$", "CITATION.cff"),
        (date, r"^date-released: (.*)$", "CITATION.cff"),
        (release, r"^  version: (.*)$", "conda", "recipe.yaml"),
        (repository, r"^repository-code: (.*)$", "CITATION.cff"),
    ]
    if date is None:
        yield f"CHANGELOG.md has no section `## [{release}] - YYYY-MM-DD`."
    for value, pattern, *parts in expected:
        found = field(pattern, *parts)
        if value is not None and found != value:
            yield f"{'/'.join(parts)} has {found}, not {value}."
    # PyPI shows README, whose links are to files of the repository.
    for name in "Repository", "Documentation":
        if not field(rf"^({name}) = ", "pyproject.toml"):
            yield f"pyproject.toml has no address {name}, [project.urls]."


def notes(tag):
    """The changes of a version, or of the release that a candidate leads to."""
    _, release = versions(tag)
    pattern = rf"^## \[{re.escape(release)}\].*\n((?:(?!## ).*\n)*)"
    changes = field(pattern, "CHANGELOG.md")
    if not (changes and changes.strip()):
        sys.exit(f"CHANGELOG.md says nothing of {release}.")
    return changes.strip()


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("check", "notes"):
        sys.exit(__doc__)
    command, tag = arguments
    if command == "notes":
        print(notes(tag))
        return 0
    wrong = list(check(tag))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
