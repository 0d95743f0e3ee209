"""What bench-figures says of a slow pair fits all of its figures: one cause for one direction and both, no cause that
they rule out, and no check to look at that passes."""

from __future__ import annotations

import re
from itertools import product

import pytest
from tests.unit.checks.machines import MACHINES, build

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.index import CHECKS

_ONE, _BOTH = 57.6, 115.2       # what Gen5 x16 carries at an MPS of 256
_PCI = "/sys/bus/pci/devices"


def _test(one: float | None, both: float | None, first: int = 3, second: int = 4) -> str:
    tables = "".join(f"{title} Matrix (GB/s)\n   D\\D     0      1\n     0 1500.00  {value:.3f}\n"
                     f"     1 {value:.3f}  1500.00\n" for title, value in (
                         ("Unidirectional P2P=Enabled Bandwidth (P2P Writes)", one),
                         ("Bidirectional P2P=Enabled Bandwidth", both)) if value is not None)
    devices = "".join(f"Device: {number}, NVIDIA RTX PRO 6000 Blackwell Workstation Edition, pciBusID: {bus:x}, "
                      "pciDeviceID: 0, pciDomainID:0\n" for number, bus in enumerate((first, second))) if first else ""
    return f"[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n{devices}{tables}"


def _judged(text: str, machine: str = "four", speed: str = "") -> list[Finding]:
    """``speed``: that of now of the links of the first two GPUs, at both ends."""
    ends = [f"{bdf}:0{number}.0" for bdf, number in (("0000:02", 0), ("0000:02", 1))] + ["0000:03:00.0", "0000:04:00.0"]
    files = {f"{_PCI}/{bdf}/current_link_speed": f"{speed} GT/s PCIe\n" for bdf in ends} if speed else {}
    host = build({"machine": machine, "files": files, "posts": {"p2pBandwidthLatencyTest": text}})
    return judge(Case(gather(host, None, True)), "preflight")


def _bench(found: list[Finding]) -> list[Finding]:
    return [each for each in found if each.id == "bench-figures"]


@pytest.mark.parametrize("one", [0.3, 0.46, 0.6, 0.84, 0.86, 0.95])
@pytest.mark.parametrize("ratio", [0.98, 1.2, 1.45, 1.51, 1.75, 1.95])
def test_one_cause_is_one_finding(one: float, ratio: float) -> None:
    """A slow link is slow in both directions, and nothing joins them; joined ones carry less than 1.5 times of one."""
    found = {each.code: each for each in _bench(_judged(_test(one * _ONE, one * ratio * _ONE)))}
    slow, joined, low = one < 0.85, ratio < 1.5, one * ratio * _ONE < 0.8 * _BOTH
    assert ("slow" in found) == slow
    assert ("slow-both-ways" in found) == (low and (joined or not slow))
    if told := found.get("slow-both-ways"):
        assert told.remedy and ("joins both directions" in told.remedy.text) == joined
        assert ("share a link" in told.text) == joined and (joined or "narrowest link" not in told.text)
    assert ("ok" in found) == (not slow and not low)


def test_both_directions_alone_name_no_cause() -> None:
    (low,) = [each for each in _bench(_judged(_test(None, 46.5))) if each.code == "slow-both-ways"]
    assert low.remedy and "joins" not in low.remedy.text and "share" not in low.text


@pytest.mark.parametrize(("speed", "gen", "figure", "seen"), [
    ("16.0", 4, 26.6, True), ("8.0", 3, 13.2, True), ("2.5", 4, 26.6, False), ("8.0", 4, 26.6, False),
    ("32.0", 0, 26.6, False), ("16.0", 0, 20.0, False), ("16.0", 3, 13.2, None), ("2.5", 0, 35.0, False)])
def test_a_figure_of_a_lower_generation_names_it(speed: str, gen: int, figure: float, seen: bool | None) -> None:
    """``gen``: that explains the figure, 0: none does. Links that run faster now rule it out."""
    (slow,) = _bench(_judged(_test(figure, 1.8 * figure), speed=speed))
    assert slow.code == "slow" and slow.remedy
    named = re.findall(r"(?:what|as much as) Gen(\d) gives", slow.remedy.text)
    assert named == ([str(gen)] if gen and seen is not None else [])
    assert ("narrowest link" in slow.text) != bool(seen)
    assert all((f"0000:02:0{at}.0-0000:0{at + 3}:00.0" in slow.remedy.text) == bool(seen) for at in (0, 1))


_LIMIT = re.compile(r"(\d+(?:\.\d+)?)(%?)(?: x| or more)")


@pytest.mark.parametrize("machine", ["four", "direct", "numa"])
@pytest.mark.parametrize("step", [each / 10000 for each in range(-60, 61, 12)])
@pytest.mark.parametrize(("one", "both"), [(0.85, 1.9), (0.95, 0.8 * 2 / 0.95), (0.95, 1.5), (0.8, 1.9), (0.5, 1.5)])
def test_what_is_shown_is_below_what_is_expected(one: float, both: float, step: float, machine: str) -> None:
    first, second = (3, 4) if machine == "four" else (1, 2) if machine == "direct" else (0x21, 0x41)
    text = _test((one + step) * _ONE, (one + step) * (both + step) * _ONE, first, second)
    for each in _bench(_judged(text, machine)):
        limit = _LIMIT.match(each.expected)
        shown = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", each.observed)
        if each.outcome in ("warn", "fail") and limit and shown and limit[2] == shown[2]:
            assert float(shown[1]) < float(limit[1]), each.message


@pytest.mark.parametrize(("machine", "named"), [*product(MACHINES, (True, False))])
@pytest.mark.parametrize(("one", "both"), [(26.6, 46.5), (26.6, 28.0), (52.0, 51.0), (10.0, 18.0), (None, 51.0)])
def test_no_fix_names_a_check_that_passes(machine: str, named: bool, one: float | None, both: float) -> None:
    """Unless it says that the check is to be looked at again under load."""
    buses = [int(each.bdf[5:7], 16) for each in gather(build({"machine": machine}), None, True).topology.devices][:2]
    found = _judged(_test(one, both, *(buses if named and len(buses) > 1 else (0, 0))), machine)
    passes = {each.id for each in found if each.outcome == "pass"} - {
        each.id for each in found if each.outcome != "pass"}
    ids = {each.id for each in CHECKS}
    for each in _bench(found):
        fix = each.remedy.text if each.remedy else ""
        told = {word for word in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", fix) if word in ids}
        if "under load" not in fix and "while a GPU works" not in fix and "look at why" not in fix:
            assert not told & passes, (each.code, told & passes, fix)
