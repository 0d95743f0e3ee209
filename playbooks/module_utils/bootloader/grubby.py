"""GRUB 2 with BLS entries and grubby: Enterprise Linux 9 and 10."""

from __future__ import annotations

import os
import re

from ansible.module_utils import programs as on_box
from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import bls, cmdline, grub

from .base import BootloaderError, OneShot, Staged, block_kind, mount_problem
from .owned import TRIAL_CONF, OwnedLine, replaced
from .why import Why

__all__ = ["Grubby"]

_GRUBBY = "/usr/sbin/grubby"
_ENTRIES = "/boot/loader/entries"
_ENV = "/boot/grub2/grubenv"
_TRIAL = TRIAL_CONF[: -len(".conf")]


class Grubby(OwnedLine):
    """grubby writes every kernel's entry; the trial is a BLS file of our own, taken once through next_entry."""

    name = "GRUB with grubby"
    after_an_edit = " (grubby --update-kernel=ALL --remove-args=...)"
    programs = ("grub2-editenv", "grub2-reboot")

    @classmethod
    def absent(cls):
        for path in (_GRUBBY, _ENTRIES):
            if not os.path.exists(path):
                return on_box.absent(path)
        return None

    def _info(self):
        code, out, err = self.module.run_command([_GRUBBY, "--info=DEFAULT"], environ_update={"LC_ALL": "C"})
        if code != 0:
            raise BootloaderError(
                Why.COMMAND_FAILED,
                "grubby --info=DEFAULT failed (exit %d): %s" % (code, (err or out).strip()))
        return dict(re.findall(r'^(\w+)="?(.*?)"?$', out, re.MULTILINE))

    def generated(self):
        environment = grub.parse_grubenv(read_text(_ENV))
        line = self._info().get("args", "")
        # EL keeps shared parameters in grubenv and names them as variables in the entry.
        line = re.sub(r"\$(\w+)", lambda found: environment.get(found.group(1), ""), line)
        return cmdline.tokenize(line)

    def sources(self):
        entry = os.path.join(_ENTRIES, self._info().get("id", "") + ".conf")
        return [entry, _ENV, "/etc/default/grub", "/etc/kernel/cmdline"]

    def kernel(self):
        return self._info().get("kernel", "")

    def initrds(self):
        # "$tuned_initrd" and its like are variables of grubenv, mostly empty.
        return [word for word in self._info().get("initrd", "").split() if not word.startswith("$")]

    def staged(self):
        text = read_text(os.path.join(_ENTRIES, TRIAL_CONF))
        if not text:
            return None
        armed = grub.parse_grubenv(read_text(_ENV)).get("next_entry") == _TRIAL
        return Staged(cmdline.tokenize(bls.options(text)), armed)

    def one_shot(self):
        return OneShot.NEXT_ENTRY

    def trial_refusal(self, image=""):
        real = os.path.realpath(_ENV)
        problem = mount_problem(os.path.dirname(real), read_text("/proc/self/mountinfo"), block_kind)
        return Refusal(problem.why, problem + ": it could not forget the trial entry") if problem else None

    def stage(self, remove, add, initrd=None):
        identity = self._info().get("id", "")
        text = read_text(os.path.join(_ENTRIES, identity + ".conf"))
        if not text:
            raise BootloaderError(
                Why.NO_ENTRY,
                "the default entry %s/%s.conf was not found; expected the BLS file of grubby's "
                "default kernel." % (_ENTRIES, identity))
        # From the file, not from grubby's args: those leave root= out, and GRUB expands the variables itself.
        line = " ".join(replaced(cmdline.tokenize(bls.options(text)), remove, add))
        try:
            text = _with_initrd(text, *initrd) if initrd else text
        except ValueError as error:
            raise BootloaderError(Why.NOT_COPIED, str(error)) from error
        entry = bls.retitle(bls.with_options(text, line), "tunecheck trial (booted once)")
        write_text(os.path.join(_ENTRIES, TRIAL_CONF), entry)
        self.run(["/usr/sbin/grub2-reboot", _TRIAL], "The default boot entry is unchanged")

    def commit(self, tokens, retired):
        self._disarm()
        before = self.configured()
        argv = [_GRUBBY, "--update-kernel=ALL"]
        gone = [token for token in [*before, *retired] if token not in tokens]
        if gone:
            argv.append("--remove-args=" + " ".join(gone))
        if tokens:
            argv.append("--args=" + " ".join(tokens))
        # Listed before they are written: a run that dies in between still knows them as ours.
        self._keep([*tokens, *[token for token in before if token not in tokens]], retired)
        if len(argv) > 2:
            self.run(argv, "The boot entries may be partly written")
        self._assert_generated(tokens, "grubby")
        self._keep(tokens, retired)

    def _disarm(self):
        if grub.parse_grubenv(read_text(_ENV)).get("next_entry") == _TRIAL:
            self.run(["/usr/bin/grub2-editenv", _ENV, "unset", "next_entry"], "The trial is still staged")
        remove(os.path.join(_ENTRIES, TRIAL_CONF))


def _with_initrd(text, old, new):
    """Return the entry's text with the initramfs ``new`` in place of ``old``. grubby names the file as the running
    system does ("/boot/..."), the entry from the top of its partition."""
    for name in bls.initrds(text):
        if os.path.basename(name) == os.path.basename(old):
            old, new = name, os.path.join(os.path.dirname(name), os.path.basename(new))
    return bls.with_initrd(text, old, new)
