"""Boot loaders that the role kernel_cmdline can drive, one file each behind the same protocol."""

from __future__ import annotations

from . import efi, esp_mirror, proof
from .base import Bootloader, BootloaderError
from .grub_debian import GrubDebian
from .grubby import Grubby
from .proxmox_boot import ProxmoxBoot
from .systemd_boot import SystemdBoot
from .why import Stopped, Unproven, Why

__all__ = ["Bootloader", "BootloaderError", "Stopped", "Unproven", "Why", "detect", "proof"]


def detect(module, asked=()) -> Bootloader:
    """Return the box's boot loader. BootloaderError, before any write, where it is none that we know. ``asked``: the
    kernel parameters that it is to get."""
    looked = []
    # What booted this system, and not what left its files on it.
    kinds = (SystemdBoot,) if efi.booted_by_systemd_boot() else (GrubDebian, Grubby, SystemdBoot)
    for kind in (ProxmoxBoot,) if esp_mirror.kept() else kinds:
        reason = kind.absent()
        if reason is None:
            return kind(module)
        looked.append("%s (%s)" % (kind.name, reason))
    wanted = (
        " What the specification asks for takes %s%s by hand, where the kernel of this host gets its parameters from; "
        "take it out of the host's specification then (box_spec_host in host_vars/HOST.yml of the inventory): "
        "iommu: leave; acs: {peer_redirect: leave}; kernel: {cmdline: []}."
        % (" ".join(asked), " (pci:0:0 means every port; the addresses of those between the GPUs do as well)"
           if any("pci:0:0" in word for word in asked) else "")
    ) if asked else ""
    raise BootloaderError(
        Why.NO_LOADER,
        "no boot loader that this role can drive was found; looked for %s. Nothing was written.%s"
        % ("; ".join(looked), wanted))
