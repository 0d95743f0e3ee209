"""Write the tables of codes in docs/codes.md: python -m lab.generators.codes

The codes of a check are declared in its own file (CODES), those of several checks in rules/codes.py.
tests/unit/docs/test_codes.py compares the page with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tunecheck.model.acceptance_codes import CODES as ACCEPTANCE
from tunecheck.rules.codes import COMMON
from tunecheck.rules.index import CHECKS
from tunecheck.util.safe_files import replace

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "codes.md"
_BEGIN, _END = "<!-- codes of the checks: begin -->\n", "<!-- codes of the checks: end -->\n"


def page(text: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "".join(_tables()) + _END + after


def _tables() -> Iterator[str]:
    yield "\nCodes of several checks:\n\n" + _table(COMMON)
    for check in sorted(CHECKS, key=lambda check: check.id):
        own = {code: meaning for code, meaning in check.codes.items() if code not in COMMON}
        if own:
            yield f"\n`{check.id}`:\n\n" + _table(own)
    yield "\nCodes of `tunecheck accept`:\n"
    for name, codes in ACCEPTANCE.items():
        yield f"\n`{name}`:\n\n" + _table(codes)
    yield "\n"


def _table(codes: Mapping[str, str]) -> str:
    rows = "".join(f"| `{code}` | {meaning} |\n" for code, meaning in codes.items())
    return f"| `code` | Meaning |\n|---|---|\n{rows}"


def main() -> int:
    replace(str(PAGE), page(PAGE.read_text(encoding="utf-8")).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
