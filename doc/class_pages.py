"""Pages of classes: signatures of one line, parameters in groups, entries folded."""

import re

#: Headings, and the parameters below them. Each parameter of a long list is in one.
GROUPS = {
    "What to learn": (
        *("loss", "epsilon", "quantile", "class_weight", "new_classes"),
        *("fit_intercept", "radius"),
    ),
    "Form of the model": (
        *("estimators", "exclude", "additive", "random_features"),
        *("kernel", "gamma", "degree", "coef0", "kernel_params", "max_support"),
    ),
    "How it learns": (
        *("algorithm", "learning_rate", "initial_wealth"),
        *("prior_scale", "forgetting", "beta", "tuning", "a", "delta", "normalizer"),
        *("vovk", "moderate", "average", "shared_covariance"),
    ),
    "Scales of features and targets": (
        *("center", "scale", "moment_forgetting", "clip_ratio", "clip_deviations"),
        "standardize_target",
    ),
    "Epochs of fit": (
        *("max_iter", "tol", "early_stopping", "validation_fraction"),
        *("n_iter_no_change", "shuffle", "warm_start"),
    ),
    "Resources and reproducibility": ("random_state", "n_jobs", "verbose"),
}
HEADINGS = {name: heading for heading, names in GROUPS.items() for name in names}
MAX_UNGROUPED = MAX_UNFOLDED = 10


def grouped(lines):
    """Return the lines that numpydoc makes of a docstring, parameters in groups."""
    text = "\n".join(lines)
    found = re.search(r"^:Parameters:\n((?:\n| .*\n)+)", text, re.MULTILINE)
    entries = re.split(r"^(?=    \*\*)", found[1], flags=re.MULTILINE) if found else []
    if len(entries) - 1 <= MAX_UNGROUPED:
        return lines
    groups = {heading: f":{heading}:\n\n" for heading in GROUPS}
    for entry in entries[1:]:
        groups[HEADINGS[entry.split("**")[1]]] += entry
    shown = "".join(group for group in groups.values() if "**" in group)
    return (text[: found.start()] + shown + text[found.end() :]).split("\n")


def shortened(signature, width):
    """Return the signature, cut after a parameter if it is longer than `width`."""
    if len(signature) <= width:
        return signature
    kept, comma, _ = signature[: width - len(" ...)")].rpartition(",")
    return f"{kept}, ...)" if comma else "(...)"


def _process_docstring(app, what, name, obj, options, lines):
    if what == "class":
        lines[:] = grouped(lines)


def _process_signature(app, what, name, obj, options, signature, returned):
    if what == "class" and signature:
        width = app.config.python_maximum_signature_line_length
        return shortened(signature, width - len(name.rpartition(".")[2])), returned


def _fold_entries(app, domain, kind, content):
    from docutils import nodes  # not at the top: tests of this module need no Sphinx

    entries = [node for node in content if node.tagname == "desc"]
    if kind == "class" and len(entries) > MAX_UNFOLDED:
        start = "<details><summary>Methods and properties in full</summary>"
        content.insert(content.index(entries[0]), nodes.raw("", start, format="html"))
        content.append(nodes.raw("", "</details>", format="html"))


def setup(app):
    """Connect the functions to Sphinx, that of docstrings after numpydoc's."""
    app.connect("autodoc-process-docstring", _process_docstring, priority=600)
    app.connect("autodoc-process-signature", _process_signature)
    app.connect("object-description-transform", _fold_entries)
    app.add_css_file("class_pages.css")
    app.add_js_file("class_pages.js")
    return {"parallel_read_safe": True}
