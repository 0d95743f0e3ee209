"""Write the tables in docs/boot-matrix.md: PYTHONPATH=checks:. python -m lab.generators.boot_matrix

They are made of docs/benchmarks/boot-matrix.json, which lab.bench.matrix writes. tests/unit/docs/test_boot_matrix.py
compares the page with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lab.matrix.page import tables
from tunecheck.util.safe_files import replace

__all__ = ["PAGE", "SEEN", "page"]

_DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, SEEN = _DOCS / "boot-matrix.md", _DOCS / "benchmarks/boot-matrix.json"
_BEGIN, _END = "<!-- the matrix: begin -->\n", "<!-- the matrix: end -->\n"


def page(text: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "\n" + tables(json.loads(SEEN.read_text(encoding="utf-8"))) + "\n\n" + _END + after


def main() -> int:
    replace(str(PAGE), page(PAGE.read_text(encoding="utf-8")).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
