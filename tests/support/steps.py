"""Compare the steps of pipelines."""

from sklearn_scinol.preprocessing import TableEncoder
from support.comparisons import assert_identical
from support.tables import state_of


def assert_same_steps(model, other):
    """Equal to the last bit, but for how names are kept in pieces."""
    for step, of_other in zip(model, other, strict=True):
        if isinstance(step, TableEncoder):
            assert state_of(step) == state_of(of_other)
        elif hasattr(step, "steps"):
            assert_same_steps(step, of_other)
        elif not isinstance(step, str):
            assert_identical(attributes(step), attributes(of_other))


def assert_same(model, other):
    """Equal to the last bit: pipelines by their steps."""
    if hasattr(model, "steps"):
        assert_same_steps(model, other)
    else:
        assert_identical(vars(model), vars(other))


def attributes(step):
    """Return numbers to compare bit by bit."""
    found = {
        name: value
        for name, value in vars(step).items()
        if name not in ("_metadata_request", "_sklearn_output_config")
    }
    if "feature_names_in_" in found:
        found["feature_names_in_"] = found["feature_names_in_"].tolist()
    return found
