"""A second witness: what would our roles change, on hosts whose checks fail? `ansible-playbook --check --diff` says.

    claims = ask(inventory, targets(report), playbook) -> JudgeOptions(claims=claims) -> report

Where the roles would change nothing and the check fails, one of the two is wrong. Nothing is changed on a host.
"""

from __future__ import annotations

import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from importlib import import_module
from pathlib import Path
from typing import Any

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.at_first_use import dataclass

from .check_diff_tasks import Done, claim, roles_by_tag
from .collect import processes
from .collect.inventory import absolute
from .collect.programs import environment
from .collect.protocol import one_line
from .fleet_report import FleetReport
from .model import Claim, Problem

__all__ = ["PLAYBOOK", "ask", "check_play", "targets"]

PLAYBOOK = "playbooks/provision.yml"
#: A dry run costs the box and the control node seconds: a sample of each cause is enough to accuse a role.
_HOSTS, _PER_CAUSE = 20, 2
_RESULTS = {"runner_on_ok": "ok", "runner_on_skipped": "skipped", "runner_on_failed": "failed",
            "runner_on_unreachable": "unreachable"}


def targets(report: FleetReport, most: int = _HOSTS, per_cause: int = _PER_CAUSE) -> dict[str, tuple[Problem, ...]]:
    """Host -> its failing checks that a role takes care of: of each cause ``per_cause`` hosts, ``most`` in all."""
    chosen: dict[str, None] = {}
    answered = {row.host for row in report.hosts if row.status in ("ok", "partial")}
    for cause in report.causes:
        if cause.authority == "desired" and cause.outcome == "fail" and cause.state != "resolved":
            # Those that are asked anyway come first.
            for host in sorted(answered.intersection(cause.hosts), key=lambda host: (host not in chosen, host)
                               )[:per_cause]:
                if len(chosen) < most:
                    chosen.setdefault(host)
    found = {row.host: tuple(problem for problem in row.problems if problem.outcome == "fail" and problem.tags)
             for row in report.hosts if row.host in chosen}
    return {host: problems for host, problems in found.items() if problems}


def check_play(playbook: str | Path = PLAYBOOK) -> Path:
    """The play's place. UsageError where it is not there; to be found out before any box is asked."""
    play = Path(playbook).absolute()
    if not play.is_file():
        raise UsageError(f"no play {playbook} to compare with: run it in the folder that has site.yml",
                         Misuse.NOT_THERE)
    return play


def ask(inventory: str | Path, failing: Mapping[str, Sequence[Problem]], playbook: str | Path = PLAYBOOK, *,
        deadline: float = 300.0, workers: int = 2, extra: Mapping[str, Any] | None = None) -> tuple[Claim, ...]:
    """One claim per host and failing check. ``deadline`` in seconds is each host's own; ``extra`` are variables for the
    play. UsageError where there is no such play or inventory, or Ansible does not read them."""
    play, hosts = check_play(playbook), absolute(str(inventory))
    if not failing:
        return ()
    with tempfile.TemporaryDirectory(prefix="tunecheck-witness-") as folder:
        tagged = roles_by_tag(str(play), hosts, environment(folder, {}))
    claims: list[Claim] = []
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        asked = [(host, problems, pool.submit(_Dry(hosts, play, host, problems, deadline, extra or {}).run))
                 for host, problems in sorted(failing.items())]
        for host, problems, future in asked:
            done = future.result()
            # Several findings of one check are one question.
            for check in sorted({problem.check for problem in problems}):
                tags = {tag for problem in problems if problem.check == check for tag in problem.tags}
                claims.append(claim(host, check, tags, tagged, done.tasks, done.trouble, done.late))
    return tuple(claims)


@dataclass
class _Result:
    tasks: list[Done] = field(default_factory=list)
    trouble: str = ""
    late: bool = False


class _Dry:
    """One host's dry run: a run of its own, so that one that hangs or fails stops no other."""

    def __init__(self, inventory: str, play: Path, host: str, problems: Collection[Problem], deadline: float,
                 extra: Mapping[str, Any]) -> None:
        self._host, self._deadline = host, max(1.0, deadline)
        self._arguments = dict(
            playbook=str(play), inventory=inventory, limit=_exactly(host), extravars={**extra},
            tags=",".join(sorted({tag for problem in problems for tag in problem.tags})), cmdline="--check --diff")
        self._root = _root(play)
        self._queue: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._stopped = False

    def run(self) -> _Result:
        folder = tempfile.mkdtemp(prefix="tunecheck-witness-")      # mode 0700
        try:
            return self._run(folder)
        finally:
            self._stopped = True
            processes.end(folder)
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, folder: str) -> _Result:
        until = time.monotonic() + self._deadline
        runner = import_module("ansible_runner.interface").init_runner(
            private_data_dir=folder, ident="witness", project_dir=str(self._root), event_handler=self._take,
            cancel_callback=lambda: self._stopped, quiet=True, suppress_env_files=True,
            timeout=int(self._deadline) + 5, **self._arguments)
        # ansible-runner takes this process's whole environment along, and writes it to a file.
        runner.config.env = {
            **{name: value for name, value in runner.config.env.items()
               if name not in os.environ or name.startswith(("AWX_", "RUNNER_"))},
            **environment(folder, {processes.MARK: folder}), **_config(self._root),
            **{name: runner.config.env[name] for name in ("ANSIBLE_CALLBACK_PLUGINS", "ANSIBLE_STDOUT_CALLBACK")
               if name in runner.config.env}}
        thread = threading.Thread(target=runner.run, name="ansible-runner", daemon=True)
        thread.start()
        thread.join(until - time.monotonic())
        late = thread.is_alive()
        if late:
            self._stopped = True
            processes.end(folder)
            thread.join(10)
        found = _Result(list(_drained(self._queue)), late=late)
        if not late and not found.tasks:
            found.trouble = _last_words(folder) or f"ansible-playbook ended with {runner.rc}"
        return found

    def _take(self, data: dict[str, Any]) -> bool:
        """In the runner's thread. An exception in here would leave it spinning for ever; False keeps no file."""
        try:
            found = _done(data, self._host)
            if found is not None:
                self._queue.put(found)
        except Exception:       # of a shape that no Ansible sends: that task has said nothing
            pass
        return False


def _done(data: Mapping[str, Any], host: str) -> Done | None:
    about = data.get("event_data")
    how = _RESULTS.get(str(data.get("event")))
    if how is None or not isinstance(about, Mapping) or about.get("host") != host:
        return None
    said = about.get("res")
    said = said if isinstance(said, Mapping) else {}
    if how == "failed" and about.get("ignore_errors"):
        how = "skipped"
    changed = how == "ok" and said.get("changed") is True
    return Done(role=str(about.get("role") or ""), task=str(about.get("task") or "")[:200],
                action=str(about.get("task_action") or ""), how="changed" if changed else how,
                reason=one_line(str(said.get("msg") or ""))[:300] if how in ("failed", "unreachable") else "")


def _drained(answers: queue.SimpleQueue[Done]) -> Iterator[Done]:
    while not answers.empty():
        yield answers.get()


def _exactly(host: str) -> str:
    """A limit that no name can turn into a pattern: the host out of a report is one of the inventory's own."""
    if not host or host[0] in "!&@~" or any(char in host for char in ",:*?[]"):
        raise UsageError(f"{host[:80]!r} cannot be used as Ansible's --limit", Misuse.MALFORMED)
    return host


def _root(play: Path) -> Path:
    """The folder whose ansible.cfg is meant for the play."""
    return next((folder for folder in play.parents if (folder / "ansible.cfg").is_file()), play.parent)


def _config(root: Path) -> dict[str, str]:
    file = root / "ansible.cfg"
    return {"ANSIBLE_CONFIG": str(file)} if file.is_file() else {}


def _last_words(folder: str) -> str:
    try:
        said = Path(folder, "artifacts/witness/stdout").read_bytes()[-4000:].decode(errors="replace")
    except OSError:
        return ""
    return one_line(said)
