"""Metrics of the service for Prometheus."""

from time import perf_counter

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)


class Metrics:
    """Counts of requests and rows, times, losses and alarms."""

    def __init__(self):
        self.registry = CollectorRegistry()
        own, of_path = {"registry": self.registry}, ["path", "status"]
        self.requests = Counter("payments_requests", "Requests.", of_path, **own)
        self.rows = Counter("payments_rows", "Rows of requests.", ["what"], **own)
        self.seconds = Histogram(
            "payments_request_seconds", "Times of requests.", ["path"], **own
        )
        self.gauges = {
            name: Gauge(f"payments_{name}", text, **own)
            for name, text in {
                "learned": "Rows that the model has learned.",
                "waiting": "Rows that wait for labels.",
                "dropped": "Rows that were dropped without labels.",
                "loss_sum": "Sum of log losses of what was served.",
                "loss_count": "Number of these losses.",
                "alarms": "Alarms: losses are no longer what they were.",
                "last_saved_seconds": "When a version of the model was saved.",
                "failing": "Whether the last try to save or log failed.",
            }.items()
        }
        self.inputs = Gauge(
            "payments_input_share",
            "Share of the latest 1,024 to 2,047 rows with such an input.",
            ["column", "what"],
            **own,
        )

    def watch(self, app):
        """Return an application that counts requests of another, and their times."""

        async def watched(scope, receive, send):
            if scope["type"] != "http":
                return await app(scope, receive, send)
            start, status = perf_counter(), 500

            async def send_on(message):
                nonlocal status
                status = message.get("status", status)
                await send(message)

            try:
                await app(scope, receive, send_on)
            finally:
                path = getattr(scope.get("route"), "path", "other")
                self.requests.labels(path, status).inc()
                self.seconds.labels(path).observe(perf_counter() - start)

        return watched

    def text(self, payments):
        """Return all in the text format of Prometheus."""
        with payments.lock:
            values = {
                "learned": payments.model.n_samples_seen_,
                "waiting": len(payments.late),
                "dropped": payments.late.n_dropped,
                "loss_sum": payments.loss,
                "loss_count": getattr(payments.monitor, "n_samples_seen_", 0),
                "alarms": len(getattr(payments.monitor, "alarms_", ())),
                "last_saved_seconds": payments.last_saved,
                "failing": payments.last_error is not None,
            }
            inputs = getattr(payments.model, "input_report_", {})  # of a fitted model
        for name, value in values.items():
            self.gauges[name].set(value)
        for column, shares in inputs.items():
            for what, share in shares.items():
                if what.endswith("_lately"):
                    of_column = self.inputs.labels(column, what.removesuffix("_lately"))
                    of_column.set(share)
        return generate_latest(self.registry)
