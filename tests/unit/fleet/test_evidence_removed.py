"""To take evidence away makes no open entry better: it keeps its id and its severity, and says that it cannot be told
now, and what it was. Of a fact whose source is gone nothing is told: not that it is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import PCI, Machine, driver
from tests.unit.fleet.nights import STATES
from tests.unit.fleet.store.stores import Clock
from tests.unit.imports.samples import samples

from tunecheck.facts.registry import Flat, flatten
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.imported.machine import load_import
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.judge import report
from tunecheck_fleet.judge.rows import RANK
from tunecheck_fleet.model import Answer
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import open_store

_SPEC = big_spec()
_NAMES = ("lspci_full", "nvidia_smi_full", "nvidia_topo", "dmesg", "cmdline", "lscpu", "numa")


def _no_nvml(machine: Machine) -> None:
    machine.nvml = None


def _no_tree(machine: Machine) -> None:
    del machine.lists[PCI]
    machine.gone("list", PCI, reason="no permission")


def _no_files(machine: Machine, start: str) -> None:
    machine.gone("read", *(path for path in machine.reads if path.startswith(start)), reason="no permission")


def _no_commands(machine: Machine) -> None:
    machine.gone("run", *(" ".join(argv) for argv in machine.runs), reason="no permission")
    machine.runs.clear()


#: What is taken away of a box that is asked itself.
SOURCES: dict[str, Callable[[Machine], object]] = {
    "NVML": _no_nvml, "tree": _no_tree, "commands": _no_commands,
    **{start: lambda machine, start=start: _no_files(machine, start)        # type: ignore[misc]
       for start in ("/proc/cmdline", "/proc/sys/", "/sys/bus/pci/", "/sys/devices/system/cpu", "/sys/module", "/etc/",
                     "/proc/driver")}}


def _live(*changes: Callable[[Machine], object]) -> Stored:
    machine = driver(eight_gpus(0x0011))
    for change in changes:
        change(machine)
    return Stored(gather(machine.host(), _SPEC.spec, True), _SPEC)


def _nights(folder: Path, *boxes: Stored) -> list[FleetReport]:
    found = []
    with open_store(str(folder / "fleet.db"), clock=Clock()) as store:
        for box in boxes:
            assert isinstance(store.clock, Clock)
            store.clock.hours(24)
            head = store.begin("inventory", [("a", "g")])
            store.put(head.id, seen(Answer("a", "g", "ok", packed(box)), box.frozen))
            store.finish(head.id)
            found.append(report(store, head.id))
    return found


def _open(found: FleetReport) -> dict[str, Cause]:
    return {cause.id: cause for cause in found.causes if cause.drifts}


def _better(before: FleetReport, after: FleetReport) -> list[str]:
    """What the second says better of what is open in the first. Where a check cannot tell anything any more, one
    finding stands for all that it had found."""
    found = []
    for name, each in _open(before).items():
        if each.outcome == "unknown":
            continue        # what it could not be told for may be gone
        same = [other for other in _open(after).values()
                if other.id == name or (other.fact == each.fact and other.outcome == "unknown")]
        if not any(RANK[other.severity] <= RANK[each.severity] for other in same):
            found.append(f"{each.fact} {each.subject}: {each.severity} -> {[other.severity for other in same]}")
    return found


#: Faults that a box may have at one time.
Faults = tuple[Callable[[Machine], object], ...]
_FAULTS: tuple[Faults, ...] = (tuple(STATES[name] for name in STATES if name != "gpu lost"), (STATES["gpu lost"],))


@pytest.mark.parametrize("faults", _FAULTS, ids=["all", "gpu lost"])
@pytest.mark.parametrize("source", SOURCES)
def test_no_open_entry_gets_better(tmp_path: Path, source: str, faults: Faults) -> None:
    _, before, after = _nights(tmp_path, _live(), _live(*faults), _live(*faults, SOURCES[source]))
    assert not _better(before, after)
    told = _open(before)
    assert not [each.text for name, each in _open(after).items() if each.was and name in told
                and not re.match(f"cannot be told now: .*it was {each.was} when it last could", each.text)]


def _texts(folder: Path, narrow: bool, without: str) -> Stored:
    folder.mkdir()
    for name in _NAMES:
        text = samples("host", f"asus-esc8000a-{name}.log").read_text(errors="replace")
        if narrow and name == "lspci_full":
            head, board = text.split("\n75:00.0 ", 1)
            text = head + "\n75:00.0 " + re.sub(r"(LnkSta:.*Width )x16", r"\1x8 (downgraded)", board, count=1)
        if narrow and name == "dmesg":
            text += "\n[   75.500000] NVRM: Xid (PCI:0000:76:00): 79, GPU has fallen off the bus.\n"
        if name != without:
            (folder / f"{name}.log").write_text(text)
    return Stored(gather(load_import(str(folder)), None, True), None)


@pytest.mark.parametrize("without", _NAMES)
def test_no_open_entry_gets_better_without_a_text(tmp_path: Path, without: str) -> None:
    boxes = [_texts(tmp_path / name, name != "good", without if name == "less" else "")
             for name in ("good", "bad", "less")]
    _, before, after = _nights(tmp_path, *boxes)
    assert {"link-width", "xid"} <= {each.fact for each in before.causes if each.severity == "high"}
    assert not _better(before, after)


def _empty(full: Flat, less: Flat) -> dict[str, object]:
    """Facts that have another value than before and nothing in it."""
    return {name: value for name, value in less.known.items()
            if not value and full.known.get(name, value) != value}


@pytest.mark.parametrize("source", SOURCES)
def test_a_fact_whose_source_is_gone_is_unknown(source: str) -> None:
    assert not _empty(flatten(_live()), flatten(_live(SOURCES[source])))


@pytest.mark.parametrize("without", _NAMES)
def test_a_fact_whose_text_is_gone_is_unknown(tmp_path: Path, without: str) -> None:
    full = flatten(_texts(tmp_path / "full", False, ""))
    assert not _empty(full, flatten(_texts(tmp_path / "less", False, without)))
