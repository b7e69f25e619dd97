"""The example of what a model has learned of a table."""

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.mark.thorough
def test_generated_tables(load, tmp_path, capsys):
    example = load("table_terms")
    assert example.main(["--generated", "--output-dir", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = [line.split() for line in out.splitlines()[2:]]
    people = [line for line in lines if line[:1] == ["people"]]
    assert [line[1] for line in people] == ["age", "job", "hours", "gain"]
    variations = [float(line[-1]) for line in people]
    assert variations == sorted(variations, reverse=True)
    assert ["messages", "text", "text"] in [line[:3] for line in lines]
    for name in "people", "messages":
        assert (tmp_path / f"terms_of_{name}.png").stat().st_size > 10_000


def test_it_says_what_is_wrong(load, tmp_path, capsys):
    example = load("table_terms")
    assert example.main(["--data-dir", str(tmp_path)]) == 2
    assert "There is no adult_raw.csv" in capsys.readouterr().err
