"""Configuration of the documentation: `sphinx-build -W doc doc/_build`."""

import os
import sys
from pathlib import Path

import sklearn_scinol

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # for modules of this folder
os.environ["TQDM_DISABLE"] = "1"  # pages of examples show what is printed

project = "sklearn-scinol"
author = copyright = "sklearn-scinol developers"
version = release = sklearn_scinol.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",  # formulas, too, need no network
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "class_pages",
    "markup",
]
exclude_patterns = ["_build", "_templates", "paper.md"]  # a manuscript
templates_path = ["_templates"]  # pages of classes with all methods, inherited ones too

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# API
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say what arguments are
python_maximum_signature_line_length = 60  # longer ones have a line for each parameter
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_validation_checks = {
    "all",  # except
    "ES01",  # an extended summary,
    "EX01",  # examples and
    "SA01",  # "See Also" everywhere,
    "SA04",  # with a description each,
    "GL01",  # a summary on the line after the quotes,
    "GL02",  # quotes right after the last line,
    "GL03",  # one blank line between entries: parameters may have it or not;
    "RT02",  # and names of what is returned, which scikit-learn gives
}
# Formulas have sentences.
numpydoc_validation_exclude = {r"^sklearn_scinol\.(learners|losses)\."}

# Names that are not found are errors. Those of other packages are not looked up, since
# the build needs no network.
nitpicky = True
OTHERS = (
    "dask|distributed|joblib|matplotlib|numpy|pandas|pyarrow|scipy|skops|"
    "sklearn(?!_scinol)"
)
nitpick_ignore_regex = [(r"py:.*", rf"({OTHERS})\b.*")]
suppress_warnings = [
    # Docstrings inherited from scikit-learn refer to its own guide and glossary.
    "ref.ref",
    "ref.term",
]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "image_scrapers": "gallery.described_figures",
    "reset_modules": ("matplotlib", "gallery.prepare"),
    "within_subsection_order": "gallery.place",
    "backreferences_dir": None,
    "thumbnail_size": (600, 400),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 10_000,  # s: times are those of the machine of the build
}

myst_html_meta = {
    "description": "Online learning with nothing to tune: scikit-learn estimators that "
    "need no learning rate and no scaled features."
}

smartquotes = False  # code in types of parameters is to be copied

html_theme = "pydata_sphinx_theme"
html_title = "sklearn-scinol"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css", "gallery.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark, as the browser asks for
html_theme_options = {
    "logo": {
        "text": f"{project} {version}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_sidebars = {"index": []}

# Where the pages are published, they name their repository.
if "GITHUB_REPOSITORY" in os.environ:
    html_theme_options["github_url"] = "/".join(
        (os.environ["GITHUB_SERVER_URL"], os.environ["GITHUB_REPOSITORY"])
    )

# Where several versions are published beside each other, .github/workflows/doc.yml says
# under which name this one is, and where the list of all is.
if "DOC_VERSION" in os.environ:
    html_theme_options |= {
        "switcher": {
            "json_url": os.environ["DOC_VERSIONS_URL"],
            "version_match": os.environ["DOC_VERSION"],
        },
        "check_switcher": False,
        "navbar_start": ["navbar-logo", "version-switcher"],
    }
