"""What the watch leaves for the recovery when it sees a stall: which, of what unit, and how it came to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..util import safe_files
from ..watch.culprits import of_document
from ..watch.model import Culprit

__all__ = ["DRAINED", "PATH", "SCHEMA", "Drained", "Request", "drained", "leave", "read", "write_drained"]

PATH = "/run/tunecheck/stall.json"
#: While it names the run of the unit that runs now, /ready of the watch says no.
DRAINED = "/run/tunecheck/drained.json"
SCHEMA = "tunecheck/stall/1"
_MOST = 4 << 20
_FINITE = 1e300


@dataclass(frozen=True)
class Request:
    """``incident``: its id. ``url``: of the engine. ``moved``: for each replica what its counters summed up to.
    ``document``: tunecheck/watch/1 of the look. ``timeline``: earlier looks, oldest first (timeline.py). ``ras``: what
    NCCL's RAS said, "" for nothing. ``invocation``: systemd's id of the run of the unit that stalled, "" where it is
    not known. ``ca``: file of the certificates by which the engine is trusted, "" for the usual ones."""

    incident: str
    boot_id: str
    unit: str
    url: str
    moved: dict[str, float] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    timeline: tuple[dict[str, Any], ...] = ()
    ras: str = ""
    invocation: str = ""
    ca: str = ""

    @property
    def culprit(self) -> Culprit | None:
        """As the watch blamed him."""
        return of_document(self.document.get("culprit"))

    @property
    def xids(self) -> tuple[int, ...]:
        """Those that the kernel had told when the watch asked, each once."""
        reasons = self.document.get("reasons")
        told: list[Any] = [numbers.get("xid") for each in reasons if isinstance(each, dict)
                           and isinstance(numbers := each.get("numbers"), dict)] if isinstance(reasons, list) else []
        return tuple(dict.fromkeys(int(each) for each in told if type(each) in (int, float) and 0 < each < 10000))

    @property
    def codes(self) -> tuple[str, ...]:
        """Those of the document's reasons."""
        reasons = self.document.get("reasons")
        return tuple(str(each.get("code")) for each in reasons if isinstance(each, dict)) \
            if isinstance(reasons, list) else ()


@dataclass(frozen=True)
class Drained:
    """``invocation``: systemd's id of the run of the unit that is not to be asked any more."""

    incident: str
    invocation: str


def leave(request: Request, path: str = PATH) -> None:
    """OSError where it cannot be written. What would be too large to be read again loses its oldest looks, and the end
    of what NCCL said."""
    Path(path).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    rows = [json.dumps(each) for each in request.timeline]
    ras, looks = json.dumps(request.ras), sum(map(len, rows)) + 2 * len(rows)
    kept = request.ras
    while len(ras) > _MOST // 4:
        kept = kept[:len(kept) // 2]
        ras = json.dumps(kept)
    while looks > _MOST // 2:
        looks -= len(rows.pop(0)) + 2
    head = json.dumps({"schema": SCHEMA, "incident": request.incident, "boot_id": request.boot_id,
                       "unit": request.unit, "url": request.url, "moved": request.moved, "document": request.document,
                       "invocation": request.invocation, "ca": request.ca})
    text = f'{head[:-1]}, "ras": {ras}, "timeline": [{", ".join(rows)}]}}\n'
    safe_files.replace(path, text.encode(), 0o600)


def read(path: str = PATH) -> Request | None:
    """None where there is none. ValueError for one that the watch did not write; OSError where it cannot be read."""
    try:
        said = json.loads(safe_files.read(path, _MOST, follow=False, ours=True))
    except FileNotFoundError:
        return None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(said, dict) or said.get("schema") != SCHEMA:
        raise ValueError(f"is no document of {SCHEMA}")
    words = [said.get(name) for name in ("incident", "boot_id", "unit", "url")]
    moved, document, timeline = said.get("moved"), said.get("document"), said.get("timeline")
    if not (all(isinstance(each, str) for each in words) and isinstance(moved, dict) and isinstance(document, dict)
            and isinstance(timeline, list) and all(type(each) in (int, float) and abs(each) < _FINITE
                                                  for each in moved.values())):
        raise ValueError(f"is no document of {SCHEMA}: a field is missing or of another type")
    incident, boot_id, unit, url = (str(each) for each in words)
    if not incident.replace("-", "").isalnum() or not incident.isascii() or len(incident) > 60:
        raise ValueError("names its incident with other than letters, digits and dashes")
    return Request(incident, boot_id, unit, url, {name: float(each) for name, each in moved.items()}, document,
                   tuple(each for each in timeline if isinstance(each, dict)), str(said.get("ras") or ""),
                   str(said.get("invocation") or ""), str(said.get("ca") or ""))


def write_drained(found: Drained, path: str = DRAINED) -> None:
    """OSError where it cannot be written."""
    safe_files.replace(path, json.dumps({"incident": found.incident, "invocation": found.invocation}).encode(), 0o644)


def drained(path: str = DRAINED) -> Drained | None:
    """None where nothing is drained. One that cannot be understood drains whatever runs: its invocation is ""."""
    try:
        said = json.loads(safe_files.read(path, 1 << 16, follow=False, ours=True))
        return Drained(str(said["incident"]), str(said["invocation"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return Drained("", "")
