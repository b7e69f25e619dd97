"""Descriptions that classes share, written once, and links to the pages of classes."""

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from inspect import cleandoc, signature
from typing import TypeVar

from .losses import CLASSIFICATION, REGRESSION

Class = TypeVar("Class", bound=type)

# Modules of public classes, as their pages name them.
PUBLIC_MODULES = "", ".baselines", ".evaluation", ".preprocessing", ".pipeline"

# Sections of docstrings, in numpydoc's order.
SECTIONS = "Parameters", "Attributes", "See Also", "Notes", "References", "Examples"


class LinkedToPages:
    """HTML representations with a link to the page of the class, if it has an address.

    The address of all pages is `Documentation` in ``[project.urls]``.
    """

    _doc_link_module = "sklearn_scinol"

    @property
    def _doc_link_template(self):
        try:
            urls = metadata("sklearn-scinol").get_all("Project-URL") or []
        except PackageNotFoundError:  # a folder that is not installed
            urls = []
        address = dict(url.split(", ", 1) for url in urls).get("Documentation")
        return f"{address.rstrip('/')}/generated/{{name}}.html" if address else ""

    def _doc_link_url_param_generator(self):
        cls = type(self)
        for module in (self._doc_link_module + name for name in PUBLIC_MODULES):
            if getattr(sys.modules.get(module), cls.__name__, None) is cls:
                return {"name": f"{module}.{cls.__name__}"}
        return {"name": cls.__name__}


def inherit_descriptions(cls: Class) -> Class:
    """Complete a class's docstring by what its bases say.

    Of parameters and attributes, those that the class has, parameters in the order of
    the signature and with its defaults. Other sections are taken whole where the class
    has none of its own; "Description" is put after its first line. What several classes
    say is taken from the first of them in `__mro__`. Names of the losses that the class
    takes are put in for ``%(losses)s``.
    """
    if cls.__doc__ is None:  # as under `python -OO`
        return cls
    found: dict[str, str] = {}
    for each in cls.__mro__:
        if not each.__module__.startswith("sklearn."):
            found = _sections(each) | found
    described = {
        section: _entries(cls, section) for section in ("Parameters", "Attributes")
    }
    described["Parameters"] = {
        name: _with_default(described["Parameters"][name], parameter.default)
        for name, parameter in signature(cls).parameters.items()
        if name in described["Parameters"]
    }
    found |= {section: "\n".join(each.values()) for section, each in described.items()}
    summary, *above = _sections(cls)[""].split("\n\n", 1)
    above = [summary, *filter(None, [found.get("Description")]), *above]
    below = [
        f"{section}\n{'-' * len(section)}\n{found[section]}"
        for section in SECTIONS
        if found.get(section)
    ]
    losses = ", ".join(f'"{name}"' for name in _losses(cls))
    cls.__doc__ = "\n\n".join([*above, *below]).replace("%(losses)s", losses)
    return cls


def _losses(cls):
    """Return the names of the losses that a class takes, in the order of pages."""
    constraints = getattr(cls, "_parameter_constraints", {}).get("loss", ())
    names = [n for each in constraints for n in getattr(each, "options", ())]
    return [name for name in (*CLASSIFICATION, *REGRESSION) if name in names]


def _sections(cls):
    """Return the sections of a class's docstring by name; "" is what stands above."""
    text = cleandoc(vars(cls).get("__doc__") or "")
    above, *rest = re.split(r"\n\n(\w[\w ]*)\n-+\n", text)
    return {"": above} | dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(cls, section):
    """Return the entries of a section by name, of a class before those of its bases."""
    entries = {}
    for each in cls.__mro__:
        for entry in re.split(r"\n(?=\S)", _sections(each).get(section, "")):
            if entry:
                entries.setdefault(entry.split()[0], entry)
    return entries


def _with_default(entry, default):
    value = repr(default).replace("'", '"')
    return re.sub("default=.*", f"default={value}", entry, count=1)
