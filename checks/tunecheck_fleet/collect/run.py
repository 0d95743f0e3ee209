"""One audit's questions: a run of the play, whose events become answers one by one."""

from __future__ import annotations

import os
import queue
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tunecheck.errors import Misuse, UsageError
from tunecheck_fleet.model import Answer

from . import kex, processes, run_dirs
from .events import Event, answer_of, event_of
from .inventory import absolute, asked_hosts, limit_of
from .options import Collected, Options
from .programs import environment
from .progress import Progress
from .project import lay_out
from .protocol import one_line
from .ship import MOST_SHIPPED, with_snapshot

__all__ = ["collect"]

#: Between two looks at the clock; answers themselves are taken at once.
_TICK = 0.5


def collect(inventory: str, limit: str | None, options: Options, sink: Callable[[Answer], None],
            asked: tuple[tuple[str, str], ...] | None = None) -> Collected:
    """Ask every host of ``inventory`` under Ansible's ``limit``; give each answer to ``sink`` when it comes, in this
    thread. Each host asked is given exactly once, unless Ctrl-C ends it. UsageError where the inventory or the limit
    names no host, or Ansible cannot run. What ``sink`` raises ends the audit and goes on. ``asked``: what asked_hosts
    said of the same inventory and limit, where that is known: to read them costs a second."""
    began = time.monotonic()
    run_dirs.sweep()
    if asked is None:
        asked = asked_hosts(inventory, limit)
    if options.only is not None:
        asked = tuple(pair for pair in asked if pair[0] in options.only)
        if not asked:
            raise UsageError("none of the hosts that were left is in the inventory any more", Misuse.OVER)
    audit = _Audit(absolute(inventory), limit_of(limit), options, dict(asked), sink)
    interrupted = False
    try:
        audit.ask()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        audit.progress.done()
    return Collected(asked, interrupted, time.monotonic() - began)


class _Audit:
    def __init__(self, inventory: str, limit: str | None, options: Options, left: dict[str, str],
                 sink: Callable[[Answer], None]) -> None:
        self._inventory, self._limit, self._options, self._sink = inventory, limit, options, sink
        self._left = left       # host -> group, of those that gave no answer yet
        self._missing: set[str] = set()     # of those the ones without a tunecheck, to be asked a second time
        self._until = time.monotonic() + options.until(len(left))
        self.progress = Progress(len(left), doing=options.doing)

    def ask(self) -> None:
        """The installed tunecheck of every box; then those that have none, with a collector sent along."""
        self._asked(tuple(self._left), ship=False)
        if self._missing:
            if self._options.overall is None:
                self._until = time.monotonic() + self._options.until(len(self._missing))
            self._asked(tuple(sorted(self._missing)), ship=True)

    def _asked(self, hosts: tuple[str, ...], ship: bool) -> None:
        run = _Run(self._inventory, self._limit, self._options, hosts, self._until, ship)
        try:
            for event in run.events():
                group = self._left.get(event.host)
                if group is None:       # not asked for, or answered before
                    continue
                if ship:
                    self._give(with_snapshot(answer_of(event, group, run.nonce, MOST_SHIPPED)))
                    continue
                answer = answer_of(event, group, run.nonce)
                if answer.status == "missing" and self._options.ship:
                    self._missing.add(event.host)
                else:
                    self._give(answer)
            late = time.monotonic() > self._until
            why = "no answer before the audit's own deadline" if late else run.why()
            if not late and not run.began and not ship:
                raise UsageError(f"Ansible asked no host; it says: {why}", Misuse.EMPTY)
        finally:
            run.close()
        for host in hosts:
            if host in self._left and (ship or host not in self._missing):
                self._give(Answer(host, self._left[host], "timeout" if late else "unreachable", reason=why))

    def _give(self, answer: Answer) -> None:
        self._sink(answer)
        del self._left[answer.host]
        self.progress.took(answer)


class _Run:
    """ansible-runner, in a thread and a folder of its own."""

    def __init__(self, inventory: str, limit: str | None, options: Options, hosts: tuple[str, ...],
                 until: float, ship: bool) -> None:
        self.nonce = secrets.token_hex(8)
        self.began = False
        self._until = until
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._stopped = False
        self._folder = run_dirs.folder()
        try:
            lay_out(Path(self._folder), self.nonce, options, hosts, ship)
            limit = f"@{self._folder}/hosts" if ship or options.only is not None else limit
            self._runner = self._made(inventory, limit, options, len(hosts), ship)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._thread = threading.Thread(target=self._runner.run, name="ansible-runner", daemon=True)
        self._thread.start()

    def _made(self, inventory: str, limit: str | None, options: Options, hosts: int, ship: bool) -> Any:
        fewest, most = options.turns(hosts)
        env = environment(self._folder, {
            processes.MARK: self._folder, "TUNECHECK_SECONDS": f"{options.deadline:.0f}",
            "TUNECHECK_CONNECT": f"{options.connect:.0f}", "TUNECHECK_KIB": str(options.max_kib * (4 if ship else 1)),
            **({"TUNECHECK_SEND": f"{self._folder}/collector"} if ship else {}),
            **({"TUNECHECK_FEWEST": str(fewest)} if fewest < most else {}),
            "ANSIBLE_STDOUT_CALLBACK": "tunecheck_answers",
            "TUNECHECK_KEX": kex.offered(options.ssh_kex, kex.client()),
        })
        # What run_async does; in two steps, because it takes this process's whole environment along and writes it to
        # a file. ``settings`` would be discarded with suppress_env_files, so the deadline is an argument.
        runner = import_module("ansible_runner.interface").init_runner(
            private_data_dir=self._folder, ident="audit", playbook="play.yml", inventory=inventory, limit=limit,
            forks=most, event_handler=self._take, cancel_callback=lambda: self._stopped, quiet=True,
            suppress_env_files=True, timeout=max(1, int(self._until - time.monotonic())) + 5)
        # What ansible-runner adds is kept, but for its callback (ours is made of it), for the operator's own, which it
        # would write through, and for HOST_KEY_CHECKING=False: whether a box has to prove that it is the one stays a
        # matter of the ansible.cfg.
        added = {name: value for name, value in runner.config.env.items() if os.environ.get(name) != value}
        for name in ("ANSIBLE_STDOUT_CALLBACK", "ORIGINAL_STDOUT_CALLBACK", "ANSIBLE_HOST_KEY_CHECKING"):
            added.pop(name, None)
        theirs = runner.config.env["ANSIBLE_CALLBACK_PLUGINS"]    # the operator's too; the first of a name wins
        added["ANSIBLE_CALLBACK_PLUGINS"] = f"{self._folder}/callbacks{os.pathsep}{theirs}"
        runner.config.env = env | added
        return runner

    def _take(self, data: dict[str, Any]) -> bool:
        """In the runner's thread. An exception in here would leave it spinning for ever; False keeps no file."""
        try:
            event = event_of(data)
            if event is not None:
                self._queue.put(event)
        except Exception:       # of a shape that no Ansible sends: the host counts as one without an answer
            pass
        return False

    def events(self) -> Iterator[Event]:
        """Each as it comes, until the run ends or is late."""
        while True:
            ended = not self._thread.is_alive()
            try:
                event = self._queue.get(timeout=0 if ended else _TICK)
                self.began = True
                yield event
            except queue.Empty:
                if ended or time.monotonic() > self._until:
                    return

    def why(self) -> str:
        """Ansible's last words."""
        try:
            said = Path(self._folder, "artifacts/audit/stdout").read_bytes()[-4000:].decode(errors="replace")
        except OSError:
            said = ""
        return one_line(said) or f"ansible-playbook ended with {self._runner.rc}"

    def close(self) -> None:
        """Nothing of it is left, running or on disk."""
        self._stopped = True
        if self._thread.is_alive():
            # Give one that is ending anyway the time for it.
            self._thread.join(0.5 if time.monotonic() < self._until else 0)
        processes.end(self._folder)
        self._thread.join(10)
        shutil.rmtree(self._folder, ignore_errors=True)
