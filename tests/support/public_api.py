"""The public modules and their names, as the page of the API lists them."""

import re
from importlib import import_module

from support import ROOT

PAGE = ROOT / "doc" / "api.rst"

#: Names by module.
LISTED = {
    part.split()[0]: re.findall(r"^   (\w+)$", part, re.MULTILINE)
    for part in PAGE.read_text(encoding="utf-8").split(".. currentmodule:: ")[1:]
}


def public_objects():
    """Return what the public names stand for."""
    return [
        getattr(import_module(module), name)
        for module, names in LISTED.items()
        for name in names
    ]
