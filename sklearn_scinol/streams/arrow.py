"""Modules of pyarrow, which is optional: they are imported when they are used."""

from importlib import import_module


class Lazy:
    """Stands for a module that is imported when it is used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        return getattr(import_module(self._name), attribute)


pa = Lazy("pyarrow")
pc = Lazy("pyarrow.compute")
csv = Lazy("pyarrow.csv")
pj = Lazy("pyarrow.json")
parquet = Lazy("pyarrow.parquet")
