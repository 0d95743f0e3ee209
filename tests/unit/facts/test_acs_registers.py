"""parsers/pci/acs.py: the ACS register from raw configuration space, and what it refuses to guess."""

from __future__ import annotations

import pytest
from tests.unit.facts.trees import config

from tunecheck.model.absence import Absence
from tunecheck.parsers.pci.acs import Acs, acs, covered_by_acs_option
from tunecheck.parsers.pci.bdf import bdf_key
from tunecheck.parsers.pci.config_space import ConfigUnreadable


def test_reads_the_register_that_the_lab_machine_has() -> None:
    found = acs(config(0x001D))
    assert found == Acs(0x148, 0x005F, 0x001D)
    assert found.redirects
    assert found.names() == ("SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-")
    assert found.cleared == 0x0011


@pytest.mark.parametrize(("ctl", "redirects"), [(0, False), (0x11, False), (0x51, False), (0x04, True), (0x08, True),
                                                (0x20, True), (0x1D, True)])
def test_only_three_bits_redirect(ctl: int, redirects: bool) -> None:
    found = acs(config(ctl))
    assert found is not None
    assert found.redirects is redirects


def test_a_port_without_the_capability_is_not_an_unreadable_one() -> None:
    assert acs(config()) is None


@pytest.mark.parametrize(("data", "absence", "sizes"), [
    (config(0x1D, size=64), Absence.NO_PERMISSION, r"\b64\b"),
    (config(0x1D, size=256), Absence.UNREADABLE, r"\b256\b.*\b4096\b"),
    (b"\xff" * 4096, Absence.LOST, r"."),
    (b"", Absence.NO_PERMISSION, r"\b0\b"),
])
def test_too_little_is_unknown_never_off(data: bytes, absence: Absence, sizes: str) -> None:
    with pytest.raises(ConfigUnreadable, match=sizes) as unread:
        acs(data)
    assert unread.value.absence is absence


def test_conventional_pci_has_no_extended_capabilities() -> None:
    data = bytearray(256)
    data[0:2] = b"\x86\x80"
    assert acs(bytes(data)) is None


def test_a_looped_capability_chain_ends() -> None:
    data = bytearray(config())
    data[0x100:0x104] = (0x0001 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    assert acs(bytes(data)) is None


def test_address_order_is_numeric_across_domains() -> None:
    mixed = ["10000:e1:00.0", "0000:80:00.0", "0000:0a:00.1", "0000:0a:00.0"]
    assert sorted(mixed, key=bdf_key) == ["0000:0a:00.0", "0000:0a:00.1", "0000:80:00.0", "10000:e1:00.0"]


_PATH = ("0000:00:04.0", "0000:01:00.0", "0000:02:01.0")


@pytest.mark.parametrize(("word", "covered"), [
    ("pci=disable_acs_redir=pci:0:0", True),
    ("pci=disable_acs_redir=pci:1000:c030", True),
    ("pci=disable_acs_redir=pci:1000:0", True),
    ("pci=disable_acs_redir=pci:10de:2bb1", False),
    ("pci=disable_acs_redir=0000:02:00.0;0000:02:01.0", True),
    ("pci=disable_acs_redir=02:01.0", True),
    ("pci=disable_acs_redir=00:04.0/00.0/01.0", True),
    ("pci=disable_acs_redir=00:04.0/00.0/00.0", False),
    ("pci=disable_acs_redir=0000:02:00.0", False),
    ("pci=disable_acs_redir=nonsense;;/", False),
    ("pci=config_acs=0000000@pci:0:0", True),
    ("pci=config_acs=x0x00xx@pci:0:0", True),
    ("pci=config_acs=x0x10xx@pci:0:0", False),
    ("pci=config_acs=10x@pci:0:0", False),
    ("pci=config_acs=xxxxxxx@02:01.0;0000000@pci:0:0", False),
    ("pci=noacs", False),
])
def test_which_options_cover_a_port(word: str, covered: bool) -> None:
    assert covered_by_acs_option(word, _PATH, "1000:c030") is covered
