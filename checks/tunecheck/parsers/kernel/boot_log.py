"""What the kernel log says once, at boot, of processors and firmware. Pure, bounded, never fails."""

from __future__ import annotations

import re
from itertools import islice
from typing import Iterator, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import begins

__all__ = ["BootLog", "parse"]

# arch/x86/kernel/smpboot.c (native_kick_ap, wakeup_cpu_via_init_nmi callers) and drivers/acpi/tables.c.
_LOST = regex(r"smpboot: CPU (\d{1,5}) has invalid APIC ID|CPU(\d{1,5}) failed to report alive state")
_TABLE = regex(r"ACPI: (IVRS|DMAR) 0x[0-9A-F]{8}")
_SECURE = regex(r"secureboot: Secure boot (enabled|disabled)")
_X2APIC = "x2apic: IRQ remapping doesn't support X2APIC mode"
# kernel/sched/core.c or mm/mempolicy.c (check_numabalancing_enable)
_BALANCING = regex(r"(?:mempolicy: )?Enabling automatic NUMA balancing")
# mm/mm_init.c (report_meminit)
_HEAP = regex(r"mem auto-init: stack:[^,\n]{1,40}, heap alloc:(on|off)")
# arch/x86/kernel/cpu/hypervisor.c (detect_hypervisor_vendor)
_HYPERVISOR = regex(r"Hypervisor detected: ([^\n]{1,40})")
_MOST = 10_000


@dataclass(frozen=True)
class BootLog:
    """What the kernel log says at boot. ``lost_cpus`` did not come up; ``x2apic_refused``: the kernel fell back to
    8-bit APIC ids (on a machine with few threads that is normal); ``iommu_table`` is "IVRS" (AMD), "DMAR" (Intel) or
    ""; ``secure_boot`` None: not said; ``numa_balancing``: the kernel switched it on at boot (a sysctl may switch it
    off later). ``heap_alloc``: memory is zeroed when it is handed out; ``hypervisor``: whose guest this kernel is, ""
    where it says nothing."""

    lost_cpus: Tuple[int, ...] = ()
    x2apic_refused: bool = False
    iommu_table: str = ""
    secure_boot: Optional[bool] = None
    numa_balancing: bool = False
    heap_alloc: Optional[bool] = None
    hypervisor: str = ""


def parse(log: str) -> BootLog:
    """Read the boot's messages out of a kernel log, however it was printed."""
    lost = {int(found.group(1) or found.group(2)) for found in _messages(_LOST, log)}
    table = next(_messages(_TABLE, log), None)
    secure = next(_messages(_SECURE, log), None)
    refused = next(_messages(regex(re.escape(_X2APIC)), log), None)
    heap = next(_messages(_HEAP, log), None)
    hypervisor = next(_messages(_HYPERVISOR, log), None)
    return BootLog(tuple(sorted(lost)), refused is not None, table.group(1) if table else "",
                   secure.group(1) == "enabled" if secure else None,
                   next(_messages(_BALANCING, log), None) is not None, heap.group(1) == "on" if heap else None,
                   hypervisor.group(1).strip() if hypervisor else "")


def _messages(pattern: re.Pattern[str], log: str) -> Iterator[re.Match[str]]:
    """Yield the matches that begin a message. Other programs may quote the words in the middle of theirs."""
    for found in islice(pattern.finditer(log), _MOST):
        start = log.rfind("\n", max(0, found.start() - 400), found.start()) + 1
        if begins(log[max(start, found.start() - 400):found.start()]):
            yield found
