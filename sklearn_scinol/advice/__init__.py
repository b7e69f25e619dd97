"""Weights of experts, learned from their losses: formulas and states."""
