"""Draw the diagrams of the pages: ``python doc/diagram.py`` writes them as SVG."""

from html import escape
from pathlib import Path

# A row's way through the package.

WIDTH, MARGIN, BOX, GAP = 760, 20, 62, 30
LEFT = 250  # width of the boxes

#: What happens to a row, the folder that does it, and a note.
STAGES = [
    ("Estimator", "estimators/", "checks the rows, targets and weights of a chunk"),
    ("Model", "models/", "keeps what was learned, and hands the chunk on"),
    ("Transform", "transforms/", "clips, centres and scales the row"),
    ("Learner: weights", "learners/", "weight(): the weights for this row"),
    ("Prediction", "engines/", "the inner product, before the label is used"),
    ("Loss", "losses/", "value: what is charged; gradient: what is learned from"),
    ("Learner: update", "learners/", "update(): the state learns from the row"),
]
FIRST_OF_ENGINE, LAST_OF_ENGINE = 2, 6


def top(stage):
    """Upper edge of a stage's box."""
    return MARGIN + stage * (BOX + GAP) + 30


def way_of_a_row():
    """Text of the SVG of a row's way."""
    height = top(len(STAGES)) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="15">',
        "<title>A row's way through the package</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        arrowhead("#333333"),
    ]
    start, end = top(FIRST_OF_ENGINE) - 18, top(LAST_OF_ENGINE) + BOX + 14
    lines.append(
        f'<rect x="8" y="{start}" width="{WIDTH - 16}" height="{end - start}" rx="8" '
        'fill="#eef4fb" stroke="#4a7ab5" stroke-dasharray="6 4"/>'
    )
    lines.append(text(WIDTH - 20, start + 22, "the engine's loop", "end", "#2b5a94"))
    lines.append(text(MARGIN, MARGIN + 12, "A chunk of rows", "start", "#333333"))
    for stage, (name, folder, note) in enumerate(STAGES):
        y = top(stage)
        lines.append(
            f'<rect x="{MARGIN}" y="{y}" width="{LEFT}" height="{BOX}" rx="6" '
            'fill="#ffffff" stroke="#333333"/>'
        )
        lines.append(text(MARGIN + 14, y + 26, name, "start", "#111111", bold=True))
        lines.append(text(MARGIN + 14, y + 48, folder, "start", "#555555"))
        lines.append(text(MARGIN + LEFT + 18, y + 36, note, "start", "#111111"))
        if stage:
            x = MARGIN + LEFT // 2
            lines.append(arrow(x, y - GAP, x, y, "#333333"))
    return "\n".join([*lines, "</svg>", ""])


# Which estimator?

CHART = 360  # width of a phone
LEFT_BOX, RIGHT_BOX, LINE, SPACE = 174, 152, 19, 26
HEIGHT = 4 * LINE  # of a box
INK, FRAME, PAPER, LINK = (  # colours of the theme, light or dark
    f"var(--pst-color-{name}, {light})"
    for name, light in {
        "text-base": "#222832",
        "text-muted": "#48566b",
        "background": "#ffffff",
        "link": "#0a7d91",
    }.items()
)
STYLE = (
    ".which-estimator { font-family: inherit; height: auto; max-width: 100%; } "
    ".which-estimator a text { text-decoration: underline; }"
)

#: A question, the word on the arrow to what to take, and on that to what follows.
QUESTIONS = [
    ("Text, categories,\ndates or missing\nvalues?", "yes", "Start with", "then"),
    (
        "Intervals around\npredictions, or\nsets of labels?",
        *("yes", "OnlineConformal", "then"),
    ),
    ("Must a row cost\nabout a microsecond?\nIs it sparse?", "no", "Hedge", "yes"),
    ("At most some\n100 features,\nnot sparse?", "yes", "OnlineNewton", "no"),
]
OTHERWISE = "ScInOL"
PURPOSES = [
    ("A kernel of\nyour own?", "yes", "DFEG", ""),
    ("Standard deviations\nof predictions?", "yes", "OnlineNewton", ""),
    ("Weights of\nbounded norm?", "yes", "AdaFTRL", ""),
    ("Sample weights that\ndiffer very much?", "yes", "AdaImplicit", ""),
]
#: Classes that a name links to; any other name, to its classifier and regressor.
CLASSES = {"Start with": ["preprocessing.TableEncoder", "pipeline.OnlinePipeline"]}


def which_estimator():
    """Text of the SVG of the flowchart, for one page: links are relative to it."""
    lines, y = [], 1
    for each in QUESTIONS:
        lines += question(y, *each)
        y += HEIGHT + SPACE
    lines += answer(1, y, LEFT_BOX, OTHERWISE)
    y += HEIGHT + SPACE + LINE
    lines.append(text(1, y - 16, "Or for one purpose:", "start", INK))
    for each in PURPOSES:
        lines += question(y, *each)
        y += HEIGHT + SPACE
    return "\n".join(
        [
            f'<svg class="which-estimator" viewBox="0 0 {CHART} {y - SPACE + 1}" '
            f'width="{CHART}" font-size="14" role="group" '
            'aria-label="Flowchart of the questions below">',
            f"<style>{STYLE}</style>",
            arrowhead(FRAME),
            *lines,
            "</svg>",
            "",
        ]
    )


def question(y, words, word, name, following):
    """A question, an arrow to what to take, and one to what follows."""
    right, middle = CHART - RIGHT_BOX - 1, LEFT_BOX // 2
    across, below = y + HEIGHT // 2, y + HEIGHT
    lines = [
        *box(1, y, LEFT_BOX, [(line, INK, False) for line in words.split("\n")]),
        text((LEFT_BOX + right) // 2, across - 6, word, "middle", INK),
        arrow(1 + LEFT_BOX, across, right, across, FRAME),
        *answer(right, y, RIGHT_BOX, name),
    ]
    if following:
        lines.append(text(middle + 10, below + 18, following, "start", INK))
        lines.append(arrow(middle, below, middle, below + SPACE, FRAME))
    return lines


def answer(x, y, width, name):
    """A box with a name, and links to its classes."""
    classes = CLASSES.get(name, [f"{name}Classifier", f"{name}Regressor"])
    ends = [public.rpartition(".")[2].removeprefix(name) for public in classes]
    frame, title, *links = box(
        *(x, y, width), [(name, INK, True), *((end, LINK, False) for end in ends)]
    )
    return [
        frame,
        title,
        *(
            f'<a href="generated/sklearn_scinol.{public}.html" '
            f'aria-label="{name} {end}">{link}</a>'
            for public, end, link in zip(classes, ends, links, strict=True)
        ),
    ]


def box(x, y, width, words):
    """A frame, and lines of words with their colours, bold or not."""
    start = y + (HEIGHT - LINE * len(words)) // 2 + 14
    return [
        f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="6" '
        f'fill="{PAPER}" stroke="{FRAME}"/>',
        *(
            text(x + 10, start + k * LINE, line, "start", colour, bold=bold)
            for k, (line, colour, bold) in enumerate(words)
        ),
    ]


# Both.


def arrowhead(colour):
    """Definition of the end of arrows."""
    return (
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L10 5L0 10z" fill="{colour}"/></marker></defs>'
    )


def arrow(x1, y1, x2, y2, colour):
    """Arrow between two points."""
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" '
        'stroke-width="1.5" marker-end="url(#arrow)"/>'
    )


def text(x, y, words, anchor, colour, *, bold=False):
    """One line of words."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}"{weight}>'
        f"{escape(words)}</text>"
    )


DRAWINGS = {"row.svg": way_of_a_row, "which_estimator.svg": which_estimator}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        path = Path(__file__).parent / "images" / name
        path.write_text(draw(), encoding="utf-8")
