"""Formulas that several learners share."""
