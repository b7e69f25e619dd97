"""Docstrings: shared parameters read alike, and defaults are as documented."""

import sys
from ast import literal_eval
from importlib.util import find_spec, module_from_spec
from inspect import getdoc, signature
from types import ModuleType

import pytest
from support.registry import PUBLIC_ESTIMATORS

from sklearn_scinol import ScInOLRegressor
from sklearn_scinol._docstrings import inherit_descriptions


@pytest.fixture
def parse(monkeypatch):
    """Parser of numpydoc, or scikit-learn's copy of it where that is not installed."""
    if find_spec("numpydoc") is None:
        spec = find_spec("sklearn.externals._numpydoc.docscrape")
        if spec is None:
            pytest.skip("needs numpydoc, or scikit-learn's copy of it")
        copy = module_from_spec(spec)
        spec.loader.exec_module(copy)
        monkeypatch.setitem(sys.modules, "numpydoc", ModuleType("numpydoc"))
        monkeypatch.setitem(sys.modules, "numpydoc.docscrape", copy)
    from numpydoc.docscrape import NumpyDocString

    return lambda estimator: NumpyDocString(getdoc(estimator))


@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_parameters_and_defaults_are_those_of_the_signature(estimator, parse):
    documented = {
        entry.name: literal_eval(entry.type.rpartition("default=")[2])
        for entry in parse(estimator)["Parameters"]
    }
    parameters = signature(estimator).parameters.values()
    assert documented == {each.name: each.default for each in parameters}
    assert [*documented] == [each.name for each in parameters]


@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_attributes_without_a_description_are_documented_properties(estimator, parse):
    for name, type_, description in parse(estimator)["Attributes"]:
        if not description:
            assert not type_
            assert getdoc(getattr(estimator, name))


def test_descriptions_without_docstrings():
    """As under ``python -OO``."""

    class Bare(ScInOLRegressor):
        def __init__(self, loss=None):
            pass

    assert inherit_descriptions(Bare).__doc__ is None
