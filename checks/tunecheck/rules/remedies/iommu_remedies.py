"""What the command line says about the IOMMU, and which IOMMU the firmware describes."""

from __future__ import annotations

from ...parsers.kernel.kernel_params import name_of
from ...parsers.kernel.param_conflicts import split
from ..context import Case
from ..errors import from_log
from .acs_line import uncovered
from .redirect_gain import no_gain

__all__ = ["ON_IN_BIOS", "WIDE", "iommu_table", "needs_iommu", "no_remapping", "switched_off"]

ON_IN_BIOS = "switch the IOMMU on in the BIOS (AMD-Vi, VT-d)"
#: From so many CPUs on some have an APIC id that takes more than 8 bits: 255 is the one that means all.
WIDE = 255
#: Words with which the kernel starts no interrupt remapping, or no x2APIC, which needs it: APIC ids end at 254 then.
#: arch/x86/kernel/apic/apic.c try_to_enable_x2apic(); iommu=off keeps both makers' remapping from starting.
_NO_REMAPPING = frozenset({"iommu=off", "amd_iommu=off", "intremap=off", "nointremap", "nox2apic", "noapic"})


def switched_off(case: Case) -> list[str] | None:
    """Return the running words that switch an AMD IOMMU off. `intremap=off` is one of them where the others work only
    with it. None where the command line cannot be read."""
    running = case.host.kernel.cmdline.value
    if running is None:
        return None
    off = [word for word in running if {"iommu=off", "amd_iommu=off"} & set(split(word))]
    # Linux 6.18 drivers/iommu/amd/init.c: only both together keep detect_ivrs() from running; booted in QEMU.
    remap = [word for word in running if word in ("intremap=off", "nointremap")]
    return off + (remap if any(name_of(word) == "iommu" for word in off) else [])


def no_remapping(case: Case) -> list[str]:
    """Return the running words with which there may be no APIC ids above 254. Whether it is so the kernel log says."""
    running = case.host.kernel.cmdline.value or ()
    remap = [word for word in running if word in ("intremap=on", "intremap=off", "nointremap")]
    undone = set(remap) if remap and remap[-1] == "intremap=on" else set()
    return [word for word in running if _NO_REMAPPING & set(split(word)) and word not in undone]


def iommu_table(case: Case) -> str | None:
    """Return the ACPI table that describes the IOMMU: "IVRS" (AMD), "DMAR" (Intel), "" where the firmware describes
    none, None where that is not known."""
    tables, log = case.host.platform.acpi_tables.value, case.host.kernel.log.value
    if tables is not None:
        return next((name for name in ("IVRS", "DMAR") if name in tables), "")
    if log is None:
        return None
    return log.boot.iommu_table or ("" if from_log.is_complete(case) else None)


def needs_iommu(case: Case) -> bool:
    """Whether iommu=off, which a specification of "off" puts on the command line, is no way for this box, as another
    check then asks for an IOMMU: it leaves threads without one (cpu-lost), or the kernel turns ACS redirect on all the
    same (iommu-trap)."""
    log = case.host.kernel.log.value
    if len(case.host.platform.present.value or ()) >= WIDE or (log is not None and log.boot.lost_cpus):
        return True
    ports, gain = case.snapshot.topology.path_ports(), no_gain(case)
    if iommu_table(case) != "IVRS" or not ports or (gain is not None and gain.refused):
        return False
    return bool(uncovered(case, ports, case.host.kernel.cmdline.value or ()))
