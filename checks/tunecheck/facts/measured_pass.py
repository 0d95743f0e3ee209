"""The measured pass: what was measured on this box last, and what that measurement depends on.

`tunecheck preflight --pass` leaves it (gate/measured.py). The gate asks whether it still holds; audits keep its
figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field

from ..host import Host
from ..model.fact import Absence, Fact, absent, parsed
from ..spec.frozen import Accelerators
from ..util.at_first_use import dataclass
from . import codec
from .file_text import text

__all__ = ["ABSENT", "PATH", "SCHEMA", "Key", "MeasuredPass", "measurable", "measured_pass"]

SCHEMA = "tunecheck/measured/1"
#: Not in /run: with gate.measured "on-change" it outlives a boot.
PATH = "/var/lib/tunecheck/measured.json"


@dataclass(frozen=True)
class Key:
    """Everything that a measurement depends on. ``gpus`` are "<bdf> <uuid>"; ``links`` "<upper>-<lower> x16 Gen5", the
    lanes of now and the generation that the link reaches under load; ``acs`` "<bdf> 0x001d", or "<bdf> none", of every
    port above a GPU; ``iommu`` "<bdf> identity"; ``nccl`` the version measured; ``nccl_file`` is "<path> <bytes>
    <time>" of a library of this machine; ``image`` the recipe's image id, "" where none is here."""

    gpus: Fact[tuple[str, ...]]
    driver: Fact[str]
    kernel: Fact[str]
    cmdline: Fact[str]
    links: Fact[tuple[str, ...]]
    acs: Fact[tuple[str, ...]]
    iommu: Fact[tuple[str, ...]]
    nccl: str = ""
    nccl_file: str = ""
    image: str = ""


@dataclass(frozen=True)
class MeasuredPass:
    """The result of one measurement. ``kind`` is "full" or "quick", ``place`` "host" or "image". ``exit_code`` is that
    of the trials' checks alone, and ``reasons`` name what failed or was unknown; ``codes`` names it as "check/code",
    for programs. ``uptime`` and ``seconds`` are in seconds; ``taken`` is UTC, for people. ``figures``: the weakest of
    each sort, by a name that says its unit; ``steady``: the same for audits, where a figure keeps its former value
    until it moves by more than 5 %; ``best``: the best of each that these GPUs had."""

    exit_code: int
    reasons: tuple[str, ...]
    kind: str
    place: str
    key: Key
    boot_id: str
    uptime: float
    taken: str
    seconds: float
    version: str
    figures: Mapping[str, float] = field(default_factory=dict)
    steady: Mapping[str, float] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    codes: tuple[str, ...] = ()


#: Of a snapshot from before there were measured passes.
ABSENT: Fact[MeasuredPass] = absent(PATH, Absence.NOT_RECORDED)


def measured_pass(host: Host) -> Fact[MeasuredPass]:
    """Read the measured pass from its file. Whether it is genuine is the gate's question."""
    return parsed(text(host, PATH), _parse)


def measurable(wanted: Accelerators, gpus: Sequence[str] | None) -> bool:
    """Return whether a trial has anything to measure. It has not where NVIDIA's driver has no GPU (``gpus``; None: not
    known) and the specification wants none there: it names none of NVIDIA's (the lab's stand-ins), or hands them to
    guests."""
    foreign = bool(wanted.pci_ids) and not any(each.startswith("10de:") for each in wanted.pci_ids)
    return not (foreign or wanted.kernel_driver == "vfio-pci") or gpus is None or len(gpus) > 0


def _parse(content: str) -> MeasuredPass:
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"not a {SCHEMA}")
    found: MeasuredPass = codec.decode(MeasuredPass, document.get("measured"))
    return found
