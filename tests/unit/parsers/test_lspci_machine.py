"""lspci's forms for scripts say the same devices as its plain one (texts of pciutils 3.9 over the lab's bytes)."""

from __future__ import annotations

import pytest

from tunecheck.parsers.pci.lspci import LspciDevice, parse_lspci
from tunecheck.parsers.pci.lspci_machine import MACHINE, listing

RECORD = """\
Slot:\t0000:00:00.0
Class:\tHost bridge [0600]
Vendor:\tIntel Corporation [8086]
Device:\t82G33/G31/P35/P31 Express DRAM Controller [29c0]
SVendor:\tRed Hat, Inc. [1af4]
SDevice:\tQEMU Virtual Machine [1100]
ProgIf:\t00

Slot:\t0000:03:00.0
Class:\t3D controller [0302]
Vendor:\tNVIDIA Corporation [10de]
Device:\tGH100[H100 SXM5 80GB] [2330]
PhySlot:\t0-2
Rev:\ta1
Driver:\tnvidia
Module:\tnvidia
Module:\tnouveau
NUMANode:\t1
IOMMUGroup:\t24

"""
NUMBERS = """\
Slot:\t00:00.0
Class:\t0600
Vendor:\t8086
Device:\t29c0

Slot:\t03:00.0
Class:\t0302
Vendor:\t10de
Device:\t2330

"""
OLDER = NUMBERS.replace("Slot:", "Device:")
LINES = """\
00:00.0 "Host bridge [0600]" "Intel Corporation [8086]" "82G33/G31/P35/P31 Express DRAM Controller [29c0]" -p00 "" ""
03:00.0 "3D controller [0302]" "NVIDIA Corporation [10de]" "GH100[H100 SXM5 80GB] [2330]" -ra1 -p00 "Red Hat" "X [1]"
"""


def devices(text: str) -> list[LspciDevice]:
    assert MACHINE.search(text)
    return parse_lspci(listing(text))


@pytest.mark.parametrize("text", [
    RECORD, NUMBERS, OLDER, LINES, RECORD.replace("\t", "    "), LINES.replace(" -p00", "")])
def test_every_form_has_the_same_devices(text: str) -> None:
    assert [(each.bdf, each.class_code, each.vendor, each.device, each.cut, each.unread_header)
            for each in devices(text)] == [
        ("0000:00:00.0", "0600", "8086", "29c0", False, ""), ("0000:03:00.0", "0302", "10de", "2330", False, "")]


def test_a_record_tells_driver_node_and_group() -> None:
    gpu = devices(RECORD)[1]
    assert (gpu.driver, gpu.driver_shown, gpu.numa_node, gpu.iommu_group) == ("nvidia", True, 1, "24")


def test_names_without_numbers_are_those_that_stand_for_one_id() -> None:
    text = '01:00.0 "PCI bridge" "Broadcom / LSI" "PEX890xx PCIe Gen 5 Switch" -r02 "" ""\n' \
        '03:00.0 "3D controller" "NVIDIA Corporation" "GB100 [B200]" -ra1 "" ""\n'
    assert [(each.class_code, each.vendor, each.device) for each in devices(text)] == [
        ("0604", "1000", "c030"), ("0302", "10de", "2901")]


@pytest.mark.parametrize(("text", "lost"), [
    (RECORD.replace("Slot:\t0000:03:00.0\n", ""), True),                    # its address is gone
    (RECORD.replace("\nSlot:\t0000:03:00.0\n", ""), True),                  # two records have run together
    (RECORD.replace("\n\nSlot:", "\nSlot:"), False),                        # only the empty line is gone
])
def test_a_record_that_cannot_be_told_is_a_device_that_is_missing(text: str, lost: bool) -> None:
    assert any(each.unread_header for each in devices(text)) is lost


@pytest.mark.parametrize("gone", ["Class:\t3D controller [0302]\n", "Vendor:\tNVIDIA Corporation [10de]\n",
                                  "Device:\tGH100[H100 SXM5 80GB] [2330]\n"])
def test_without_class_or_ids_only_the_address_is_known(gone: str) -> None:
    gpu = devices(RECORD.replace(gone, ""))[1]
    assert (gpu.bdf, gpu.class_code, gpu.vendor, gpu.device) == ("0000:03:00.0", None, None, None)


@pytest.mark.parametrize("text", [RECORD[:-1], RECORD[:-8], LINES[:-3]])
def test_a_text_that_ends_inside_a_device_is_cut(text: str) -> None:
    assert devices(text)[-1].cut


def test_words_of_a_stranger_are_no_header() -> None:
    assert not MACHINE.search("Slot: 3\nClass: second\n") and not MACHINE.search('he said "a" "b"\n')
    assert listing("Slot:\t00:00.0\n" + "x" * 5000 + "\n\n") == "00:00.0\n\n\n"
