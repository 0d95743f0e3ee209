"""What the next boot does where proxmox-boot-tool keeps the boot entries: they lie on EFI system partitions that nobody
mounts, so they are told by what the tool makes them of, as far as this boot shows that it did.

Its rules (zz-proxmox-boot of proxmox-kernel-helper): the first line of /etc/kernel/cmdline becomes the command line of
every entry of systemd-boot; the entry of the pinned kernel boots, else the newest kernel of Proxmox, of those that an
operator added and of the running one.
"""

from __future__ import annotations

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, absent_as, known, parsed
from ...parsers.kernel.cmdline import tokenize, without_trial
from ...parsers.kernel.proxmox_boot import CMDLINE, LIST, kept, line
from ...util.host_names import natural
from ..file_text import text

__all__ = ["in_use", "next_line", "next_release", "written_line"]

_RUNNING = "/proc/cmdline"
#: Of the next boot alone, and of all.
_PINS = ("/etc/kernel/next-boot-pin", "/etc/kernel/proxmox-boot-pin")
_ADDED = "/etc/kernel/proxmox-boot-manual-kernels"
_KERNEL = "vmlinuz-"
_OURS = "-pve"
_UNSEEN = "the boot entries are on partitions that proxmox-boot-tool alone mounts"


def in_use(host: Host) -> bool:
    """Return whether the tool keeps this host's boot partitions. Neither a grub.cfg in /boot nor entries there boot it
    then."""
    return bool(kept(text(host, LIST).value or ""))


def written_line(host: Host) -> Fact[tuple[str, ...]]:
    """Return the command line that the tool's next refresh gives every entry."""
    return parsed(text(host, CMDLINE), lambda found: tuple(tokenize(line(found))))


def next_line(host: Host, by_systemd_boot: bool) -> Fact[tuple[str, ...]]:
    """Return the command line of the next boot: the written one, where this boot ran the same, so that it did reach the
    entries. Unknown else, and where GRUB makes the line."""
    if not by_systemd_boot:
        return absent(LIST, Absence.NOT_DERIVABLE.because(_UNSEEN))
    written, running = written_line(host), text(host, _RUNNING)
    if written.value is None or running.value is None:
        return absent_as(running) if running.value is None else written
    ran = [word for word in without_trial(tokenize(running.value))
           if not word.startswith(("initrd=", "BOOT_IMAGE="))]
    if tuple(ran) != written.value:
        return absent(CMDLINE, Absence.NOT_DERIVABLE.because(
            f"{_UNSEEN}, and {CMDLINE} is not what this boot ran; run sudo proxmox-boot-tool refresh, then reboot"))
    return known(written.value, f"{CMDLINE}, as this boot ran it")


def next_release(host: Host, running: str) -> Fact[str]:
    """Return the kernel that the next boot starts."""
    for path in _PINS:
        pinned = (text(host, path).value or "").partition("\n")[0].strip()
        if pinned:
            return known(pinned, path)
    try:
        names = host.list("/boot")
    except Unreadable as error:
        return absent("/boot", error.reason)
    there = {name[len(_KERNEL):] for name in names if name.startswith(_KERNEL)}
    added = (text(host, _ADDED).value or "").split()
    listed = {name for name in there if name.endswith(_OURS)} | there.intersection([running, *added])
    if not listed:
        return absent("/boot", Absence.NOT_DERIVABLE.because("no kernel that proxmox-boot-tool would boot is in /boot"))
    return known(max(listed, key=natural), "/boot, by the rules of proxmox-boot-tool")
