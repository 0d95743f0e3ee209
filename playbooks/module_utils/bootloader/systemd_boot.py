"""systemd-boot: /etc/kernel/cmdline, kernel-install, and bootctl's one-shot entry."""

from __future__ import annotations

import glob
import json
import os

from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.tunecheck.parsers.kernel import bls, cmdline

from .base import BootloaderError, Staged
from .owned import TRIAL_CONF, OwnedLine, replaced

__all__ = ["SystemdBoot"]

#: systemd's vendor GUID for loader variables (Boot Loader Interface).
_GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
_VARS = "/sys/firmware/efi/efivars/"
_LINE = "/etc/kernel/cmdline"
_BOOTCTL = "/usr/bin/bootctl"
_INSTALL = "/usr/bin/kernel-install"


def _variable(name):
    """Return an EFI loader variable's text (UTF-16 behind four attribute bytes); "" where there is none."""
    try:
        with open(_VARS + name + "-" + _GUID, "rb") as handle:
            return handle.read()[4:].decode("utf-16-le").rstrip("\x00")
    except OSError:
        return ""


class SystemdBoot(OwnedLine):
    """/etc/kernel/cmdline is shared with others: our own list says which of its tokens are ours."""

    name = "systemd-boot"

    @classmethod
    def absent(cls):
        for path in (_BOOTCTL, _INSTALL):
            if not os.path.exists(path):
                return "no " + path
        if not _variable("LoaderInfo").startswith("systemd-boot"):
            return "this boot did not come through systemd-boot"
        return None

    def _default(self):
        code, out, err = self.module.run_command([_BOOTCTL, "list", "--json=short"], environ_update={"LC_ALL": "C"})
        listed = json.loads(out) if code == 0 and out.strip() else []
        for entry in listed:
            if entry.get("isDefault") and entry.get("type") == "type1" and entry.get("id") != TRIAL_CONF:
                return entry
        raise BootloaderError("bootctl list names no default entry of type 1 (exit %d: %s); expected a "
                              "loader/entries/*.conf. Unified kernel images are not supported by this role."
                              % (code, (err or "no message").strip()))

    def _trial_path(self):
        return os.path.join(os.path.dirname(self._default()["path"]), TRIAL_CONF)

    def generated(self):
        return cmdline.tokenize(bls.options(read_text(self._default()["path"])))

    def kernel(self):
        return bls.kernel(read_text(self._default()["path"]))

    def initrds(self):
        return bls.initrds(read_text(self._default()["path"]))

    def root(self):
        return self._default()["path"].partition("/loader/entries/")[0]

    def lines(self):
        # kernel-install makes the next entries from the file, where there is one.
        return [self.generated(), cmdline.tokenize(read_text(_LINE))]

    def sources(self):
        return [_LINE, *sorted(glob.glob("/etc/cmdline.d/*.conf")), "/usr/lib/kernel/cmdline", self._default()["path"]]

    def staged(self):
        text = read_text(self._trial_path())
        if not text:
            return None
        return Staged(cmdline.tokenize(bls.options(text)), _variable("LoaderEntryOneShot") == TRIAL_CONF)

    def trial_refusal(self):
        if not os.access(_VARS, os.W_OK):
            return "EFI variables are not writable, so no one-shot entry can be set"
        return None

    def own_initrd(self, image, own):
        return None     # it loads copies that kernel-install made, on the partition with the entries

    def stage(self, remove, add, initrd=None):
        text = read_text(self._default()["path"])
        line = " ".join(replaced(self.generated(), remove, add))
        write_text(self._trial_path(), bls.retitle(bls.with_options(text, line), "tunecheck trial (booted once)"))
        self.run([_BOOTCTL, "set-oneshot", TRIAL_CONF], "The default boot entry is unchanged")

    def commit(self, tokens, retired):
        self._disarm()
        before = self.configured()
        line = cmdline.tokenize(read_text(_LINE)) or self.generated()
        self._keep([*tokens, *[token for token in before if token not in tokens]], retired)
        write_text(_LINE, " ".join(replaced(line, before, tokens)) + "\n")
        for version in sorted(os.path.basename(path) for path in glob.glob("/lib/modules/*")):
            image = next((path for path in ("/boot/vmlinuz-" + version, "/lib/modules/%s/vmlinuz" % version)
                          if os.path.exists(path)), None)
            if image:
                self.run([_INSTALL, "add", version, image], "The entries of other kernels may be written already")
        self._assert_generated(tokens, "kernel-install")
        self._keep(tokens, retired)

    def _disarm(self):
        if _variable("LoaderEntryOneShot") == TRIAL_CONF:
            self.run([_BOOTCTL, "set-oneshot", ""], "The trial is still staged")
        remove(self._trial_path())
