"""The served unit, by systemctl: told, stopped and started, and never waited for without a bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import ProbeError
from ..host import Host

__all__ = ["Served", "UnitNow", "seconds_of"]

_COMMAND = 10.0
_EVERY = 0.5
_PROPERTIES = ("ActiveState", "SubState", "InvocationID", "StatusText", "Result", "Job", "TimeoutStartUSec",
               "LoadState", "ControlGroup")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


@dataclass(frozen=True)
class UnitNow:
    """``known``: systemd answered. ``job``: something is queued or under way. ``again``: systemd will start it once
    more by itself. ``start_seconds``: so long may one start take; None: no bound is set."""

    known: bool = False
    active: str = ""
    invocation: str = ""
    status: str = ""
    result: str = ""
    job: bool = False
    again: bool = False
    cgroup: str = ""
    start_seconds: float | None = None

    @property
    def down(self) -> bool:
        """Neither runs nor will."""
        return self.known and self.active in ("inactive", "failed") and not self.job and not self.again


class Served:
    """``alive`` is called while something is waited for."""

    def __init__(self, host: Host, name: str, alive: Callable[[], None] = lambda: None) -> None:
        self._host, self.name, self._alive = host, name, alive

    def now(self) -> UnitNow:
        """As systemd tells it; ``known`` false where it does not."""
        try:
            done = self._host.run(("systemctl", "show", f"--property={','.join(_PROPERTIES)}", "--", self.name),
                                  _COMMAND)
        except ProbeError:
            return UnitNow()
        told = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
        if "ActiveState" not in told:
            return UnitNow()
        return UnitNow(True, told["ActiveState"], told.get("InvocationID", ""), told.get("StatusText", ""),
                       told.get("Result", ""), told.get("Job", "") not in ("", "0"),
                       told.get("SubState", "").startswith("auto-restart"), told.get("ControlGroup", ""),
                       seconds_of(told.get("TimeoutStartUSec", "")))

    def stop(self, grace: float, most: float) -> bool:
        """Whether it is down. What does not end within ``grace`` seconds is killed: an engine that gives no token
        seldom hears SIGTERM. ``most``: when to give up; a process that hangs in the driver cannot be killed."""
        self._ask("stop", "--no-block")
        begun, killed = time.monotonic(), False
        while time.monotonic() - begun < most:
            found = self.now()
            if found.known and found.active in ("inactive", "failed") and not found.job:
                return True
            if not killed and time.monotonic() - begun >= grace:
                killed = True
                self._ask("kill", "--signal=SIGKILL")
            self.wait(_EVERY)
        return False

    def start(self) -> None:
        """Have it started. The limits of its unit count starts that failed by themselves; this one has its own."""
        self._ask("reset-failed")
        self._ask("start", "--no-block")

    def settled(self, most: float) -> UnitNow:
        """Wait until it serves or is down, at most so many seconds. "active" is after the acceptance."""
        begun, found = time.monotonic(), self.now()
        while time.monotonic() - begun < most and (not found.known or not (found.active == "active" or found.down)):
            self.wait(_EVERY)
            found = self.now()
        return found

    def wait(self, seconds: float) -> None:
        """Sleep, and be alive."""
        self._alive()
        time.sleep(seconds)

    def _ask(self, *words: str) -> None:
        try:
            self._host.run(("systemctl", *words, "--", self.name), _COMMAND)
        except ProbeError:
            return      # what comes of it is looked at, not believed


def seconds_of(text: str) -> float | None:
    """A time span as systemd prints it: "15min", "1h 30min", "500ms". None for "infinity" and for what is none."""
    total = 0.0
    if not text:
        return None
    for part in text.split():
        number = part.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = part[len(number):]
        try:
            total += float(number) * _UNITS[unit]
        except (ValueError, KeyError):
            return None
    return total
