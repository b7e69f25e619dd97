"""Optional dependencies."""

from importlib import import_module

#: Installs all of them, in a clone of the repository.
INSTALL = 'pip install ".[all]"'


def missing(package, caller):
    """Return the error of a caller that needs a package which is not installed."""
    return ImportError(
        f"{caller} needs {package}: run `{INSTALL}` in a clone of sklearn-scinol."
    )


def import_optional(module, caller):
    """Import a module of an optional dependency."""
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ImportError as error:
        raise missing(package, caller) from error
