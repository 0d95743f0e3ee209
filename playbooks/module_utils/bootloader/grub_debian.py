"""GRUB 2 on Debian and Ubuntu: a drop-in, update-grub, grubenv's next_entry; where GRUB cannot write that, the
firmware's BootNext, and where the firmware has none, kexec."""

from __future__ import annotations

import glob
import os

from ansible.module_utils import programs as on_box
from ansible.module_utils.box_io import former, put_back, read_text, remove, rename_over, write_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import cmdline, grub

from . import proof
from .base import Bootloader, BootloaderError, OneShot, Placed, Staged, block_kind, foreign_of, mount_problem, places
from .boot_next import BootNext
from .kexec import Kexec
from .why import Why

__all__ = ["GrubDebian", "Neither"]

_UPDATE = "/usr/sbin/update-grub"
_ENV = "/boot/grub/grubenv"
_UNCHANGED = "The default boot entry is unchanged"


class Neither(Refusal):
    """Neither GRUB, nor the firmware, nor kexec can boot a trial just once. ``of_grub``, ``of_firmware``,
    ``of_kexec``: why each cannot."""

    def __new__(cls, of_grub, of_firmware, of_kexec):
        made = super().__new__(
            cls, Why.NEITHER,
            "%s; nor can the firmware boot it once (UEFI BootNext): %s; nor can the running kernel start it (kexec): %s"
            % (of_grub, of_firmware, of_kexec))
        made.of_grub, made.of_firmware, made.of_kexec = of_grub, of_firmware, of_kexec
        return made

    def __getnewargs__(self):
        return self.of_grub, self.of_firmware, self.of_kexec


class GrubDebian(Bootloader):
    """The drop-in /etc/default/grub.d/zz-tunecheck.cfg owns our tokens; grub.cfg is what boots."""

    name = "GRUB with update-grub"
    config_path = grub.DROPIN
    after_an_edit = ", run update-grub"
    programs = ("grub-editenv",)
    way_out = "Mend one of these, or put /boot on a plain ext4, xfs or FAT partition"

    def __init__(self, module):
        super().__init__(module)
        self._firmware, self._kexec = BootNext(module, self.run), Kexec()

    @classmethod
    def absent(cls):
        for path in (_UPDATE, "/etc/default/grub", grub.GRUB_CFG):
            if not os.path.exists(path):
                return on_box.absent(path)
        return None

    def configured(self):
        return list(grub.parse_dropin(read_text(grub.DROPIN)))

    def retired(self):
        return list(grub.parse_retired(read_text(grub.DROPIN)))

    def _env(self):
        return grub.parse_grubenv(read_text(_ENV))

    def _default(self):
        entry = grub.default_entry(read_text(grub.GRUB_CFG), self._env().get("saved_entry", ""))
        if entry is None:
            raise BootloaderError(
                Why.NO_ENTRY,
                "%s holds no boot entry; expected what update-grub writes. Run update-grub and read "
                "its output." % grub.GRUB_CFG)
        return entry

    def generated(self):
        return list(self._default().tokens)

    def placed(self, tokens):
        # Our own drop-in as it would be, so that a file read behind it keeps its place.
        files = {path: read_text(path) for path in [grub.DEFAULTS, *_dropins(), grub.DROPIN]}
        files[grub.DROPIN] = grub.render_dropin(tokens)
        order = [grub.DEFAULTS, *sorted(path for path in files if path != grub.DEFAULTS)]
        to_come = grub.settings([(path, files[path]) for path in order])
        # The trial is a copy of the entry as it is now: a word that is gone from the files is still in there.
        left = foreign_of(self.generated(), [*(token for token, path, _ in to_come if path != grub.DROPIN),
                                             *self.configured(), *self.retired()])
        return [*(Placed(token, places(token, [grub.GRUB_CFG, *sorted(glob.glob("/etc/grub.d/*"))]) or grub.GRUB_CFG)
                  for token in left),
                *(Placed(token, "" if path == grub.DROPIN else "%s:%d" % (path, number))
                  for token, path, number in to_come)]

    def kernel(self):
        return self._default().kernel

    def initrds(self):
        return list(self._default().initrds)

    def staged(self):
        entry = grub.find_entry(read_text(grub.GRUB_CFG), grub.TRIAL_ENTRY)
        if entry is None:
            return self._firmware.staged() or self._kexec.staged()
        return Staged(list(entry.tokens), self._env().get("next_entry") == grub.TRIAL_ENTRY)

    def _own_problem(self):
        """Return why GRUB itself cannot boot an entry just once, or None."""
        problem = mount_problem("/boot/grub", read_text("/proc/self/mountinfo"), block_kind)
        if problem:
            return Refusal(
                problem.why, problem + ": it could not forget the trial entry and would boot it again and again")
        # Evidence: without 00_header's block the one-shot is silently ignored.
        if "next_entry" not in read_text(grub.GRUB_CFG):
            return Refusal(Why.NO_NEXT_ENTRY, "%s does not read next_entry (an unusual 00_header)" % grub.GRUB_CFG)
        return None

    def one_shot(self):
        if not self._own_problem():
            return OneShot.NEXT_ENTRY
        try:
            return OneShot.KEXEC if self._firmware_cannot() else OneShot.BOOT_NEXT
        except (BootloaderError, OSError):
            return OneShot.BOOT_NEXT    # what the default entry loads is missing: trial_refusal() and stage() say it

    def _firmware_cannot(self):
        """Return why the firmware cannot boot a trial once, whatever room there is, or None."""
        return self._firmware.absent() or self._firmware.cannot(self.generated(), *self._files())

    def trial_refusal(self, image=""):
        problem = self._own_problem()
        if not problem:
            return None
        refusal = self._firmware_cannot()
        if refusal:
            of_kexec = self._kexec.refusal(self.generated())
            return Neither(problem, refusal, of_kexec) if of_kexec else None
        kernel, initrds = self._files()
        # An initramfs with another file of options in it is about as large.
        own = (image, os.stat(image).st_size * 9 // 8) if image in initrds else None
        return self._firmware.refusal(self.generated(), kernel, initrds, own)

    def _files(self, initrd=None):
        """Return the files of kernel and initramfs that the default entry loads; with ``initrd``, (as it names one, as
        the trial names its own), that of the trial."""
        default = self._default()
        names = [initrd[1] if initrd and name == initrd[0] else name for name in default.initrds]
        found = [proof.boot_file(name) for name in (default.kernel, *names)]
        if "" in found:
            raise BootloaderError(
                Why.NO_FILE,
                "the file %s that GRUB's default entry loads was not found; expected it below /boot. "
                "Run update-grub and read its output. Nothing was written."
                % (default.kernel, *names)[found.index("")])
        return found[0], found[1:]

    def rendered(self, tokens, retired):
        return grub.render_dropin(tokens, retired)

    def stage(self, remove, add, initrd=None):
        by = self.one_shot()
        if by is not OneShot.NEXT_ENTRY:
            tokens = [*foreign_of(self.generated(), remove), *add]
            if by is OneShot.KEXEC:
                self._firmware.take_away()
                self._kexec.stage(tokens)
            else:
                self._kexec.take_away()
                self._firmware.stage(tokens, *self._files(initrd))
            return
        try:
            block = grub.trial_block(self._default(), remove, add, initrd)
        except ValueError as error:
            raise BootloaderError(Why.NOT_COPIED, str(error)) from error
        write_text(grub.TRIAL_SCRIPT, grub.render_trial_script(block), 0o755)
        self._update()
        if grub.find_entry(read_text(grub.GRUB_CFG), grub.TRIAL_ENTRY) is None:
            raise BootloaderError(Why.TRIAL_MISSING, "update-grub did not take %s into %s; expected the entry %s. %s."
                                  % (grub.TRIAL_SCRIPT, grub.GRUB_CFG, grub.TRIAL_ENTRY, _UNCHANGED))
        self.run(["/usr/bin/grub-editenv", _ENV, "set", "next_entry=" + grub.TRIAL_ENTRY], _UNCHANGED)

    def commit(self, tokens, retired):
        self._disarm()
        # Where update-grub fails, on a full disk for example, this boot returns to the old entry. A later one, run by
        # the package of a new kernel, must not make the default what was never committed.
        with put_back(grub.DROPIN):
            write_text(grub.DROPIN, grub.render_dropin(tokens, retired))
            self._update()
        lost = cmdline.missing(tokens, self.generated())
        if lost:
            raise BootloaderError(
                Why.NOT_IN_DEFAULT,
                "update-grub ran, but the default entry in %s lacks %s, which %s appends. A file read after it "
                "overwrites GRUB_CMDLINE_LINUX_DEFAULT: %s. Make that file append as ours does, or remove it. This "
                "boot goes on, with all of it; the next one lacks what is named."
                % (grub.GRUB_CFG, " ".join(lost), grub.DROPIN, ", ".join(_later_files()) or "none found; see "
                   "GRUB_DEFAULT and /etc/grub.d"))
        # A retired word that update-grub still writes is somebody else's too: not ours to wait for.
        ours = [word for word in retired if not cmdline.present([word], self.generated())]
        if ours != list(retired):
            write_text(grub.DROPIN, grub.render_dropin(tokens, ours))

    def refresh(self, initrd=None):
        if self._firmware.staged():
            self._firmware.refresh(*self._files(initrd))

    def load(self, initrd=None):
        if not self._firmware.staged() and self._kexec.staged():
            self._kexec.load(*self._files(initrd))

    def give_up(self):
        by_grub = os.path.exists(grub.TRIAL_SCRIPT) or not (self._firmware.staged() or self._kexec.staged())
        self._disarm()
        if by_grub:
            self._update()

    def remove(self):
        self._disarm()
        if self._env().get("next_entry") == "":     # what GRUB leaves of the order to boot a trial
            self._forget_order("No trial is staged")
        remove(grub.DROPIN)
        remove(former(grub.DROPIN))     # of a commit that a power cut ended
        self._update()

    def _disarm(self):
        if self._env().get("next_entry") == grub.TRIAL_ENTRY:
            self._forget_order("The trial is still staged")
        remove(grub.TRIAL_SCRIPT)
        self._firmware.take_away()
        self._kexec.take_away()

    def _forget_order(self, state):
        self.run(["/usr/bin/grub-editenv", _ENV, "unset", "next_entry"], state)

    def _update(self):
        # grub-mkconfig checks grub.cfg.new and ends with `cat grub.cfg.new > grub.cfg` (Debian 13, 2.12-9, line 320): a
        # power cut in there leaves half a file, and no boot entry. So it is made beside and renamed. update-grub hands
        # its arguments on, and of two -o the last one counts; one that does not has written grub.cfg itself.
        beside = grub.GRUB_CFG + ".tunecheck"
        try:
            remove(beside)
            self.run([_UPDATE, "-o", beside], "%s is unchanged" % grub.GRUB_CFG)
            if os.path.exists(beside):
                rename_over(beside, grub.GRUB_CFG)
        finally:
            for left in (beside, beside + ".new"):      # grub-mkconfig's own, where it failed
                remove(left)
        os.sync()


def _dropins():
    """Return the drop-ins in the order in which update-grub reads them."""
    return sorted(glob.glob("/etc/default/grub.d/*.cfg"))


def _later_files():
    """Return the drop-ins that update-grub reads after ours and that set our variable."""
    files = _dropins()
    later = files[files.index(grub.DROPIN) + 1:] if grub.DROPIN in files else files
    return [path for path in later if "GRUB_CMDLINE_LINUX_DEFAULT" in read_text(path)]
