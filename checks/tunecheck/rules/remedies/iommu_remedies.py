"""What the command line says about the IOMMU, and which IOMMU the firmware describes."""

from __future__ import annotations

from ...parsers.kernel.kernel_params import name_of
from ...parsers.kernel.param_conflicts import split
from ..context import Case
from ..errors import from_log

__all__ = ["iommu_table", "switched_off"]


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


def iommu_table(case: Case) -> str | None:
    """Return the ACPI table that describes the IOMMU: "IVRS" (AMD), "DMAR" (Intel), "" where the firmware describes
    none, None where that is not known."""
    tables, log = case.host.platform.acpi_tables.value, case.host.kernel.log.value
    if tables is not None:
        return next((name for name in ("IVRS", "DMAR") if name in tables), "")
    if log is None:
        return None
    return log.boot.iommu_table or ("" if from_log.is_complete(case) else None)
