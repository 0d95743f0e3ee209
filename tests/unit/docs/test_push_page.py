"""docs/fleet-push.md: every code that the receiver answers is on it, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from tunecheck.parsers.text.damage import Damage
from tunecheck_fleet.ingest.limits import Why

_PAGE = (Path(__file__).resolve().parents[3] / "docs/fleet-push.md").read_text(encoding="utf-8")


def test_every_answer_has_its_code_on_the_page() -> None:
    text = _PAGE.partition("## What it answers")[2].partition("\n## ")[0]
    told, table = text.split("| code |")
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    listed = [code for row in rows for code in re.findall(r"`([a-z-]+)`", row)]
    assert sorted(listed) == sorted(why.value for why in Why)
    damages = re.findall(r"`([a-z-]+)`", told.partition("`damage`: ")[2])
    assert damages and set(damages) < {damage.value for damage in Damage}
