"""What a boot loader must be able to do for a trial boot."""

from __future__ import annotations

import os
import re
from enum import Enum

from ansible.module_utils.box_io import read_text
from ansible.module_utils.refusal import CodedError, Refusal

from . import proof
from .why import Why

__all__ = ["Bootloader", "BootloaderError", "OneShot", "Placed", "Staged", "foreign_of", "mount_problem", "places"]


class BootloaderError(CodedError):
    """The boot loader cannot do what was asked. ``why`` is a Why; the message says it to people, and after a command
    that writes also what holds now."""


class Staged:
    """A staged trial: its entry's whole command line, and whether the next boot takes it."""

    def __init__(self, tokens, armed):
        self.tokens = tokens
        self.armed = armed


class OneShot(Enum):
    """What boots a trial just once; ``words`` say it to people."""

    NEXT_ENTRY = "next-entry"
    LOADER_ENTRY = "loader-entry"
    BOOT_NEXT = "boot-next"
    KEXEC = "kexec"

    @property
    def words(self):
        return {"next-entry": "GRUB's next_entry", "loader-entry": "systemd-boot's LoaderEntryOneShot",
                "boot-next": "the firmware's BootNext", "kexec": "kexec"}[self.value]

    @property
    def forgotten(self):
        """Whether any reboot but the play's own forgets what is staged."""
        return self is OneShot.KEXEC


class Placed:
    """A token of the command line that the next boot would get, and where somebody else set it
    ("/etc/default/grub:10")."""

    def __init__(self, token, where):
        self.token = token
        self.where = where


class Bootloader:
    """Owned tokens on disk (configured), in what boots by default (generated), and a one-shot trial entry.

    Everything reads straight; only ``stage``, ``commit``, ``give_up`` and ``remove`` write."""

    name = ""
    #: Files that the writes touch, for messages and for --diff.
    config_path = ""
    #: What an edit by hand of the files behind it needs to take effect, for messages.
    after_an_edit = ""
    #: What it runs beside what makes it this boot loader, for programs.py.
    programs = ()
    #: What to do where a trial is refused, for messages.
    way_out = "Put /boot on a plain ext4, xfs or FAT partition"
    #: Whether the hooks behind a new initramfs have to run, so that what boots gets to know it.
    runs_initramfs_hooks = True

    def __init__(self, module):
        self.module = module

    @classmethod
    def absent(cls):
        """Return why this is not the box's boot loader, or None when it is."""
        raise NotImplementedError

    def configured(self):
        """Return the owned tokens on disk."""
        raise NotImplementedError

    def retired(self):
        """Return the words that were given up and that may still be running."""
        raise NotImplementedError

    def generated(self):
        """Return the whole command line of the default entry, as tokens."""
        raise NotImplementedError

    def placed(self, tokens):
        """Return the command line as it would be with ``tokens`` for ours: what others set as Placed, ours as Placed
        without a place, in the kernel's order. It also has what is configured and not generated yet."""
        raise NotImplementedError

    def kernel(self):
        """Return the kernel file that the default entry starts."""
        raise NotImplementedError

    def initrds(self):
        """Return the initrd files that the default entry loads, as it names them."""
        raise NotImplementedError

    def own_initrd(self, image, own):
        """Return, for stage(), the default entry's name of the initramfs ``image``, and the name of ``own``, a file
        beside it. None where it does not load ``image`` from there."""
        names = [name for name in self.initrds() if proof.boot_file(name, self.root()) == image]
        if len(names) != 1 or os.path.dirname(image) != os.path.dirname(own):
            return None
        return names[0], os.path.join(os.path.dirname(names[0]), os.path.basename(own))

    def root(self):
        """Return where the file system is mounted from which the entry's paths count; "" where only GRUB knows."""
        return ""

    def staged(self):
        """Return the Staged trial, or None."""
        raise NotImplementedError

    def trial_refusal(self, image=""):
        """Return why this box cannot boot an entry just once, a Refusal, or None. ``image``: the initramfs of the
        default entry, where the trial needs one of its own. BootloaderError where it could, once somebody makes
        room."""
        raise NotImplementedError

    def one_shot(self):
        """Return what boots a trial here just once, a OneShot."""
        raise NotImplementedError

    def rendered(self, tokens, retired):
        """Return the text of ``config_path`` for these tokens, for --diff."""
        raise NotImplementedError

    def stage(self, remove, add, initrd=None):
        """Make a copy of the default entry without ``remove`` and with ``add``; the next boot takes it, once. With
        ``initrd``, (as the default entry names it, as the trial's does), it loads another initramfs."""
        raise NotImplementedError

    def refresh(self, initrd=None):
        """Right before the reboot into a staged trial: let it load what the default entry would load now. Only where
        the trial loads copies is there something to do."""

    def load(self, initrd=None):
        """Behind refresh() and the note of what the reboot boots: hand that to the kernel, where it is the kernel that
        boots it. BootloaderError where it cannot; then nothing may be rebooted."""

    def promote(self, image, own):
        """Make the initramfs of its own that the trial booted the default entry's, where what boots is a copy of
        ``image`` and of ``own``, a file beside it."""

    def commit(self, tokens, retired):
        """Make ``tokens`` the default entry's and take the trial entry away."""
        raise NotImplementedError

    def give_up(self):
        """Take the trial entry away; the default entry stays as it is."""
        raise NotImplementedError

    def remove(self):
        """Take away everything this boot loader file ever wrote."""
        raise NotImplementedError

    def run(self, argv, what):
        """Run one command that writes; BootloaderError with its own words when it fails."""
        code, out, err = self.module.run_command(argv, environ_update={"LC_ALL": "C", "PATH": SYSTEM_PATH})
        if code != 0:
            detail = (err or out).strip().splitlines()[-3:]
            raise BootloaderError(
                Why.COMMAND_FAILED,
                "%s failed (exit %d): %s. %s. Mend the cause and run the play again: it picks up from the generated "
                "configuration, not from memory." % (" ".join(argv), code, " | ".join(detail) or "no output", what)
            )
        return out


def foreign_of(tokens, ours):
    """Return ``tokens`` without one of each of ``ours``, taken from the right: ours stand last, so an equal token that
    somebody else set stays."""
    kept = list(tokens)
    for token in ours:
        if token in kept:
            del kept[len(kept) - 1 - kept[::-1].index(token)]
    return kept


def places(token, paths):
    """Return where ``token`` stands in the files ``paths``: "path:line, path:line", or ""."""
    shape = re.compile(r"(?<![\w.,;:/-])%s(?![\w.,;:/=-])" % re.escape(token))
    return ", ".join("%s:%d" % (path, number) for path in paths
                     for number, line in enumerate(read_text(path).splitlines(), 1)
                     if shape.search(line) and not line.lstrip().startswith("#"))


SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def mount_problem(path, mountinfo, block_kind):
    """Return why GRUB cannot write a file at ``path``, a Refusal, or None.

    GRUB's own drivers write only in place, on a plain partition: it reads btrfs and ZFS but does not write them, and
    refuses to write through its diskfilter layer (LVM, mdraid). ``mountinfo`` is /proc/self/mountinfo's text;
    ``block_kind`` maps "major:minor" to "lvm", "md" or "disk"."""
    best = None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(), right.split()
        if len(fields) < 5 or len(tail) < 2:
            continue
        point = fields[4].replace("\\040", " ")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and (best is None or len(point) >= len(best[0])):
            best = (point, fields[2], tail[0], tail[1])
    if best is None:
        return Refusal(Why.GRUB_CANNOT_WRITE, "the file system under %s was not found in /proc/self/mountinfo" % path)
    point, number, fstype, source = best
    if fstype in ("btrfs", "zfs", "f2fs", "overlay", "tmpfs"):
        return Refusal(Why.GRUB_CANNOT_WRITE, "%s is on %s (%s), which GRUB cannot write" % (path, fstype, source))
    kind = block_kind(number)
    if kind != "disk":
        layer = {"lvm": "LVM or device mapper", "md": "mdraid"}[kind]
        return Refusal(Why.GRUB_CANNOT_WRITE, "%s is on %s (%s), which GRUB cannot write" % (path, layer, source))
    return None


def block_kind(number):
    """Return "lvm", "md" or "disk" for the block device major:minor."""
    base = "/sys/dev/block/" + number
    if os.path.isdir(base + "/dm"):
        return "lvm"
    if os.path.isdir(base + "/md") or os.path.isdir(os.path.realpath(base + "/..") + "/md"):
        return "md"
    return "disk"
