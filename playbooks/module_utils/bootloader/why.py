"""Why a boot loader cannot do what was asked, and why a boot proves nothing: the codes, each for one thing to do."""

from __future__ import annotations

from enum import Enum

__all__ = ["Stopped", "Unproven", "Why"]


class Why(Enum):
    """Of a BootloaderError, and of what trial_refusal() returns."""

    NO_LOADER = "no-loader"
    #: A command failed; its own words are in the message.
    COMMAND_FAILED = "command-failed"
    #: The list of the parameters that tunecheck set cannot be read.
    BAD_LIST = "bad-list"
    #: What boots by default: there is none, it is of another kind, its file or what it loads is missing.
    NO_ENTRY = "no-entry"
    OTHER_KIND = "other-kind"
    NO_FILE = "no-file"
    #: It does not load the initramfs beside which the trial's own would lie.
    OTHER_INITRAMFS = "other-initramfs"
    #: The commit was written, and the default entry lacks a parameter.
    NOT_IN_DEFAULT = "not-in-default"
    #: The trial's entry was written, and the generated configuration lacks it.
    TRIAL_MISSING = "trial-missing"
    #: The trial's entry would be, or could be, what boots by default.
    TRIAL_IS_DEFAULT = "trial-is-default"
    #: Not the initramfs that was staged.
    NOT_STAGED = "not-staged"
    #: The partition with the entries, or the EFI system partition, is full.
    NO_ROOM = "no-room"
    #: Of GRUB: it cannot write its environment, or does not read what it would have to.
    GRUB_CANNOT_WRITE = "grub-cannot-write"
    NO_NEXT_ENTRY = "no-next-entry"
    #: One of both, and neither the firmware nor kexec can boot it once: grub_debian.Neither has the code of each.
    NEITHER = "neither"
    #: Of proxmox-boot-tool: this boot came from a partition that it does not keep.
    OTHER_ESP = "other-esp"
    #: Of systemd-boot.
    NO_ONE_SHOT = "no-one-shot"
    VARIABLES_READ_ONLY = "variables-read-only"
    ENTRIES_READ_ONLY = "entries-read-only"
    ONE_SHOT_NOT_KEPT = "one-shot-not-kept"
    #: Of the firmware's BootNext: what is missing for it.
    NO_UEFI = "no-uefi"
    NO_VARIABLES = "no-variables"
    NO_TOOL = "no-tool"
    SECURE_BOOT = "secure-boot"
    UEFI_32_BIT = "uefi-32-bit"
    NO_ROOM_FOR_VARIABLES = "no-room-for-variables"
    NO_ESP = "no-esp"
    ESP_READ_ONLY = "esp-read-only"
    #: The firmware cannot name what the EFI system partition is on.
    ESP_NO_PARTITION = "esp-no-partition"
    ESP_NOT_MOUNTED = "esp-not-mounted"
    #: fstab names a device that does not exist.
    ESP_NO_DEVICE = "esp-no-device"
    NO_STUB = "no-stub"
    STUB_WITHOUT_INITRAMFS = "stub-without-initramfs"
    #: Of kexec: what is missing for it (of the GPUs' driver: gpu_modules.Held).
    NO_KEXEC_TOOLS = "no-kexec-tools"
    NO_KEXEC = "no-kexec"
    KEXEC_DISABLED = "kexec-disabled"
    KEXEC_LOCKED_DOWN = "kexec-locked-down"
    KEXEC_XEN = "kexec-xen"
    #: Somebody else has loaded a kernel.
    KEXEC_TAKEN = "kexec-taken"
    #: Of kexec, right before the reboot, which then does not happen.
    KEXEC_NOT_LOADED = "kexec-not-loaded"
    KEXEC_SERVICE = "kexec-service"
    #: A parameter holds a character that only GRUB can hand over.
    CHARACTER = "character"
    NAMES_INITRAMFS = "names-initramfs"
    #: What the firmware did not keep, although the command reported success.
    ENTRIES_NOT_KEPT = "entries-not-kept"
    ENTRY_NOT_KEPT = "entry-not-kept"
    ORDER_NOT_KEPT = "order-not-kept"
    NEXT_NOT_KEPT = "next-not-kept"
    ENTRY_STAYS = "entry-stays"
    #: Something failed while the trial was staged, and it could not be taken away again.
    NOT_TAKEN_AWAY = "not-taken-away"
    #: The default entry cannot be copied: it has no line for what is to be changed.
    NOT_COPIED = "not-copied"
    #: A file could not be read or written while the trial was staged.
    FILES = "files"


class Stopped(Enum):
    """Why a step of the trial boot is not taken, beside Why and Unproven."""

    #: Somebody else set what would win against a parameter of the specification.
    CONTRADICTED = "contradicted"
    TOO_LONG = "too-long"
    #: The commit was asked for, and the running kernel lacks a parameter.
    NOT_RUNNING = "not-running"


class Unproven(Enum):
    """Why this boot does not prove the default entry."""

    OTHER_KERNEL = "other-kernel"
    NO_FILE = "no-file"
    WRITTEN_SINCE = "written-since"
    #: It ran an initramfs of its own, which this run does not commit.
    OWN_INITRAMFS = "own-initramfs"
    OWN_CHANGED = "own-changed"
