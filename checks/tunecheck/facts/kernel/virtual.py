"""Whether this machine is a virtual one. Then some advice is for whoever runs its host, not for the owner of the box.

The names are those of systemd's detect-virt (src/basic/virt.c, dmi_vendors), read 2026-11. The CPU's own flag counts
beside them: it is the hypervisor's word, which QEMU can leave out (-cpu host,-hypervisor), so a missing flag proves
nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from ...host import Host
from ...model.fact import Absence, Fact, absent, known
from ..file_text import text

__all__ = ["guest_of"]

_DMI = "/sys/class/dmi/id"
#: How product_name or sys_vendor begin in a virtual machine.
_NAMES = ("KVM", "OpenStack", "KubeVirt", "Amazon EC2", "QEMU", "VMware", "VMW", "innotek GmbH", "VirtualBox", "Xen",
          "Bochs", "Parallels", "BHYVE", "Hyper-V", "Apple Virtualization", "Google Compute Engine")


def guest_of(host: Host, read_flag: Callable[[], Fact[bool]], logged: str = "") -> Fact[str]:
    """Return the hypervisor's name, or "" where nothing speaks of one. ``read_flag`` reads the CPU's hypervisor flag,
    which is asked for only where nothing else tells; ``logged`` is what the kernel log says was detected."""
    vendor, product = text(host, f"{_DMI}/sys_vendor"), text(host, f"{_DMI}/product_name")
    for fact in (product, vendor):
        value = (fact.value or "").strip()
        # Whole machines of that maker have it in their DMI, too.
        if value.startswith(_NAMES) and "metal" not in (product.value or "").lower():
            return known(value[:60], fact.source)
    if (vendor.value or "").startswith("Microsoft") and (product.value or "").startswith("Virtual Machine"):
        return known("Hyper-V", product.source)
    if logged:
        return known(logged, "kernel log")
    if told := getattr(host, "guest", ""):      # an import: its log, devices or lscpu
        return known(str(told)[:60], "the import")
    flag = read_flag()
    if flag.value:
        return known("a hypervisor", flag.source)
    if vendor.known or product.known or flag.known:
        return known("", _DMI)
    return absent(_DMI, vendor.reason or Absence.NOT_PRESENT)
