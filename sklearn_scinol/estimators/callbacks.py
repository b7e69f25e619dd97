"""Fit callbacks of scikit-learn 1.9 and later, or no callbacks."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement of scikit-learn's mixin that calls nothing."""

        def _init_callback_context(self, **kwargs):
            return _NoCallbacks()

    class _NoCallbacks:
        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return self

        def call_on_fit_task_end(self, **kwargs):
            return False

    def with_callbacks(method):
        return method
