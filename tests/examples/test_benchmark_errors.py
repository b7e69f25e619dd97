"""Benchmark scripts say in one sentence what is wrong, and end with status 2."""

import pytest
from support.scripts import caller, write_data_sets

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

#: Scripts that read all data sets of a folder, of which `--only` chooses.
OF_FOLDERS = ["calibration", "drift", "experts", "hedge", "merging", "quality"]
OF_FOLDERS += ["regret_certificate", "tightness", "which"]


@pytest.fixture
def run(request, load, capsys):
    return caller(load(request.param), capsys)


def of_scripts(*names):
    return pytest.mark.parametrize("run", names, indirect=True)


@pytest.mark.cases(3)
@of_scripts(
    *OF_FOLDERS, "dfeg", "fit", "implicit_updates", "river_benchmark", "second_order"
)
def test_missing_folder(run, tmp_path):
    missing = tmp_path / "missing"
    assert run("--data-dir", missing) == (2, "", f"There is no folder {missing}.\n")


@pytest.mark.cases(3)
@of_scripts(*OF_FOLDERS)
def test_unknown_data_set(run, tmp_path):
    folder = write_data_sets(tmp_path / "data", 30, 30)
    said = "No data set has 'four' in its name.\n"
    assert run("--data-dir", folder, "--only", "four") == (2, "", said)


@of_scripts("dfeg", "implicit_updates", "quality")
def test_folder_without_data_sets(run, tmp_path):
    status, out, err = run("--data-dir", tmp_path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"There is no data set in {tmp_path}: ")


@of_scripts("adahedge", "dfeg", "hedge", "no_tuning")
def test_folder_that_cannot_be_written(run, tmp_path):
    occupied = tmp_path / "file"
    occupied.touch()
    status, _, err = run("--output-dir", occupied)
    assert status == 2
    assert str(occupied) in err


@pytest.mark.parametrize(
    ("run", "options"),
    [
        ("adahedge", ["--data", "a.csv"]),
        ("adahedge", ["--target", "label"]),
        ("comparison_with_sgd", ["--target", "y"]),
        ("drift", ["--max-rows", 0]),
        ("hedge", ["--draw", 0]),
        ("implicit_updates", ["--shuffles", 0]),
        ("merging", ["--shards", 0]),
        ("no_tuning", ["--chunk-size", 0]),
        ("no_tuning", ["--rates", -1]),
        ("no_tuning", ["--separator", "ab"]),
        ("one_row", ["--rows", 0]),
        ("quality", ["--max-rows", "x"]),
        ("quality", ["--n-jobs", 0]),
    ],
    indirect=["run"],
)
def test_wrong_options(run, options, capsys):
    with pytest.raises(SystemExit) as exit:
        run(*options)
    assert exit.value.code == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["alarms", "drift", "forests", "scale_out"])
def test_missing_package(name, load, capsys, monkeypatch):
    script = load(name)
    monkeypatch.setattr(script, "find_spec", lambda _: None)
    options = ["--river"] if name == "drift" else []
    status, out, err = caller(script, capsys)(*options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "pip install" in err


@pytest.mark.parametrize(
    ("run", "options"),
    [
        *((name, []) for name in ("raw_table", "table_terms", "table_views")),
        ("history", ["--only", "flights"]),
    ],
    indirect=["run"],
)
def test_folder_without_the_table(run, options, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    (tmp_path / "other.csv").write_text("a\n1\n")
    status, _, err = run("--data-dir", tmp_path, *options)
    assert (status, err.count("\n")) == (2, 1)
    assert "There is no" in err
