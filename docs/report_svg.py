"""Draws a terminal's text: `ferry apply log x.npy -o y.npy --report | python3 docs/report_svg.py 'ferry apply …' > docs/report.svg`."""

import sys
from xml.sax.saxutils import escape

ADVANCE, LINE, MARGIN, SIZE = 8.1, 19, 18, 13.5
INK = {"command": "#e6edf3", "text": "#c9d1d9", "proof": "#7ee787"}


def ink(line):
    return INK["proof"] if line.strip().startswith(("to device", "to host")) or "redundant" in line else INK["text"]


def draw(command, lines):
    rows = [(f"$ {command}", INK["command"])] + [(line, ink(line)) for line in lines]
    width = max(len(text) for text, _ in rows) * ADVANCE + 2 * MARGIN
    height = len(rows) * LINE + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-family="ui-monospace, monospace" font-size="{SIZE}">'
    yield f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0d1117"/>'
    for i, (text, colour) in enumerate(rows):
        if text:
            y = MARGIN + (i + 0.75) * LINE
            length = len(text) * ADVANCE
            yield f'<text x="{MARGIN}" y="{y:.1f}" fill="{colour}" textLength="{length:.0f}" xml:space="preserve">{escape(text)}</text>'
    yield "</svg>"


print("\n".join(draw(sys.argv[1], sys.stdin.read().rstrip("\n").split("\n"))))
