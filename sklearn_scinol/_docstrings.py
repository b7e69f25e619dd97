"""Descriptions that classes share, written once, and links to the pages of classes."""

import re
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, metadata
from inspect import cleandoc, signature
from typing import Any, TypeVar

from .losses import CLASSIFICATION, REGRESSION

Class = TypeVar("Class", bound=type)

# Modules of public classes, as their pages name them.
PUBLIC_MODULES = "", ".baselines", ".evaluation", ".preprocessing", ".pipeline"

# Sections of docstrings, in numpydoc's order, and those that are of one object only.
SECTIONS = (
    *("Parameters", "Attributes", "Returns", "Raises"),
    *("See Also", "Notes", "References", "Examples"),
)
OWN_SECTIONS = "See Also", "Examples"

Function = TypeVar("Function", bound=Callable[..., Any])


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
    """Complete a class's docstring by those of its bases, see :func:`_completed`.

    Names of the losses that the class takes are put in for ``%(losses)s``.
    """
    bases = [each for each in cls.__mro__ if not each.__module__.startswith("sklearn.")]
    losses = ", ".join(f'"{name}"' for name in _losses(cls))
    if cls.__doc__ is not None:  # as under `python -OO`
        cls.__doc__ = _completed(bases).replace("%(losses)s", losses)
    return cls


def described_as(*others: Any) -> Callable[[Function], Function]:
    """Decorate a function whose docstring others complete, see :func:`_completed`."""

    def complete(function: Function) -> Function:
        if function.__doc__ is not None:
            function.__doc__ = _completed([function, *others])
        return function

    return complete


def _completed(described):
    """Return the docstring of the first of several objects, completed by the others'.

    Parameters, in the order of its signature and with its defaults, and attributes are
    those that any of them describes. Of other sections each is that of the first that
    has it, but for :data:`OWN_SECTIONS`. A section "Description" is put after the first
    line.
    """
    own, *others = [_sections(each) for each in described]
    found = {
        name: text
        for sections in reversed(others)
        for name, text in sections.items()
        if name not in OWN_SECTIONS
    } | own
    parameters, attributes = (
        _entries([own, *others], section) for section in ("Parameters", "Attributes")
    )
    found["Parameters"] = "\n".join(
        _with_default(parameters[name], parameter)
        for name, parameter in signature(described[0]).parameters.items()
        if name in parameters
    )
    found["Attributes"] = "\n".join(attributes.values())
    summary, *above = own[""].split("\n\n", 1)
    texts = [summary, *filter(None, [found.get("Description")]), *above]
    for section in SECTIONS:
        if text := found.get(section):
            texts.append(f"{section}\n{'-' * len(section)}\n{text}")
    return "\n\n".join(texts)


def _losses(cls):
    """Return the names of the losses that a class takes, in the order of pages."""
    constraints = getattr(cls, "_parameter_constraints", {}).get("loss", ())
    names = [n for each in constraints for n in getattr(each, "options", ())]
    return [name for name in (*CLASSIFICATION, *REGRESSION) if name in names]


def _sections(described):
    """Return the sections of a docstring by name; "" is what stands above."""
    text = cleandoc(described.__doc__ or "")
    above, *rest = re.split(r"\n\n(\w[\w ]*)\n-+\n", text)
    return {"": above} | dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(docstrings, section):
    """Return the entries of a section by name, of a docstring before later ones."""
    entries = {}
    for each in docstrings:
        for entry in re.split(r"\n(?=\S)", each.get(section, "")):
            if entry:
                entries.setdefault(entry.split()[0].lstrip("*"), entry.rstrip())
    return entries


def _with_default(entry, parameter):
    if parameter.default is parameter.empty:
        return re.sub(r",\s+default=.*", "", entry, count=1)
    value = repr(parameter.default).replace("'", '"')
    return re.sub("default=.*", f"default={value}", entry, count=1)
