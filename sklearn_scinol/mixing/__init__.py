"""Formulas of mixtures: weights of experts and their states, means of probabilities."""
