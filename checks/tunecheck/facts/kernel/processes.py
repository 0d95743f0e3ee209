"""Tasks that hang in the NVIDIA driver. One ps, then a look at the few in uninterruptible sleep.

Such a sleep may also last a moment only: what seems to hang is looked at again half a second later."""

from __future__ import annotations

from ...host import Host, Unreadable
from ...host.prefetch import PS
from ...model.fact import Absence, Fact, absent, known, parsed
from ...parsers.kernel import tasks as formats
from ...parsers.kernel.tasks import Task
from ...util.at_first_use import dataclass
from ..file_text import text

__all__ = ["Processes", "Stuck", "processes"]

_MOST = 64
_AGAIN = ("sleep", "0.5")


@dataclass(frozen=True)
class Stuck:
    """A task in uninterruptible sleep at both looks. ``in_driver`` is None where neither its stack nor its wait channel
    can be read; ``where`` is the innermost function, if known."""

    task: Task
    in_driver: bool | None
    where: str
    kill_pending: bool


@dataclass(frozen=True)
class Processes:
    """What a look at all tasks found. ``stuck`` are tasks that hang in the driver, or where nobody knows where.
    ``zombies`` are pids of dead processes not yet collected. ``complete``: this user sees every process, and every task
    was looked at."""

    stuck: tuple[Stuck, ...]
    zombies: tuple[int, ...]
    complete: bool


def processes(host: Host, wanted: bool) -> Fact[Processes]:
    """Look at every task of the host. Not ``wanted``: nothing is read."""
    source = " ".join(PS)
    if not wanted:
        return absent(source, Absence.NOT_ASKED)
    try:
        done = host.run(PS, 10.0)
    except Unreadable as error:
        return absent("ps", Absence.NOT_INSTALLED if error.absence is Absence.NOT_PRESENT else error.reason)
    if done.returncode != 0:
        return absent("ps", Absence.FAILED.because((done.stderr.strip().splitlines() or ["failed"])[0][:200]))
    stuck, dead, init = formats.parse_ps(done.stdout)
    # With MAX_BYTES of output its middle is left out: then not everything was seen.
    complete = init and len(stuck) <= _MOST and len(done.stdout) < 12 * 1024 * 1024
    suspects = [(task, *_where(host, task)) for task in stuck[:_MOST]]
    suspects = [each for each in suspects if each[1] is not False]
    if suspects:
        try:
            host.run(_AGAIN, 5.0)
        except Unreadable:
            complete = False
    return known(Processes(tuple(found for each in suspects if (found := _still(host, *each))),
                           tuple(task.pid for task in dead), complete), source)


def _folder(task: Task) -> str:
    return f"/proc/{task.pid}/task/{task.thread}"


def _where(host: Host, task: Task) -> tuple[bool | None, str]:
    """Return whether the task is in the driver (None: nobody knows), and its innermost function ("": not known)."""
    stack, channel = text(host, f"{_folder(task)}/stack"), text(host, f"{_folder(task)}/wchan")
    if stack.missing and channel.missing:
        return False, ""        # it has ended meanwhile
    where = channel.value if channel.value not in (None, "", "0") else ""
    lines = (stack.value or "").splitlines()
    where = (where or (lines[0].rpartition("]")[2].strip() if lines else ""))[:80] if where or lines else ""
    if formats.looks_like_driver(task.name) or formats.in_driver(f"{stack.value or ''}\n{where}"):
        return True, where
    # The name of a function alone (rwsem_down_write_slowpath) does not say who sleeps in it.
    return (False if stack.value or task.kernel else None), where


def _still(host: Host, task: Task, in_driver: bool | None, where: str) -> Stuck | None:
    status = text(host, f"{_folder(task)}/status")
    if parsed(status, formats.state).value != "D":
        return None
    return Stuck(task, in_driver, where, formats.kill_pending(status.value or ""))
