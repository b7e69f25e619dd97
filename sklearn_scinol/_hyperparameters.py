"""Learners and losses as values: NamedTuples of hyperparameters, perhaps of users."""

from inspect import signature
from numbers import Real


def is_native(cls):
    """Whether a class is defined in this package."""
    return cls.__module__.partition(".")[0] == __package__


def is_value(candidate):
    """Whether an object is an instance of a NamedTuple, as learners and losses are."""
    return is_value_type(type(candidate))


def is_value_type(cls):
    """Whether a class is a NamedTuple, like the classes of learners and losses."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def check_declared(what, cls, names, protocols=()):
    """Refuse a class that lacks something, or has it in another form.

    It is of a kind, `what`, "learner" or "loss", and must declare all `names`. Methods
    must take as many arguments as those of these names in the `protocols`.
    """
    missing = [f"`{name}`" for name in names if not hasattr(cls, name)]
    if missing:
        *first, last = missing
        listed = f"{', '.join(first)} and {last}" if first else last
        raise TypeError(f"A {what} must declare {listed}, as {cls.__name__} does not.")
    for protocol in protocols:
        for name, method in vars(protocol).items():
            own = getattr(cls, name, None)
            if name.startswith("_") or not (callable(method) and callable(own)):
                continue
            expected, found = [*signature(method).parameters], signature(own).parameters
            if len(found) != len(expected):
                raise TypeError(
                    f"`{name}` of a {what} must take ({', '.join(expected)}); of "
                    f"{cls.__name__} it takes ({', '.join(found)})."
                )


def with_plain_numbers(value):
    """Return a learner or a loss whose hyperparameters are plain numbers.

    An int is a float unless the field has a default that is an int: compiled code is
    for one type.
    """

    def number(field, given):
        if not isinstance(given, Real) or given != given:
            raise TypeError(
                f"Hyperparameters of {type(value).__name__} must be numbers, got "
                f"{field}={given!r}."
            )
        default = value._field_defaults.get(field, 0.0)
        return type(default)(given) if isinstance(default, int) else float(given)

    return type(value)(*map(number, value._fields, value))


# To skops, a NamedTuple that inherits its methods is a tuple.


def stored(value):
    """Return a learner or a loss as its type and its numbers."""
    return type(value), tuple(value)


def restored(value):
    """Return the learner or the loss that was stored; any other value as it is."""
    if type(value) is tuple and len(value) == 2 and isinstance(value[0], type):
        kind, numbers = value
        return kind._make(numbers)
    return value
