#!/usr/bin/python3
"""Reboot this box within a bounded time, whatever hangs. Run by tunecheck-reboot.service and by trial_guard.py.

An orderly reboot first. Where units, file systems or a driver hold it, a forced one, and then the kernel is told to
restart without asking any driver (sysrq b): a shutdown that hangs in a driver needs a hand on the power switch else.
Standard library only. Nothing here waits for a child or for a disk.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable

#: systemd kills a unit that does not stop after 90 s and gives it up after another 90 s (DefaultTimeoutStopSec); a
#: unit of somebody else may ask for more.
FORCE_AFTER_SECONDS = 300
#: systemd-shutdown gives processes and file systems 90 s.
SYSRQ_AFTER_SECONDS = 420
SYSRQ = "/proc/sysrq-trigger"
#: A trial by kexec that the play loaded, and whether the kernel has it.
READY, LOADED = "/run/tunecheck/kexec-loaded", "/sys/kernel/kexec_loaded"
GPU_DRIVER = "/sys/module/nvidia"
_RB_AUTOBOOT = 0x01234567       # reboot(2)
_MCL_CURRENT_AND_FUTURE = 3     # mlockall(2)


def main() -> None:
    lock_memory()
    # The trigger works for root whatever kernel.sysrq says (admin-guide/sysrq.rst). Open before /proc may go away.
    trigger = open_trigger()
    began = time.monotonic()
    # What is forced behind it goes through the firmware, and so to the default entry.
    by_kexec = kexec_ready()
    start(["systemctl", "--no-block", "kexec" if by_kexec else "reboot"])
    if by_kexec:
        wait_until(began + FORCE_AFTER_SECONDS, give_up_kexec)
    wait_until(began + FORCE_AFTER_SECONDS)
    say("the reboot did not end within %d s; it is forced now" % FORCE_AFTER_SECONDS)
    start(["systemctl", "--force", "reboot"])
    wait_until(began + SYSRQ_AFTER_SECONDS)
    say("the forced reboot did not end either; the kernel restarts now, without its drivers")
    restart_now(trigger)


def kexec_ready() -> bool:
    """Whether this reboot is the one that takes a trial by kexec."""
    return read(READY).strip() == "ready" and read(LOADED).strip() == "1"


def give_up_kexec() -> bool:
    """Whether somebody has loaded the GPUs' driver again since the play unloaded it. GPUs that it has initialised are
    reset: without a loaded kernel the shutdown that runs ends in the firmware."""
    if not os.path.exists(GPU_DRIVER):
        return False
    say("the driver of the GPUs was loaded again; this reboot goes through the firmware, and the trial is not taken")
    for way in ("--kexec-file-syscall", "--kexec-syscall"):
        start(["/sbin/kexec", "--unload", way])
    return True


def read(path: str) -> str:
    """At most 64 bytes of a file; empty where it cannot be read."""
    try:
        with open(path, encoding="ascii", errors="replace") as handle:
            return handle.read(64)
    except OSError:
        return ""


def restart_now(trigger: int) -> None:
    """Sync, make file systems read-only, restart. The kernel does the first two in a thread (do_sync_work())."""
    for order, seconds in ((b"s", 5), (b"u", 5), (b"b", 5)):
        with contextlib.suppress(OSError):
            os.write(trigger, order)
        time.sleep(seconds)
    ctypes.CDLL(None).reboot(_RB_AUTOBOOT)     # a kernel without CONFIG_MAGIC_SYSRQ


def open_trigger() -> int:
    """A file descriptor of the trigger, -1 where there is none."""
    try:
        return os.open(SYSRQ, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def lock_memory() -> None:
    """No page of this process is read from a disk later, and no signal of a shutdown ends it."""
    ctypes.CDLL(None).mlockall(_MCL_CURRENT_AND_FUTURE)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)   # nobody waits for the children


def start(argv: list[str]) -> None:
    """Start a command and never wait for it."""
    with contextlib.suppress(OSError):
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True, restore_signals=True,
                         env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                              # Else a kernel that somebody loaded, or a tree at /run/nextroot, is taken in place of the
                              # firmware's reboot, which alone obeys a one-shot entry (systemctl(1), reboot).
                              "SYSTEMCTL_SKIP_AUTO_KEXEC": "1", "SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT": "1"})


def wait_until(moment: float, ends: Callable[[], bool] = lambda: False) -> None:
    """Sleep until the monotonic clock shows ``moment``, or until ``ends()``, asked each second or so."""
    while (left := moment - time.monotonic()) > 0 and not ends():
        time.sleep(min(left, 1))


def say(text: str) -> None:
    """To the kernel's log, and so to a serial console; the journal may be gone."""
    with contextlib.suppress(OSError):
        log = os.open("/dev/kmsg", os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.write(log, ("<4>tunecheck: %s\n" % text).encode())
        finally:
            os.close(log)


if __name__ == "__main__":
    main()
