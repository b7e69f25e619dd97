"""Prediction intervals that hold their level on a stream."""
