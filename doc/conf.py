"""Configuration of the documentation: `sphinx-build -W doc doc/_build`."""

import sklearn_scinol

project = "sklearn-scinol"
author = "sklearn-scinol developers"
version = release = sklearn_scinol.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["dollarmath"]
templates_path = ["_templates"]  # pages of classes with all methods, inherited ones too
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"  # docstrings say what arguments are
exclude_patterns = ["_build", "_templates", "paper.md"]  # a manuscript
# Docstrings inherited from scikit-learn refer to its own guide and glossary.
suppress_warnings = ["ref.ref", "ref.term"]
html_theme = "pydata_sphinx_theme"
