"""Losses that benchmark scripts print are right, on small data."""

import re
from functools import partial
from math import ceil, inf

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import cohen_kappa_score, log_loss
from sklearn.model_selection import cross_val_score
from support.scripts import frames, read_data_sets, row_losses, write_data_sets
from support.tables import table

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

pd = pytest.importorskip("pandas", reason="pandas is not installed")

ALONE = {"find_spec": lambda _: None}


@pytest.fixture
def folder(tmp_path):
    return write_data_sets(tmp_path / "data", 80, 90, n_wide=30)


def number(text):
    return float(text.strip("*()%").replace(",", ""))


def numbers(pattern, out):
    """The numbers that a part of a line of the output has."""
    (found,) = re.findall(pattern, out, re.M)
    return [*map(number, found.split())]


def probabilities(model, X, y):
    classes = np.unique(y)
    return model.partial_fit_predict(X, y, classes=classes, method="predict_proba")


def write(folder, name, X, y):
    np.savez(folder / f"{name}.npz", X=X, y=y)
    return folder


def three_classes(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, np.argmax(X + random.gumbel(size=X.shape), axis=1)


def mixture_for(data_set):
    return HedgeRegressor if data_set.n_classes is None else HedgeClassifier


@pytest.mark.thorough
def test_calibration(script, run, folder):
    module = script("calibration")
    options = ["--data-dir", str(folder), "--n-jobs", "1", "--min-rows", "85"]
    _, _, *lines = run(module, *options).splitlines()
    line, of_median, of_mean = (line.split() for line in lines)
    assert line[:3] == ["three", "90", "3"]
    assert of_median[1:] == of_mean[1:] == line[3:]
    readers = module.chosen_readers(module.make_parser("\n\n").parse_args(options))
    (data_set,) = module.read_data_sets({"three": readers["three"]}, None)
    P = probabilities(HedgeClassifier(random_state=0), data_set.X, data_set.y)
    is_right = P.argmax(axis=1) == data_set.y
    bins = np.array_split(np.argsort(P.max(axis=1), kind="stable"), 20)
    errors = [abs(np.mean(P.max(axis=1)[rows] - is_right[rows])) for rows in bins]
    assert float(line[3]) == pytest.approx(np.mean(errors), abs=6e-5)


@pytest.mark.thorough
def test_dfeg(script, run, tmp_path):
    def fetch(**_):
        raise OSError("there is no network")

    rates = 2.0 ** np.array([-10, -4, 1, 6, 12])
    module = script("dfeg", fetch_california_housing=fetch, RATES=rates)
    out = run(module, "--output-dir", tmp_path)
    # The synthetic experiment of the paper.
    assert re.search(r"^DFEG +0\.931 +1\.025$", out, re.M)
    assert re.search(r"^Kernel GD, rate 1 +4\.509 +49\.486$", out, re.M)
    found = numbers("^diabetes (.*)", out)
    zero, dfeg, best, rate, worst, worst_rate, better = found
    assert best < dfeg < 1.6 * best < zero < worst / 100
    assert (rate, worst_rate, better) == (2, 4096, 1)
    X, y = module.prepare(module.read_diabetes())
    kernel = module.gaussian_kernel(X)
    model = BaselineRegressor("kernel_gd", learning_rate=rate, **kernel)
    said = model.partial_fit_predict(X, y)
    assert best == pytest.approx(np.abs(said - y).sum(), rel=0.01)


@pytest.mark.thorough
def test_experts(script, run, folder):
    """Mixtures without an expert, or with one more."""
    candidates = {"scinol1": script("experts").CANDIDATES["scinol1"]}
    module = script("experts", CANDIDATES=candidates)
    out = run(module, "--n-jobs", 1, "--data-dir", folder)
    for name, data_set in read_data_sets(module, folder).items():
        text = "\n".join(out[out.index(f"{name}: ") :].split("\n\n", 2)[:2])
        make = mixture_for(data_set)
        default = make()
        losses = {"default": row_losses(default, data_set).mean()}
        experts = {k: clone(each) for k, each in default.named_estimators_.items()}
        added = clone(experts["scinol2"]).set_params(algorithm="scinol1")
        few = [item for item in experts.items() if item[0] != "scinol2"]
        with_added = [*experts.items(), ("scinol1", added)]
        losses["- scinol2"] = row_losses(make(few), data_set).mean()
        losses["+ scinol1"] = row_losses(make(with_added), data_set).mean()
        for mixture, loss in losses.items():
            pattern = rf"(?:^|  ){re.escape(mixture)} +([\d.]+) "
            assert numbers(pattern, text) == [pytest.approx(loss, rel=1e-4)]


@pytest.mark.thorough
def test_fit_in_place_of_sgd(script, run, folder):
    module = script("fit", N_FOLDS=2)
    out = run(module, "--sgd", "--data-dir", folder, "--n-jobs", 1)
    *r2, of_scinol, of_newton, _ = numbers("^amounts +(.*)", out)
    amounts = read_data_sets(module, folder)["amounts"]
    newton = module.OnlineNewtonRegressor(random_state=0)
    options = {"cv": module.KFold(2, shuffle=True, random_state=0), "scoring": "r2"}
    expected = cross_val_score(newton, amounts.X, amounts.y, **options).mean()
    assert r2[2] == pytest.approx(expected, abs=6e-4)
    for name, k, error in ("ScInOL", 1, of_scinol), ("Newton", 2, of_newton):
        above, below = int(r2[k] > r2[0]), int(error < 1)
        said = f"{name}, fit: R² above SGD's on {above}, error below on {below} of 1"
        assert said in out


#: Scripts, the stream of a folder that they learn in its order, options, and where
#: their output has what the mixture scores, and what that is.
STREAMS = {
    "drift": ("two", "--n-jobs 1 --output-dir {}", "two +mixture", ["loss", "share"]),
    "river_benchmark": ("elec2", "", "Elec2: 180 rows.*\n{}.{{19}}", ["share"]),
    "tree_ensembles": (
        *("keystroke", "--max-rows 180", "keystroke: 180 rows.*?\nHedge"),
        ["share", "kappa", "gain", "loss"],
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", STREAMS)
def test_scores_of_a_stream(name, script, run, tmp_path):
    """The mixture's; kappa and gain are above the last label's."""
    stream, options, row, scores = STREAMS[name]
    module, rng = script(name), np.random.default_rng(0)
    module = script(name, **ALONE) if hasattr(module, "find_spec") else module
    y = np.repeat(rng.integers(2, size=50), 4)[:180]
    X = y[:, np.newaxis] + rng.normal(size=(180, 2))
    folder = write(tmp_path, stream, X, np.array(["DOWN", "UP"])[y])
    out = run(module, "--data-dir", folder, *options.format(tmp_path).split())
    P = probabilities(HedgeClassifier(), X, y)
    share, same = (P.argmax(axis=1) == y).mean(), (np.append(0, y[:-1]) == y).mean()
    expected = {
        "loss": log_loss(y, P),
        "share": share,
        "kappa": cohen_kappa_score(y, P.argmax(axis=1)),
        "gain": (share - same) / (1 - same),
    }
    row = row.format(re.escape(getattr(module, "OURS", "")))
    shown = re.search(rf"{row} +([\d. -]+)", out, re.DOTALL)[1].split()
    expected = [expected[score] for score in scores]
    assert [*map(float, shown[: len(scores)])] == pytest.approx(expected, abs=1e-3)


@pytest.mark.thorough
def test_hedge(script, run, folder, tmp_path):
    module = script("hedge")
    options = "--n-jobs", 1, "--data-dir", folder, "--output-dir", tmp_path
    out = run(module, *options)
    for name, data_set in read_data_sets(module, folder).items():
        fields = re.search(rf"^{name} +(.*)", out, re.M)[1].split()
        model = mixture_for(data_set)()
        hedge = row_losses(model, data_set).mean()
        experts = {
            expert: row_losses(clone(estimator), data_set).mean()
            for expert, estimator in model.named_estimators_.items()
        }
        best = min(experts, key=experts.get)
        assert best in fields
        shown = [float(field) for field in fields if field != best]
        assert shown[:2] == pytest.approx([hedge, experts[best]], rel=1e-4)
        ratios = [hedge / experts[best], hedge / shown[4]]
        assert shown[2::3] == pytest.approx(ratios, abs=6e-4)


@pytest.mark.parametrize("name", ["fraud", "demand", "sensors", "clicks"])
def test_columns_by_hand_know_no_label_before_it_comes(script, name):
    """Nor a later row: other labels and rows after a row leave it as it is."""
    stream = script("history").STREAMS[name](1200, np.random.default_rng(0))
    frame, y = stream.frame, stream.y
    assert frame[stream.time].is_monotonic_increasing
    made = stream.by_hand(frame, y, stream.delay)
    for r in 300, 700, 1100:
        late = frame[stream.time] + pd.Timedelta(seconds=stream.delay)
        other = np.where(late <= frame[stream.time][r], y, y[::-1])
        changed = frame.copy()
        for column in frame.select_dtypes("number"):
            changed.loc[r + 1 :, column] = 77
        again = stream.by_hand(changed, other, stream.delay)
        pd.testing.assert_frame_equal(again[: r + 1].tail(1), made[: r + 1].tail(1))


@pytest.mark.thorough
def test_history(script, run):
    module = script("history", **ALONE)
    options = "--rows", 3000, "--learner", "ScInOL", "--only", "demand"
    _, _, constant, raw, _, history = run(module, *options).splitlines()
    errors = [float(line.split()[-2]) for line in (raw, history)]
    assert errors[1] < 0.8 * errors[0]
    half = module.make_demand(3000, np.random.default_rng(0)).y[1500:]
    expected = np.abs(half - np.median(half)).mean()
    assert float(constant.split()[-1]) == pytest.approx(expected, abs=1e-3)


def test_adaptive_intervals(script):
    module = script("intervals")
    errors = np.random.default_rng(0).normal(size=3000)
    widths = module.adaptive(errors, 0.0)
    assert widths[-1] == pytest.approx(1.645, abs=0.1)
    assert widths[10] == sorted(np.abs(errors[:10]))[9]
    growing = errors * np.linspace(1.0, 30.0, 3000)
    assert np.mean(np.abs(growing) <= module.adaptive(growing, 0.05)) > 0.89


@pytest.mark.thorough
def test_intervals(script, run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X.sum(axis=1) + rng.normal(size=500)
    streams = {"made_streams": lambda: [("made*", X, y)], "cost": lambda _: (1.25, 3.0)}
    module = script("intervals", **ALONE, **streams, BLOCK=100)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(target=y > 0.0)
    frame.to_csv(tmp_path / "pendigits.csv", index=False)
    shown = numbers(r"^made\* +(.*)", run(module, "--data-dir", tmp_path))
    points, (ratio,) = module.measure(X, y, False)
    expected = [500, points.mean(), points.max(), ratio]
    assert shown == pytest.approx(expected, abs=0.06)
    shown = numbers(r"^made\* +(.*)", run(module, "--groups"))
    _, lower, upper = module.ours(X, y)
    off = 100.0 * np.abs(((lower <= y) & (y <= upper))[200:].mean() - 0.9)
    n_rows, thirds, worst, _, of_groups, *_, ratio = shown
    assert n_rows == 500
    assert off <= thirds <= worst
    assert of_groups > 0.0
    assert ratio == pytest.approx(1.0, abs=0.2)


def test_adaptive_label_sets(script):
    """Compared with the definition: quantiles of all scores before."""
    module = script("label_sets", STEPS=(0.02, 0.3))
    scores = np.random.default_rng(0).normal(size=200).tolist()
    found = module.adaptive_conformal_inference(scores)
    for step, thresholds in zip(module.STEPS, found, strict=True):
        alpha = 1.0 - 0.9
        for t, score in enumerate(scores):
            place = ceil((1.0 - alpha) * (t + 1))
            expected = -inf if place <= 0 else inf
            if 0 < place <= t:
                expected = sorted(scores[:t])[place - 1]
            assert thresholds[t] == expected
            alpha += step * (1.0 - 0.9 - (score > expected))


@pytest.mark.thorough
def test_label_sets(script, run, tmp_path):
    X, y = three_classes(150)
    options = ["--data-dir", write(tmp_path, "made", X, y), "--in-order", "made"]
    options += ["--min-rows", 100, "--skip", 30, "--n-jobs", 1]
    _, _, line, *_ = run(script("label_sets", N_BLOCK=20), *options).splitlines()
    model = OnlineConformalClassifier(HedgeClassifier(random_state=0))
    sets = model.partial_fit_predict(X, y, classes=[0, 1, 2], method="predict_set")
    shares = sets[np.arange(150), y][30:].reshape(6, 20).mean(axis=1)
    deviations = 100 * abs(shares - 0.9)
    expected = deviations.mean(), deviations.max(), sets[30:].sum(axis=1).mean()
    assert_allclose([*map(float, line.split()[3:6])], expected, atol=6e-3)


@pytest.mark.thorough
def test_which(script, run, tmp_path):
    ours = {"ScInOL": script("which").ESTIMATORS["ScInOL"]}
    module = script("which", ESTIMATORS=ours)
    X, y = three_classes(110)
    X *= [1.0, 10.0, 100.0]
    folder = write(tmp_path, "made", X, y)
    with config_context(engine="numpy"):
        out = run(module, "--data-dir", folder, "--only", "made", "--in-order", "made")
    title, of_100, _, _, _, _, _, summary = out.splitlines()
    c = float(re.match("made: narrow, .*, 3 classes; SGD's c ([\\d.]+)", title)[1])
    rate = {"learning_rate": "invscaling", "power_t": 0.5, "eta0": c}
    model = SGDClassifier("log_loss", penalty=None, random_state=0, **rate)
    losses = [np.log(3.0)]
    for t in range(1, 101):
        scale = X[:t].std(axis=0)
        z = (X[:t] - X[:t].mean(axis=0))[-1:] / np.where(scale > 0.0, scale, 1.0)
        if t > 1:
            losses.append(-np.log(model.predict_proba(z)[0, y[t - 1]]))
        model.partial_fit(z, y[t - 1 : t], classes=range(3))
    n, of_sgd, ratio, _ = of_100.split()
    assert (n, float(of_sgd)) == ("100", pytest.approx(np.mean(losses), rel=1e-3))
    data = module.Rows("made", X[:100], None, y[:100], 3)
    expected = row_losses(ScInOLClassifier(), data).mean() / np.mean(losses)
    assert float(ratio) == pytest.approx(expected, abs=2e-3)
    assert summary.split()[:4] == ["narrow", "100", "1", ratio]


def test_tightness(script, run, folder):
    """A line for each bound, with the quotient; one that is passed is counted."""
    algorithms = "scinol1", "scinol2"
    small = {
        mixture.__name__: partial(
            mixture, [(k, learner(algorithm=k)) for k in algorithms]
        )
        for mixture, learner in (
            (HedgeClassifier, ScInOLClassifier),
            (HedgeRegressor, ScInOLRegressor),
        )
    }
    module, options = (
        script("tightness", **small),
        ("--data-dir", folder, "--only", "a"),
    )
    out = run(module, *options)
    lines = re.findall(r"^(\w.{23}) +(\S+) +(\S+) +(\S+)$", out, re.M)
    assert len(lines) == 12
    for _, *cells, ratio in lines:
        value, bound = map(float, cells)
        assert 0.0 < bound > value
        expected = f"{bound / value:.1f}" if value > 0.0 else "below"
        assert ratio == expected or number(ratio) == pytest.approx(bound / value, 0.05)
    assert out.endswith("None of the bounds were passed.\n")
    module = script("tightness", bounds=lambda _: [("coverage", 2.0, 1.0)])
    assert run(module, *options).endswith("1 of the bounds were passed.\n")


@pytest.mark.thorough
def test_table_views(script, run, tmp_path):
    module, path = script("table_views"), tmp_path / "adult_raw.csv.gz"
    frame = pd.DataFrame(table(120))[["age", "city"]]
    frame["target"] = np.where(frame["age"] > 40, "yes", "no")
    frame.to_csv(path, index=False)
    out = run(module, "--data-dir", tmp_path, "--max-rows", 100)
    _, _, line, _, means, _ = out.splitlines()
    *losses, ratio, _ = line.split()[2:]
    assert float(means.split()[-1]) == pytest.approx(float(ratio), abs=1e-3)
    model = make_online_pipeline(TableEncoder(), HedgeClassifier())
    model.partial_fit(*module.read(path, 100), classes=[False, True])
    assert float(losses[-1]) == pytest.approx(model.cumulative_loss_ / 100, abs=1e-4)


# Loops that scripts compare times with learn the same.


def test_function_by_hand_is_the_learner(script):
    pytest.importorskip("numba", reason="numba is not installed")
    module, rng = script("first_call"), np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X.sum(axis=1) > 0.5, 1.0, -1.0)
    c = np.append(1.0, rng.choice([0.0, 1.0], 59))
    mean, totals, state = np.zeros(4), np.zeros(3), np.zeros((5, 5))
    state[2], state[3] = np.finfo(float).tiny, 1.0
    predictions, losses = np.zeros((2, 60))
    assert module.learn_rows(X, y, c, mean, *state, predictions, losses, totals)
    model = ScInOLClassifier().partial_fit(X, y, [-1, 1], c)
    assert totals[0] == (c > 0.0).sum()
    assert_allclose(totals[2], model.cumulative_loss_, rtol=1e-12)


def test_ways_learn_the_same(script):
    """Each learns every row that it is asked to, and predictions learn none."""
    module = script("one_row")
    X, y = module.data(30, 3)
    for way, learned in (
        (module.by_partial_fit, 10),
        (module.by_rows, 10),
        (module.predictions_by_rows, 0),
    ):
        estimator = module.ScInOLClassifier()
        learn = way(estimator, X, y)
        for i in range(10):
            learn(i)
        assert estimator.n_samples_seen_ == 30 + learned


@pytest.mark.parametrize("name", ["Vowpal Wabbit", "river"])
def test_competitors_learn(script, name):
    competitors = script("competitors").COMPETITORS
    if name not in competitors:
        pytest.skip(f"{name} is not installed")
    for frame in frames().values():
        y = (frame.pop("target").isin([">50K", "spam"])).to_numpy()
        p = competitors[name](frame.to_dict("records"), y)
        assert np.mean((p > 0.5)[60:] == y[60:]) > 0.55


def test_only_empty_cells_are_missing(script, tmp_path):
    for name, frame in frames().items():
        frame.to_csv(tmp_path / name, index=False)
    adult, _ = script("raw_table").find_tables(tmp_path)
    assert {*adult.frame["city"]} == {"Oslo", "Rome", "NA"}
    assert adult.frame["gain"].isna().sum() == 18
