"""The receipt that the roles leave: it explains a finding, and is never evidence for one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from ..host import Host
from .fact import Fact, parsed, text

__all__ = ["PATH", "Receipt", "receipt"]

PATH = "/var/lib/tunecheck/receipt.json"


@dataclass(frozen=True)
class Receipt:
    """``acs_before`` holds the ACS control registers as they were before the first run (address -> "0x001d")."""

    state: str
    trial_id: str | None = None
    acs_before: dict[str, str] = field(default_factory=dict)
    taken: str = ""


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
                   str(before.get("taken") or "")[:40])
