"""How examples are shown: in which order, in which style, with which alt texts."""

import re
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import matplotlib_scraper

from sklearn_scinol import set_config

ALT_TEXTS = Path(__file__).parent / "alt_texts.toml"
ORDER = (
    "no_tuning",
    "comparison_with_sgd",
    "progressive_validation",
    "drift",
    "alarms",
    "hedge",
    "intervals",
    "raw_table",
    "table_terms",
    "history",
    "out_of_core",
    "scale_out",
    "dfeg",
    "implicit_updates",
    "regret_certificate",
    "adahedge",
)
STYLE = {
    "figure.constrained_layout.use": True,
    "figure.figsize": (6.0, 4.0),
    "font.size": 14,  # legible in thumbnails
    "lines.linewidth": 3,
    "savefig.dpi": 150,
}


def described_figures(block, block_vars, gallery_conf):
    """Save figures as Sphinx-Gallery does, with alt texts of `alt_texts.toml`."""
    texts = tomllib.loads(ALT_TEXTS.read_text(encoding="utf-8"))
    return re.sub(
        r"(sphx_glr_plot_(\w+)_(\d{3})\.png\n +:alt:).*",
        lambda found: f"{found[1]} {texts[found[2]][int(found[3]) - 1]}",
        matplotlib_scraper(block, block_vars, gallery_conf),
    )


def prepare(gallery_conf, file):
    """Set the style and the engine before an example, for `reset_modules`."""
    plt.rcParams.update(STYLE)
    set_config(engine="numpy")  # compiling takes longer than learning so few rows


def place(file):
    """Return the position of an example, for `within_subsection_order`."""
    return ORDER.index(Path(file).stem.removeprefix("plot_"))
