"""Make the markup of pages such that screen readers understand it."""

import re

SIGNATURE = re.compile(r"<dl>\s*((?:<dd><em.*?</dd>\s*)+)</dl>", re.DOTALL)


def setup(app):
    app.connect("html-page-context", correct)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def correct(app, page, template, context, doctree):
    """Replace what is no list of definitions, no header, or a retired role."""
    if "body" in context:
        body = SIGNATURE.sub(as_lines, context["body"])
        body = body.replace(' role="doc-biblioentry"', "")
        body = body.replace('<div role="list" ', "<div ")
        context["body"] = body.replace('<th class="head"><p></p></th>', "<td></td>")


def as_lines(signature):
    lines = re.sub(r"<(/?)dd>", r"<\1span>", signature[1])
    return f'<span class="sig-lines">{lines}</span>'
