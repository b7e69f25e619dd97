"""Models: the state of estimators, learning and predictions."""
