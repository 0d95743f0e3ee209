"""docs/codes.md has every code that a document may hold, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from tunecheck.model.absence import Absence
from tunecheck.model.finding import LOG_INCOMPLETE, NO_PORT
from tunecheck.parsers.kernel.trial import REASONS

_PAGE = Path(__file__).resolve().parents[3] / "docs" / "codes.md"


def test_the_page_has_every_code() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    for heading in ("code", "absence"):
        del rows[heading]
    trials = {each.replace("_", "-") for each in REASONS}
    assert set(rows) == {*(each.value for each in Absence), LOG_INCOMPLETE, NO_PORT, *trials}
    assert all(len(text) > 10 for text in rows.values())
