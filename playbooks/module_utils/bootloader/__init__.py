"""Boot loaders that the role kernel_cmdline can drive, one file each behind the same protocol."""

from __future__ import annotations

from . import proof
from .base import Bootloader, BootloaderError
from .grub_debian import GrubDebian
from .grubby import Grubby
from .systemd_boot import SystemdBoot

__all__ = ["Bootloader", "BootloaderError", "detect", "proof"]


def detect(module) -> Bootloader:
    """The box's boot loader. BootloaderError, before any write, where it is none that we know."""
    looked = []
    for kind in (GrubDebian, Grubby, SystemdBoot):
        reason = kind.absent()
        if reason is None:
            return kind(module)
        looked.append("%s (%s)" % (kind.name, reason))
    raise BootloaderError(
        "no boot loader that this role can drive was found; looked for %s. Nothing was written. Set the kernel "
        "parameters by hand, or leave box_spec.kernel.cmdline, iommu and acs unset for this host." % "; ".join(looked)
    )
