"""Scripts that compare losses run on small data, and what they print is right."""

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
from support.scripts import read_data_sets, row_losses, write_data_sets
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

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def run(tmp_path, capsys):
    """Run a script; return what it prints."""

    def run(script, *options):
        status = script.main([*map(str, options)])
        out, err = capsys.readouterr()
        assert status == 0, err
        return out

    return run


@pytest.fixture
def figures(tmp_path):
    return tmp_path / "figures"


def number(text):
    return float(text.strip("*()%").replace(",", ""))


def probabilities(model, X, y):
    classes = np.unique(y)
    return model.partial_fit_predict(X, y, classes=classes, method="predict_proba")


def write(folder, name, X, y):
    np.savez(folder / f"{name}.npz", X=X, y=y)
    return folder


@pytest.mark.thorough
def test_adahedge(load, run, monkeypatch, figures):
    script = load("adahedge")
    monkeypatch.setattr(script, "RATES", 2.0 ** np.array([-8, 1, 4]))
    out = run(script, "--output-dir", figures)

    def total(name):
        (loss,) = re.findall(rf"^{re.escape(name)}.*? ([\d,]+\.\d) ", out, re.M)
        return number(loss)

    best, charged = total("best expert: ScInOL2"), total("AdaHedge, loss")
    bounds = total("best expert + twice"), total("best expert + bound")
    assert best < charged < bounds[0] < bounds[1]
    assert total("AdaHedge, mean prediction") < charged < total("median expert")
    assert (figures / "adahedge.png").exists()


@pytest.mark.parametrize("target", ["label", "amount"])
def test_adahedge_on_own_data(load, run, monkeypatch, tmp_path, target):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    script = load("adahedge")
    monkeypatch.setattr(script, "RATES", 2.0 ** np.array([-8, 1, 4]))
    random, lines = np.random.default_rng(0), ["length,colour,label,amount"]
    for length in random.normal(50, 10, 90):
        colour, label = random.choice(["red", "green"]), "long" if length > 50 else "no"
        lines.append(f"{length:.3f},{colour},{label},{length / 10:.3f}")
    file = tmp_path / "rods.csv"
    file.write_text("\n".join(lines) + "\n")
    options = "--output-dir", tmp_path, "--data", file, "--target", target
    assert run(script, *options).startswith("rods.csv: 90 rows ")


def test_alarms(load, run, monkeypatch, figures):
    pytest.importorskip("river", reason="river is not installed")
    script = load("alarms")
    for name, value in (
        ("MAX_ROWS", 4000),
        ("MAX_DELAY", 800),
        ("N_BEFORE", (200, 100)),
        ("DELTAS", (0.1, 0.9)),
    ):
        monkeypatch.setattr(script, name, value)
    options = "--streams", 4, "--delays", 20, "--output-dir", figures
    out = run(script, *options)
    assert len(re.findall(r"^(?:error|exp|Cauchy).* 4 +10?,000 ", out, re.M)) == 4
    assert out.count("LossMonitor / ADWIN with as many false alarms: ") == 3
    assert (figures / "alarms.png").exists()


@pytest.mark.thorough
def test_calibration(load, run, tmp_path):
    script = load("calibration")
    folder = write_data_sets(tmp_path / "data", n_amounts=40, n_three=90)
    options = ["--data-dir", str(folder), "--n-jobs", "1", "--min-rows", "80"]
    _, _, *lines = run(script, *options).splitlines()
    line, of_median, of_mean = (line.split() for line in lines)
    assert line[:3] == ["three", "90", "3"]
    assert of_median[1:] == of_mean[1:] == line[3:]
    chosen = script.chosen_readers(script.make_parser("\n\n").parse_args(options))
    (data_set,) = script.read_data_sets({"three": chosen["three"]}, None)
    P = probabilities(HedgeClassifier(random_state=0), data_set.X, data_set.y)
    is_right = P.argmax(axis=1) == data_set.y
    bins = np.array_split(np.argsort(P.max(axis=1), kind="stable"), 20)
    errors = [abs(np.mean(P.max(axis=1)[rows] - is_right[rows])) for rows in bins]
    assert float(line[3]) == pytest.approx(np.mean(errors), abs=6e-5)


@pytest.mark.thorough
def test_dfeg(load, run, monkeypatch, figures):
    script = load("dfeg")

    def fetch(**_):
        raise OSError("there is no network")

    monkeypatch.setattr(script, "fetch_california_housing", fetch)
    monkeypatch.setattr(script, "RATES", 2.0 ** np.array([-10, -4, 1, 6, 12]))
    out = run(script, "--output-dir", figures)
    # The synthetic experiment of the paper.
    assert re.search(r"^DFEG +0\.931 +1\.025$", out, re.M)
    assert re.search(r"^Kernel GD, rate 1 +4\.509 +49\.486$", out, re.M)
    (row,) = re.findall(r"^diabetes .*", out, re.M)
    zero, dfeg, best, rate, worst, worst_rate, better = map(number, row.split()[1:])
    assert best < dfeg < 1.6 * best < zero < worst / 100
    assert (rate, worst_rate, better) == (2, 4096, 1)
    assert (figures / "dfeg.png").exists()
    X, y = script.prepare(script.read_diabetes())
    kernel = script.gaussian_kernel(X)
    model = BaselineRegressor("kernel_gd", learning_rate=rate, **kernel)
    said = model.partial_fit_predict(X, y)
    assert best == pytest.approx(np.abs(said - y).sum(), rel=0.01)


@pytest.mark.thorough
def test_drift(load, run, monkeypatch, tmp_path, figures):
    """Rows of a folder are learned in their order."""
    script = load("drift")
    monkeypatch.setattr(script, "WINDOW", 50)
    options = "--n-jobs", 1, "--output-dir", figures
    assert len(re.findall(r"  mixture  ", run(script, *options, "--max-rows", 300))) > 2
    assert (figures / "drift.png").exists()
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = 1 * (X[:, 0] > np.arange(120) / 60 - 1)
    out = run(script, *options, "--data-dir", write(tmp_path, "two", X, y))
    for name, model in (
        ("mixture", HedgeClassifier()),
        ("ScInOL2", ScInOLClassifier()),
    ):
        p = probabilities(model, X, y)
        expected = log_loss(y, p), (p.argmax(axis=1) == y).mean()
        (line,) = re.findall(rf"^two +{name} +(.*)", out, re.M)
        assert [*map(float, line.split())] == pytest.approx(expected, abs=6e-5)


@pytest.mark.thorough
def test_experts(load, run, monkeypatch, tmp_path):
    """Mixtures without an expert, or with one more."""
    script = load("experts")
    candidates = {"scinol1": script.CANDIDATES["scinol1"]}
    monkeypatch.setattr(script, "CANDIDATES", candidates)
    folder = write_data_sets(tmp_path / "data", 15, 15, n_wide=20)
    out = run(script, "--n-jobs", 1, "--data-dir", folder)
    for name, data_set in read_data_sets(script, folder).items():
        part = out[out.index(f"{name}: ") :].split("\n\n", 2)
        text = "\n".join(part[:2])
        make = HedgeRegressor if data_set.n_classes is None else HedgeClassifier
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
            (shown,) = re.findall(pattern, text, re.M)
            assert float(shown) == pytest.approx(loss, rel=1e-4)


@pytest.mark.thorough
def test_fit(load, run, monkeypatch):
    script = load("fit")
    monkeypatch.setattr(script, "N_FOLDS", 2)
    monkeypatch.setattr(script, "OPTIONS", {"one epoch": {"max_iter": 1, "tol": None}})
    out = run(script, "--only", "e", "--max-rows", 150, "--n-jobs", 1)
    _, *rows, median, mean, largest = out.splitlines()
    ratios = np.array([[*map(float, row[28:].split()[1:])] for row in rows])
    assert len(ratios) >= 2
    assert (ratios > 0.2).all()
    assert (ratios < 4.0).all()
    for line, expected in (
        (median, np.median(ratios, axis=0)),
        (mean, np.exp(np.log(ratios).mean(axis=0))),
        (largest, ratios.max(axis=0)),
    ):
        shown = [*map(float, line[36:].split())]
        assert_allclose(shown, expected, atol=1e-3)


@pytest.mark.thorough
def test_fit_in_place_of_sgd(load, run, monkeypatch, tmp_path):
    script = load("fit")
    monkeypatch.setattr(script, "N_FOLDS", 2)
    folder = write_data_sets(tmp_path / "data", n_amounts=80, n_three=30)
    out = run(script, "--sgd", "--data-dir", folder, "--n-jobs", 1)
    (scores,) = re.findall(r"^amounts +(.*)", out, re.M)
    *r2, of_scinol, of_newton, _ = map(float, scores.split())
    amounts = read_data_sets(script, folder)["amounts"]
    newton = script.OnlineNewtonRegressor(random_state=0)
    options = {"cv": script.KFold(2, shuffle=True, random_state=0), "scoring": "r2"}
    expected = cross_val_score(newton, amounts.X, amounts.y, **options).mean()
    assert r2[2] == pytest.approx(expected, abs=6e-4)
    for name, k, error in ("ScInOL", 1, of_scinol), ("Newton", 2, of_newton):
        above, below = int(r2[k] > r2[0]), int(error < 1)
        assert (
            f"{name}, fit: R² above SGD's on {above}, error below on {below} of 1"
            in out
        )


@pytest.mark.thorough
def test_hedge(load, run, tmp_path, figures):
    script = load("hedge")
    folder = write_data_sets(tmp_path / "data", n_amounts=80, n_three=70, n_wide=30)
    options = "--n-jobs", 1, "--data-dir", folder, "--output-dir", figures
    out = run(script, *options)
    for name, data_set in read_data_sets(script, folder).items():
        fields = re.search(rf"^{name} +(.*)", out, re.M)[1].split()
        model = HedgeRegressor() if data_set.n_classes is None else HedgeClassifier()
        hedge = row_losses(model, data_set).mean()
        experts = {
            expert: row_losses(clone(estimator), data_set).mean()
            for expert, estimator in model.named_estimators_.items()
        }
        best = min(experts, key=experts.get)
        shown = [float(field) for field in fields if field != best]
        assert best in fields
        assert shown[:2] == pytest.approx([hedge, experts[best]], rel=1e-4)
        assert shown[2] == pytest.approx(hedge / experts[best], abs=6e-4)
        star, times_star = shown[4:]
        assert times_star == pytest.approx(hedge / star, abs=6e-4)
    assert (figures / "hedge.png").exists()


@pytest.mark.thorough
def test_implicit_updates(load, run, monkeypatch, figures):
    script = load("implicit_updates")
    monkeypatch.setattr(script, "BETAS", 2.0 ** np.array([-20, -10, 0, 10, 20]))
    options = "--output-dir", figures, "--jobs", 1, "--shuffles", 2
    out = run(script, *options, "--only", "wine", "--only", "diabetes")
    # The paper's synthetic experiment.
    text = " ".join(out.split())
    for words in ("OGD 444.1", "AdaOGD 0.379", "Implicit 457.5", "AdaImplicit 0.153"):
        assert words in text
    # Four best losses, each with a number of values of beta.
    assert len(re.findall(r"^(?:wine|diabetes)(?: +[\d.]+ +[1-5]){4} ", out, re.M)) == 2
    assert (figures / "implicit_beta.png").exists()


def test_adaptive_intervals(load):
    script = load("intervals")
    errors = np.random.default_rng(0).normal(size=3000)
    widths = script.adaptive(errors, 0.0)
    assert widths[-1] == pytest.approx(1.645, abs=0.1)
    assert widths[10] == sorted(np.abs(errors[:10]))[9]
    growing = errors * np.linspace(1.0, 30.0, 3000)
    assert np.mean(np.abs(growing) <= script.adaptive(growing, 0.05)) > 0.89


@pytest.mark.thorough
def test_intervals(load, run, monkeypatch, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    script, rng = load("intervals"), np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X.sum(axis=1) + rng.normal(size=500)
    for name, value in (
        ("find_spec", lambda _: None),
        ("made_streams", lambda: [("made*", X, y)]),
        ("cost", lambda _: (1.25, 3.0)),
        ("BLOCK", 100),
    ):
        monkeypatch.setattr(script, name, value)
    rows = [f"{a},{b},{c}" for (a, b), c in zip(X, y > 0.0, strict=True)]
    (tmp_path / "pendigits.csv").write_text("\n".join(["a,b,target", *rows]) + "\n")
    (shown,) = re.findall(r"^made\* +(.*)", run(script, "--data-dir", tmp_path), re.M)
    points, (ratio,) = script.measure(X, y, False)
    expected = [500, points.mean(), points.max(), ratio]
    assert [*map(float, shown.split())] == pytest.approx(expected, abs=0.06)
    (shown,) = re.findall(r"^made\* +(.*)", run(script, "--groups"), re.M)
    _, lower, upper = script.ours(X, y)
    off = 100.0 * np.abs(((lower <= y) & (y <= upper))[200:].mean() - 0.9)
    n_rows, thirds, worst, _, of_groups, *_, ratio = map(float, shown.split())
    assert n_rows == 500
    assert off <= thirds <= worst
    assert of_groups > 0.0
    assert ratio == pytest.approx(1.0, abs=0.2)


def test_adaptive_label_sets(load, monkeypatch):
    """Compared with the definition: quantiles of all scores before."""
    script = load("label_sets")
    monkeypatch.setattr(script, "STEPS", (0.02, 0.3))
    scores = np.random.default_rng(0).normal(size=200).tolist()
    found = script.adaptive_conformal_inference(scores)
    for step, thresholds in zip(script.STEPS, found, strict=True):
        alpha = 1.0 - 0.9
        for t, score in enumerate(scores):
            place = ceil((1.0 - alpha) * (t + 1))
            expected = -inf if place <= 0 else inf
            if 0 < place <= t:
                expected = sorted(scores[:t])[place - 1]
            assert thresholds[t] == expected
            alpha += step * (1.0 - 0.9 - (score > expected))


@pytest.mark.thorough
def test_label_sets(load, run, monkeypatch, tmp_path):
    script, random = load("label_sets"), np.random.default_rng(0)
    monkeypatch.setattr(script, "N_BLOCK", 20)
    X = random.normal(size=(150, 3))
    y = np.argmax(X + random.gumbel(size=X.shape), axis=1)
    options = ["--data-dir", write(tmp_path, "made", X, y), "--in-order", "made"]
    options += ["--min-rows", 100, "--skip", 30, "--n-jobs", 1]
    _, _, line, *_ = run(script, *options).splitlines()
    model = OnlineConformalClassifier(HedgeClassifier(random_state=0))
    sets = model.partial_fit_predict(X, y, classes=[0, 1, 2], method="predict_set")
    shares = sets[np.arange(150), y][30:].reshape(6, 20).mean(axis=1)
    deviations = 100 * abs(shares - 0.9)
    expected = deviations.mean(), deviations.max(), sets[30:].sum(axis=1).mean()
    assert_allclose([*map(float, line.split()[3:6])], expected, atol=6e-3)


@pytest.mark.thorough
def test_which(load, run, monkeypatch, tmp_path):
    script, random = load("which"), np.random.default_rng(0)
    ours = {"ScInOL": script.ESTIMATORS["ScInOL"]}
    monkeypatch.setattr(script, "ESTIMATORS", ours)
    X = random.normal(size=(110, 3)) * [1.0, 10.0, 100.0]
    y = np.argmax(X + X.std(axis=0) * random.gumbel(size=X.shape), axis=1)
    folder = write(tmp_path, "made", X, y)
    with config_context(engine="numpy"):
        out = run(script, "--data-dir", folder, "--only", "made", "--in-order", "made")
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
    data = script.Rows("made", X[:100], None, y[:100], 3)
    expected = row_losses(ScInOLClassifier(), data).mean() / np.mean(losses)
    assert float(ratio) == pytest.approx(expected, abs=2e-3)
    assert summary.split()[:4] == ["narrow", "100", "1", ratio]


def test_merging(load, run, monkeypatch, tmp_path):
    script, random = load("merging"), np.random.default_rng(0)
    learners = [classes for classes in script.LEARNERS if ScInOLClassifier in classes]
    monkeypatch.setattr(script, "LEARNERS", tuple(learners))
    X = random.normal(size=(480, 3))
    folder = write(tmp_path, "amounts", X, X[:, 0] + 2.0 * X[:, 1])
    out = run(script, "--n-jobs", 1, "--data-dir", folder, "--shards", 4)
    assert out.startswith("amounts: 384 rows")
    _, _, one, *ways = out.partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in [one, *ways]] == ["1", *["4"] * 4]
    loss = float(one.split()[1])
    for line in ways:
        merged, ratio = line.replace("second pass", "").split()[-2:]
        assert number(ratio) == pytest.approx(float(merged) / loss, 0.01)


def cells(out):
    """The cells of a table in Markdown, below its head."""
    _, _, *rows = out.splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.thorough
def test_outliers(load, monkeypatch, capsys):
    script = load("outliers")
    monkeypatch.setattr(script, "DATA_SETS", {"wine": script.DATA_SETS["wine"]})
    script.main()
    rows = cells(capsys.readouterr().out)
    assert [row[1] for row in rows] == ["ScInOLClassifier", "HedgeClassifier"]
    for row in rows:
        damage, clipped, cost = map(float, row[2:])
        assert damage > clipped + 0.1
        assert cost < 1.1


@pytest.mark.thorough
def test_scales(load, capsys):
    load("scales").main()
    rows = cells(capsys.readouterr().out)
    (ours,) = {row[1] for row in rows}
    assert float(ours) > 0.94
    assert rows[-1][2:] == ["refused", "refused"]
    assert float(rows[3][3]) > 0.9 > float(rows[3][2])


def test_regret_certificate(load, run, monkeypatch, figures):
    script = load("regret_certificate")
    monkeypatch.setattr(script, "RADII", (1.0,))
    options = "--output-dir", figures, "--only", "wine", "--max-rows", 60
    out = run(script, *options)
    assert "All 4 certificates hold" in out
    lines = re.findall(r"^ +(?:1|none)  ScInOL[12] +(.*)$", out, re.M)
    assert len(lines) == 4
    for line in lines:
        loss, best, regret, bound, _ = map(number, line.split())
        assert regret == pytest.approx(loss - best, abs=0.11)
        assert regret < bound
    assert (figures / "regret_certificate.png").exists()


def test_tightness(load, run, monkeypatch, tmp_path):
    """A line for each bound, with the quotient; one that is passed is counted."""
    script = load("tightness")
    small = {"HedgeClassifier": ScInOLClassifier, "HedgeRegressor": ScInOLRegressor}
    for name, learner in small.items():
        experts = [
            (algorithm, learner(algorithm=algorithm))
            for algorithm in ("scinol1", "scinol2")
        ]
        monkeypatch.setattr(script, name, partial(getattr(script, name), experts))
    folder = write_data_sets(tmp_path / "data", 60, 60)
    options = "--data-dir", folder, "--only", "a"
    out = run(script, *options)
    lines = re.findall(r"^(\w.{23}) +(\S+) +(\S+) +(\S+)$", out, re.M)
    assert len(lines) == 12
    for _, *cells, ratio in lines:
        value, bound = map(float, cells)
        assert 0.0 < bound > value
        expected = f"{bound / value:.1f}" if value > 0.0 else "below"
        assert ratio == expected or number(ratio) == pytest.approx(bound / value, 0.05)
    assert out.endswith("None of the bounds were passed.\n")
    monkeypatch.setattr(script, "bounds", lambda _: [("coverage", 2.0, 1.0)])
    assert run(script, *options).endswith("1 of the bounds were passed.\n")


@pytest.mark.thorough
def test_river_benchmark(load, run, monkeypatch, tmp_path):
    script, random = load("river_benchmark"), np.random.default_rng(0)
    monkeypatch.setattr(script, "find_spec", lambda _: None)
    X = random.normal(size=(200, 3))
    y = np.where(X[:, 0] + 0.3 * random.normal(size=200) > 0, "UP", "DOWN")
    out = run(script, "--data-dir", write(tmp_path, "elec2", X, y))
    lines = out[out.index("Elec2: 200 rows") :].splitlines()
    scores = {line[:44].strip(): float(line[44:54]) for line in lines[2:21]}
    assert len(scores) == 19
    assert [*scores.values()] == sorted(scores.values(), reverse=True)
    said = HedgeClassifier().partial_fit_predict(X, y, classes=["DOWN", "UP"])
    accuracy = (said == y).mean()
    assert scores[script.OURS] == pytest.approx(accuracy, rel=1e-3)
    better = sum(score > accuracy for score in script.published()["Elec2"].values())
    assert lines[21].endswith(f": {better} of the 18 published are better.")


@pytest.mark.thorough
def test_table_terms(load, run, figures):
    pytest.importorskip("pandas", reason="pandas is not installed")
    script = load("table_terms")
    out = run(script, "--output-dir", figures, "--generated")
    lines = [line.split() for line in out.splitlines()[2:]]
    people = [line for line in lines if line[:1] == ["people"]]
    assert [line[1] for line in people] == ["age", "job", "hours", "gain"]
    variations = [float(line[-1]) for line in people]
    assert variations == sorted(variations, reverse=True)
    assert (figures / "terms_of_people.png").exists()


@pytest.mark.thorough
def test_table_views(load, run, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    script, path = load("table_views"), tmp_path / "adult_raw.csv.gz"
    frame = pandas.DataFrame(table(120))[["age", "city"]]
    frame["target"] = np.where(frame["age"] > 40, "yes", "no")
    frame.to_csv(path, index=False)
    out = run(script, "--data-dir", tmp_path, "--max-rows", 100)
    _, _, line, _, means, _ = out.splitlines()
    *losses, ratio, _ = line.split()[2:]
    assert float(means.split()[-1]) == pytest.approx(float(ratio), abs=1e-3)
    model = make_online_pipeline(TableEncoder(), HedgeClassifier())
    model.partial_fit(*script.read(path, 100), classes=[False, True])
    assert float(losses[-1]) == pytest.approx(model.cumulative_loss_ / 100, abs=1e-4)


@pytest.mark.thorough
def test_tree_ensembles(load, run, monkeypatch, tmp_path):
    script, rng = load("tree_ensembles"), np.random.default_rng(0)
    monkeypatch.setattr(script, "find_spec", lambda _: None)
    y = np.repeat(rng.integers(3, size=50), 4)[:180]
    X = y[:, np.newaxis] + rng.normal(size=(180, 2))
    write(tmp_path, "keystroke", X, y)
    out = run(script, "--data-dir", tmp_path, "--max-rows", 180)
    stream = "keystroke: 180 rows, 2 features, 3 classes"
    lines = out[out.index(stream) :].split("\n\n")[0].splitlines()[3:]
    found = {line[:32].strip(): [*map(float, line[32:].split())] for line in lines}
    same = np.append(0, y[:-1])
    shown = [(same == y).mean(), cohen_kappa_score(y, same), 0.0]
    assert found["same label as before"] == pytest.approx(shown, abs=5.1e-5)
    P = probabilities(HedgeClassifier(), X, y)
    right = (P.argmax(axis=1) == y).mean()
    gain = (right - shown[0]) / (1 - shown[0])
    kappa = cohen_kappa_score(y, P.argmax(axis=1))
    expected = right, kappa, gain, log_loss(y, P)
    assert found["Hedge"][:4] == pytest.approx(expected, abs=1e-3)
