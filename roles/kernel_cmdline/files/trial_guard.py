#!/usr/bin/python3
"""End a trial boot that nobody commits: at its deadline this box reboots into the old boot entry. Run by
tunecheck-trial.service, in a trial boot only.

It needs neither network nor ssh nor the control node. The deadline counts from the start of this kernel and comes from
the command line of the trial entry (tunecheck.confirm=, seconds). A commit is told in /run/tunecheck/trial.json, which
a power cut forgets: {"confirmed": true}, and before it {"hold_until": seconds of the monotonic clock} while the commit
is being written. Standard library only, and no import of what the box may lack; nothing here waits for a disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CMDLINE = "/proc/cmdline"
STATE = "/run/tunecheck/trial.json"
ENDED = "/var/lib/tunecheck/trial-ended.json"
#: Where the command line says no number: what box_spec.boot has by default.
DEFAULT_SECONDS = 1200
LONGEST_SECONDS = 14400
#: A commit may put the deadline off, once and by this much at most: a commit that hangs ends like any other trial.
LONGEST_HOLD_SECONDS = 900
LOOK_EVERY_SECONDS = 2
RECORD_SECONDS = 10


def main() -> int:
    trial, seconds = asked(read(CMDLINE))
    if not trial:
        return 0
    print("trial boot %s: this box reboots into the old boot entry %d s after its start unless it is committed"
          % (trial, seconds))
    sys.stdout.flush()
    while True:
        confirmed, hold = told(read(STATE))
        if confirmed:
            print("trial boot %s is committed" % trial)
            return 0
        left = deadline(seconds, hold) - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(left, LOOK_EVERY_SECONDS))
    text = "trial boot %s was not committed within %d s; this box returns to its old boot entry" % (trial, seconds)
    print(text)
    sys.stdout.flush()
    in_bounds(lambda: note(text, trial, seconds), RECORD_SECONDS)
    # argv[0] begins with "@": see tunecheck-trial.service. The same process goes on, so nothing has to be started.
    with contextlib.suppress(OSError):
        os.execv(sys.executable or "/usr/bin/python3",
                 ["@tunecheck-trial", "-I", os.path.join(HERE, "bounded_reboot.py")])
    return 1    # systemd starts it again, three times, and then reboots by force


def asked(cmdline: str) -> tuple[str, int]:
    """(trial id, seconds) of this boot; the id is empty where it is no trial."""
    trial, seconds = "", DEFAULT_SECONDS
    for token in cmdline.split():
        name, _, value = token.partition("=")
        if name == "tunecheck.trial" and re.fullmatch(r"[0-9A-Za-z]{1,64}", value):
            trial = value
        elif name == "tunecheck.confirm" and re.fullmatch(r"[0-9]{1,6}", value):
            seconds = max(1, min(int(value), LONGEST_SECONDS))
    return trial, seconds


def told(text: str) -> tuple[bool, float]:
    """(committed, moment until which the deadline is put off) out of STATE; (False, 0) where it says nothing clear."""
    try:
        document = json.loads(text)
        return document.get("confirmed") is True, float(document.get("hold_until") or 0)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False, 0.0


def deadline(seconds: int, hold: float) -> float:
    """When the trial ends, on the monotonic clock, which begins with the kernel."""
    return max(float(seconds), min(hold, float(seconds + LONGEST_HOLD_SECONDS)))


def note(text: str, trial: str, seconds: int) -> None:
    """Leave what happened for the next boot, and on the console."""
    with contextlib.suppress(OSError):
        log = os.open("/dev/kmsg", os.O_WRONLY | os.O_NONBLOCK)
        os.write(log, ("<4>tunecheck: %s\n" % text).encode())
        os.close(log)
    document = {"schema": "tunecheck/trial-ended/1", "trial_id": trial, "reason": "not_confirmed",
                "confirm_seconds": seconds, "boot_id": read("/proc/sys/kernel/random/boot_id").strip(),
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    if '"%s"' % trial in read(ENDED):
        return      # the play has noted already that it is not proven
    folder = os.path.dirname(ENDED)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    temporary = ENDED + ".new"
    with open(temporary, "w", encoding="ascii") as handle:
        handle.write(json.dumps(document, indent=2, sort_keys=True) + "\n")
        handle.flush()
        os.fsync(handle.fileno())
    os.rename(temporary, ENDED)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def in_bounds(work, seconds: float) -> None:
    """Do ``work`` in a child and go on after ``seconds`` whether or not it ended: a dead disk holds it for ever."""
    try:
        child = os.fork()
    except OSError:
        return
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(child, os.WNOHANG)[0]:
                return
        time.sleep(0.05)
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)


def read(path: str) -> str:
    """At most 64 KiB of a file; empty where it cannot be read."""
    try:
        with open(path, "rb") as handle:
            return handle.read(1 << 16).decode("utf-8", "replace")
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
