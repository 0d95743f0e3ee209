"""A CPU that the kernel left out for its APIC id: the fix is what this machine lacks, and never a setting alone that
changes nothing. Wide ids need interrupt remapping; that needs an IOMMU, of the BIOS and of the command line."""

from __future__ import annotations

from itertools import product

import pytest
from tests.unit.facts.trees import full, switch

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding, Place
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_CPU = "/sys/devices/system/cpu"
_REFUSED = "[    1.982748] x2apic: IRQ remapping doesn't support X2APIC mode\n"
_TABLE = "[    0.200000] ACPI: IVRS 0x000000008A208000 000040 (v02 AMD    AMD      00000001 AMD  00000001)\n"
#: What keeps the kernel from interrupt remapping, as the line's own words.
_LINES = ("", "iommu=pt", "iommu=off amd_iommu=off", "intremap=off", "nox2apic", "iommu=pt nox2apic")
_AWAY = {"iommu=off", "amd_iommu=off", "intremap=off", "nox2apic"}


def _found(line: str, table: bool | None, refused: bool) -> Finding:
    log = ("[    0.000000] Linux version 6.12.1\n" + _TABLE * (table is True) + _REFUSED * refused
           + "[    2.198007] smpboot: CPU 239 has invalid APIC ID ff. Aborting bringup\n")
    machine = full(switch(0x11), line, line, dropin="", log=log)
    machine.file(f"{_CPU}/present", "0-255\n").file(f"{_CPU}/online", "0-238,240-255\n")
    if table is not None:
        machine.lists["/sys/firmware/acpi/tables"] = ["APIC", *["IVRS"] * table]
    else:
        machine.lists.pop("/sys/firmware/acpi/tables", None)
    (found,) = [each for each in judge(Case(gather(machine.host(), None, True)), "preflight") if each.id == "cpu-lost"]
    return found


@pytest.mark.parametrize(("line", "table", "refused"), [*product(_LINES, (True, False, None), (True, False))])
def test_the_fix_is_what_the_machine_lacks(line: str, table: bool | None, refused: bool) -> None:
    found = _found(line, table, refused)
    assert (found.outcome, found.code) == ("warn", "no-interrupt-remapping" if refused else "invalid-apic-id")
    assert found.remedy is not None
    fix, away = found.remedy.text, [word for word in line.split() if word in _AWAY]
    assert all(word in fix for word in away), "a word that keeps remapping off has to go"
    needs_iommu = refused and not table     # a whole log without the table says that there is none, too
    assert ("switch the IOMMU on in the BIOS" in fix) == needs_iommu
    if not away:
        assert found.remedy.place is Place.FIRMWARE
        assert "x2APIC" in fix or needs_iommu
    if refused and not table:
        assert "the firmware describes no IOMMU" in found.text
    elif refused:
        assert (" ".join(away) or "the kernel") + " starts no interrupt remapping" in found.text
