"""The faults of the matrix, each made in a trial boot: the box has to return from it by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.lab import hanging
from tests.lab.box import until

from .seen import SECONDS, Bench, MissedError, Play, sentence

__all__ = ["FAULTS", "Fault", "play_fault"]

_TRIAL = ("--tags", "cmdline")
#: What the guard of a trial boot writes on the console at its deadline.
_GUARD = "this box returns to its old boot entry"
#: Nobody attends such a trial, so its deadline may come before a slow box is up.
_SHORT = {"timeout_seconds": 60, "confirm_seconds": 70}
#: An hour: what ends before that has not ended by the deadline.
_LATE = {"timeout_seconds": 120, "confirm_seconds": 3600}
#: The proof has to begin before the deadline; it and the commit then put that off themselves.
_PROVES = {"timeout_seconds": 600, "confirm_seconds": 610}

# Fills what a commit writes to as soon as the proof begins, which is told to the guard in that file.
_FULL = """#!/bin/sh
n=$(df --output=avail -B1 / | tail -1)
i=0
while [ $n -ge 512 ]; do fallocate -l $n /lab-full.$i 2>/dev/null && i=$((i + 1)) || n=$((n / 2)); done
cat /dev/zero >/lab-full.rest
mountpoint -q /boot/efi && cat /dev/zero >/boot/efi/lab-full.rest
sync
echo "tunecheck_lab: the disk is full: $(df --output=avail -B1 / | tail -1) bytes free" >/dev/kmsg
"""
_FULL_UNITS = {
    "full.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/local/sbin/lab-full\n",
    "full.path": "[Unit]\nConditionKernelCommandLine=tunecheck_lab.full\n[Path]\nPathExists=/run/tunecheck/trial.json\n"
                 "[Install]\nWantedBy=multi-user.target\n",
}


#: What the boot loader's own program says; and where /tmp is on the same disk, so that no module can begin (Debian 12),
#: the last lines of the play.
_FULL_DISK = ("No space left on device", "the disk of the box with its /tmp is full")


@dataclass(frozen=True)
class Fault:
    """``tokens`` and ``modules`` of the trial make it, ``prepare`` installs what else does, ``undo`` takes away what
    would hold up later columns. ``shown``: what the console shows where it took place; ``said``: the same of the
    play's output, one of these. ``ends``: what ends such a trial. ``attended``: whether a play takes the failed trial
    away. ``never``: what the console does not show, as something else would have ended the trial then."""

    what: str
    ends: str
    shown: str = ""
    never: str = ""
    said: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    modules: dict[str, Any] | None = None
    tags: tuple[str, ...] = _TRIAL
    seconds: dict[str, int] = field(default_factory=lambda: _SHORT)
    prepare: Callable[[Bench], object] = lambda bench: None
    undo: str = ""
    kills_play: bool = False
    attended: bool = True


def _install_full(bench: Bench) -> None:
    hanging.write(bench.box, "/usr/local/sbin/lab-full", _FULL, "0755")
    for name, text in _FULL_UNITS.items():
        hanging.write(bench.box, f"/etc/systemd/system/{name}", text)
    bench.box.ssh("ln -sf ../full.path /etc/systemd/system/multi-user.target.wants/; sync")


FAULTS = {
    # rdinit= skips the initramfs, so that the missing root file system and init really panic the kernel.
    "panic": Fault("kernel panic", "the panic restarts it", shown="Kernel panic",
                   tokens=("rdinit=/nonexistent", "init=/nonexistent"), seconds=_LATE),
    "sshd-dead": Fault("sshd dead", "the guard's deadline", shown=_GUARD,
                       tokens=("systemd.mask=ssh.service", "systemd.mask=ssh.socket")),
    "network-lost": Fault("network lost", "the guard's deadline", shown=_GUARD,
                          tokens=("modprobe.blacklist=virtio_net",)),
    "control-node-killed": Fault("control node killed after the reboot", "the guard's deadline", shown=_GUARD,
                                 kills_play=True, attended=False),
    "silent-hang": Fault("silent hang without panic", "the hardware watchdog", shown=hanging.HANGS_NOW,
                         never="Kernel panic", tokens=("tunecheck_lab.hang=1",), seconds=_LATE,
                         prepare=lambda bench: hanging.install(bench.box, watchdog=True)),
    # virtio_blk has the root disk and loads in the initramfs; with this parameter it does not load.
    "broken-initramfs": Fault("initramfs broken by a module parameter",
                              "the initramfs restarts it, as panic= says (dracut: rd.emergency=, after rd.timeout=)",
                              shown="invalid for parameter `queue_depth'", seconds=_LATE,
                              modules={"virtio_blk": {"queue_depth": "none"}}, tags=("--tags", "acs,cmdline,modules")),
    "disk-full-at-commit": Fault("disk full at commit", "the guard's deadline, which the commit put off",
                                 shown="tunecheck_lab: the disk is full", said=_FULL_DISK,
                                 tokens=("tunecheck_lab.full=1",), seconds=_PROVES, prepare=_install_full,
                                 undo="rm -f /lab-full.* /boot/efi/lab-full.*; sync", attended=False),
}


def play_fault(bench: Bench, name: str) -> dict[str, Any]:
    """Make a fault in a trial boot and look what becomes of the box, with no hand on it. MissedError where it does not
    return to what was proven, or where what its default entry boots was touched."""
    fault = FAULTS[name]
    fault.prepare(bench)
    bench.ask_for(name, *fault.tokens, modules=fault.modules, **fault.seconds)
    try:
        with Play(bench, fault.tags) as play:
            if refused := play.refused():
                return refused
            return _returns(bench, name, play)
    finally:
        if fault.undo:
            bench.box.ssh(fault.undo, check=False)


def _returns(bench: Bench, name: str, play: Play) -> dict[str, Any]:
    fault = FAULTS[name]
    if fault.kills_play:
        play.wait_for(play.rebooted, "the trial booted")
        play.kill()
    # The trial is one boot, and the way back another.
    until(lambda: play.rebooted(2) and bench.on_proven(), lambda: "the box is not back on what was proven: "
          f"{bench.box.console()[-1500:]}", seconds=SECONDS)
    seconds = round(time.monotonic() - play.requested())
    bench.may_log_in()
    found: dict[str, Any] = {"outcome": "returned", "seconds": seconds, "ended_by": fault.ends, "hand": "none",
                             "confirm_seconds": fault.seconds["confirm_seconds"]}
    console = play.new_console()
    if fault.shown not in console:
        raise MissedError(f"the fault never took place: the console lacks {fault.shown!r}: {console[-1500:]}")
    if _GUARD in console and fault.shown != _GUARD and "guard" not in fault.ends:
        raise MissedError(f"the guard's deadline ended it; expected: {fault.ends}")
    if fault.never and fault.never in console:
        raise MissedError(f"the console shows {fault.never!r}; expected that {fault.ends} ended it")
    if not fault.kills_play:
        if play.end() == 0:
            raise MissedError(f"the play of a trial that failed ended with 0: {play.tail()}")
        text = play.shown.text()
        words = next((each for each in fault.said if each in text), "")
        if fault.said and not words:
            raise MissedError(f"the play says none of {fault.said}: {play.tail()}")
        found["said"] = sentence(text, words or "trial boot failed")
    if bench.default() != play.default:
        raise MissedError("what the default entry boots has changed")
    if fault.attended and (changed := bench.changed()):
        raise MissedError(f"boot files have changed: {changed}; the play ended with: {play.tail()}")
    return found
