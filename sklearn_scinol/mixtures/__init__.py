"""Mixtures of estimators: their weights, models and estimators."""
