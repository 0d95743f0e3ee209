"""A trial by kexec: the running kernel starts the trial's kernel itself, with the trial's command line. For a box where
neither GRUB nor the firmware can boot an entry just once.

No boot loader is touched, so whatever ends the trial resets the box, and the firmware boots the old default entry. What
is staged is a file in /run: every other reboot forgets it. The kernel is loaded right before the reboot, by load(), and
bounded_reboot.py then asks for `systemctl kexec`.

No reset of the devices happens: what the old kernel wrote to their registers may still be there in the trial."""

from __future__ import annotations

import json
import os
import platform
import re

from ansible.module_utils import bounded, gpu_modules, preconditions
from ansible.module_utils.box_io import BoxIOError, read_text, remove, write_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import cmdline

from . import carried, proof
from .base import BootloaderError, Staged
from .boot_files import copy
from .why import Why

__all__ = ["LOADED", "Kexec"]

_TOOL = "/sbin/kexec"
_RECORD = "/run/tunecheck/kexec.json"
#: Where a kernel of ours is loaded, or is being loaded; _READY says to bounded_reboot.py that the reboot may take it.
LOADED = "/run/tunecheck/kexec-loaded"
_READY = "ready\n"
#: Several initramfs as one: kexec takes a single file.
_JOINED = "/run/tunecheck/kexec-initrd.img"
_KERNEL = "/sys/kernel/kexec_loaded"
#: A sysctl, and the value of it with which the kernel loads nothing.
_DISABLED = (("/proc/sys/kernel/kexec_load_disabled", "1"), ("/proc/sys/kernel/kexec_load_limit_reboot", "0"))
_HYPERVISOR = "/sys/hypervisor/type"
_CONFIG = "/boot/config-"
#: Reading 100 MB from a slow disk, and their signature.
_LOAD_SECONDS = 120
_SYSTEMCTL_SECONDS = 60
_NOT_REBOOTED = "Nothing was rebooted, and the default boot entry is unchanged"


class Kexec:
    """The trial's kernel in memory."""

    def refusal(self, tokens):
        """Return why a trial cannot be started by kexec here, or None. ``tokens``: of the default entry."""
        return self.absent() or carried.refusal(tokens) or gpu_modules.refusal()

    @staticmethod
    def absent():
        """Return why this kernel cannot start another one, or None."""
        if not os.path.exists(_TOOL):
            return Refusal(Why.NO_KEXEC_TOOLS, "there is no %s; install kexec-tools" % _TOOL)
        if not os.path.exists(_KERNEL):
            return Refusal(Why.NO_KEXEC, "this kernel was built without kexec (there is no %s)" % _KERNEL)
        for path, value in _DISABLED:
            if read_text(path).strip() == value:
                return Refusal(
                    Why.KEXEC_DISABLED,
                    "kernel.%s is %s, which stays so until a reboot; take it out of sysctl.d and reboot"
                    % (os.path.basename(path), value))
        if _lockdown() and not _signatures():
            return Refusal(
                Why.KEXEC_LOCKED_DOWN,
                "the kernel is locked down (%s) and does not check signatures of what kexec loads (CONFIG_KEXEC_SIG), "
                "so it loads nothing" % _lockdown())
        # Under Xen the hypervisor would have to start the kernel, and what it shares with a guest stays where it was.
        if read_text(_HYPERVISOR).strip() == "xen":
            return Refusal(Why.KEXEC_XEN, "this kernel runs under Xen, where it cannot start another one by itself")
        if _loaded() and not os.path.exists(LOADED):
            return Refusal(
                Why.KEXEC_TAKEN,
                "somebody has loaded a kernel for the next reboot already; unload it: kexec --unload")
        return None

    @staticmethod
    def staged():
        """Return the Staged trial, or None. The next reboot by a play takes it, and no other."""
        try:
            tokens = json.loads(read_text(_RECORD, "{}")).get("tokens")
        except (ValueError, AttributeError):
            return None     # damaged: it is staged again
        if not isinstance(tokens, list) or not all(isinstance(each, str) for each in tokens):
            return None
        return Staged([token for token in tokens if not token.startswith(cmdline.KEXEC_KEY + "=")], True)

    def stage(self, tokens):
        """Stage a trial with the command line ``tokens``."""
        why = carried.refusal(tokens)
        if why:
            raise BootloaderError(why.why, "%s. Nothing was written." % why)
        self.take_away()
        line = [*carried.by_hand(tokens), cmdline.KEXEC_KEY + "=1"]
        write_text(_RECORD, json.dumps({"tokens": line}) + "\n", 0o600)

    def load(self, kernel, initrds):
        """Right before the reboot, when proof.note() has the sums of the files ``kernel`` and ``initrds``: load them,
        and take the GPUs' driver out of this kernel. BootloaderError where that cannot be done; then nothing of it
        stays."""
        why = self.absent()
        staged = json.loads(read_text(_RECORD))["tokens"]
        if why:
            raise BootloaderError(why.why, "%s. %s." % (why, _NOT_REBOOTED))
        self._unload()
        _stop_own_kexec()
        write_text(LOADED, "")
        try:
            _load(kernel, initrds, " ".join(staged))
            changed = proof.changed([kernel, *initrds])
            if changed:
                raise BootloaderError(
                    Why.NOT_STAGED, "%s was written while it was loaded. %s. Run the play again."
                    % (changed, _NOT_REBOOTED))
            # Somebody who runs nvidia-smi loads the driver again (nvidia-modprobe); bounded_reboot.py looks for that.
            why = gpu_modules.unload()
            if why:
                raise BootloaderError(why.why, "%s. %s." % (why, _NOT_REBOOTED))
            write_text(LOADED, _READY)
        except (BootloaderError, BoxIOError, OSError):
            self._unload()
            raise

    def take_away(self):
        """Take away what is staged, and loaded."""
        self._unload()
        remove(_RECORD)

    @staticmethod
    def _unload():
        if os.path.exists(LOADED) and _loaded():
            # Under lockdown the older call is refused, even for this.
            for way in (["--kexec-file-syscall"], []):
                bounded.run([_TOOL, "--unload", *way], _LOAD_SECONDS)
                if not _loaded():
                    break
            else:
                raise BootloaderError(
                    Why.NOT_TAKEN_AWAY,
                    "%s --unload ran, and the kernel of the trial is still loaded. A cold reset forgets it" % _TOOL)
        remove(LOADED)


def _load(kernel, initrds, line):
    """Load them. The kernel reads and, where it wants to, verifies the files itself (kexec_file_load(2)); where it does
    not offer that, kexec-tools hand them over."""
    joined = len(initrds) > 1
    try:
        if joined:
            copy(initrds, _JOINED)
        files = ["--append=" + line, *(["--initrd=" + (_JOINED if joined else initrds[0])] if initrds else []),
                 kernel]
        problem = ""
        for way in [["--kexec-file-syscall"], *([] if _lockdown() else [[]])]:
            code, out, err = bounded.run([_TOOL, "--load", *way, *files], _LOAD_SECONDS)
            problem = problem or " | ".join((err or out).strip().splitlines()[-3:]) or "exit code %s" % code
            if code == 0 and _loaded():
                return
    finally:
        if joined:
            remove(_JOINED)
    raise BootloaderError(
        Why.KEXEC_NOT_LOADED,
        "%s could not load %s: %s. %s. Look at the kernel's log (dmesg), mend the cause and run the play again."
        % (_TOOL, kernel, problem, _NOT_REBOOTED))


def _stop_own_kexec():
    """Debian 12's and Ubuntu's kexec-tools have a service that runs `kexec -e` when it is stopped and a kernel is
    loaded: in the middle of a shutdown, before the file systems are unmounted (/etc/init.d/kexec of 2.0.25). Stopped
    now, while none is loaded, it does nothing."""
    if _systemctl("is-active", "--quiet", "kexec.service") != 0:
        return
    _systemctl("stop", "kexec.service")
    if _systemctl("is-active", "--quiet", "kexec.service") == 0:
        raise BootloaderError(
            Why.KEXEC_SERVICE,
            "kexec.service of kexec-tools could not be stopped, and would start the trial before the file systems are "
            "unmounted. %s." % _NOT_REBOOTED)


def _systemctl(*words):
    return bounded.run(["systemctl", *words], _SYSTEMCTL_SECONDS)[0]


def _loaded():
    return read_text(_KERNEL).strip() == "1"


def _lockdown():
    """Return the kernel's lockdown mode, "" where there is none."""
    return preconditions.lockdown().replace("none", "")


def _signatures():
    config = read_text(_CONFIG + platform.release())
    return re.search(r"^CONFIG_KEXEC_(VERIFY_)?SIG=y$", config, re.MULTILINE) is not None
