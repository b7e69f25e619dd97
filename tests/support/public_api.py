"""The public modules and their names, as the page of the API lists them."""

import re
from importlib import import_module

from support import ROOT

PAGE = ROOT / "doc" / "api.rst"

#: Names by module.
LISTED: dict[str, list[str]] = {}
for listed in re.findall(r"^   ([\w.]+)$", PAGE.read_text(encoding="utf-8"), re.M):
    _module, _, _name = f"sklearn_scinol.{listed}".rpartition(".")
    LISTED.setdefault(_module, []).append(_name)


def public_objects():
    """Return what the public names stand for."""
    return [
        getattr(import_module(module), name)
        for module, names in LISTED.items()
        for name in names
    ]
