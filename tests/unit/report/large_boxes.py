"""Every box of the tests that has four or more GPUs, judged: what the one-screen report has to fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.unit.checks.machines import MACHINES
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.facts import trees
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import PCI, Machine
from tests.unit.report.boxes import spec, switches

from tunecheck.app.evaluate import look
from tunecheck.errors import TunecheckError
from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Frozen

__all__ = ["Box", "all_different", "cascade", "each_its_own", "large", "sampled"]

_MANY = 4


class Box(NamedTuple):
    """One report: what `tunecheck VERB` says of the box ``name``."""

    name: str
    verb: str
    case: Case
    findings: list[Finding]
    imported: bool = False

    @property
    def gpus(self) -> int:
        """As many as are seen, in the PCI tree or in nvidia-smi's tables."""
        snapshot = self.case.snapshot
        table = snapshot.posted.table.value
        seen = [len({a for a, _ in words}) for words in snapshot.posted.letters.values()]
        return max(len(snapshot.topology.devices), len(table.labels) if table else 0, len(snapshot.posted.names), *seen,
                   0)


def cascade(count: int = 8) -> Machine:
    """Two host bridges; below each a switch with two switches, two GPUs each."""
    machine = Machine().file("/sys/devices/system/node/online", "0-1\n")
    for index in range(count):
        side, lower, slot = index // 4, index // 2 % 2, index % 2
        base = 0x80 * side
        root, top = f"0000:{base:02x}:01.0", f"0000:{base + 1:02x}:00.0"
        way = f"pci0000:{base:02x}/{root}"
        down, up = f"0000:{base + 2:02x}:0{lower}.0", f"0000:{base + 0x10 + lower * 8:02x}:00.0"
        port = f"0000:{base + 0x11 + lower * 8:02x}:0{slot}.0"
        gpu = f"0000:{base + 0x12 + lower * 8 + slot:02x}:00.0"
        if index % 4 == 0:
            machine.port(root, way, 0x11).port(top, f"{way}/{top}", None)
        if index % 2 == 0:
            machine.port(down, f"{way}/{top}/{down}", 0x11).port(up, f"{way}/{top}/{down}/{up}", None)
        path = f"{way}/{top}/{down}/{up}/{port}"
        machine.port(port, path, 0x11).gpu(gpu, f"{path}/{gpu}", side)
    return machine


def each_its_own(count: int = 8, bridges: int = 8, ctl: int = 0x11) -> Machine:
    """Each GPU on a root port of its own, on as many host bridges."""
    machine = Machine().file("/sys/devices/system/node/online", "0-1\n")
    for index in range(count):
        bus = 0x10 * (index * bridges // count)
        port, gpu = f"0000:{bus:02x}:{index % 8 + 1:02x}.1", f"0000:{bus + 1 + index % 8:02x}:00.0"
        way = f"pci0000:{bus:02x}/{port}"
        machine.port(port, way, ctl).gpu(gpu, f"{way}/{gpu}", int(index >= count / 2))
    return machine


def all_different() -> Machine:
    """No two GPUs have the same link, and no two ports the same ACS."""
    machine = switches(8, redirecting=(0, 3, 5), narrow=(1, 2, 6))
    for number, bdf in enumerate(sorted(name for name in machine.lists[PCI] if name.endswith(("3:00.0", "4:00.0")))):
        machine.file(f"{PCI}/{bdf}/current_link_width", f"{(16, 8, 4, 2, 1)[number % 5]}\n")
        machine.file(f"{PCI}/{bdf}/current_link_speed", f"{(32.0, 16.0, 8.0)[number % 3]} GT/s PCIe\n")
    return machine


def _blind() -> Machine:
    """Nothing but world-readable files: no ACS registers, no log, no link of some GPUs."""
    machine = switches(8)
    for bdf in machine.lists[PCI]:
        machine.reads[f"{PCI}/{bdf}/config"] = machine.reads[f"{PCI}/{bdf}/config"][:64]
    return trees.full(machine, log=None)


_BAD_LOG = "[    0.000000] Linux version 6.12.1\n" + "".join(
    f"[ 1{number:02d}.000000] NVRM: Xid (PCI:0000:{bus}:00): {xid}, pid='<unknown>', name=<unknown>, said so\n"
    for number, (bus, xid) in enumerate((bus, xid) for bus in ("03", "04", "23", "24", "43", "44", "63", "64")
                                        for xid in (79, 48, 13, 31, 119)))


def _built() -> Iterator[tuple[str, Machine, Frozen | None]]:
    for name, machine in (("pairs", switches(8)), ("cascade", cascade()), ("direct", each_its_own()),
                          ("direct-one-bridge", each_its_own(bridges=1)), ("two-per-bridge", each_its_own(bridges=4)),
                          ("direct-redirect", each_its_own(ctl=0x1D)),
                          ("one-switch", trees.below_one_switch(8)), ("quads", trees.switches(4, 4)),
                          ("pairs-redirect", switches(8, redirecting=tuple(range(8)))),
                          ("pairs-some-redirect", switches(8, redirecting=(0, 3, 5))),
                          ("pairs-narrow", switches(8, narrow=(0, 3, 5))), ("all-different", all_different()),
                          ("four", switches(4)), ("sixteen", switches(16))):
        count = 4 if name == "four" else 16 if name == "sixteen" else 8
        yield name, trees.full(machine, "iommu=pt"), spec(count)
        yield f"{name}, no spec", machine, None
    yield "pairs, bad log", trees.full(switches(8, redirecting=(1,)), "iommu=pt", log=_BAD_LOG), spec()
    yield "pairs, driver silent", trees.driver(trees.full(trees.bound(switches(8)), "iommu=pt")), spec()
    yield "pairs, answering", trees.driver(trees.full(trees.answering(switches(8)), "iommu=pt")), spec()
    yield "pairs, unprivileged", _blind(), spec()
    yield "deep cascade", eight_gpus(), big_spec()
    yield "deep cascade, clear", eight_gpus(0x11), big_spec()
    yield "deep cascade, bad log", eight_gpus(0x1D, _BAD_LOG), big_spec()
    yield "deep cascade, no spec", eight_gpus(), None


def _of(name: str, host: Any, frozen: Frozen | None, verbs: tuple[str, ...]) -> Iterator[Box]:
    snapshot = gather(host, frozen.spec if frozen else None, verbs != ("topo",))
    for verb in verbs:
        case = Case(snapshot, frozen)
        yield Box(name, verb, case, judge(case, verb))


def _cases() -> Iterator[Box]:
    """The case files of the checks whose machine, or pasted table, has four or more GPUs."""
    many = {name for name, make in MACHINES.items()
            if sum(value.startswith(b"0x0302") for path, value in make().reads.items() if path.endswith("/class"))
            >= _MANY}
    for path in CASES:
        text = path.read_text(encoding="utf-8")
        if "GPU3" not in text and not any(f"machine: {name}\n" in text for name in many):
            continue
        data, case, verb = case_of(path)
        for each in dict.fromkeys((verb, "preflight")):
            if verb != "topo" or each == "topo":
                yield Box(path.stem, each, case, judge(case, each), "posts" in data)


@cache
def large() -> tuple[Box, ...]:
    """All of them, judged once for all tests of a run."""
    built = (box for name, machine, frozen in _built()
             for box in _of(name, trees.full(machine).host() if "/proc/cmdline" not in machine.reads
                            else machine.host(), frozen, ("preflight", "topo", "host")))
    return tuple(box for box in (*built, *_cases()) if box.gpus >= _MANY)


@cache
def sampled() -> tuple[Box, ...]:
    """Other people's boxes of TUNECHECK_SAMPLES with four or more GPUs; none where that is not set."""
    given = os.environ.get("TUNECHECK_SAMPLES")
    return tuple(_sampled(Path(given))) if given else ()


def _sampled(root: Path) -> Iterator[Box]:
    for path in (root / "host", *sorted((root / "topo").glob("*.txt")), *sorted((root / "bench").glob("*.txt"))):
        if not path.exists():
            continue
        for verb in ("preflight", "topo"):
            try:
                frozen, snapshot = look(verb, None, str(path))
            except TunecheckError:
                continue
            case = Case(snapshot, frozen)
            box = Box(path.name, verb, case, judge(case, verb), True)
            if box.gpus >= _MANY:
                yield box
