"""Prediction with expert advice: weights of experts, learned from their losses."""

from .mixtures.adahedge import AdaHedge
from .mixtures.display import ExpertWeightsDisplay
from .mixtures.fixed_share import FixedShare

__all__ = ["AdaHedge", "ExpertWeightsDisplay", "FixedShare"]
