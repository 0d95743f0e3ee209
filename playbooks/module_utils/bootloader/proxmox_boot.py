"""proxmox-boot-tool with systemd-boot, as Proxmox sets up a box with ZFS and UEFI: the same entries and kernels on the
EFI system partition of each disk of the mirror, so that any disk boots the box.

`proxmox-boot-tool refresh` makes the entries of /etc/kernel/cmdline, and copies kernels in place, where a power cut
leaves half of one. So a commit changes that file and each entry by a rename of its own, as with systemd-boot alone, and
the next refresh writes the same."""

from __future__ import annotations

from ansible.module_utils.tunecheck.parsers.kernel import bls, proxmox_boot

from . import esp_mirror
from .base import BootloaderError, Staged
from .systemd_boot import SystemdBoot

__all__ = ["ProxmoxBoot"]


class ProxmoxBoot(SystemdBoot):
    """systemd-boot on the partition from which this boot came; what is written there is written on the others, too."""

    name = "proxmox-boot-tool"
    maker = "/usr/sbin/proxmox-boot-tool"
    after_an_edit = ", run proxmox-boot-tool refresh"
    way_out = "Mend that, then run proxmox-boot-tool refresh"

    def __init__(self, module):
        booted, *others = esp_mirror.mounted(module)
        super().__init__(module, booted)
        self._others_of_mirror = [SystemdBoot(module, point) for point in others]

    @classmethod
    def absent(cls):
        if not esp_mirror.kept():
            return "no partition in " + esp_mirror.LIST
        why = super().absent()
        # GRUB of such a box reads a grub.cfg on these partitions, and not /boot/grub/grub.cfg.
        return why and ("%s; it has partitions in %s: on such a box put parameters into /etc/default/grub (GRUB) or "
                        "/etc/kernel/cmdline (systemd-boot), then run proxmox-boot-tool refresh"
                        % (why, esp_mirror.LIST))

    def _line_of(self, text):
        return proxmox_boot.line(text)

    def _edited_line(self, text, before, tokens):
        first, end, rest = text.partition("\n")
        return bls.edited(first + end, before, tokens) + rest

    def staged(self):
        found = super().staged()
        if found is None:
            return None
        also = [each.staged() for each in self._others_of_mirror]
        return Staged(found.tokens, found.armed and all(each is not None and each.armed for each in also))

    def trial_refusal(self, image=""):
        for each in self._others_of_mirror:
            try:
                each.generated()        # BootloaderError where it has no entry
                refusal = each.trial_refusal(image)
            except BootloaderError as error:
                raise BootloaderError(
                    error.why,
                    "%s, which is to boot this box where the first disk fails: %s Run proxmox-boot-tool refresh."
                    % (each.where(), error)) from error
            if refusal:
                return refusal
        return super().trial_refusal(image)

    def _place(self, remove_tokens, add, initrd):
        for each in self._others_of_mirror:
            each._place(remove_tokens, add, initrd)
        super()._place(remove_tokens, add, initrd)

    def promote(self, image, own):
        for each in self._others_of_mirror:
            each.promote(image, own)
        super().promote(image, own)

    def _edit_entries(self, before, tokens):
        # The one that boots first last, as its default entry.
        for each in self._others_of_mirror:
            each._edit_entries(before, tokens)
        super()._edit_entries(before, tokens)

    def _remove_trial(self):
        super()._remove_trial()
        for each in self._others_of_mirror:
            each._remove_trial()
