"""What the kernel log says once, at boot, of processors and firmware. Pure, bounded, never fails."""

from __future__ import annotations

import re
from itertools import islice
from typing import Iterator, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import begins

__all__ = ["BootLog", "messages", "parse"]

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
# drivers/pci/pci.c: __pci_config_acs() and, before Linux 6.11, pci_disable_acs_redir(); what stands for the address is
# pci, pcieport or another driver of bridges.
_ACS = regex(r"[a-z]{3,20} ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): (Configured ACS to 0x[0-9a-f]{1,8}|disabled "
             r"ACS redirect|cannot (?:disable|configure) ACS[a-z ]{0,20} for this hardware)")
_ACS_UNREAD = regex(r"PCI: Can't parse (?:ACS command line parameter|disable_acs_redir parameter[^\n]{0,80})")
_MOST = 10_000
_PORTS = 512


@dataclass(frozen=True)
class BootLog:
    """What the kernel log says at boot. ``lost_cpus`` did not come up; ``x2apic_refused``: the kernel fell back to
    8-bit APIC ids (on a machine with few threads that is normal); ``iommu_table`` is "IVRS" (AMD), "DMAR" (Intel) or
    ""; ``secure_boot`` None: not said; ``numa_balancing``: the kernel switched it on at boot (a sysctl may switch it
    off later). ``heap_alloc``: memory is zeroed when it is handed out; ``hypervisor``: whose guest this kernel is, ""
    where it says nothing. ``acs`` maps ports to what the log says that an ACS option of the command line did there;
    ``acs_unread`` is the line that says that the kernel could not read such an option."""

    lost_cpus: Tuple[int, ...] = ()
    x2apic_refused: bool = False
    iommu_table: str = ""
    secure_boot: Optional[bool] = None
    numa_balancing: bool = False
    heap_alloc: Optional[bool] = None
    hypervisor: str = ""
    acs: Tuple[Tuple[str, str], ...] = ()
    acs_unread: str = ""


def parse(log: str) -> BootLog:
    """Read the boot's messages out of a kernel log, however it was printed."""
    lost = {int(found.group(1) or found.group(2)) for found in messages(_LOST, log)}
    table = next(messages(_TABLE, log), None)
    secure = next(messages(_SECURE, log), None)
    refused = next(messages(regex(re.escape(_X2APIC)), log), None)
    heap = next(messages(_HEAP, log), None)
    hypervisor = next(messages(_HYPERVISOR, log), None)
    unread = next(messages(_ACS_UNREAD, log), None)
    # Of several lines of one port the last one is how it was left.
    ports = {found.group(1): found.group(2) for found in messages(_ACS, log)}
    return BootLog(tuple(sorted(lost)), refused is not None, table.group(1) if table else "",
                   secure.group(1) == "enabled" if secure else None,
                   next(messages(_BALANCING, log), None) is not None, heap.group(1) == "on" if heap else None,
                   hypervisor.group(1).strip() if hypervisor else "",
                   tuple(sorted(ports.items())[:_PORTS]), unread.group().strip() if unread else "")


def messages(pattern: re.Pattern[str], log: str) -> Iterator[re.Match[str]]:
    """Yield the matches that begin a message. Other programs may quote the words in the middle of theirs."""
    for found in islice(pattern.finditer(log), _MOST):
        start = log.rfind("\n", max(0, found.start() - 400), found.start()) + 1
        if begins(log[max(start, found.start() - 400):found.start()]):
            yield found
