"""Optional dependencies."""

from importlib import import_module


def import_optional(module, caller, extra):
    """Import a module that only an extra of this package installs."""
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"`{caller}` needs {package}: install it with "
            f"`pip install sklearn-scinol[{extra}]`."
        ) from error
