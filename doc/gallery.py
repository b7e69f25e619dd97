"""How examples are shown: in which order, on which engine, with which alt texts."""

import re
import tomllib
from pathlib import Path

from sphinx_gallery.scrapers import matplotlib_scraper

from sklearn_scinol import set_config

ALT_TEXTS = Path(__file__).parent / "alt_texts.toml"
ORDER = ("intervals", "alarms")

# To learn the others' rows takes less time than to compile the loops.
COMPILED = ()


def described_figures(block, block_vars, gallery_conf):
    """Those of Matplotlib, for `image_scrapers` of Sphinx-Gallery."""
    texts = tomllib.loads(ALT_TEXTS.read_text(encoding="utf-8"))
    return re.sub(
        r"(sphx_glr_(\w+)_(\d{3})\.png\n +:alt:).*",
        lambda found: f"{found[1]} {texts[found[2]][int(found[3]) - 1]}",
        matplotlib_scraper(block, block_vars, gallery_conf),
    )


def reset_engine(gallery_conf, file):
    """Compile loops where learning takes longer than compiling."""
    name = Path(file).stem.removeprefix("plot_")
    set_config(engine="auto" if name in COMPILED else "numpy")


def place(file):
    """Of an example among all: first those of `ORDER`, then others by name."""
    name = Path(file).stem.removeprefix("plot_")
    return ORDER.index(name) if name in ORDER else len(ORDER), name
