"""How examples are shown: in which order, and on which small data each runs."""

from pathlib import Path

ORDER = (
    "no_tuning",
    "comparison_with_sgd",
    "hedge",
    "drift",
    "raw_table",
    "out_of_core",
    "scale_out",
)

# Beside what takes a few seconds as it is.
OPTIONS = {
    "plot_comparison_with_sgd.py": ["--rates", "0.01", "0.1", "1"],
    "plot_dfeg.py": ["--only", "diabetes"],
    "plot_drift.py": ["--max-rows", "3000"],
    "plot_hedge.py": ["--max-rows", "600"],
    "plot_implicit_updates.py": [
        *("--shuffles", "1"),
        *("--only", "breast cancer", "--only", "wine", "--only", "diabetes"),
    ],
    "plot_no_tuning.py": ["--rates", "1e-4", "1e-3", "1e-2", "1e-1", "1", "10"],
    "plot_out_of_core.py": ["--gigabytes", "0.005"],
    "plot_raw_table.py": ["--generated", "--alone"],
    "plot_scale_out.py": ["--n-jobs", "2"],
}


def options(gallery_conf, script_vars):
    """Those of one example, for `reset_argv` of Sphinx-Gallery."""
    name = Path(script_vars["src_file"]).name
    return [*OPTIONS.get(name, ()), "--output-dir", "../doc/_build/figures"]


def place(file):
    """Of an example among all: first those of `ORDER`, then others by name."""
    name = Path(file).stem.removeprefix("plot_")
    return ORDER.index(name) if name in ORDER else len(ORDER), name
