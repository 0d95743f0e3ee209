"""What the NVIDIA driver refuses, in the kernel log: programs of another version (API mismatch), and boards that the
loaded kernel modules do not drive.

Texts of osapi.c, of the open kernel modules up to 595; each is several lines, of which a filter may leave some. Drivers
up to 580 name the client's version in the first line, younger ones its program.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Dict, List, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["OPEN_REFUSED", "OPEN_REQUIRED", "Mismatch", "Refusals", "Unsupported"]

OPEN_REQUIRED, OPEN_REFUSED, _RELEASE = "open required", "open refused", "release"
_MOST = 64
#: Lines that follow the first one of a message, and how they begin.
_LINES = 4
_REST = regex(r"NVRM: (?:this kernel module has|make sure that|components have|has (?:the )?version|the version \d"
              r"|kernel module and all|have the same)")
_MISMATCH = "NVRM: API mismatch: "
_PROGRAM = regex(r"the client '([^'\n]{1,64})' \(pid (\d{1,10})\)")
_CLIENT = regex(r"(?:client|\)|^) ?has (?:the )?version (\d{1,4}(?:\.\d{1,4}){1,2})\b")
_MODULE = regex(r"this kernel module has (?:the )?version (\d{1,4}(?:\.\d{1,4}){1,2})\b")
#: kind -> what stands in the line behind the board's.
_BOARD = (
    (OPEN_REQUIRED, regex(r"installed in this system requires use of the NVIDIA open\b")),
    (OPEN_REFUSED, regex(r"installed in this system is not supported by open\b"
                           r"|installed in this vGPU host system is not supported by\b")),
    (_RELEASE, regex(r"installed in this system is not supported by the\b")),
)


@dataclass(frozen=True)
class Mismatch:
    """All refused programs of one version within one load of the driver. ``client`` and ``module`` are versions, ""
    where the log's lines do not tell them; ``program``: the last one ("nvidia-smi (pid 12)"), "" where none is
    named."""

    client: str
    module: str
    program: str
    count: int
    last: str
    text: str
    load: int


@dataclass(frozen=True)
class Unsupported:
    """A board ("0000:41:00", "" where it is not named) that the loaded modules do not drive. ``kind``: "open required",
    "open refused" (it has no GSP, or is a vGPU's), or "release" (this driver release does not know it)."""

    kind: str
    gpu: str
    when: str
    text: str
    load: int


@dataclass
class Refusals:
    """Collects both line by line."""

    _mismatches: Dict[Tuple[int, str, str], Mismatch] = field(default_factory=dict)
    _boards: Dict[Tuple[int, str, str], Unsupported] = field(default_factory=dict)
    _open: Optional[Tuple[Line, List[str], int]] = None

    def feed(self, line: Line, load: int, gpu: str) -> bool:
        """Take one message of the driver in; ``gpu``: the board that the lines before it are about. Return whether it
        was, or began, a refusal."""
        if line.text.startswith(_MISMATCH):
            self._close()
            self._open = (line, [line.text[len(_MISMATCH):]], load)
            return True
        if self._open:
            first, said, _ = self._open
            if len(said) <= _LINES and line.number <= first.number + _LINES and _REST.match(line.text):
                said.append(line.text[len("NVRM: "):])
                if "same version" in line.text:
                    self._close()
                return True
            self._close()
        kind = next((kind for kind, pattern in _BOARD if pattern.search(line.text)), None)
        if kind is not None and len(self._boards) < _MOST:
            self._boards.setdefault((load, kind, gpu), Unsupported(kind, gpu, line.when, line.text[:300], load))
        return kind is not None

    def mismatches(self) -> Tuple[Mismatch, ...]:
        """Return the mismatches, in the order of first appearance."""
        self._close()
        return tuple(self._mismatches.values())

    def boards(self) -> Tuple[Unsupported, ...]:
        """Return the boards, in the order of first appearance."""
        return tuple(self._boards.values())

    def _close(self) -> None:
        if self._open is None:
            return
        (first, said, load), self._open = self._open, None
        text = " ".join(each.strip() for each in said)[:400]
        client, module, program = _CLIENT.search(text), _MODULE.search(text), _PROGRAM.search(text)
        key = (load, client[1] if client else "", module[1] if module else "")
        known = self._mismatches.get(key)
        if known is None and len(self._mismatches) >= _MOST:
            return
        named = f"{program[1]} (pid {program[2]})" if program else known.program if known else ""
        self._mismatches[key] = (
            replace(known, program=named, count=known.count + 1, last=first.when) if known
            else Mismatch(key[1], key[2], named, 1, first.when, f"{_MISMATCH}{text}"[:300], load))
