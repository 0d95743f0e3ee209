"""The journal of incidents: a line of JSON for each step, written before the step is begun.

A line that a power cut tore is left out. Where the disk takes no line any more, /run does: whoever comes back after a
SIGKILL has to know that a start was begun."""

from __future__ import annotations

import heapq
import json
import os
from pathlib import Path
from typing import Any

from ..util import safe_files
from ..util.left_behind import wrote
from ..watch.culprits import document, of_document
from .model import DONE, Record, Step, Why

__all__ = ["FALLBACK", "PATH", "SCHEMA", "Journal"]

PATH = "/var/lib/tunecheck/incidents/journal.jsonl"
#: Of this boot alone, where PATH cannot be written.
FALLBACK = "/run/tunecheck/incidents.jsonl"
SCHEMA = "tunecheck/incident/1"
#: Bytes after which the older half is dropped. A restart writes about 2 KB.
_MOST = 1 << 20
#: Bytes that are read all the same: what is left unread would be forgotten.
_LARGEST = 64 << 20
#: The last second of year 9999: no time of a record is later, whatever its clock said.
_LAST = 253402300799.0
_TEXT = 400


class Journal:
    """``paths``: the first that can be written takes the line; all of them are read."""

    def __init__(self, paths: tuple[str, ...] = (PATH, FALLBACK)) -> None:
        self._paths = paths

    def read(self) -> list[Record]:
        """Every record that can be read, oldest first. What one file says keeps its order, whatever its clock said."""
        found: list[list[Record]] = []
        for path in self._paths:
            try:
                content = safe_files.read(path, _LARGEST, follow=False, ours=True)
            except OSError:
                continue
            found.append([record for line in content.split(b"\n") if (record := _parsed(line)) is not None])
        return list(heapq.merge(*found, key=lambda each: each.at))

    def append(self, record: Record) -> None:
        """OSError where no place takes it."""
        line = json.dumps(_document(record), sort_keys=True).encode() + b"\n"
        for number, path in enumerate(self._paths, 1):
            try:
                _append(path, line)
                return
            except OSError:
                if number == len(self._paths):
                    raise


def _append(path: str, line: bytes) -> None:
    folder = Path(path).parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        before = safe_files.read(path, _LARGEST, follow=False, ours=True)
    except FileNotFoundError:
        before = b""
    if len(before) > _MOST:
        kept = before[-_MOST // 2:].partition(b"\n")[2]
        safe_files.replace(path, (kept if kept.endswith(b"\n") or not kept else kept + b"\n") + line, 0o600)
        return
    # A line that was torn is ended first: what is written after it must not be read as its end.
    whole = line if not before or before.endswith(b"\n") else b"\n" + line
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.write(descriptor, whole) != len(whole):
            raise OSError("the line was written in part")
        wrote(path)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if not before:
        _sync(folder)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _document(record: Record) -> dict[str, Any]:
    return {"schema": SCHEMA, "incident": record.incident, "at": round(record.at, 3), "boot_id": record.boot_id,
            "step": record.step.value, "why": record.why.value, "unit": record.unit, "invocation": record.invocation,
            "codes": list(record.codes), "text": record.text[:_TEXT],
            **({"culprit": document(record.culprit)} if record.culprit else {}),
            **({"xids": list(record.xids)} if record.xids else {})}


def _parsed(line: bytes) -> Record | None:
    try:
        said = json.loads(line)
        if said["schema"] != SCHEMA:
            return None
        words = [said[name] for name in ("incident", "boot_id", "unit", "invocation", "text")]
        codes = tuple(said["codes"])
        if not all(isinstance(each, str) for each in (*words, *codes, said["step"], said["why"])) or not isinstance(
                said["at"], (int, float)):
            return None
        incident, boot_id, unit, invocation, text = words
        at = float(min(max(said["at"], 0), _LAST)) if said["at"] == said["at"] else _LAST
        step, why = _codes(said["step"], said["why"])
        if why is Why.NEWER and said["why"] != why:
            text = " ".join(filter(None, (said["step"], said["why"], text)))
        xids = said.get("xids")
        return Record(incident, at, boot_id, step, why, unit, invocation, codes, text, of_document(said.get("culprit")),
                      tuple(each for each in xids if type(each) is int) if isinstance(xids, list) else ())
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _codes(step: str, why: str) -> tuple[Step, Why]:
    """Of a newer release too: then nobody knows what comes after it, which ends the incident."""
    known = next((each for each in Step if each == step), None)
    cause = next((each for each in Why if each == why), None)
    if known is None or cause is None:
        return known if known is not None and known in DONE else Step.INTERRUPTED, Why.NEWER
    return known, cause
