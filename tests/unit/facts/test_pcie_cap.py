"""parsers/pci/pcie_cap.py and the arithmetic: registers from bytes, and nothing guessed from bytes that mean
nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.facts.trees import config

from tunecheck.model.absence import Absence
from tunecheck.parsers.pci.acs import acs
from tunecheck.parsers.pci.aer_counters import parse_counters
from tunecheck.parsers.pci.config_space import ConfigUnreadable, NotGiven
from tunecheck.parsers.pci.pcie_cap import express, generation
from tunecheck.parsers.pci.pcie_rate import payload_rate
from tunecheck.parsers.pci.switch_chips import chip, collapses

_RUNS = settings(max_examples=400, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize(("gen", "rates"), [
    (3, (13.3, 14.4, 15.0)), (4, (26.5, 28.8, 30.1)), (5, (53.1, 57.6, 60.2)), (6, (102.1, 109.4, 113.6))])
def test_the_table_of_x16(gen: int, rates: tuple[float, ...]) -> None:
    assert tuple(round(payload_rate(gen, 16, mps), 1) for mps in (128, 256, 512)) == rates


def test_older_generations_have_another_line_code() -> None:
    assert round(payload_rate(1, 1, 128), 3) == 0.211
    assert payload_rate(2, 8, 256) == pytest.approx(2 * payload_rate(1, 8, 256))


def test_every_register_of_a_healthy_port() -> None:
    found = express(config(0x1D, mps=256, able=512, mrrs=512, aspm=2, target=4))
    assert found is not None and found.link is not None
    assert (found.port, found.slot, found.payload_max, found.payload, found.read_request) == (
        "Downstream Port", False, 512, 256, 512)
    assert (found.relaxed_ordering, found.extended_tag, found.aer) == (True, False, True)
    link = found.link
    assert (link.max_gen, link.max_width, link.gen, link.width, link.target_gen) == (5, 16, 5, 16, 4)
    assert (link.aspm, link.aspm_able) == ("L1", "L1")


def test_without_the_extended_space_only_aer_is_unknown() -> None:
    found = express(config(size=256))
    assert found is not None
    assert (found.payload, found.aer) == (256, None)


@pytest.mark.parametrize(("data", "absence", "size"), [
    (config(size=64), Absence.NO_PERMISSION, r"\b64\b"), (b"\xff" * 4096, Absence.LOST, r"."),
    (b"\xff" * 64, Absence.LOST, r"."), (b"", Absence.NO_PERMISSION, r"\b0\b")])
def test_too_little_is_unknown_never_128(data: bytes, absence: Absence, size: str) -> None:
    with pytest.raises(ConfigUnreadable, match=size) as unread:
        express(data)
    assert unread.value.absence is absence


def test_conventional_pci_has_none() -> None:
    assert express(bytes(256)) is None


@pytest.mark.parametrize("code", [6, 7])
def test_reserved_sizes_are_no_sizes(code: int) -> None:
    data = bytearray(config())
    data[0x58] = code
    data[0x5C:0x5E] = (code << 5 | code << 12).to_bytes(2, "little")
    found = express(bytes(data))
    assert found is not None
    assert (found.payload_max, found.payload, found.read_request) == (None, None, None)


def test_a_link_that_is_down_has_no_width() -> None:
    found = express(config(gen=0, width=0))
    assert found is not None and found.link is not None
    assert (found.link.gen, found.link.width, found.link.max_gen, found.link.max_width) == (None,) * 4


def test_a_capability_that_runs_past_the_space_is_not_given() -> None:
    data = bytearray(config())
    data[0x34] = 0xF4
    data[0xF4:0xF8] = b"\x10\x00\x62\x00"
    with pytest.raises(NotGiven, match="0xf4") as unread:
        express(bytes(data))
    assert unread.value.part == "express"


def test_a_looped_list_ends() -> None:
    data = bytearray(config())
    data[0x34], data[0x40:0x42] = 0x40, b"\x01\x40"
    assert express(bytes(data)) is None


@_RUNS
@given(data=st.one_of(st.binary(max_size=600), st.builds(
    lambda edits, size: _edited(edits)[:size],
    st.lists(st.tuples(st.integers(0, 0x160), st.integers(0, 255)), max_size=20),
    st.sampled_from((0, 3, 63, 64, 255, 256, 257, 4095, 4096)))))
def test_any_bytes(data: bytes) -> None:
    for parse in (acs, express):
        try:
            parse(data)
        except ConfigUnreadable as error:
            assert str(error)


def _edited(edits: list[tuple[int, int]]) -> bytes:
    data = bytearray(config(0x1D))
    for at, value in edits:
        data[at] = value
    return bytes(data)


@pytest.mark.parametrize(("text", "gen"), [
    ("32.0 GT/s PCIe", 5), ("32GT/s", 5), ("2.5GT/s", 1), ("8.0 GT/s PCIe", 3), ("64.0 GT/s PCIe", 6),
    ("Unknown", None), ("", None), ("3 GT/s", None), ("5", 2)])
def test_generations(text: str, gen: int | None) -> None:
    assert generation(text) == gen


def test_counters() -> None:
    assert parse_counters("RxErr 0\nBadTLP 12\nTOTAL_ERR_COR 12") == {"RxErr": 0, "BadTLP": 12}
    for wrong in ("", "RxErr 0", "RxErr -1\nTOTAL_ERR_COR 0", "RxErr\nTOTAL_ERR_COR 0", "\x1b[0m 1\nTOTAL_ERR_COR 1"):
        with pytest.raises(ValueError, match=r"."):
            parse_counters(wrong)


@_RUNS
@given(text=st.text())
def test_any_text_as_counters(text: str) -> None:
    try:
        assert all(count >= 0 for count in parse_counters(text).values())
    except ValueError as error:
        assert str(error)


@pytest.mark.parametrize(("ids", "name"), [
    ("11f8:5068", "Microchip Switchtec (Gen5)"), ("11f8:4052", "Microchip Switchtec (Gen4)"),
    ("11f8:ffff", "Microchip Switchtec"), ("10b5:8747", "PLX/Broadcom PEX8xxx"),
    ("1000:c010", "Broadcom PEX880xx (Gen4)"), ("104c:8232", "TI XIO3130, as QEMU emulates it"), ("1234:5678", None),
    ("", None), (":", None), ("1000:00b2", None)])
def test_switch_chips(ids: str, name: str | None) -> None:
    assert chip(ids) == name
    assert collapses("1000:c030") and not collapses(ids)
