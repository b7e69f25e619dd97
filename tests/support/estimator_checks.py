"""scikit-learn's checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from support.registry import THOROUGH

# As in scikit-learn's own list for SGDClassifier and SGDRegressor. A stream in which a
# row comes twice is another stream than one in which it comes once and counts double.
EXPECTED_FAILED_CHECKS = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "sample_weight is not equivalent to removing/repeating samples."
    )
    for kind in ("dense", "sparse")
}


def with_checks(*estimators, expected_failed=EXPECTED_FAILED_CHECKS):
    """Parametrize with scikit-learn's checks of the estimators.

    Those that must fail are run by `make thorough`.
    """
    checks = parametrize_with_checks(
        estimators, expected_failed_checks=lambda estimator: expected_failed
    )
    names, cases = checks.args
    # A generator in older versions of scikit-learn, which pytest no longer likes.
    cases = [case for case in cases if THOROUGH or not getattr(case, "marks", ())]
    return pytest.mark.parametrize(names, cases, **checks.kwargs)
