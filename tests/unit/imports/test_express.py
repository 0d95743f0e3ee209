"""PCI Express registers from `lspci -vvv`: the same as from the bytes, unknown where the text does not show them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.imports.samples import FIXTURES, lab, samples
from tests.unit.imports.test_fuzz import damaged
from tests.unit.imports.test_import import folder, found

from tunecheck.facts.pci.topology import Topology, topology
from tunecheck.facts.peer_paths import paths
from tunecheck.host.imported.machine import ImportedHost, load_import
from tunecheck.host.imported.sysfs import synthesise
from tunecheck.host.imported.texts import Texts
from tunecheck.model.absence import Absence
from tunecheck.parsers.pci.lspci_express import express_bytes
from tunecheck.parsers.pci.pcie_cap import ASPM, PORTS, express

_RUNS = settings(max_examples=200, deadline=None, derandomize=True, database=None)


def seen(text: str) -> Topology:
    texts = Texts(lspci=[text])
    assert synthesise(texts) is None
    return topology(ImportedHost(texts, {}, []), ())


def registers(found: Topology) -> dict[str, object]:
    return {device.bdf: device.express.value for device in (*found.devices, *found.bridges.values())}


def test_text_and_bytes_say_the_same() -> None:
    words = registers(seen(lab("acs-iommu")))
    raw = registers(seen((FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx").read_text()))
    assert set(words) == set(raw) and None not in words.values()
    for bdf, one in words.items():
        # A text of an endpoint does not prove that its extended list is whole.
        assert one in (raw[bdf], _without_aer(raw[bdf]))


def _without_aer(one: object) -> object:
    return dataclasses.replace(one, aer=None)  # type: ignore[type-var]


@pytest.mark.parametrize("line", [r"DevCap:\tMaxPayload", r"\t\t\tMaxPayload 128 bytes, MaxReadReq", "LnkCtl:\t",
                                  "RlxdOrd", r"LnkCap:\t", r"LnkSta:\t"])
def test_a_register_that_is_not_shown_is_unknown_not_zero(line: str) -> None:
    for device in seen(re.sub(rf"(?m)^.*{line}.*\n", "", lab("acs-iommu"))).devices:
        assert device.express.absence is Absence.NOT_IN_IMPORT


def test_without_root_nothing_is_known() -> None:
    text = re.sub(r"(?m)^\tCapabilities: (?s:.*?)(?=^\t?\S|\n\n)", "", lab("acs-iommu"))
    text = re.sub(r"(?m)^(\tFlags|\tControl)", "\tCapabilities: <access denied>\n\\1", text)
    assert all(not device.express.known for device in seen(text).devices)


@_RUNS
@given(codes=st.fixed_dictionaries({
    "payload_max": st.integers(0, 5), "payload": st.integers(0, 5), "read_request": st.integers(0, 5),
    "relaxed": st.integers(0, 1), "tags": st.integers(0, 1), "aspm": st.integers(0, 3),
    "aspm_able": st.integers(0, 3)}),
    port=st.sampled_from([name for kind, name in PORTS.items() if kind < 9]), slot=st.booleans(),
    link=st.tuples(st.sampled_from(["2.5 GT/s PCIe", "32.0 GT/s PCIe", "Unknown", None]), st.sampled_from([0, 1, 16])),
    target=st.one_of(st.none(), st.integers(1, 6)))
def test_codes_survive_the_way_through_bytes(codes: dict[str, int], port: str, slot: bool, target: int | None,
                                             link: tuple[str | None, int | None]) -> None:
    full = codes | ({"target": target} if target else {})
    at, content = express_bytes(full, port, slot, (link, link))
    config = bytearray(256)
    config[6], config[0x34] = 0x10, at
    config[at:at + len(content)] = content
    one = express(bytes(config))
    assert one is not None and one.link is not None
    assert (one.port, one.slot, one.payload, one.payload_max, one.read_request) == (
        port, slot, 128 << codes["payload"], 128 << codes["payload_max"], 128 << codes["read_request"])
    assert (one.link.aspm, one.link.aspm_able, one.link.target_gen) == (
        ASPM[codes["aspm"]], ASPM[codes["aspm_able"]], target)
    assert one.link.width == (link[1] or None)


@_RUNS
@given(layout=st.sampled_from(("acs-iommu", "phb")), edits=st.lists(st.tuples(
    st.sampled_from(("cut", "double", "insert", "turn")), st.integers(0, 1 << 20), st.sampled_from((1, 3, 40, 4000)),
    st.sampled_from(["\t", "\n", "9" * 30, "MaxPayload 99999 bytes, MaxReadReq 7 bytes\n", "LnkCtl: ASPM L9 Enabled;\n",
                     "Width x0", "Speed 1GT/s"])), min_size=1, max_size=4))
def test_damaged_texts(layout: str, edits: list[tuple[str, int, int, str]]) -> None:
    texts = Texts(lspci=[damaged(lab(layout), edits)])
    if synthesise(texts):
        return
    tree = topology(ImportedHost(texts, {}, []), ())
    for device in (*tree.devices, *tree.bridges.values()):
        one = device.express.value
        assert device.express.known or device.express.reason
        assert one is None or one.payload in (None, 128, 256, 512, 1024, 2048, 4096)


def test_eight_boards_behind_four_switches(tmp_path: Path) -> None:
    """Their owner's capture: MPS 256 everywhere, Gen5 x16, idle boards at 2.5 GT/s, nothing redirects."""
    source = samples("host", "asus-esc8000a-lspci_full.log").read_text()
    ways = paths(found(load_import(folder(tmp_path, source))))
    assert len(ways) == 28
    assert {path.mps for path in ways} == {256} and not any(path.redirectors for path in ways)
    assert {path.slowest.text for path in ways if path.slowest} == {"x16 Gen5"}
    near = [path for path in ways if path.pair.relation.value == "PIX"]
    assert [(path.one_way, path.two_way, len(path.hops), path.reason) for path in near] == [(57.6, 115.2, 4, None)] * 4
    far = [path for path in ways if path.pair.relation.value in ("NODE", "SYS")]
    # An upper bound: a figure, and why less may arrive.
    assert {(len(path.hops), path.one_way is not None, path.reason is not None) for path in far} == {(8, True, True)}
    assert len(far) == 24
