"""The receipt that the roles leave: it explains a finding, and is never evidence for one."""

from __future__ import annotations

import json
import re
from dataclasses import field

from ..host import Host
from ..model.fact import Fact, parsed
from ..util.at_first_use import dataclass
from .file_text import text

__all__ = ["PATH", "Receipt", "Run", "receipt"]

PATH = "/var/lib/tunecheck/receipt.json"


#: As many as box_receipt.py keeps.
_MOST = 50


@dataclass(frozen=True)
class Run:
    """One entry of the receipt's history. ``at`` is UTC by the box's clock, "2026-11-21T05:00:00Z"."""

    at: str
    state: str
    note: str


@dataclass(frozen=True)
class Receipt:
    """What the roles noted on the box. ``acs_before`` holds the ACS control registers as they were before the first run
    (address -> "0x001d"); ``runs`` is the history, oldest first; ``revision`` is that of the roles at the last run."""

    state: str
    trial_id: str | None = None
    acs_before: dict[str, str] = field(default_factory=dict)
    taken: str = ""
    runs: tuple[Run, ...] = ()
    revision: str = ""


def receipt(host: Host) -> Fact[Receipt]:
    return parsed(text(host, PATH), _parse)


def _parse(content: str) -> Receipt:
    try:
        data = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict) or data.get("schema") != "tunecheck/receipt/1":
        raise ValueError("not a tunecheck/receipt/1")
    before = data.get("before")
    before = before if isinstance(before, dict) else {}
    acs = before.get("acs")
    acs = acs if isinstance(acs, dict) else {}
    trial = data.get("trial_id")
    return Receipt(str(data.get("state"))[:20], trial if isinstance(trial, str) else None,
                   {bdf: value for bdf, value in acs.items()
                    if isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]{4}", value)},
                   str(before.get("taken") or "")[:40], _runs(data.get("history")),
                   str(data.get("git_revision") or "")[:60])


def _runs(history: object) -> tuple[Run, ...]:
    entries = history[-_MOST:] if isinstance(history, list) else []
    return tuple(Run(str(entry.get("at"))[:40], str(entry.get("state"))[:20], str(entry.get("note") or "")[:200])
                 for entry in entries if isinstance(entry, dict))
