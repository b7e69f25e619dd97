"""Draw a row's way through the package: ``python doc/diagram.py`` writes an SVG."""

from html import escape
from pathlib import Path

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


def drawing():
    """Text of the SVG."""
    height = top(len(STAGES)) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="15">',
        "<title>A row's way through the package</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L10 5L0 10z" fill="#333333"/></marker></defs>',
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
            lines.append(
                f'<line x1="{x}" y1="{y - GAP}" x2="{x}" y2="{y}" stroke="#333333" '
                'stroke-width="1.5" marker-end="url(#arrow)"/>'
            )
    return "\n".join([*lines, "</svg>", ""])


def text(x, y, words, anchor, colour, *, bold=False):
    """One line of words."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}"{weight}>'
        f"{escape(words)}</text>"
    )


if __name__ == "__main__":
    path = Path(__file__).parent / "images" / "row.svg"
    path.write_text(drawing(), encoding="utf-8")
