"""Prediction with expert advice: formulas and states of mixing weights."""
