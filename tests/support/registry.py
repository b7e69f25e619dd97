"""The cases that the common tests run: every estimator, loss, algorithm and output.

They are read off the package: a new estimator, or a new name among those that its
parameter `loss` or `algorithm` may take, is a case from then on. An estimator without a
choice of algorithms has the name of its only one here.

`CASES` has every algorithm with every loss. What does not depend on the loss is tested
with `REPRESENTATIVES`: each algorithm with the default loss of each estimator; what
does not depend on much else, either, with a selection of these, see `thinned`. What
learners have, such as invariance to scale, is read off them; whether they have it is
tested in `test_learners.py`.

Most tests run on the engines `ENGINES`, of which the second is the compiled one with
its loops left uncompiled: each case on one of them, see `conftest.py`, unless all are
run. `compiled_runs` selects what really is compiled.
"""

import os
from functools import cache
from heapq import heapify, heapreplace
from inspect import isclass, signature
from itertools import combinations, product
from random import Random
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

import sklearn_scinol
from sklearn_scinol import baselines, learners
from sklearn_scinol.estimators.one_pass import OnePassMixin
from sklearn_scinol.estimators.online_estimator import OnlineEstimator
from sklearn_scinol.learners import interface
from support import naive

from .sums import linear

#: Whether to run all cases, as `make thorough` does, or those that cover the most.
THOROUGH = "THOROUGH" in os.environ

#: See the fixture `engine`.
ENGINES = ("numpy", "uncompiled")

#: Streams of an invariance, which a single one may show by luck.
seeds = pytest.mark.parametrize("seed", range(20))

#: For what learns many rows, or is about what is compiled.
compiled = pytest.mark.parametrize("engine", ["numba"], indirect=True)

PUBLIC_ESTIMATORS = [
    public
    for module in (sklearn_scinol, baselines)
    for public in map(vars(module).get, module.__all__)
    if isclass(public) and issubclass(public, OnlineEstimator)
]


def having(*parameters):
    """Public estimators with certain parameters."""
    return [e for e in PUBLIC_ESTIMATORS if {*parameters} <= {*signature(e).parameters}]


#: Public estimators that mix others, that search the nearest rows, that have forests,
#: and those whose trees choose splits from stored rows.
MIXTURES = [public for public in PUBLIC_ESTIMATORS if hasattr(public, "estimators_")]
NEIGHBORS = having("n_neighbors")
FORESTS = having("n_estimators")
EXTRA_TREES = having("n_estimators", "window")

#: Public estimators whose `fit` learns each row once, those with epochs, and of these
#: the ones that have a learner.
ONE_PASS = [public for public in PUBLIC_ESTIMATORS if issubclass(public, OnePassMixin)]
WITH_EPOCHS = [public for public in PUBLIC_ESTIMATORS if public not in ONE_PASS]
ESTIMATORS = [public for public in WITH_EPOCHS if public not in MIXTURES]

#: Other values than the defaults, for the losses that have parameters.
LOSS_PARAMETERS = {
    "huber": {"epsilon": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
    "quantile": {"quantile": 0.8},
}


#: The parameter that chooses an algorithm, where it is not `algorithm`.
CHOICES = {"AdaFTRL": "tuning"}

#: The algorithm of estimators that have no choice.
ONLY = {"DFEG": "dfeg", "OnlineNewton": "online_newton"}

#: Other names of an algorithm.
SYNONYMS_OF_ALGORITHMS = {"sgd": "ogd"}

#: Learners by the names of algorithms, those without a choice as well.
LEARNERS = {
    **learners.ALGORITHMS,
    "dfeg": learners.DFEG,
    "koolen": learners.AdaFTRL,
    "orabona_pal": learners.AdaFTRL,
    "online_newton": learners.OnlineNewton,
}

#: Another value of an algorithm's own parameter, where that is not a scale of steps.
PARAMETERS = {
    "scinol1": {"initial_wealth": 0.3},
    "scinol2": {"initial_wealth": 0.3},
    "dfeg": {"delta": 0.1},
    "koolen": {"radius": 3.0},
    "orabona_pal": {"radius": 3.0},
    "adagrad": {"learning_rate": 3.0},
    "adam": {"learning_rate": 0.1},
    "nag": {"learning_rate": 0.3, "normalizer": "mean"},
    "sfmd": {"learning_rate": 3.0},
    "cocob": {},
    "k17": {},
    "freegrad": {},
    "coin": {},
    "code": {},
    "online_newton": {"prior_scale": 0.7, "forgetting": 0.02},
}

#: Parameters for learners that see other rows and targets than those given.
SCALED = {"scale": True, "standardize_target": True}
VARIANTS = {
    "": {},
    "scaled": SCALED,
    "forgetful": {"moment_forgetting": 0.1, **SCALED},
    "additive": {"additive": True, "scale": True},
    "random": {
        "random_features": 7,
        "random_state": 0,
        "scale": True,
        "clip_deviations": 3.0,
    },
}

#: What a parameter of the references is called by an estimator that has it not.
SYNONYMS = {"beta": "learning_rate"}


class Case(NamedTuple):
    """An estimator with a loss, an algorithm, a number of outputs, and more."""

    estimator: type
    loss: str
    algorithm: str
    n_outputs: int = 1
    average: int = 0
    radius: float | None = None
    variant: str = ""

    @property
    def learner(self):
        return LEARNERS[self.algorithm]

    @property
    def traits(self):
        return interface.traits(self.learner)

    @property
    def classifies(self):
        return is_classifier(self.estimator())

    @property
    def counts_features(self):
        """Whether the algorithm divides by the number of features."""
        return "n_coordinates" in self.learner.parameters.values()

    @property
    def may_have_ball(self):
        """Whether weights can be kept in a ball, and need not."""
        unbounded = self.estimator().get_params().get("radius", 0.0) is None
        return self.traits.in_ball and unbounded

    @property
    def levels(self):
        """The kind of learner, and of estimator: what may matter to the machinery."""
        has = self.traits
        return [
            (has.by_row, has.implicit, has.folds, has.reaches, has.touches_all),
            ("classifies", self.classifies),
            ("several", self.n_outputs > 1),
            ("average", self.average > 0),
            ("ball", self.radius is not None),
            *([("variant", self.variant)] if self.variant else []),
        ]

    @property
    def stores_weights(self):
        """Whether weights depend on their coordinate's state alone."""
        has = self.traits
        return not (has.by_row or has.reaches or has.touches_all)

    def make(self, **parameters):
        """The estimator; of rows and targets as they are, if not asked for others."""
        defaults = as_given(self.estimator) | self.ball
        chosen = VARIANTS[self.variant]
        defaults |= {name: chosen[name] for name in chosen if self.has(name)}
        if self.averages:
            defaults["average"] = self.average
        if self.diverges:
            defaults["learning_rate"] = 1e-7
        defaults |= choice(self.estimator, self.algorithm)
        parameters = defaults | LOSS_PARAMETERS.get(self.loss, {}) | parameters
        return self.estimator(loss=self.loss, **parameters)

    def has(self, parameter):
        return has(self.estimator, parameter)

    @property
    def ball(self):
        """The radius, where it is another than the estimator's default."""
        return {} if self.radius is None else {"radius": self.radius}

    @property
    def hyperparameters(self):
        """Another value of the algorithm's own parameter, as the references call it."""
        beta = {"beta": 3e-7 if self.diverges else 3.0}
        return PARAMETERS.get(self.algorithm, beta)

    @property
    def diverges(self):
        """Whether ordinary step sizes lead to infinity."""
        unadaptive = self.algorithm in ("ogd", "kernel_gd")
        return unadaptive and self.loss.startswith("squared")

    def as_estimator_calls(self, parameters):
        """Rename parameters of the references to those of the estimator."""
        return {
            name if self.has(name) else SYNONYMS[name]: value
            for name, value in parameters.items()
        }

    def of_size(self, size):
        """Return parameters of the estimator: the algorithm's own, which is a scale."""
        own = self.hyperparameters.keys() - {"forgetting"}
        return self.as_estimator_calls(dict.fromkeys(own, size))

    def data(self, n_samples=40, seed=None):
        """Rows with zeros and heavy tails, in units far apart, and their targets.

        Each case has rows of its own, so that a test runs on as many as it has cases.

        The units are alike for learners that see rows as vectors: a matrix of rows in
        units far apart is too close to a singular one to be compared.
        """
        rng = np.random.default_rng(crc32(str(self).encode()) if seed is None else seed)
        X = rng.standard_t(2, size=(n_samples, 6))
        X += np.array([0.0, 0.0, 1.0, -2.0, 0.0, 5.0])
        decision = linear(X, rng.normal(size=(6, self.n_outputs))) + 1.0
        X[rng.random(X.shape) < 0.4] = 0.0
        if not self.traits.by_vector:
            X *= 10.0 ** np.arange(-3, 3)
        y = self.targets(decision + rng.normal(size=decision.shape))
        if not self.classifies:
            return X, y
        missing = np.setdiff1d(self.classes()["classes"], y)[:n_samples]
        y[: missing.size] = missing  # so that `fit` sees all classes
        return X, y

    def targets(self, decision):
        """Targets that predictions of shape (n, n_outputs) are right for."""
        if self.classifies and self.n_outputs > 1:
            return decision.argmax(axis=1)
        y = decision if self.n_outputs > 1 else decision[:, 0]
        return (y > 0).astype(int) if self.classifies else y

    def classes(self):
        """What `partial_fit` needs besides the rows."""
        if not self.classifies:
            return {}
        return {"classes": np.arange(2 if self.n_outputs == 1 else self.n_outputs)}

    def partial_fit(self, estimator, X, y, **keywords):
        return estimator.partial_fit(X, y, **self.classes(), **keywords)

    def charged(self, estimator, X, y, **keywords):
        """Learn; the predictions that the algorithm was charged for, (n, n_outputs)."""
        if self.classifies:
            keywords = {"method": "decision_function", **self.classes(), **keywords}
        predictions = estimator.partial_fit_predict(X, y, **keywords)
        return predictions.reshape(len(y), self.n_outputs)

    def decision(self, estimator, X):
        """The predictions of new rows, of shape (n, n_outputs)."""
        decide = estimator.decision_function if self.classifies else estimator.predict
        return decide(X).reshape(X.shape[0], self.n_outputs)

    @property
    def averages(self):
        """Whether weights can be averaged."""
        return self.has("average")

    @property
    def has_bound(self):
        is_newton = self.algorithm == "online_newton"
        return self.traits.bounds_regret and (
            self.loss == "squared_error" or not is_newton
        )

    @property
    def is_joint(self):
        """Whether the loss couples the outputs."""
        if self.loss != "log_loss" or self.n_outputs == 1:
            return False
        chosen = choice(self.estimator, self.algorithm)
        return self.estimator(**chosen)._takes_joint_losses

    def reference_loss(self):
        """The plain loss, which takes lists."""
        if self.is_joint:
            return naive.CrossEntropy()
        loss = naive.LOSSES[self.loss]
        return naive.Separate(loss(**LOSS_PARAMETERS.get(self.loss, {})))

    def reference_targets(self, y):
        """Targets as the plain loss takes them: lists of floats, or class indices."""
        if self.is_joint:
            return y.tolist()
        if self.classifies:
            of_class = range(1, 2) if self.n_outputs == 1 else range(self.n_outputs)
            return [[1.0 if label == k else -1.0 for k in of_class] for label in y]
        return y.reshape(len(y), -1).tolist()

    def __str__(self):
        name = f"{self.estimator.__name__}-{self.loss}-{self.algorithm}"
        name += f"-{self.n_outputs}" + ("-average" if self.average else "")
        name += "" if self.radius is None else f"-radius-{self.radius}"
        return name + (f"-{self.variant}" if self.variant else "")


def as_given(estimator):
    """Parameters with which an estimator learns rows and targets as they are."""
    found = dict.fromkeys(("center", "scale", "standardize_target"), False)
    found["clip_deviations"] = None
    return {name: value for name, value in found.items() if has(estimator, name)}


def as_linear(estimator):
    """Parameters with which predictions are linear in the rows."""
    return {"moderate": False} if has(estimator, "moderate") else {}


@cache
def has(estimator, parameter):
    """Whether an estimator has a parameter."""
    return parameter in signature(estimator).parameters


def options(estimator, parameter):
    return sorted(estimator._parameter_constraints[parameter][0].options)


def family(estimator):
    """Name of an estimator without what it estimates."""
    return estimator.__name__.removesuffix("Classifier").removesuffix("Regressor")


def algorithms(estimator):
    """Names of the algorithms of an estimator, each once."""
    name = family(estimator)
    if name in ONLY:
        return [ONLY[name]]
    names = options(estimator, CHOICES.get(name, "algorithm"))
    return [name for name in names if name not in SYNONYMS_OF_ALGORITHMS]


def choice(estimator, algorithm):
    """Parameter that makes an estimator run an algorithm."""
    name = family(estimator)
    return {} if name in ONLY else {CHOICES.get(name, "algorithm"): algorithm}


def outputs(estimator, loss):
    """Numbers of outputs. Only a joint loss knows that there are several.

    To see that outputs do not disturb each other, the hinge loss and regression will
    do; with the many algorithms of the baselines, the joint loss alone.
    """
    several = {estimator().loss, "hinge"}
    if family(estimator) == "Baseline":
        several = {"log_loss"}
    return (1, 3) if loss in several else (1,)


#: Estimators whose weights can be averaged.
AVERAGING_ESTIMATORS = [e for e in ESTIMATORS if has(e, "average")]

CASES = [
    Case(estimator, loss, algorithm, n_outputs)
    for estimator in ESTIMATORS
    for loss in options(estimator, "loss")
    for algorithm in algorithms(estimator)
    for n_outputs in outputs(estimator, loss)
    if not (
        interface.traits(LEARNERS[algorithm]).bounded_gradients
        and loss.startswith("squared")
    )
]
REPRESENTATIVES = [case for case in CASES if case.loss == case.estimator().loss]
# What is averaged does not depend on the loss: the default of the classifiers will do.
# Nor does it on an algorithm that just stores weights of coordinates.
AVERAGING = [
    case._replace(average=15)
    for case in REPRESENTATIVES
    if case.classifies and case.averages and not case.stores_weights
]
# The ball is small enough to matter. The step on it depends on the loss where implicit.
ON_BALL = [
    case._replace(radius=0.7)
    for case in CASES
    if case.may_have_ball and (case.traits.implicit or case in REPRESENTATIVES)
]
ON_BALL += [case._replace(average=15) for case in ON_BALL if case.algorithm == "iomd"]
CASES += AVERAGING + ON_BALL
REPRESENTATIVES += AVERAGING
REPRESENTATIVES += [
    case
    for case in ON_BALL
    if case.traits.implicit and case.loss == case.estimator().loss
]


def varied(variant):
    """Cases of a variant, whose first parameter their estimator has."""
    is_additive = variant == "additive"
    return [
        case._replace(variant=variant)
        for case in REPRESENTATIVES
        if case.radius is None and case.has(next(iter(VARIANTS[variant])))
        if not (is_additive and (case.traits.touches_all or case.traits.by_vector))
    ]


#: Representatives as they are, and in all variants.
VARIED = REPRESENTATIVES + [
    case for variant in VARIANTS if variant for case in varied(variant)
]


class Layout(NamedTuple):
    """How rows are given, and whether they are centred and scaled."""

    name: str
    center: bool
    container: type
    scale: bool = False

    def __str__(self):
        return self.name


LAYOUTS = [
    Layout("dense", False, np.array),
    Layout("centred", True, np.array),
    Layout("sparse", False, sparse.csr_array),
]
SCALED_LAYOUTS = [
    layout._replace(name=name, scale=True)
    for layout, name in zip(
        LAYOUTS, ["dense-scaled", "standardised", "sparse-scaled"], strict=True
    )
]


def covering(runs, pairs_of, others_of):
    """Choose runs so that each pair of any run is among the pairs of a chosen one.

    Greedily, the run that covers most pairs that no run has covered yet comes next; of
    equals, the one that covers most of what others there are.
    """
    number_of = {}

    def numbers(found):
        found = {number_of.setdefault(one, len(number_of)) for one in found}
        return sum(1 << number for number in found)

    pairs = [numbers(pairs_of(run)) for run in runs]
    n_pairs = len(number_of)
    covered = [
        of_run | numbers(others_of(run))
        for of_run, run in zip(pairs, runs, strict=True)
    ]
    is_pair, left, chosen = (1 << n_pairs) - 1, (1 << len(number_of)) - 1, []

    def cost(i):
        one = covered[i] & left
        return -(one & is_pair).bit_count(), -one.bit_count(), i

    # Gains only fall: the first run whose gain has not changed is the best one.
    costs = [cost(i) for i in range(len(runs))]
    heapify(costs)
    while left & is_pair:
        best = costs[0][-1]
        if heapreplace(costs, cost(best)) == cost(best):
            left &= ~covered[best]
            chosen.append(runs[best])
    return chosen


def thinned(cases, **of_test):
    """Run a test with some of all combinations of cases and of values of its factors.

    Each algorithm is there, and each two levels meet: of a case (its `levels`), and the
    values of each factor. Which algorithm has which values is another for each test. If
    the test takes an engine, that is another factor. `make thorough` lets each case
    meet each value.
    """

    def mark(test):
        takes_engine = "engine" in signature(test).parameters
        factors = of_test | ({"engine": ENGINES} if takes_engine else {})
        runs = [*product(cases, *map(enumerate, factors.values()))]
        Random(test.__name__).shuffle(runs)

        def values_of(run):
            # Numbers in place of values, which may not be hashable.
            return [
                (factor, n) for factor, (n, _) in zip(factors, run[1:], strict=True)
            ]

        def pairs_of(run):
            case, values = run[0], values_of(run)
            levels = [("loss", case.loss), *case.levels, *values]
            pairs = [case.algorithm, *combinations(levels, 2)]
            return [*pairs, case, *product([case], values)] if THOROUGH else pairs

        def others_of(run):
            return product([run[0].algorithm], values_of(run))

        chosen = covering(runs, pairs_of, others_of)
        chosen = [
            (case, *(value for _, value in values))
            for case, *values in sorted(chosen, key=lambda run: cases.index(run[0]))
        ]
        ids = ["-".join(map(name_of, run)) for run in chosen]
        return pytest.mark.parametrize(
            ("case", *factors), chosen, ids=ids, indirect=["engine"] * takes_engine
        )(test)

    return mark


def paired(*factors):
    """Combinations that have each value once at least; `make thorough` runs all."""
    longest = max(map(len, factors))
    some = [tuple(one[i % len(one)] for one in factors) for i in range(longest)]
    return [*product(*factors)] if THOROUGH else some


def thoroughly(*values):
    """Values that only `make thorough` runs."""
    return values if THOROUGH else ()


def name_of(value):
    return value.__name__ if callable(value) else str(value)


# What is compiled.


class Run(NamedTuple):
    """A case in a layout, perhaps with a standardised target: a compiled kernel."""

    case: Case
    layout: Layout
    standardize_target: bool

    def make(self, **parameters):
        if self.case.has("standardize_target"):
            parameters["standardize_target"] = self.standardize_target
        layout = self.layout
        return self.case.make(center=layout.center, scale=layout.scale, **parameters)

    @property
    def levels(self):
        return [*self.case.levels, ("target", self.standardize_target)]

    @property
    def losses(self):
        return self.case.loss, self.case.is_joint

    @property
    def is_sparse(self):
        """Whether the loop is one over sparse rows."""
        made_dense = self.case.traits.touches_all
        return self.layout.container is not np.array and not made_dense

    @property
    def pairs(self):
        """Levels and pairs of levels that some compiled loop must cover."""
        alone = [self.case.algorithm, self.losses, self.layout.name]
        return [*alone, *product([self.is_sparse], self.levels)]

    @property
    def first_pairs(self):
        """Pairs to cover in each run of the tests: of baselines, each kind alone."""
        kind, *levels = self.levels
        alone = [kind, self.losses, self.layout.name]
        if family(self.case.estimator) != "Baseline":
            alone.append(self.case.algorithm)
        return [*alone, *product([self.is_sparse], levels)]

    @property
    def other_pairs(self):
        """Pairs to cover where possible. More are too many to compile."""
        return [
            *combinations(self.levels, 2),
            *product([self.layout.name], self.levels),
            *product([self.losses], [self.is_sparse, self.case.traits.implicit]),
        ]

    def __str__(self):
        name = f"{self.case}-{self.layout}"
        return name + ("-target" if self.standardize_target else "")


def possible_runs():
    for case in CASES:
        if case.average or case.radius is not None:
            continue
        radii = (None, 0.7) if case.may_have_ball else (None,)
        targets = (False, True) if case.has("standardize_target") else (False,)
        averages = (0, 15) if case.averages else (0,)
        for average, radius in product(averages, radii):
            variant = case._replace(average=average, radius=radius)
            for layout, target in product([*LAYOUTS, *SCALED_LAYOUTS], targets):
                yield Run(variant, layout, target)


@cache
def compiled_runs():
    """Each algorithm, loss and layout, and more that kernels put together.

    Of those some, with each algorithm of ours, unless `make thorough` compiles more.
    """

    def pairs_of(run):
        return run.pairs + (run.other_pairs if THOROUGH else [])

    def others_of(run):
        return run.other_pairs

    runs = covering([*possible_runs()], pairs_of, others_of)
    return runs if THOROUGH else covering(runs, lambda run: run.first_pairs, others_of)
