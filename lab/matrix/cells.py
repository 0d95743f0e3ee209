"""The boxes of the matrix: how each boots, and what it boots, as commands that show it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.lab import boot_files
from tests.lab.box import Box

from lab import image, layer, recipe, uefi

__all__ = ["CELLS", "Cell", "box"]

#: Longest name of a VM.
_NAME = 31


@dataclass(frozen=True)
class Cell:
    """``all``: shows all that the box boots and boots from; ``default``: what its default entry loads, and that entry.
    ``trial``: whether a trial can be had there; where it can't, every play that needs one has to be refused before it
    writes."""

    what: str
    firmware: str = "bios"
    layer: recipe.Layer | None = None
    #: Debian's release where it is not the lab's own; it has no layers.
    suite: str = ""
    all: str = boot_files.with_esp(boot_files.GRUB) + "; " + boot_files.GRUB_ENVIRONMENT
    default: str = boot_files.GRUB_DEFAULT
    trial: bool = True


CELLS = {
    "bios-grub": Cell("BIOS, GRUB, ext4"),
    "debian-12": Cell("Debian 12 (Linux 6.1), BIOS, GRUB, ext4", suite=recipe.OLDER_SUITE),
    "backports": Cell("newest kernel of Debian's backports, BIOS, GRUB, ext4", layer=recipe.BACKPORTS),
    "dracut": Cell("initramfs by dracut, BIOS, GRUB, ext4", layer=recipe.DRACUT),
    "ubuntu-grub": Cell("GRUB as Ubuntu's (recordfail, hidden menu, a cloud image's drop-in, order of flavours), BIOS, "
                        "ext4", layer=recipe.UBUNTU_GRUB),
    "uefi-grub": Cell("UEFI, GRUB, ext4", "uefi"),
    "systemd-boot": Cell("UEFI, systemd-boot, ext4", "uefi", recipe.SYSTEMD_BOOT,
                         f"{boot_files.SYSTEMD_BOOT}; {boot_files.SYSTEMD_BOOT_ARMED}",
                         boot_files.SYSTEMD_BOOT_DEFAULT),
    "proxmox-boot": Cell("UEFI, systemd-boot with proxmox-boot-tool (a stand-in), ext4", "uefi", recipe.PROXMOX_BOOT,
                         f"{boot_files.with_partition(boot_files.SYSTEMD_BOOT)}; {boot_files.SYSTEMD_BOOT_ARMED}",
                         boot_files.with_partition(boot_files.SYSTEMD_BOOT_DEFAULT)),
    "secure-boot": Cell("UEFI with Secure Boot, shim and signed GRUB, ext4", "secure-boot", recipe.SECURE_BOOT),
    "btrfs-boot-next": Cell("UEFI, GRUB that cannot write (btrfs): BootNext", "uefi", recipe.BTRFS),
    "lvm-boot-next": Cell("UEFI, GRUB that cannot write (ext4 on LVM): BootNext", "uefi", recipe.LVM),
    "mdraid-boot-next": Cell("UEFI, GRUB that cannot write (ext4 on RAID1): BootNext", "uefi", recipe.MDRAID),
    "lvm-kexec": Cell("BIOS, GRUB that cannot write (ext4 on LVM): kexec", "bios", recipe.LVM_KEXEC),
    "bios-lvm": Cell("BIOS, GRUB that cannot write (ext4 on LVM), no kexec-tools", "bios", recipe.LVM, trial=False),
}


@contextlib.contextmanager
def box(name: str, folder: Path) -> Iterator[Box]:
    """The VM of a cell, up, with a hardware watchdog and the file systems of a box; it ends with the block."""
    cell = CELLS[name]
    uefi.check(cell.firmware)
    base = image.build(suite=cell.suite) if cell.layer is None else layer.build(cell.layer)
    on = cell.layer.on if cell.layer else ""
    if on != recipe.BTRFS.on:
        base = image.with_journal(folder, base, on)
    found = Box.start(f"matrix-{name}"[:_NAME], folder, base=base, watchdog=True, firmware=cell.firmware)
    try:
        found.wait()
        if on or cell.layer is recipe.UBUNTU_GRUB:
            # What update-grub makes of its disks is known to the box alone.
            found.ssh("update-grub && sync", timeout=600)
        yield found
    finally:
        found.close(keep_console=True)
