"""What systemd says of the unit that serves."""

from __future__ import annotations

import time

from ..errors import ProbeError
from ..host import Host
from .codes import Code, Reason
from .processes import process
from .run import Phase, Run

__all__ = ["Unit"]

#: In seconds.
_EVERY, _COMMAND = 5.0, 3.0
_SHOW = ("systemctl", "show", "--property=ActiveState,LoadState,NRestarts,ControlGroup,MainPID,"
         "ActiveEnterTimestampMonotonic,InvocationID", "--")
#: By systemd's ActiveState.
_PHASES = {
    "active": (Phase.RUNS, None),
    "activating": (Phase.STARTING, Code.UNIT_STARTING), "reloading": (Phase.STARTING, Code.UNIT_STARTING),
    "refreshing": (Phase.STARTING, Code.UNIT_STARTING),
    "inactive": (Phase.ENDED, Code.UNIT_STOPPED), "deactivating": (Phase.ENDED, Code.UNIT_STOPPED),
    "failed": (Phase.ENDED, Code.UNIT_FAILED),
}


class Unit:
    """``name``: as tunecheck-inference.service."""

    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name
        self._run = Run()
        self._next = 0.0

    def run(self) -> Run:
        # The end of its process is the end of the unit, which is told at once and not up to 5 s later.
        if (now := time.monotonic()) >= self._next or self._gone():
            self._next = now + _EVERY
            self._run = self._asked()
        return self._run

    def _gone(self) -> bool:
        run = self._run
        if run.phase is not Phase.RUNS or not run.main:
            return False
        main = process(self._host, run.main)
        return main is None or main.state in ("Z", "X")

    def _asked(self) -> Run:
        try:
            done = self._host.run((*_SHOW, self._name), _COMMAND)
        except ProbeError:
            return Run(Phase.UNREAD, Reason(Code.UNIT_UNREADABLE))
        told = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
        numbers = {name: int(text) for name, text in told.items() if text.isascii() and text.isdigit()}
        phase, code = (Phase.MISSING, Code.UNIT_UNKNOWN) if told.get("LoadState") == "not-found" else _PHASES.get(
            told.get("ActiveState", ""), (Phase.UNREAD, Code.UNIT_UNREADABLE))
        entered = numbers.get("ActiveEnterTimestampMonotonic", 0)
        return Run(phase, Reason(code) if code else None, numbers.get("NRestarts"), told.get("ControlGroup", ""),
                   numbers.get("MainPID", 0), entered=entered / 1e6 if entered else None,
                   invocation=told.get("InvocationID", ""))
