"""The tables of p2pBandwidthLatencyTest (CUDA samples 8 to 13) and of nvbandwidth (0.2 to 0.10): one figure for each
pair of GPUs. A table whose rows are not all there, or are longer or shorter than its head, is ``cut``."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from . import bench_json
from .bench_failures import failures, waived

__all__ = ["BANDWIDTH", "FAILED", "LATENCY_TEST", "Bench", "Grid", "parse_grids"]

LATENCY_TEST = regex(r"^\[?P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test\]?|"
                     r"^(?:Uni|Bi)directional P2P=(?:Dis|En)abled Bandwidth", re.MULTILINE)
BANDWIDTH = regex(rf"^nvbandwidth Version:|^Running (?:host|device)_\w+\.|{bench_json.START.pattern}", re.MULTILINE)
#: The kind of a test that failed begins with it.
FAILED = "failed "
_TITLES = (
    ("access", regex(r"^P2P Connectivity Matrix")),
    ("one way off", regex(r"^Unidirectional P2P=Disabled Bandwidth")),
    ("one way", regex(r"^Unidirectional P2P=Enabled Bandwidth")),
    ("both ways off", regex(r"^Bidirectional P2P=Disabled Bandwidth")),
    ("both ways", regex(r"^Bidirectional P2P=Enabled Bandwidth")),
    ("latency off", regex(r"^P2P=Disabled Latency")),
    ("latency", regex(r"^P2P=Enabled Latency")),
    ("to the GPU", regex(r"^Running host_to_device_memcpy_(?:ce|sm)\.")),
    ("from the GPU", regex(r"^Running device_to_host_memcpy_(?:ce|sm)\.")),
    ("read", regex(r"^Running device_to_device_memcpy_read_ce\.")),
    ("write", regex(r"^Running device_to_device_memcpy_write_ce\.")),
    ("both read", regex(r"^Running device_to_device_bidirectional_memcpy_read_ce\.")),
    ("both write", regex(r"^Running device_to_device_bidirectional_memcpy_write_ce\.")),
    ("", regex(r"^Running \w+\.?|^ *CPU(?: +\d+)+ *$")),
)
_HEAD = regex(r"^ *(?:D\\D|GPU)?((?:[ \t]+\d{1,3})+)[ \t]*$|^((?:\d{1,3}[ \t]+)*\d{1,3})[ \t]*$")
_CELLS = regex(r"^[ \t]*(\d{1,3})((?:[ \t]+(?:-?\d{1,9}(?:\.\d{1,4})?|N/A))+)[ \t]*$")
_TOTAL = regex(r"\b(Read1|Read2|Write1|Write2|Total) bandwidth")
_OLD = regex(r"^Device: ?(\d{1,3}), (\S.{0,80}?), pciBusID: ([0-9a-f]{1,3}), pciDeviceID: ([0-9a-f]{1,3}), "
             r"pciDomainID: ?([0-9a-f]{1,8})", re.MULTILINE)
_NEW = regex(r"^Device (\d{1,3}): (\S.{0,80}?)(?: \(([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\))?"
             r"[ \t]*$", re.MULTILINE)
_ACCESS = regex(r"^Device=(\d{1,3}) CAN(NOT)? Access Peer Device=(\d{1,3})[ \t\r]*$", re.MULTILINE)
_GPUS = 128


@dataclass(frozen=True)
class Grid:
    """One table. ``kind`` is one of the names above; ``figures`` maps (row, column) to GB/s or us. A test that failed
    has no figures, and FAILED and what is told of it as its kind."""

    kind: str
    figures: "Dict[Tuple[int, int], float]"
    cut: bool


@dataclass(frozen=True)
class Bench:
    """All tables of one text. ``devices`` maps a GPU's number to its address ("" where it is not told) and name.
    ``left_out``: how many tests this machine cannot run, of those whose names are not told."""

    tool: str
    devices: "Dict[int, Tuple[str, str]]"
    grids: "Dict[str, Grid]"
    left_out: int = 0

    def grid(self, kind: str) -> "Dict[Tuple[int, int], float]":
        """Return the figures between two different GPUs. The mapping is empty where there is no such table."""
        found = self.grids.get(kind)
        return {place: value for place, value in found.figures.items() if place[0] != place[1]} if found else {}


def parse_grids(text: str) -> Bench:
    """Return every table of the text, of each kind the first, and what failed. ValueError where there is neither."""
    text = text[:8 << 20]
    tool = "p2pBandwidthLatencyTest" if LATENCY_TEST.search(text) else "nvbandwidth"
    if bench_json.START.search(text):
        try:
            text, failed = bench_json.as_text(text)
        except ValueError:
            return Bench("nvbandwidth", {}, {"JSON": Grid("JSON", {}, True)})
    else:
        failed = list(failures(text))
    grids = {FAILED + each: Grid(FAILED + each, {}, False) for each in failed}
    kind = part = ""
    lines = text.split("\n", 200_000)[:200_000]
    number = 0
    while number < len(lines):
        line = lines[number][:4000].rstrip("\r")
        number += 1
        title = next((name for name, pattern in _TITLES if pattern.match(line)), None)
        if title is not None:
            kind, part = title, ""
            continue
        named = _TOTAL.search(line)
        if named:
            part = named.group(1)
        head = _HEAD.match(line) if kind else None
        if head is None:
            continue
        columns = [int(word) for word in (head.group(1) or head.group(2)).split()]
        if columns != list(range(len(columns))) or not columns or len(columns) > _GPUS:
            continue
        figures, used = _rows(lines[number:number + len(columns) + 1], len(columns))
        number += used
        # Of the three tables of a test in both directions the sum counts.
        if figures and kind not in grids and part in ("", "Total"):
            rows = 1 if kind in ("to the GPU", "from the GPU") else len(columns)
            grids[kind] = Grid(kind, figures, len({row for row, _ in figures}) != rows)
    if "access" not in grids and (said := _access(text)):
        grids["access"] = Grid("access", said, False)
    devices, (names, left_out) = _devices(text), waived(text)
    if len(devices) > 1 and "access" not in grids and any(name.startswith("device_to_device") for name in names):
        # It leaves tests between GPUs out where no pair has peer access (testcase.cpp, filterHasAccessiblePeerPairs).
        grids["access"] = Grid("access", {(one, other): 0.0 for one in devices for other in devices if one != other},
                               False)
    if not grids and not (left_out and len(devices) > 1):
        raise ValueError("no table of figures")
    return Bench(tool, devices, grids, left_out)


def _rows(lines: List[str], wide: int) -> "Tuple[Dict[Tuple[int, int], float], int]":
    figures: Dict[Tuple[int, int], float] = {}
    used = 0
    for line in lines:
        found = _CELLS.match(line[:4000])
        if found is None or int(found.group(1)) != used:
            break
        cells = found.group(2).split()
        if len(cells) != wide:
            break
        used += 1
        for column, cell in enumerate(cells):
            if cell != "N/A":
                figures[used - 1, column] = float(cell)
            elif used - 1 == column:
                figures[used - 1, column] = 0.0
    return figures, used


def _access(text: str) -> "Dict[Tuple[int, int], float]":
    """Return what the lines above the tables say: 1 where a GPU can access another, 0 where it cannot."""
    return {(int(one), int(other)): 0.0 if not_ else 1.0 for one, not_, other in _ACCESS.findall(text)[:_GPUS ** 2]}


def _devices(text: str) -> "Dict[int, Tuple[str, str]]":
    found: Dict[int, Tuple[str, str]] = {}
    for number, name, bus, slot, domain in _OLD.findall(text)[:_GPUS]:
        found[int(number)] = ("%04x:%02x:%02x.0" % (int(domain, 16), int(bus, 16), int(slot, 16)), name)
    for number, name, domain, bus, slot in _NEW.findall(text)[:_GPUS]:
        bdf = "%04x:%s:%s.0" % (int(domain, 16), bus.lower(), slot.lower()) if domain else ""
        found.setdefault(int(number), (bdf, name))
    return found


def least(figures: "Dict[Tuple[int, int], float]") -> "Optional[Tuple[Tuple[int, int], float]]":
    """Return the pair with the smallest figure, and the figure. None without figures."""
    return min(figures.items(), key=lambda item: item[1], default=None)
