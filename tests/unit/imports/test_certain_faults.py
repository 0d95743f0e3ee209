"""A line that lspci's text lost above a switch makes unknown what depends on it, and nothing else: a port that
redirects below a switch that is still whole fails, and the other trees keep their place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.imports.samples import FIXTURES

from tunecheck.facts.pci.lower_ways import between
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_OWN = (FIXTURES / "pciutils" / "3.14.0.txt").read_text()
#: The same devices once more, below a host bridge of their own at bus 40.
_OTHER = re.sub(r"\b((?:primary|secondary|subordinate)=)0", r"\g<1>4", re.sub(r"^0(\d:)", r"4\1", _OWN, flags=re.M))
_BOTH = f"{_OWN.rstrip()}\n\n{_OTHER}"
_ROOT_PORT = next(block for block in _BOTH.split("\n\n") if block.startswith("00:01.0 "))
#: What is lost of the root port above the first switch.
_LOST = {"bus numbers": _BOTH.replace("\tBus: primary=00, secondary=01, subordinate=06, sec-latency=0\n", ""),
         "first line": _BOTH.replace(_ROOT_PORT.partition("\n")[0] + "\n", ""),
         "port": _BOTH.replace(_ROOT_PORT + "\n\n", "")}


def _snapshot(folder: Path, text: str) -> Snapshot:
    (folder / "lspci.txt").write_text(text)
    return gather(load_import(str(folder)), None, True)


def _redirect(snapshot: Snapshot) -> dict[str, str]:
    found = judge(Case(snapshot, None), "preflight")
    return {each.subject: each.outcome for each in found if each.id == "acs-redirect"}


def _relations(snapshot: Snapshot) -> dict[tuple[str, str], str | None]:
    devices = snapshot.topology.devices
    return {(devices[pair.a].bdf, devices[pair.b].bdf): pair.relation.value for pair in snapshot.topology.pairs}


@pytest.mark.parametrize("lost", _LOST)
def test_a_certain_fault_stays_and_other_trees_keep_their_place(tmp_path: Path, lost: str) -> None:
    assert _LOST[lost] != _BOTH
    for name in ("whole", "part"):
        (tmp_path / name).mkdir()
    whole, part = _snapshot(tmp_path / "whole", _BOTH), _snapshot(tmp_path / "part", _LOST[lost])
    before, after = _redirect(whole), _redirect(part)
    assert before["0000:02:01.0"] == before["0000:42:01.0"] == "fail"
    assert after["0000:02:01.0"] == after["0000:42:01.0"] == "fail"
    assert "unknown" in after.values(), "how the two trees are joined is not told any more"
    kept = {pair: word for pair, word in _relations(whole).items() if all(end.startswith("0000:4") for end in pair)}
    assert kept and kept.items() <= _relations(part).items()
    assert all(word is None for pair, word in _relations(part).items() if pair[0].startswith("0000:0"))


def test_ports_that_do_not_meet_below_one_bridge_are_not_told(tmp_path: Path) -> None:
    """Without the switch's own bus numbers nothing says that its ports meet."""
    text = _LOST["port"].replace("\tBus: primary=01, secondary=02, subordinate=06, sec-latency=0\n", "")
    assert "0000:02:01.0" not in _redirect(_snapshot(tmp_path, text))


@pytest.mark.parametrize(("a", "b", "common", "ports"), [
    (("up", "one"), ("up", "two"), "up", ("one", "two")), (("root", "up", "one"), ("up", "two"), "up", ("one", "two")),
    (("one",), ("two",), None, ()), ((), ("two",), None, ()), (("up",), ("up", "two"), "up", ("two",))])
def test_the_lowest_shared_bridge(a: tuple[str, ...], b: tuple[str, ...], common: str | None, ports: tuple[str, ...]
                                  ) -> None:
    assert between(a, b) == (common, ports)
