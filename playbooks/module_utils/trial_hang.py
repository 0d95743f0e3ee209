"""Words that make a hang of a trial boot end by itself, and how a commit takes that back: the trial boot then goes on
as the box's ordinary boot.

Kernel parameters turn a lockup, and a task that is stuck for kernel.hung_task_timeout_secs, into a panic, which panic=
turns into a reboot (kernel/watchdog.c softlockup_panic_setup(), hardlockup_panic_setup(); fs/proc/proc_sysctl.c
sysctl_aliases for hung_task_panic; booted on 6.12). Debian's and Ubuntu's initramfs take panic= for their own
emergency shell too. dracut needs rd.shell=0 rd.emergency=reboot, and rd.timeout=: without it a root disk that does not
appear is waited for without end (dracut.cmdline(7); seen in the lab). A kernel that does not even run its lockup
detectors is left to the hardware watchdog, which systemd opens as process 1 (systemd.watchdog_sec=,
kernel-command-line(7) of systemd 252; a systemd that does not know it ignores it)."""

from __future__ import annotations

import os
from enum import Enum

from ansible.module_utils import bounded
from ansible.module_utils.box_io import read_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import cmdline

__all__ = ["WATCHDOG_SECONDS", "Stays", "live", "take_back", "tokens", "watchdog"]

#: Parameter of the trial entry and the sysctl that it sets.
_PANICS = (("softlockup_panic=1", "softlockup_panic"), ("hung_task_panic=1", "hung_task_panic"),
           ("nmi_watchdog=panic", "hardlockup_panic"))
_SYSCTL = "/proc/sys/kernel/"
_CLASS = "/sys/class/watchdog/"
_DRACUT = "/usr/bin/dracut"
#: systemd sends a ping every half of it. Every hardware watchdog in Linux takes 60 s: i6300esb, iTCO, sp5100, IPMI.
WATCHDOG_SECONDS = 60
_WATCHDOG = "systemd.watchdog_sec="
_BUSCTL_SECONDS = 20
#: After dracut's own tries, rd.retry=, which are 180 s by default.
_DRACUT_DISK_SECONDS = 300


class Stays(Enum):
    """Why something of a trial boot stays until the next boot."""

    #: A sysctl: its value before the trial, or that it cannot be written.
    NOT_KNOWN = "not-known"
    NOT_WRITTEN = "not-written"
    WATCHDOG = "watchdog"
    #: kexec started this boot: what a reset of the devices would have shown.
    NO_RESET = "no-reset"


def watchdog():
    """Return the hardware watchdog of this box as {code, device, identity}. ``code``: ``usable``; ``in_use``, somebody
    keeps it already, and so in a trial boot too; ``software``, only the kernel's softdog, which hangs with the kernel;
    ``none``; ``unknown``, there is one, and the kernel does not say more of it (CONFIG_WATCHDOG_SYSFS)."""
    names = os.listdir(_CLASS) if os.path.isdir(_CLASS) else []
    found = [_watchdog(name) for name in sorted(names) if name.startswith("watchdog")]
    for code in ("in_use", "usable", "unknown", "software"):
        for each in found:
            if each["code"] == code:
                return each
    return {"code": "none", "device": "", "identity": ""}


def _watchdog(name):
    def attribute_text(attribute):
        try:
            return read_text(_CLASS + name + "/" + attribute).strip()
        except OSError:
            return ""

    identity, state = attribute_text("identity"), attribute_text("state")
    if not identity or not state:
        code = "unknown"
    elif state == "active" and _WATCHDOG not in read_text("/proc/cmdline"):     # else a trial boot's own systemd
        code = "in_use"
    else:
        code = "software" if "software" in identity.lower() else "usable"
    return {"code": code, "device": "/dev/" + name, "identity": identity[:80]}


def tokens(line, trial_id, confirm_seconds, panic_seconds):
    """Return the parameters that only the trial entry has; they go behind ``line``, its other tokens. The mark comes
    first: what stands behind it is the trial's alone. A parameter that ``line`` sets itself stays as it is there."""
    theirs = {token.partition("=")[0] for token in line}
    ends = [token for token, _sysctl in _PANICS]
    ends.append("systemd.crash_reboot=1")       # process 1 itself crashed: else it freezes (systemd(1))
    if watchdog()["code"] == "usable":
        ends.append(_WATCHDOG + "%d" % WATCHDOG_SECONDS)
    if os.path.exists(_DRACUT):
        ends += ["rd.shell=0", "rd.emergency=reboot", "rd.timeout=%d" % _DRACUT_DISK_SECONDS]
    return [cmdline.trial_token(trial_id), cmdline.confirm_token(confirm_seconds), cmdline.panic_token(panic_seconds),
            *(token for token in ends if token.partition("=")[0] not in theirs)]


def live():
    """Return {sysctl: value} as they are in this boot, for take_back() after the trial."""
    found = {name: read_text(_SYSCTL + name).strip() for name in ("panic", *(name for _token, name in _PANICS))}
    return {name: value for name, value in found.items() if value}


def take_back(running, before):
    """Give a trial boot that is committed what every other boot of this box has: ``before``, what live() said in the
    boot that staged it. Return what stays as it is until the next boot, each a Refusal; nothing here can fail a commit,
    which is done by now."""
    left = []
    for token, name in (("panic=", "panic"), *_PANICS):
        if not any(each.startswith(token) for each in running):
            continue
        problem = _write(_SYSCTL + name, before[name]) if name in before else "its value before the trial is not known"
        if problem:
            left.append(Refusal(
                Stays.NOT_WRITTEN if name in before else Stays.NOT_KNOWN, "kernel.%s stays %s until the next boot: %s"
                % (name, read_text(_SYSCTL + name).strip() or "as it is", problem)))
    if any(token.startswith(_WATCHDOG) for token in running):
        problem = _stop_watchdog()
        if problem:
            left.append(Refusal(
                Stays.WATCHDOG, "systemd keeps the hardware watchdog until the next boot: " + problem))
    return left


def _stop_watchdog():
    """Let systemd close the hardware watchdog. Return why it cannot, or ""."""
    device = watchdog()["device"]
    # Closed, such a watchdog runs on and resets the box (watchdog-api.rst, "Nowayout").
    if device and read_text(_CLASS + os.path.basename(device) + "/nowayout").strip() == "1":
        return "it cannot be stopped once it was started (nowayout)"
    code, _out, err = bounded.run(
        ["busctl", "set-property", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
         "org.freedesktop.systemd1.Manager", "RuntimeWatchdogUSec", "t", "0"], _BUSCTL_SECONDS)
    return "" if code == 0 else (err.strip() or "busctl ended with exit code %s" % code)


def _write(path, value):
    try:
        with open(path, "w", encoding="ascii") as handle:
            handle.write(value)
    except OSError as error:
        return error.strerror or str(error)
    return ""
