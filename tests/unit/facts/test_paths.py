"""facts/peer_paths.py: what each pair's way can carry, the slowest link, and None with a reason where it
cannot be told."""

from __future__ import annotations

import pytest
from tests.unit.checks.machines import build
from tests.unit.facts.trees import GPU, PCI, Machine, cascaded, config, direct, flat, switch, two_bridges

from tunecheck.facts.peer_paths import PairPath, paths
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.answers import RecordedHost
from tunecheck.model.absence import Absence
from tunecheck.report.document import document
from tunecheck.report.paths import path_lines
from tunecheck.rules.context import Case


def snapshot(machine: Machine, nvml: dict[str, object] | None = None) -> Snapshot:
    host = machine.host()
    return gather(RecordedHost(host._reads, host._lists, host._realpaths, host._errors, host._runs, nvml), None, False)


def one(machine: Machine) -> PairPath:
    (path,) = paths(snapshot(machine))
    return path


def rates(path: PairPath) -> tuple[float | None, float | None, str | None]:
    return path.one_way, path.two_way, path.latency_class


def test_one_switch() -> None:
    path = one(switch(0x11))
    assert [hop.bdf for hop in path.hops] == ["0000:03:00.0", "0000:02:00.0", "0000:02:01.0", "0000:04:00.0"]
    assert [link.name for link in path.links] == ["0000:02:00.0-0000:03:00.0", "0000:02:01.0-0000:04:00.0"]
    assert (path.mps, path.redirectors, path.reason) == (256, (), None)
    assert rates(path) == (57.6, 115.2, "switch")
    assert path_lines(Case(snapshot(switch(0x11)))) == [
        "GPU0-GPU1 PIX: crosses 2 ports below 0000:01:00.0, x16 Gen5, MPS 256: predicted 57.6 GB/s one way, 115.2 "
        "both ways"]


def test_a_redirect_makes_both_directions_share_the_uplink() -> None:
    path = one(switch(0x1D))
    assert path.redirectors == ("0000:02:00.0", "0000:02:01.0")
    assert rates(path) == (57.6, 57.6, "root-complex")
    assert "0000:00:04.0-0000:01:00.0" in [link.name for link in path.links]


def test_a_redirect_through_a_narrow_uplink() -> None:
    machine = switch(0x1D).file(f"{PCI}/0000:01:00.0/current_link_width", "8\n")
    path = one(machine)
    assert path.slowest is not None
    assert (path.slowest.name, rates(path)[:2]) == ("0000:00:04.0-0000:01:00.0", (28.8, 28.8))
    # Without a redirect the uplink is not on the way.
    assert one(switch(0x11).file(f"{PCI}/0000:01:00.0/current_link_width", "8\n")).one_way == 57.6


def test_idle_links_are_taken_at_their_highest_speed() -> None:
    machine = switch(0x11)
    for bdf in ("0000:02:00.0", "0000:03:00.0"):
        machine.file(f"{PCI}/{bdf}/current_link_speed", "2.5 GT/s PCIe\n")
    assert one(machine).one_way == 57.6


def test_the_slowest_link_is_named() -> None:
    path = one(switch(0x11).file(f"{PCI}/0000:02:01.0/max_link_speed", "16.0 GT/s PCIe\n"))
    assert path.slowest is not None
    assert (path.slowest.name, path.slowest.text, path.one_way) == ("0000:02:01.0-0000:04:00.0", "x16 Gen4", 28.8)
    held = one(switch(0x11).file(f"{PCI}/0000:02:01.0/config", config(0x11, target=2)))
    assert held.one_way == pytest.approx(7.3)


def test_the_smallest_payload_counts() -> None:
    path = one(switch(0x11).file(f"{PCI}/0000:02:01.0/config", config(0x11, mps=128)))
    assert (path.mps, path.one_way, path.two_way) == (128, 53.1, 106.1)


def test_cascades_and_root_complexes() -> None:
    path = one(cascaded())
    assert [hop.bdf for hop in path.hops] == ["0000:03:00.0", "0000:02:00.0", "0000:02:01.0", "0000:04:00.0",
                                              "0000:05:00.0", "0000:06:00.0"]
    assert len(path.links) == 4      # three, and the uplink: the ports redirect
    assert path.latency_class == "root-complex"
    far = one(direct(0x11))
    assert rates(far) == (57.6, 115.2, "root-complex")
    assert far.reason, "it may be less"
    assert one(two_bridges((0, 1))).latency_class == "cross-socket"
    assert one(two_bridges((0, 0))).latency_class == "root-complex"


@pytest.mark.parametrize(("machine", "named", "mps", "absence"), [
    (switch(0x11).file(f"{PCI}/0000:03:00.0/config", config(size=64)), "MPS of 0000:03:00.0", None,
     Absence.NO_PERMISSION),
    (switch(0x11).file(f"{PCI}/0000:03:00.0/config", b"\xff" * 4096), "MPS of 0000:03:00.0", None, Absence.LOST),
    (switch(0x11).file(f"{PCI}/0000:02:00.0/config", config(0x11, mps=None)), "MPS of 0000:02:00.0", None, None),
    (switch(0x11).file(f"{PCI}/0000:03:00.0/current_link_width", "0\n"), "0000:02:00.0-0000:03:00.0", 256, None),
    (flat(), "", None, Absence.NOT_DERIVABLE),
    (switch(0x11).file(f"{PCI}/0000:02:00.0/vendor", "0x1b36\n").file(f"{PCI}/0000:02:00.0/device", "0x000c\n"),
     "0000:02:00.0", 256, None),
    # A real switch is below no emulated port: its links are not those of the board either.
    (switch(0x11).file(f"{PCI}/0000:00:04.0/vendor", "0x1b36\n").file(f"{PCI}/0000:00:04.0/device", "0x000c\n"),
     "0000:00:04.0", 256, None),
])
def test_what_is_not_known_is_not_guessed(machine: Machine, named: str, mps: int | None,
                                          absence: Absence | None) -> None:
    path = one(machine)
    assert (path.one_way, path.two_way, path.mps) == (None, None, mps)
    assert path.reason and named in path.reason
    assert (path.pair.relation.absence or path.hops[0].express.absence) is absence
    (line,) = path_lines(Case(snapshot(machine)))
    assert path.reason in line and "GB/s" not in line


def test_unknown_redirects_leave_both_ways_open() -> None:
    machine = switch(0x11)
    data = config(0x11, size=256)
    machine.file(f"{PCI}/0000:02:00.0/config", data)
    path = one(machine)
    assert (path.one_way, path.two_way) == (57.6, None)
    blind = next(hop for hop in path.hops if hop.bdf == "0000:02:00.0")
    assert blind.acs.absence is Absence.UNREADABLE and blind.bdf in (path.unseen)


def test_nvlink_is_not_predicted_from_pcie() -> None:
    pairs = [{"a": a, "b": b, "errors": {}, "values": {"p2p_nvlink": 0}}
             for a, b in (("0000:03:00.0", "0000:04:00.0"), ("0000:04:00.0", "0000:03:00.0"))]
    found = snapshot(switch(0x11), {"driver": "1", "library": "1", "errors": {}, "gpus": [], "pairs": pairs})
    (path,) = paths(found)
    assert rates(path) == (None, None, "nvlink")
    assert path_lines(Case(found)) == ["GPU0-GPU1 joined by NVLink: PCIe does not carry their traffic"]


def test_equal_pairs_share_a_line() -> None:
    machine = Machine()
    for number in range(8):
        port = f"pci0000:00/0000:00:0{number}.0"
        machine.device(f"0000:00:0{number}.0", port, data=config(0x11, port=4))
        machine.device(f"0000:1{number}:00.0", f"{port}/0000:1{number}:00.0", GPU, "0302")
    (line,) = path_lines(Case(snapshot(machine)))
    assert line.startswith("GPU0-GPU1, GPU0-GPU2, GPU0-GPU3, GPU0-GPU4 and 24 more PHB: crosses 2 ports, x16 Gen5, MPS "
                           "256")


def test_the_document() -> None:
    found = snapshot(switch(0x11))
    (pair,) = document("topo", Case(found), [])["pairs"]
    assert pair["path"] | {"hops": pair["path"]["hops"][:2]} == {
        "hops": [{"bdf": bdf, "link": {"gen": 5, "width": 16}, "aspm": "off", "mps": 256, "mrrs": 512}
                 for bdf in ("0000:03:00.0", "0000:02:00.0")],
        "slowest": {"link": "0000:02:00.0-0000:03:00.0", "gen": 5, "width": 16}, "redirectors": [], "mps": 256,
        "one_way_gb_s": 57.6, "two_way_gb_s": 115.2, "latency_class": "switch", "reason": None}


@pytest.mark.parametrize(("speed", "said"), [
    ("16.0 GT/s PCIe", "0000:10:01.0-0000:11:00.0 runs at Gen4 of Gen5 now"), ("32.0 GT/s PCIe", ""),
    ("2.5 GT/s PCIe", "")])
def test_an_uplink_that_is_slow_now_is_told_beside_what_it_can(speed: str, said: str) -> None:
    """At Gen1 a BIOS may save power, at all such links alike; the figure stays that of the link's own speed."""
    files = {f"/sys/bus/pci/devices/{bdf}/current_link_speed": speed for bdf in ("0000:10:01.0", "0000:11:00.0")}
    found = paths(gather(build({"machine": "pairs", "files": files}), None, False))
    across = [path for path in found if "0000:11:00.0" in (hop.bdf for hop in path.hops)]
    assert across and {path.slow_now for path in across} == {said} and {path.one_way for path in across} == {57.6}
    assert all(said in (path.reason or "") for path in across)
    assert {path.slow_now for path in found if path not in across} == {""}
