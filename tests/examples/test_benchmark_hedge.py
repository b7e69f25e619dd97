"""The example of mixtures that need no tuning, against estimators run one by one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from support.scripts import (
    assert_refuses,
    assert_says_that_nothing_is_there,
    read_data_sets,
    row_losses,
    runner,
    write_data_sets,
)

from sklearn_scinol import HedgeClassifier, HedgeRegressor
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

#: Those that SGD* tries.
RATES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def example(load):
    return load("hedge")


@pytest.fixture
def run(example, tmp_path, capsys):
    return runner(example, tmp_path, capsys)


@pytest.fixture
def folder(tmp_path):
    return write_data_sets(tmp_path / "data", n_amounts=80, n_three=70, n_wide=30)


@pytest.fixture
def data_sets(example, folder):
    return read_data_sets(example, folder)


def lines_by_name(out):
    """The fields of each line of the table."""
    _, _, body = out.partition("\n---")
    lines = body.splitlines()[1:]
    return {fields[0]: fields[1:] for fields in map(str.split, lines) if fields}


# Numbers.


@pytest.mark.thorough
def test_folder(run, data_sets, folder, tmp_path):
    status, out, err = run("--data-dir", folder)
    assert (status, err) == (0, "")
    lines = lines_by_name(out)
    n_below, worst = 0, {}
    for name, data_set in data_sets.items():
        regression = data_set.n_classes is None
        model = HedgeRegressor() if regression else HedgeClassifier()
        hedge = row_losses(model, data_set).mean()
        experts = {
            expert: row_losses(clone(estimator), data_set).mean()
            for expert, estimator in model.named_estimators_.items()
        }
        best = min(experts, key=experts.get)
        baseline = BaselineRegressor if regression else BaselineClassifier
        scale = np.abs(data_set.y).mean() if regression else 1.0
        sgd = [
            baseline("sgd", learning_rate=rate * scale, center=False) for rate in RATES
        ]
        raw = min(row_losses(clone(rival), data_set).mean() for rival in sgd)
        with_mean = name != "wide"
        data_set.X = StandardScaler(with_mean=with_mean).fit_transform(data_set.X)
        star = min(row_losses(rival, data_set).mean() for rival in sgd)
        *losses, times_best, in_table, star_in_table, times_star = (
            float(field) for field in lines[name] if field != best
        )
        assert best in lines[name]
        assert losses == pytest.approx([hedge, experts[best]], rel=1e-4)
        assert times_best == pytest.approx(hedge / experts[best], abs=6e-4)
        # Rates beyond those of SGD* may be better still.
        assert in_table <= raw * (1 + 1e-4)
        assert star_in_table == pytest.approx(star, rel=1e-4)
        assert times_star == pytest.approx(hedge / star, abs=6e-4)
        n_below += hedge < star
        worst[name] = hedge / experts[best]
    name = max(worst, key=worst.get)
    assert (
        f"Below SGD* on {n_below} of 3 data sets; at most {worst[name]:.3f} times the "
        f"loss of the best expert, on {name}.\n" in out
    )
    assert max(map(len, out.splitlines()[:-2])) <= 100
    assert out.endswith(f"Wrote {tmp_path / 'figures' / 'hedge.png'}\n")
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["hedge.png"]


@pytest.mark.thorough
def test_course(example, data_sets):
    """Learned in chunks, yet it is what it is row by row."""
    for data_set in data_sets.values():
        course = example.follow(data_set)
        n = len(data_set.y)
        assert (course.rows[0], course.rows[-1]) == (1, n)
        assert (np.diff(course.rows) > 0).all()
        model = clone(course.model)
        mean = np.cumsum(row_losses(model, data_set)) / np.arange(1, n + 1)
        np.testing.assert_allclose(course.losses, mean[course.rows - 1], rtol=1e-9)
        for k, expert in enumerate(model.estimators_):
            losses = row_losses(clone(expert), data_set)
            mean = np.cumsum(losses) / np.arange(1, n + 1)
            np.testing.assert_allclose(
                course.expert_losses[:, k], mean[course.rows - 1], rtol=1e-9
            )


@pytest.mark.thorough
def test_bundled_data(run, tmp_path):
    status, out, err = run("--only", "wine")
    assert (status, err) == (0, "")
    (fields,) = lines_by_name(out.partition("\n\nBelow")[0]).values()
    assert fields[2] in HedgeClassifier().fit([[0], [1]], [0, 1]).named_estimators_
    assert "of 1 data sets" in out
    assert (tmp_path / "figures" / "hedge.png").stat().st_size > 10_000


@pytest.mark.thorough
def test_max_rows(example, run, folder):
    status, out, _ = run("--data-dir", folder, "--only", "three", "--max-rows", 40)
    assert status == 0
    X, y = (np.load(folder / "three.npz")[name] for name in ("X", "y"))
    order = np.random.default_rng(0).permutation(70)[:40]
    probabilities = HedgeClassifier().partial_fit_predict(
        X[order], y[order], classes=[0, 1, 2], method="predict_proba"
    )
    loss, *_ = lines_by_name(out)["three"]
    assert float(loss) == pytest.approx(log_loss(y[order], probabilities), rel=1e-4)


# The figure.


@pytest.mark.thorough
def test_figure(example, data_sets):
    from matplotlib.colors import to_rgba

    parallel = example.Parallel(n_jobs=1)
    shown = data_sets["three"], data_sets["wide"]
    compared = [example.compare(data_set, parallel) for data_set in shown]
    figure = example.draw(compared)
    figure.draw_without_rendering()
    assert len(figure.axes) == 4
    for upper, lower, comparison in zip(
        figure.axes[:2], figure.axes[2:], compared, strict=True
    ):
        course = comparison.course
        assert upper.get_title().startswith(f"{comparison.name}: ")
        *experts, mixture, reference = upper.lines
        for line, losses in zip(experts, course.expert_losses.T, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), course.rows)
            np.testing.assert_array_equal(line.get_ydata(), losses)
        np.testing.assert_array_equal(mixture.get_ydata(), course.losses)
        assert mixture.get_linewidth() > experts[0].get_linewidth()
        assert set(reference.get_ydata()) == {comparison.sgd_star}
        # An expert has the same colour in both panels.
        colours = [line.get_color() for line in experts]
        assert len({*colours}) == len(experts)
        assert len(lower.collections) == len(experts) + 3  # and the pools
        for colour, area in zip(colours, lower.collections, strict=False):
            np.testing.assert_array_equal(area.get_facecolor()[0], to_rgba(colour))
        assert upper.get_xlim() == lower.get_xlim()
        bottom, top = upper.get_ylim()
        assert bottom < course.losses[-1] < top
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    experts = {name for c in compared for name in c.course.model.named_estimators_}
    experts = [name for name in example.COLOURS if name in experts]
    pools = ["pool", "pool, forgetting", "pool, forgetting fast"]
    assert names == [*experts, "mixture", "SGD*, in the end", *pools]


@pytest.mark.thorough
def test_most_rows_are_drawn(example, run, folder, monkeypatch):
    drawn = []
    draw = example.draw
    monkeypatch.setattr(
        example, "draw", lambda c: drawn.append([x.name for x in c]) or draw(c)
    )
    assert run("--data-dir", folder, "--draw", 2)[0] == 0
    assert drawn == [["amounts", "three"]]


# What may be wrong: one sentence, status 2.


def test_unusable_files(run, folder):
    np.savez(folder / "three.npz", X=np.ones((3, 2)), y=np.zeros(3))
    status, out, err = run("--data-dir", folder, "--only", "th")
    assert (status, err) == (2, "No data set is left.\n")
    assert out.endswith("Skipped three: its target is the same in all rows.\n")
    (folder / "amounts.svm").write_text("no numbers\n")
    status, out, err = run("--data-dir", folder, "--max-rows", 30)
    assert (status, err) == (0, "")
    assert "Skipped amounts: " in out
    assert "of 1 data sets" in out


def test_nothing_to_do(run, folder, tmp_path):
    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")


def test_folder_that_cannot_be_written(example, tmp_path, capsys):
    occupied = tmp_path / "file"
    occupied.touch()
    assert example.main(["--output-dir", str(occupied)]) == 2
    assert str(occupied) in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [["--draw", "0"], ["--max-rows", "x"], ["--n-jobs", "0"]]
)
def test_wrong_options(run, options, capsys):
    assert_refuses(run, options, capsys)
