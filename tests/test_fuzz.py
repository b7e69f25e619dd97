"""Hostile streams: nothing gives way, and the checks would see it if something did."""

import copy

import fuzz
import numpy as np
import pytest
from fuzz import Failed, judge
from hostile import Call, Case, cases, seeded_case
from hypothesis import HealthCheck, given, settings
from registry import CASES, ESTIMATORS, LEARNERS, PUBLIC_ESTIMATORS
from scipy import sparse

from sklearn_scinol import HedgeRegressor, ScInOLClassifier, ScInOLRegressor
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.learners import ScInOL2

all_estimators = pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
