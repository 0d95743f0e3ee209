"""What a box boots, as commands that show it: every file that firmware, boot loader and kernel read, and what the
default entry alone loads. Two outputs that are equal are a box that boots the same."""

from __future__ import annotations

__all__ = ["GRUB", "GRUB_DEFAULT", "GRUB_ENVIRONMENT", "SYSTEMD_BOOT", "SYSTEMD_BOOT_ARMED", "SYSTEMD_BOOT_DEFAULT",
           "with_esp", "with_partition"]

#: All that firmware, shim and GRUB read, the firmware's own boot entries, and what update-grub reads.
GRUB = ("cd / && find boot etc/default/grub* etc/grub.d etc/modprobe.d -type f | sort | xargs sha256sum; "
        "cd /sys/firmware/efi/efivars && sha256sum Boot0* BootOrder-*; ls -d BootNext-*; true")
#: GRUB's environment; of an order for one boot that it took GRUB leaves an empty one, until a rollback.
GRUB_ENVIRONMENT = "grub-editenv list | grep -v '^next_entry=$'; true"
#: What its default entry loads, the entry, and what the next update-grub makes it of.
GRUB_DEFAULT = ("sha256sum /boot/vmlinuz-* /boot/initrd.img-* /etc/default/grub /etc/default/grub.d/*; "
                "sed -n '/^menuentry/,/^}/{p;/^}/q}' /boot/grub/grub.cfg; cat /etc/modprobe.d/* | sha256sum")
#: Its order for one boot, an EFI variable.
SYSTEMD_BOOT_ARMED = "ls /sys/firmware/efi/efivars | grep LoaderEntryOneShot; true"
#: All that the firmware, systemd-boot and kernel-install read, but what systemd-boot itself writes at each boot; and
#: GRUB's files, which nobody touches.
SYSTEMD_BOOT = ("cd / && find boot/efi etc/kernel etc/default/grub* boot/grub/grub.cfg -type f ! -name random-seed | "
                "sort | xargs sha256sum; ls /boot")
#: What its default entry loads, the entry, and what kernel-install makes the next one of.
SYSTEMD_BOOT_DEFAULT = ("sha256sum /etc/kernel/cmdline; cd /boot/efi && find . -type f ! -name random-seed "
                        "! -name 'tunecheck-*' | sort | xargs sha256sum; cat /etc/modprobe.d/* | sha256sum")


def with_partition(command: str) -> str:
    """The command with the partition that proxmox-boot-tool keeps mounted at /boot/efi, as nothing else mounts it."""
    device = "/dev/disk/by-uuid/$(cat /etc/kernel/proxmox-boot-uuids)"
    return f"mount {device} /boot/efi && ({command}); umount /boot/efi"


def with_esp(command: str) -> str:
    """The command with the EFI system partition mounted, as some boxes have it always and others never."""
    return ("mountpoint -q /boot/efi || mine=$(mount -v -o ro /boot/efi) || exit 1; "
            f"{command}; [ -z \"$mine\" ] || umount /boot/efi")
