"""What stops the NVIDIA driver or the kernel and makes no Xid: a GPU that cannot be brought up, its firmware, one that
is gone, locked up or waits for a reset, a panic.

Texts of NVIDIA's open kernel modules 535 to 610 (osinit.c RmInitAdapter, kernel_gsp.c, kernel_gsp_gh100.c, nv.c), of
drivers/base/firmware_loader and of kernel/panic.c. "GPU0" in them is the driver's own number, "" where none is told.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Dict, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["KINDS", "Failure", "Failures"]

_MOST = 512
_TEXT = 300
_GPU = (r"(?:(?:GPU )?(?:PCI:)?(?P<bdf>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?:? "
        r"|GPU(?P<index>\d{1,3}) )?")
#: kind -> how the message goes on behind "NVRM: " and the GPU. The first that fits.
_DRIVER = (
    ("wpr2", r".{0,80}unexpected WPR2 already up"),
    ("adapter", r"RmInitAdapter failed!|rm_init_adapter failed"),
    ("gsp", r"RmInitAdapter: Cannot initialize GSP|.{0,80}[Cc]annot bootstrap riscv/gsp"
            r"|.{0,80}GSP-FMC reported an error|.{0,80}GSP firmware image found|.{0,80}No firmware image found"
            r"|.{0,80}(?:[Ff]ailed|[Ee]rror|[Tt]imed? ?out).{0,60}\bGSP\b|.{0,80}\bGSP\b.{0,60}(?:[Ff]ailed|[Ff]ailure)"
            r"|.{0,80}SEC2 secure boot partition timed out|.{0,80}Booter failed"),
    ("region", r"This PCI I/O region assigned to your NVIDIA device is invalid"),
    ("probe", r"request_mem_region failed for |The NVIDIA probe routine failed for \d"
              r"|None of the NVIDIA (?:graphics adapters|devices) were initialized"),
    ("gone", r".{0,160}(?:GPU (?:is )?lost from the bus|\[NV_ERR_GPU_IS_LOST\]|\bBus is dead\b)"),
    ("locked", r".{0,80}GPU is probably locked"),
    ("reset", r".{0,160}(?:GPU requires reset|\[NV_ERR_RESET_REQUIRED\])"),
)
_PATTERNS = tuple((kind, regex(rf"NVRM: {_GPU}(?:{text})")) for kind, text in _DRIVER)
_FIRMWARE = regex(r"nvidia (?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7]: (?:Direct firmware load for|"
                  r"firmware:? failed to load) nvidia/\S{1,200}")
#: drivers/base/dd.c, from 6.11 on and before.
_PROBE = regex(r"(?:[\w.-]{1,32} (?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7]: probe with driver nvidia"
               r"|nvidia: probe of (?P<older>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7]) failed with error -?\d")
#: drivers/pci/pci.c: the device does not answer even in its configuration space; before 5.18 in other words.
_GONE = regex(r"nvidia (?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7]: (?:Unable to|can't) change power state "
              r"from \S{1,12} to \S{1,12} ?(?:, device inaccessible|\(config space inaccessible\))")
_PANIC = regex(r"Kernel panic - not syncing")
#: What each kind means, in words for people.
KINDS = {
    "adapter": "the driver could not bring the GPU up (RmInitAdapter failed)",
    "gsp": "the GPU's own processor (GSP) or its firmware did not start",
    "wpr2": "the GPU's firmware region (WPR2) was in use already when the driver started: an earlier start left it so",
    "region": "the driver refused a GPU whose memory has no valid address",
    "probe": "the driver gave up on a GPU when it looked for them (probe failed)",
    "gone": "the GPU does not answer any more: it is lost from the bus",
    "locked": "the driver's watchdog says that the GPU is probably locked up",
    "reset": "the driver says that the GPU requires a reset",
    "panic": "the kernel stopped (panic)",
}


@dataclass(frozen=True)
class Failure:
    """All messages of one ``kind`` (of KINDS) about one GPU within one load of the driver. ``gpu`` is "0000:01:00",
    or "GPU0" where only the driver's number is told, or "". ``text``: the last one."""

    kind: str
    gpu: str
    count: int
    first: str
    last: str
    text: str
    load: int


@dataclass
class Failures:
    """Collects the failures of a log line by line."""

    _failures: Dict[Tuple[int, str, str], Failure] = field(default_factory=dict)

    def feed(self, line: Line, load: int) -> bool:
        """Take one message in. Return whether it was such a failure."""
        found = _read(line.text)
        if found is None:
            return False
        kind, match = found
        named = match.groupdict()
        address = named.get("bdf") or named.get("older")
        gpu = _address(address) if address else f"GPU{named['index']}" if named.get("index") else ""
        key = (load, kind, gpu)
        known = self._failures.get(key)
        # One attempt says it twice: RmInitAdapter failed! and rm_init_adapter failed.
        again = known is not None and not line.text[match.end() - 22:].startswith("rm_init_adapter failed")
        if known is not None or len(self._failures) < _MOST:
            self._failures[key] = Failure(
                kind, gpu, line.count, line.when, line.when, line.text[:_TEXT].strip(), load) if known is None else \
                replace(known, count=known.count + again * line.count, last=line.when)
        return True

    def result(self) -> Tuple[Failure, ...]:
        """Return all failures, in the order of first appearance."""
        return tuple(self._failures.values())


def _read(text: str) -> "Optional[tuple[str, re.Match[str]]]":
    if text.startswith("NVRM: "):
        for kind, pattern in _PATTERNS:
            match = pattern.match(text)
            if match:
                return kind, match
        return None
    for kind, pattern in (("panic", _PANIC), ("gsp", _FIRMWARE), ("probe", _PROBE), ("gone", _GONE)):
        match = pattern.match(text)
        if match:
            return kind, match
    return None


def _address(text: str) -> str:
    """Return an address with a domain of four digits: ``0000:01:00`` for ``00000000:01:00`` and ``0000:01:00``."""
    domain, _, rest = text.lower().partition(":")
    return f"{domain[-4:] if domain.startswith('0000') else domain}:{rest}"
