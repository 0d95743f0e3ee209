"""An engine in a container that somebody started, of podman or docker. Both list and inspect in the same words; what is
told is taken from lists and fields, never from a sentence."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from ..errors import Misuse, ProbeError, UsageError
from ..host import Completed, Host, Unreadable
from ..host.exists import exists
from ..model.absence import Absence
from ..util.suggestions import did_you_mean, nearest
from ..util.text import some
from .codes import Code, Reason
from .processes import began, process
from .run import Phase, Run

__all__ = ["Container", "container_of"]

_ENGINES = ("podman", "docker")
#: In seconds. An engine that did not answer in time is left alone for a while: each question holds the looks up.
_EVERY, _COMMAND, _AFTER_SILENCE = 10.0, 5.0, 30.0
_FIRST = 20.0
_LIST = ("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Names}}")
_FIELDS = '{"state": {{json .State}}, "restarts": {{json .RestartCount}}}'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
_ID = re.compile(r"[0-9a-f]{64}")
#: By the engine's State.Status, of both.
_PHASES = {
    "running": Phase.RUNS, "paused": Phase.PAUSED, "restarting": Phase.STARTING,
    **dict.fromkeys(("created", "configured", "initialized", "exited", "stopped", "stopping", "removing", "dead"),
                    Phase.ENDED),
}


class Container:
    """``engine``: podman or docker. ``name``: as it was asked for. It is followed by its id, whatever its name is by
    then; where that id is gone, another one of this name takes its place."""

    def __init__(self, host: Host, engine: str, id_: str, name: str) -> None:
        self._host, self._engine, self._id, self._name = host, engine, id_, name
        self._run = Run()
        self._next = 0.0
        self._restarts = self._counted = 0      # ``_counted``: the engine's own count of this id
        self._last = ""                         # the last run that was seen

    def run(self) -> Run:
        now = time.monotonic()
        if now >= self._next or (self._run.phase is Phase.RUNS and not self._lives()):
            self._next = now + _EVERY
            try:
                self._run = self._asked()
            except ProbeError:
                self._next = time.monotonic() + _AFTER_SILENCE
                # A paused one stays so until it is told otherwise: what answers in its place is not the engine.
                if self._run.phase is not Phase.PAUSED or not self._lives():
                    self._run = self._answer(Phase.UNREAD, Reason(Code.CONTAINER_UNREADABLE, self._engine))
        return self._run

    def _lives(self) -> bool:
        main = process(self._host, self._run.main)
        return main is not None and (not main.state or (main.state not in "ZX" and main.started == self._run.started))

    def _asked(self) -> Run:
        told = self._inspected()
        if told is None:
            known = _listed(self._host, self._engine, _COMMAND)
            if self._id not in known:
                anew = [id_ for id_, names in known.items() if self._name in names]
                if not anew:
                    return self._answer(Phase.ENDED, Reason(Code.CONTAINER_REMOVED, self._name))
                self._id, self._counted = anew[0], 0
            told = self._inspected()
        if told is None:
            raise Unreadable(self._engine, Absence.FAILED)
        state, count = told
        return self._of(state, count)

    def _inspected(self) -> tuple[dict[str, Any], int] | None:
        """None where the engine says no. Unreadable where it says nothing, or something else."""
        argv = (self._engine, "container", "inspect", "--format", _FIELDS, self._id)
        done = self._host.run(argv, _COMMAND)
        if done.returncode != 0:
            return None
        try:
            said = json.loads(done.stdout)
            state, count = said["state"], said["restarts"]
        except (ValueError, TypeError, LookupError, RecursionError):
            raise Unreadable(self._engine, Absence.NOT_UNDERSTOOD) from None
        if not isinstance(state, dict):
            raise Unreadable(self._engine, Absence.NOT_UNDERSTOOD)
        return state, count if type(count) is int and 0 <= count < 1 << 31 else 0

    def _of(self, state: dict[str, Any], count: int) -> Run:
        phase = _PHASES.get(str(state.get("Status")), Phase.UNREAD)
        if phase is Phase.UNREAD:
            return self._answer(phase, Reason(Code.CONTAINER_UNREADABLE, self._engine))
        if phase is Phase.STARTING:
            return self._answer(phase, Reason(Code.CONTAINER_STARTING, self._name))
        if phase is Phase.ENDED:
            code = state.get("ExitCode")
            if type(code) is int and 0 < code < 256:
                return self._answer(phase, Reason(Code.CONTAINER_FAILED, self._name, (("exit", float(code)),)))
            return self._answer(phase, Reason(Code.CONTAINER_STOPPED, self._name))
        pid = state.get("Pid")
        pid = pid if type(pid) is int and pid > 1 else 0
        main = process(self._host, pid)
        if main is None or not main.started:
            if pid and exists(pid):     # this user may not see it
                return self._answer(Phase.UNREAD, Reason(Code.CONTAINER_UNREADABLE, self._engine))
            self._next = 0.0            # it ended just now: the next answer tells how
            return self._answer(Phase.UNREAD, None)
        this = f"{self._id[:12]}/{main.pid}/{main.started}"
        if self._last and this != self._last:
            self._restarts += max(1, count - self._counted)
        self._last, self._counted = this, count
        return Run(phase, Reason(Code.CONTAINER_PAUSED, self._name) if phase is Phase.PAUSED else None, self._restarts,
                   self._group(main.pid), main.pid, main.started, began(main.started), this, Code.CONTAINER_RESTARTED)

    def _answer(self, phase: Phase, reason: Reason | None) -> Run:
        return Run(phase, reason, self._restarts, again=Code.CONTAINER_RESTARTED)

    def _group(self, pid: int) -> str:
        """Its control group, where it has one of its own: what was begun by `exec` is there too."""
        try:
            lines = self._host.read_bytes(f"/proc/{pid}/cgroup").decode("utf-8", "replace").splitlines()
        except ProbeError:
            return ""
        return next((line[3:] for line in lines if line.startswith("0::") and self._id in line), "")


def container_of(host: Host, name: str) -> Container:
    """Return the container of this name, or whose id begins so. UsageError where there is none, or more than one;
    ProbeError where an engine did not answer in time, and might know it."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"--container {name[:60]}: is no name or id of a container; expected one as podman ps or "
                         "docker ps shows it", Misuse.MALFORMED)
    found: list[tuple[str, str]] = []
    known: set[str] = set()
    silent: dict[str, Unreadable] = {}
    for engine in _ENGINES:
        try:
            ids = _listed(host, engine, _FIRST)
        except Unreadable as error:
            silent[engine] = error
            continue
        known.update(each for names in ids.values() for each in names)
        # As both do it: a name first, then the beginning of an id.
        these = [id_ for id_, names in ids.items() if name in names] or [id_ for id_ in ids if id_.startswith(name)]
        # docker may be another name of podman.
        found += [(engine, id_) for id_ in these if all(id_ != other for _, other in found)]
    if len(found) == 1:
        return Container(host, *found[0], name)
    if found:
        several = some([f"{id_} of {engine}" for engine, id_ in found], 4)
        raise UsageError(f"--container {name}: may be {several}; give so much of the id that it is one alone",
                         Misuse.AMBIGUOUS)
    if all(each.absence is Absence.NOT_INSTALLED for each in silent.values()) and len(silent) == len(_ENGINES):
        raise UsageError(f"--container {name}: neither podman nor docker is installed here; --pid watches a process",
                         Misuse.OTHER_MACHINE)
    asked = [engine for engine in _ENGINES if engine not in silent]
    mute = {engine: error for engine, error in silent.items() if error.absence is not Absence.NOT_INSTALLED}
    told = "".join(f"; {engine} did not answer: {error.reason}" for engine, error in mute.items())
    if not asked or any(error.absence is Absence.TIMED_OUT for error in mute.values()):
        raise ProbeError(f"--container {name}: whether it is there cannot be told{told}; --pid watches its main "
                         "process without asking anybody", Misuse.UNREADABLE)
    meant = did_you_mean(nearest(name, sorted(known)))
    told = f"{f' ({meant})' if meant else ''}{told}"
    raise UsageError(f"--container {name}: no container of this name or id is known to {' and '.join(asked)}, as "
                     f"this user sees them{told}; a rootless container belongs to the user who started it: run the "
                     "watch as that user, or give its main process with --pid", Misuse.NO_SUCH)


def _listed(host: Host, engine: str, deadline: float) -> dict[str, tuple[str, ...]]:
    """Every container of an engine, by its whole id, with its names. Unreadable where it does not say."""
    try:
        done = host.run((engine, *_LIST), deadline)
    except Unreadable as error:
        if error.absence is Absence.NOT_PRESENT:
            raise Unreadable(engine, Absence.NOT_INSTALLED) from None
        raise
    if done.returncode != 0:
        raise Unreadable(engine, Absence.FAILED.because(_last(done)))
    rows = [line.partition(" ") for line in done.stdout.splitlines()]
    return {id_: tuple(each.strip() for each in names.split(",")) for id_, _, names in rows if _ID.fullmatch(id_)}


def _last(done: Completed) -> str:
    """What it said last, for people."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    said = lines[-1][-200:] if lines else f"ended with exit code {done.returncode}"
    return "".join(char if char.isprintable() else "?" for char in said)
