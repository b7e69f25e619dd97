"""How examples are shown: in which order, on which small data, with which alt texts."""

import re
import tomllib
from pathlib import Path

from sphinx_gallery.scrapers import matplotlib_scraper

from sklearn_scinol import set_config

ALT_TEXTS = Path(__file__).parent / "alt_texts.toml"
ORDER = (
    "no_tuning",
    "comparison_with_sgd",
    "hedge",
    "drift",
    "intervals",
    "alarms",
    "raw_table",
    "table_terms",
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
        *("--shuffles", "1", "--n-jobs", "1"),
        *("--only", "breast cancer", "--only", "wine", "--only", "diabetes"),
    ],
    "plot_no_tuning.py": [
        *("--rates", "1e-4", "1e-3", "1e-2", "1e-1", "1", "10"),
        *("--jobs", "1"),
    ],
    "plot_out_of_core.py": ["--gigabytes", "0.005"],
    "plot_raw_table.py": ["--generated", "--alone"],
    "plot_table_terms.py": ["--generated"],
    "plot_scale_out.py": ["--n-jobs", "2"],
}

# To learn the others' rows takes less time than to compile the loops.
COMPILED = "comparison_with_sgd", "scale_out"


def described_figures(block, block_vars, gallery_conf):
    """Those of Matplotlib, for `image_scrapers` of Sphinx-Gallery."""
    texts = tomllib.loads(ALT_TEXTS.read_text(encoding="utf-8"))
    return re.sub(
        r"(sphx_glr_(\w+)_(\d{3})\.png\n +:alt:).*",
        lambda found: f"{found[1]} {texts[found[2]][int(found[3]) - 1]}",
        matplotlib_scraper(block, block_vars, gallery_conf),
    )


def options(gallery_conf, script_vars):
    """Those of one example, for `reset_argv` of Sphinx-Gallery."""
    name = Path(script_vars["src_file"]).name
    is_compiled = name.removeprefix("plot_").removesuffix(".py") in COMPILED
    set_config(engine="auto" if is_compiled else "numpy")
    return [*OPTIONS.get(name, ()), "--output-dir", "../doc/_build/figures"]


def place(file):
    """Of an example among all: first those of `ORDER`, then others by name."""
    name = Path(file).stem.removeprefix("plot_")
    return ORDER.index(name) if name in ORDER else len(ORDER), name
