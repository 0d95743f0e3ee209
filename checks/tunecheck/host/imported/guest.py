"""Finds out whether an import is of a virtual machine: what its log, its devices and its lscpu say of a hypervisor."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...util.at_first_use import regex

__all__ = ["guest_evidence"]

#: drivers/firmware/dmi_scan.c prints vendor, product and board in one line; the names are those of systemd's
#: detect-virt (src/basic/virt.c).
_DMI = regex(r"\bDMI: (Amazon EC2(?! \S*metal)|Xen HVM|QEMU|VMware|Google Google Compute Engine|OpenStack|"
             r"KubeVirt|Microsoft Corporation Virtual Machine|innotek GmbH|Parallels|BHYVE|Nutanix AHV|"
             r"Red Hat KVM|Alibaba Cloud|Tencent Cloud|Bochs|oVirt)[^\n]{0,80}")
_DETECTED = regex(r"Hypervisor detected: ([^\n]{1,40})|"
                  r"Booting paravirtualized kernel on (?!bare)(\S[^\n]{0,30})")
_LSCPU = regex(r"^Hypervisor vendor: +(\S[^\n]{0,40})", re.MULTILINE)
#: Devices that exist in virtual machines alone, by vendor: Xen, VMware, Hyper-V, VirtualBox. Amazon's (1d0f) are
#: also in its machines without a hypervisor. QEMU's (1af4, 1b36) are left out: where it emulates
#: the switch above a GPU, that switch's registers are the ones that count.
_VENDORS = {"5853": "Xen", "15ad": "VMware", "1414": "Hyper-V", "80ee": "VirtualBox"}


def guest_evidence(log: str, vendors: Iterable[str | None], lscpu: Iterable[str]) -> str:
    """Return the name of the hypervisor that the log, lscpu or a device names. "" where none does."""
    head = log[:1 << 20]
    named = _DMI.search(head)
    if named:
        return named.group(1)
    detected = _DETECTED.search(head)
    if detected:
        return (detected.group(1) or detected.group(2)).strip()
    for text in lscpu:
        vendor = _LSCPU.search(text)
        if vendor:
            return vendor.group(1).strip()
    return next((_VENDORS[vendor] for vendor in vendors if vendor in _VENDORS), "")
