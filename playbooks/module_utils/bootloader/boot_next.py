"""A trial by the firmware's own one-shot, UEFI BootNext: for a box where GRUB could not forget a trial entry.

The trial is a boot entry of the firmware that starts the kernel's own EFI stub, with copies of kernel and initramfs on
the EFI system partition. The firmware removes BootNext before it starts the entry (UEFI 2.10, 3.1.2), so a panic or a
power cycle boots what BootOrder says, which is not touched.

In this order, so that a power cut leaves nothing unknown: the entry, which nobody boots yet and which tells the next
run that there may be files; the files; BootNext. It is taken away in the order BootNext, files, entry."""

from __future__ import annotations

import glob
import os
import platform
import struct

from ansible.module_utils.box_io import BoxIOError, read_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import bls, cmdline

from . import carried, efi, esp
from .base import BootloaderError, Staged
from .boot_files import copy, same, size, sync_folder
from .why import Why

__all__ = ["LABEL", "BootNext", "ran"]

LABEL = "tunecheck-trial"
_FOLDER = "EFI/tunecheck"
_KERNEL, _INITRD = "vmlinuz", "initrd.img"
_LOADER = "\\EFI\\tunecheck\\" + _KERNEL
_INITRD_WORD = "initrd=\\EFI\\tunecheck\\" + _INITRD
_TOOL = "/usr/bin/efibootmgr"
_SIZE = "/sys/firmware/efi/fw_platform_size"
_CONFIG = "/boot/config-"
#: PE's numbers of the machines whose kernels have an EFI stub.
_MACHINES = {"x86_64": 0x8664, "aarch64": 0xAA64}
#: Folders and cluster ends beside the files; and beside an entry's text, its names and paths, and BootNext.
_ROOM, _ROOM_FOR_VARIABLES = 256 * 1024, 1024
_UNCHANGED = "The default boot entry is unchanged"


class BootNext:
    """The trial's entry of the firmware. ``run``: runs one command that writes, as Bootloader.run."""

    def __init__(self, module, run):
        self.module = module
        self.run = run

    def refusal(self, tokens, kernel, initrds, instead=None):
        """Return why the firmware cannot boot a trial here, or None. BootloaderError where it could, once somebody
        makes room. ``tokens``, ``kernel`` and ``initrds`` are of the default entry, the latter as files; ``instead``:
        (one of them, bytes that the trial's own takes in its place)."""
        why = self.cannot(tokens, kernel, initrds)
        if why:
            return why
        try:
            self._look_for_room(esp.find(self.module), kernel, initrds, instead)
        except NoRoomError:
            raise
        except BootloaderError as error:
            return Refusal(error.why, str(error))
        return None

    def cannot(self, tokens, kernel, initrds):
        """Return the same, whatever room there is."""
        why = self.absent() or carried.refusal(tokens) or _names_initramfs(tokens) or _stub(kernel, initrds)
        if why:
            return why
        try:
            place = esp.find(self.module)
            place.disk()
        except BootloaderError as error:
            return Refusal(error.why, str(error))
        if place.read_only:
            return Refusal(
                Why.ESP_READ_ONLY,
                "the EFI system partition is mounted read-only at %s; mount it writable" % place.point)
        return None

    @staticmethod
    def absent():
        """Return why this box's firmware cannot be asked for one boot of a kernel, or None."""
        if not os.path.isdir(efi.VARS):
            return Refusal(Why.NO_UEFI, "this box did not boot by UEFI, or %s is not mounted" % efi.VARS)
        if not os.listdir(efi.VARS):
            return Refusal(Why.NO_VARIABLES, "%s is empty; mount efivarfs there" % efi.VARS)
        about = os.statvfs(efi.VARS)
        if about.f_flag & os.ST_RDONLY or not os.access(efi.VARS, os.W_OK):
            return Refusal(Why.VARIABLES_READ_ONLY, "%s is mounted read-only; mount it writable" % efi.VARS)
        if not os.path.exists(_TOOL):
            return Refusal(Why.NO_TOOL, "there is no %s; install efibootmgr" % _TOOL)
        if efi.secure_boot():
            return Refusal(
                Why.SECURE_BOOT,
                "Secure Boot is on, and the firmware would have to trust the kernel's signature, which only the "
                "distribution's shim does")
        if read_text(_SIZE).strip() == "32":
            return Refusal(Why.UEFI_32_BIT, "its UEFI is a 32-bit one")
        # Kernels before 6.5 do not say.
        need = 2 * cmdline.COMMAND_LINE_SIZE + _ROOM_FOR_VARIABLES
        if about.f_blocks and about.f_bavail * about.f_frsize < need and not _own():
            return Refusal(
                Why.NO_ROOM_FOR_VARIABLES,
                "the firmware has %d bytes left for variables; expected %d for a boot entry; remove entries that "
                "are not used (efibootmgr --bootnum NUMBER --delete-bootnum)"
                % (about.f_bavail * about.f_frsize, need))
        return None

    def _look_for_room(self, place, kernel, initrds, instead):
        needs = size([kernel]) + size(initrds) + _ROOM
        if instead:
            needs += instead[1] - size([instead[0]])
        with place.mounted() as top:
            about = os.statvfs(top)
            # What an earlier trial left makes room for this one.
            free = about.f_bavail * about.f_frsize + size(_left(os.path.join(top, _FOLDER)))
        if free < needs:
            raise NoRoomError(
                Why.NO_ROOM,
                "the EFI system partition %s has %d KiB free; expected %d KiB for copies of the trial's "
                "kernel and initramfs. Remove what is not booted any more from it; space that no file has, as after a "
                "power cut, gives back: fsck.vfat -a %s (unmounted). Nothing was written."
                % (place.point or place.device, free // 1024, needs // 1024, place.device))

    def staged(self):
        """Return the Staged trial, or None."""
        own = _own()
        if not own:
            return None
        tokens = [token for token in cmdline.tokenize(own[0].line) if token != _INITRD_WORD]
        return Staged(tokens, len(own) == 1 and efi.boot_next() == own[0].number)

    def stage(self, tokens, kernel, initrds):
        """Stage a trial of the files ``kernel`` and ``initrds`` with the command line ``tokens``."""
        why = carried.refusal(tokens) or _names_initramfs(tokens)
        if why:
            raise BootloaderError(why.why, "%s. Nothing was written." % why)
        self.take_away()
        place, order = esp.find(self.module), efi.boot_order()
        line = " ".join([*([_INITRD_WORD] if initrds else []), *carried.by_hand(tokens)])
        disk, partition = place.disk()
        try:
            self.run([_TOOL, "--quiet", "--create-only", "--disk", disk, "--part", str(partition), "--loader", _LOADER,
                      "--label", LABEL, "--unicode", line], _UNCHANGED)
            self._assert_kept(line, partition, order)
            with place.mounted(write=True) as top:
                copy([kernel], os.path.join(top, _FOLDER, _KERNEL))
                if initrds:
                    copy(initrds, os.path.join(top, _FOLDER, _INITRD))
            number = _own()[0].number
            self.run([_TOOL, "--quiet", "--bootnext", number], _UNCHANGED)
            self._assert_kept(line, partition, order)
            if efi.boot_next() != number:
                raise BootloaderError(
                    Why.NEXT_NOT_KEPT,
                    "efibootmgr reported success, but BootNext is %s; expected %s: the firmware did "
                    "not keep it. %s." % (efi.boot_next() or "not there", number, _UNCHANGED))
        except (BootloaderError, BoxIOError, OSError) as error:
            try:
                self.take_away()
            except (BootloaderError, BoxIOError, OSError) as left:
                raise BootloaderError(Why.NOT_TAKEN_AWAY, "%s. The trial could not be taken away again: %s"
                                      % (str(error).rstrip("."), left)) from error
            raise BootloaderError(
                error.why if isinstance(error, BootloaderError) else Why.FILES,
                "%s. The trial was taken away again." % str(error).rstrip(".")) from error

    @staticmethod
    def _assert_kept(line, partition, order):
        """BootloaderError where the firmware has something else than what it was given: some report success."""
        own, why, problem = _own(), None, ""
        if len(own) != 1:
            why = Why.ENTRIES_NOT_KEPT
            problem = "it has %d entries named %s; expected one" % (len(own), LABEL)
        elif (own[0].line, own[0].file, own[0].partition) != (line, _LOADER, partition) or not own[0].active:
            why = Why.ENTRY_NOT_KEPT
            problem = ("its entry Boot%s starts %s on partition %d with %d characters; expected %s on partition %d "
                       "with %d, and the same ones" % (own[0].number, own[0].file or "nothing", own[0].partition,
                                                       len(own[0].line), _LOADER, partition, len(line)))
        elif efi.boot_order() != order:
            why = Why.ORDER_NOT_KEPT
            problem = "it changed BootOrder, which a trial leaves alone"
        if why:
            raise BootloaderError(
                why,
                "efibootmgr reported success, but the firmware did not keep what was written: %s. %s."
                % (problem, _UNCHANGED))

    def refresh(self, kernel, initrds):
        """Copy again what was written since the trial was staged: it boots copies."""
        with esp.find(self.module).mounted(write=True) as top:
            for sources, name in (([kernel], _KERNEL), (initrds, _INITRD)):
                path = os.path.join(top, _FOLDER, name)
                if sources and not same(sources, path):
                    copy(sources, path)

    def take_away(self):
        """Take BootNext, where it is ours, the files and the entry away. Nothing happens where there is no entry."""
        own = _own()
        if efi.boot_next() in [each.number for each in own]:
            self.run([_TOOL, "--quiet", "--delete-bootnext"], "The trial is still staged")
        if own:
            with esp.find(self.module).mounted(write=True) as top:
                _remove_folder(os.path.join(top, _FOLDER))
        for each in own:
            self.run([_TOOL, "--quiet", "--bootnum", each.number, "--delete-bootnum"],
                     "The trial's entry stays in the firmware, which boots it in no case")
        if _own():
            raise BootloaderError(
                Why.ENTRY_STAYS,
                "efibootmgr reported success, but the firmware still has the entry %s; delete it in "
                "the firmware's setup. Nothing boots it." % LABEL)


class NoRoomError(BootloaderError):
    """The firmware could boot a trial, once somebody makes room for its files."""


def ran(tokens):
    """Return whether a boot with this command line ran the copies of a trial by the firmware."""
    return _INITRD_WORD in tokens


def _own():
    """Return the firmware's entries of ours."""
    return [entry for entry in efi.entries() if entry.label == LABEL]


def _names_initramfs(tokens):
    """Return why the kernel's EFI stub would not start with these tokens, or None."""
    for token in tokens:
        # Seen with 6.12: "tunecheck.initrd=trial.img" made it look for a file trial.img, and it did not start.
        if "initrd=" in token:
            return Refusal(
                Why.NAMES_INITRAMFS,
                "the kernel parameter %r holds the word initrd=, behind which the kernel's EFI stub expects a file "
                "that it has to load, wherever in the line it stands" % token)
    return None


def _stub(kernel, initrds):
    """Return why the firmware cannot start ``kernel``, or None."""
    with open(kernel, "rb") as handle:
        head = handle.read(4096)
    at = struct.unpack_from("<I", head, 0x3C)[0] if len(head) >= 0x40 else 0
    if head[:2] != b"MZ" or head[at:at + 6] != b"PE\0\0" + struct.pack("<H", _MACHINES.get(platform.machine(), 0)):
        return Refusal(Why.NO_STUB, "%s has no EFI stub for %s" % (kernel, platform.machine()))
    config = read_text(_CONFIG + bls.release(kernel))
    if initrds and "# CONFIG_EFI_GENERIC_STUB_INITRD_CMDLINE_LOADER is not set" in config:
        return Refusal(
            Why.STUB_WITHOUT_INITRAMFS,
            "the EFI stub of %s loads no initramfs (CONFIG_EFI_GENERIC_STUB_INITRD_CMDLINE_LOADER)" % kernel)
    return None


def _left(folder):
    """Return the files of a trial, also those that a power cut left unfinished."""
    return glob.glob(os.path.join(folder, "*")) + glob.glob(os.path.join(folder, ".tunecheck-*"))


def _remove_folder(folder):
    for path in _left(folder):
        # A FAT file system may forget the name before it takes back the space; after a power cut no file has that.
        with open(path, "r+b") as handle:
            handle.truncate(0)
            os.fsync(handle.fileno())
        os.unlink(path)
    if os.path.isdir(folder):
        os.rmdir(folder)
        sync_folder(os.path.dirname(folder))
