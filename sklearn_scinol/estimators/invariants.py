"""Invariants of fitted estimators, for tests, debugging and stored estimators."""

from contextlib import suppress
from functools import cache

from sklearn.base import is_classifier

from .._invariants import check, check_parts, finite, is_count
from .._shards import Origins


class InvariantsMixin:
    """State what holds of a fitted :class:`OnlineEstimator`."""

    def _check_state(self):
        """Raise AssertionError if an invariant of the fitted state does not hold."""
        check_parts(self, type(self).__name__)
        check(self._finite_attributes(), type(self).__name__)

    def _finite_attributes(self):
        """Yield that public attributes are finite; some take long to compute."""
        for name in sorted({*vars(self), *_property_names(type(self))}):
            if name.endswith("_") and not name.startswith("_"):
                with suppress(AttributeError):  # another kind of model has that
                    yield from finite(name, getattr(self, name))

    def _invariants(self):
        """Yield what holds between two calls, see :mod:`sklearn_scinol._invariants`."""
        yield from super()._invariants()
        yield from invariants_of_input(self)
        if not self.__sklearn_is_fitted__():
            return
        model = self._model
        yield "the model has a valid type", isinstance(model, self._model_types)
        is_of_classes = getattr(type(model.loss), "is_classification", None)
        yield (
            "the loss suits the kind of estimator",
            is_of_classes is not None and bool(is_of_classes) == is_classifier(self),
        )
        n_outputs = self._n_outputs(model.loss)
        yield "the number of outputs fits", model.n_outputs == n_outputs
        if hasattr(model, "n_inputs"):
            yield "the number of features fits", model.n_inputs == self.n_features_in_
        yield "loss_curve_ is a list", isinstance(self.loss_curve_, list)
        yield "n_iter_ is a count", is_count(getattr(self, "n_iter_", 0))


def invariants_of_input(estimator):
    """Yield what holds of the input features of an estimator."""
    if not estimator.__sklearn_is_fitted__():
        return
    yield "has origins", isinstance(getattr(estimator, "_origins", Origins()), Origins)
    n_features = estimator.n_features_in_
    yield "n_features_in_ is a number of features", is_count(n_features, 1)
    if hasattr(estimator, "feature_names_in_"):
        names = estimator.feature_names_in_
        yield "each feature has a name", names.shape == (n_features,)
        yield "names are text", all(isinstance(name, str) for name in names)


@cache
def _property_names(cls):
    """Return the names of the properties of a class."""
    return [name for name in dir(cls) if isinstance(getattr(cls, name), property)]
