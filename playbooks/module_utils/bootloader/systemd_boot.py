"""systemd-boot with kernel-install's entries: a trial entry of its own, booted once by LoaderEntryOneShot.

kernel-install writes entries and copies kernels in place, and a power cut there leaves half of one. So each entry is
changed here, beside it and renamed, and /etc/kernel/cmdline with it, of which kernel-install makes the next ones."""

from __future__ import annotations

import filecmp
import glob
import json
import os

from ansible.module_utils import programs as on_box
from ansible.module_utils import trial_initrd
from ansible.module_utils.box_io import UNFINISHED, copy_over, put_back, read_text, remove, rename_over, write_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import bls, cmdline

from . import efi
from .base import BootloaderError, OneShot, Staged, foreign_of
from .owned import TRIAL_CONF, OwnedLine, replaced
from .why import Why

__all__ = ["SystemdBoot"]

_LINE = "/etc/kernel/cmdline"
_BOOTCTL = "/usr/bin/bootctl"
_INSTALL = "/usr/bin/kernel-install"
_MODULES = "/lib/modules/"
_UNCHANGED = "The default boot entry is unchanged"
#: An entry's file and its folder's growth, in whole clusters of 32 KiB.
_ROOM = 128 * 1024


class SystemdBoot(OwnedLine):
    """/etc/kernel/cmdline and the entries are shared with others: our own list says which of their tokens are ours."""

    name = "systemd-boot"
    #: What makes the entries.
    maker = _INSTALL
    after_an_edit = ", run kernel-install add for each kernel"
    way_out = "Mend that"
    #: They run kernel-install, which writes the default entry and what it loads in place; promote() did their work.
    runs_initramfs_hooks = False

    def __init__(self, module, esp=""):
        """``esp``: where the EFI system partition is mounted; "": where bootctl finds it."""
        super().__init__(module)
        self._entries = None
        self._given, self._esp_path = esp, esp

    @classmethod
    def absent(cls):
        for path in (_BOOTCTL, cls.maker):
            if not os.path.exists(path):
                return on_box.absent(path)
        if not efi.booted_by_systemd_boot():
            return "this boot did not come through systemd-boot"
        return None

    def _argv(self, *words):
        return [_BOOTCTL, *(["--esp-path=" + self._given] if self._given else []), *words]

    def _bootctl(self, *words):
        code, out, err = self.module.run_command(self._argv(*words), environ_update={"LC_ALL": "C"})
        if code != 0:
            raise BootloaderError(
                Why.COMMAND_FAILED,
                "bootctl %s failed (exit %d): %s; expected systemd-boot's entries. Mount the EFI "
                "system partition and run the play again. Nothing was written."
                % (" ".join(words), code, (err or out).strip() or "no output"))
        return out

    def _listed(self):
        """Return all entries, in systemd-boot's order."""
        return json.loads(self._bootctl("list", "--json=short").strip() or "[]")

    def _esp(self):
        self._esp_path = self._esp_path or self._bootctl("--print-esp-path").strip()
        return self._esp_path

    def _others(self):
        """Return the entries but the trial's."""
        if self._entries is None:
            self._entries = [entry for entry in self._listed() if entry.get("id") != TRIAL_CONF]
        return self._entries

    def _default(self):
        found, _named = efi.default_of(self._others(), self._esp())
        if found is None or found.get("type") != "type1":
            raise BootloaderError(
                Why.OTHER_KIND,
                "systemd-boot's default entry is %s; expected a loader/entries/*.conf, as of "
                "kernel-install's layout bls. Unified kernel images are not supported by this role: "
                "their command line is inside of them. Nothing was written."
                % ("%s, of %s" % (found.get("id"), found.get("type")) if found else "not there"))
        return found

    def _text(self):
        return read_text(self._default()["path"])

    def _trial_path(self):
        return os.path.join(os.path.dirname(self._default()["path"]), TRIAL_CONF)

    def generated(self):
        return cmdline.tokenize(bls.options(self._text()))

    def kernel(self):
        return bls.kernel(self._text())

    def initrds(self):
        return bls.initrds(self._text())

    def where(self):
        """Return where the EFI system partition is, for messages."""
        return self._esp()

    def root(self):
        return self._default()["path"].partition("/loader/entries/")[0]

    def lines(self):
        # kernel-install makes the next entries from the file, where there is one.
        return [self.generated(), cmdline.tokenize(self._line_of(read_text(_LINE)))]

    def _line_of(self, text):
        """Return the command line in the text of /etc/kernel/cmdline."""
        return bls.line(text)

    def _edited_line(self, text, before, tokens):
        """Return that text with ``tokens`` in the place of ``before``."""
        return bls.edited(text, before, tokens)

    def sources(self):
        return [_LINE, *sorted(glob.glob("/etc/cmdline.d/*.conf")), "/usr/lib/kernel/cmdline", self._default()["path"]]

    def staged(self):
        text = read_text(self._trial_path())
        if not text:
            return None
        whole = all(os.path.isfile(self.root() + name) for name in bls.initrds(text))
        return Staged(cmdline.tokenize(bls.options(text)), whole and efi.variable("LoaderEntryOneShot") == TRIAL_CONF)

    def one_shot(self):
        return OneShot.LOADER_ENTRY

    def trial_refusal(self, image=""):
        if not efi.one_shot_known():
            return Refusal(
                Why.NO_ONE_SHOT,
                "this systemd-boot does not know one-shot entries (LoaderFeatures); run bootctl update")
        if not os.access(efi.VARS, os.W_OK):
            return Refusal(
                Why.VARIABLES_READ_ONLY,
                "EFI variables are not writable (%s), so no one-shot entry can be set" % efi.VARS)
        found, named = efi.default_of(self._others(), self._esp())
        if not named and not found.get("sortKey"):
            return Refusal(
                Why.TRIAL_IS_DEFAULT,
                "the default entry %s has no sort-key and nothing names it, so the trial's entry could sort before "
                "it and be the default; run bootctl set-default %s" % (found["id"], found["id"]))
        about = os.statvfs(os.path.dirname(found["path"]))
        if about.f_flag & os.ST_RDONLY:
            return Refusal(Why.ENTRIES_READ_ONLY, "%s is mounted read-only" % self.root())
        # An initramfs with another file of options in it is about as large.
        needs = _ROOM + (os.stat(image).st_size * 9 // 8 if image else 0)
        free = about.f_bavail * about.f_frsize
        if free < needs:
            # No reason to go on without a trial: kernel-install would write in place what boots.
            raise BootloaderError(
                Why.NO_ROOM,
                "%s has %d KiB free; expected %d KiB for the trial's entry%s. Remove a kernel that "
                "is not booted any more. Nothing was written."
                % (self.root(), free // 1024, needs // 1024, " and its initramfs" if image else ""))
        return None

    def own_initrd(self, image, own):
        # It loads copies that kernel-install made, on the partition with the entries.
        names = [name for name in self.initrds() if os.path.basename(name) == os.path.basename(image)]
        if not names:
            names = [name for name in self.initrds()
                     if os.path.isfile(self.root() + name) and filecmp.cmp(self.root() + name, image, shallow=False)]
        if len(names) != 1:
            return None
        return names[0], os.path.join(os.path.dirname(names[0]), os.path.basename(own))

    def stage(self, remove_tokens, add, initrd=None):
        self._place(remove_tokens, add, initrd)
        self.run(self._argv("set-oneshot", TRIAL_CONF), _UNCHANGED)
        if efi.variable("LoaderEntryOneShot") != TRIAL_CONF:
            raise BootloaderError(
                Why.ONE_SHOT_NOT_KEPT,
                "bootctl set-oneshot reported success, but LoaderEntryOneShot is not %s; the "
                "firmware did not keep it. %s." % (TRIAL_CONF, _UNCHANGED))

    def _place(self, remove_tokens, add, initrd):
        """Write the trial's entry and what it loads. Nothing boots it yet."""
        text = self._text()
        if initrd:
            name, own = initrd
            copy_over(trial_initrd.OWN, self.root() + own)
            text = bls.with_initrd(text, name, own)
        line = " ".join(replaced(self.generated(), remove_tokens, add))
        write_text(self._trial_path(), bls.retitle(bls.with_options(text, line), "tunecheck trial (booted once)"))
        if not initrd:
            self._remove_own()
        found, _named = efi.default_of(self._listed(), self._esp())
        if found is None or found.get("id") == TRIAL_CONF:
            remove(self._trial_path())
            raise BootloaderError(
                Why.TRIAL_IS_DEFAULT,
                "systemd-boot would take the trial's entry by default, and not once; expected %s. "
                "Run bootctl set-default %s. The trial's entry was taken away."
                % (self._default()["id"], self._default()["id"]))

    def promote(self, image, own):
        name, beside = self.own_initrd(image, own) or ("", "")
        if not name or not os.path.exists(self.root() + beside):
            return
        if os.path.exists(own) and not filecmp.cmp(own, self.root() + beside, shallow=False):
            raise BootloaderError(
                Why.NOT_STAGED,
                "%s is not the initramfs that was staged (%s); expected the file that was booted. "
                "%s. Run the play again: it stages a trial."
                % (self.root() + beside, own, _UNCHANGED))
        rename_over(self.root() + beside, self.root() + name)

    def commit(self, tokens, retired):
        self._disarm()
        before = self.configured()
        kept = self._owned()
        text = read_text(_LINE)
        # Where there is none, kernel-install takes the line of the kernel that runs, the marks of a trial included.
        made = kept.get("made_line", False) or not text
        union = [*tokens, *[token for token in before if token not in tokens]]
        self._keep(union, retired, made_line=made)
        foreign = " ".join(foreign_of(self.generated(), before)) + "\n"
        line = self._edited_line(text or foreign, before if text else [], tokens)
        # Where an entry can't be written, on a full disk for example, this boot returns to the old one. kernel-install
        # must not make that of the next kernel with what was never committed.
        with put_back(_LINE):
            if made and not tokens and not retired and line == foreign:
                remove(_LINE)
            else:
                self._write(_LINE, line)
            self._edit_entries(before, tokens)
        self._assert_generated(tokens, "the commit")
        self._keep(tokens, retired, made_line=made)

    def _edit_entries(self, before, tokens):
        """Write ``tokens`` in the place of ``before`` into the entries of all installed kernels."""
        default = self._default()
        for entry in [*self._siblings(default), default]:       # the default one last
            self._write(entry["path"], bls.edited(read_text(entry["path"]), before, tokens, "options"))

    def _siblings(self, default):
        """Return the entries of the other installed kernels, which were made as the default one was: their kernels'
        folders lie beside its own."""
        beside = _folder_of_kernels(bls.kernel(self._text()))
        found = []
        for entry in self._others():
            kernel = entry.get("linux", "")
            release = bls.release(kernel)
            if (entry.get("type") == "type1" and entry["path"] != default["path"]
                    and _folder_of_kernels(kernel) == beside and release and os.path.isdir(_MODULES + release)):
                found.append(entry)
        return found

    @staticmethod
    def _write(path, text):
        if text != read_text(path):
            write_text(path, text)

    def _keep(self, tokens, retired, made_line=False):
        text = self.rendered(tokens, retired)
        if text and made_line:
            text = json.dumps({**json.loads(text), "made_line": True}, indent=2, sort_keys=True) + "\n"
        self._keep_text(text)

    def _disarm(self):
        if efi.variable("LoaderEntryOneShot") == TRIAL_CONF:
            self.run(self._argv("set-oneshot", ""), "The trial is still staged")
        self._remove_trial()

    def _remove_trial(self):
        remove(self._trial_path())
        self._remove_own()

    def _remove_own(self):
        for folder in {self.root() + os.path.dirname(name) for name in self.initrds()}:
            remove(os.path.join(folder, os.path.basename(trial_initrd.OWN)))
            for half in glob.glob(os.path.join(folder, UNFINISHED + "*")):      # of a copy that a power cut ended
                remove(half)


def _folder_of_kernels(kernel):
    """Return the folder that holds one folder for each kernel: of kernel-install it is named by the machine's id."""
    return os.path.dirname(os.path.dirname(kernel))
