"""What people see of a box or a measurement, line by line. The tests ask what the lines tell; their words are pinned in
tests/unit/checks/wording.txt."""

from __future__ import annotations

from functools import cache

from tests.unit.checks.measurements import measured
from tests.unit.facts import trees
from tests.unit.facts.trees import PCI, Machine, full
from tests.unit.report.boxes import switches
from tests.unit.report.large_boxes import all_different, cascade, each_its_own

from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.report.measured import allreduce_lines, p2p_lines
from tunecheck.report.paths import short_path_lines
from tunecheck.report.short_tables import short_square
from tunecheck.report.short_tree import short_tree_lines
from tunecheck.rules.context import Case

__all__ = ["drawn", "snapshot"]


def snapshot(machine: Machine) -> Snapshot:
    return gather(full(machine).host(), None, False)


def _slow(machine: Machine) -> Machine:
    for bdf in machine.lists[PCI]:
        machine.file(f"{PCI}/{bdf}/current_link_speed", "2.5 GT/s PCIe\n")
    return machine


def _short_space(machine: Machine) -> Machine:
    """No extended configuration space can be read, where ACS is."""
    for bdf in machine.lists[PCI]:
        machine.file(f"{PCI}/{bdf}/config", trees.config(size=256))
    return machine


@cache
def drawn() -> dict[str, list[str]]:
    """Name -> lines."""
    trees_of = {
        "eight ways": each_its_own(), "eight ways that redirect": each_its_own(ctl=0x1D), "cascade": cascade(),
        "two switches, one GPU narrow": switches(4, redirecting=(0,), narrow=(3,)),
        "idle links": _slow(trees.below_one_switch(4, 0x1D)), "no GPU": Machine()}
    paths_of = {"eight GPUs": switches(8), "all different": all_different(),
                "redirected": trees.below_one_switch(4, 0x1D), "ACS not known": _short_space(trees.below_one_switch(2))}
    pairs = {(a, b): "PIX" for a in range(8) for b in range(a)}
    two = gather(full(trees.below_one_switch(2)).host(), trees.frozen().spec, False).topology
    return {
        **{f"tree/{name}": short_tree_lines(snapshot(machine).topology, True) for name, machine in trees_of.items()},
        **{f"paths/{name}": short_path_lines(Case(snapshot(machine))) for name, machine in paths_of.items()},
        "matrix/eight GPUs alike": short_square(8, pairs, 80),
        "matrix/two GPUs": short_square(2, {(0, 1): "PIX"}, 80),
        "matrix/two GPUs, each direction": short_square(2, {(0, 1): "OK", (1, 0): "OK"}, 80),
        "matrix/eight GPUs on a narrow terminal": short_square(8, {**pairs, (1, 0): "SYS"}, 30),
        "figures/two GPUs": p2p_lines(measured({"figures": {"one way 1-0": 52.34, "latency 0-1": 730}}, 2), two, 80),
        "all-reduces/two ranks": allreduce_lines(measured({"figures": {"nccl 2 8": None}}, 2)),
        "all-reduces/four ranks on a narrow terminal": allreduce_lines(measured({}, 4), 40),
    }
