"""The README's picture: what `tunecheck topo` really says of a box, as SVG.  python -m lab.generators.picture

The box is what lspci printed of tests/unit/imports/own_dump.py: three boards behind one switch, one port redirects. A
test makes the picture again and compares, so it stays what the program says."""

from __future__ import annotations

import html
import re

from lab.paths import REPO

SOURCE = REPO / "tests/unit/imports/fixtures/pciutils/3.14.0.txt"
PICTURE = REPO / "docs/report.svg"
_COLUMNS, _WIDTH, _HEIGHT = 96, 7.8, 17
_COLOURS = {"31;1": "#ff7b72", "35": "#d2a8ff", "33": "#e3b341", "32": "#7ee787", "2": "#8b949e", "1": "#ffffff"}
_CODE = re.compile(r"\x1b\[([\d;]*)m")


def report() -> str:
    """The report, coloured as on a terminal."""
    from tunecheck.app.evaluate import look
    from tunecheck.report.terminal import Style, render
    from tunecheck.rules import judge
    from tunecheck.rules.context import Case

    frozen, snapshot = look("topo", None, str(SOURCE))
    case = Case(snapshot, frozen)
    return render("topo", case, judge(case, "topo"), Style(_COLUMNS, True, True), imported=True)


def svg(text: str) -> str:
    """One text line each, every coloured piece a span of its own."""
    lines = ["$ tunecheck topo --from lspci.txt", *text.rstrip("\n").split("\n")]
    width, height = int(_COLUMNS * _WIDTH + 32), int(len(lines) * _HEIGHT + 28)
    rows = []
    for number, line in enumerate(lines):
        parts = _CODE.split(line)
        spans = html.escape(parts[0])
        for code, piece in zip(parts[1::2], parts[2::2], strict=True):
            colour = _COLOURS.get(code)
            spans += f'<tspan fill="{colour}">{html.escape(piece)}</tspan>' if colour else html.escape(piece)
        rows.append(f'<text x="16" y="{24 + number * _HEIGHT}" xml:space="preserve">{spans}</text>')
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>A report of tunecheck topo</title>\n'
            f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/><g fill="#e6edf3" {font}>\n'
            + "\n".join(rows) + "\n</g></svg>\n")


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(svg(report()), encoding="utf-8")
    print(f"picture: {PICTURE}")


if __name__ == "__main__":
    main()
