"""Which tasks of a play have to do with a check, and what their dry run says about it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tunecheck.errors import Misuse, UsageError
from tunecheck.spec.programs import beside
from tunecheck.util.at_first_use import dataclass

from .collect.protocol import one_line
from .model import Claim

__all__ = ["Done", "claim", "roles_by_tag"]

_TASK = re.compile(r"^\s+(?:(?P<role>[\w.]+) : )?(?P<task>.*?)\tTAGS: \[(?P<tags>[^\]]*)\]$")
#: These look at nothing on the box: that they change nothing says nothing.
_IDLE = frozenset({
    "add_host", "assert", "debug", "fail", "group_by", "import_role", "import_tasks", "include_role", "include_tasks",
    "include_vars", "meta", "pause", "set_fact", "set_stats", "validate_argument_spec", "wait_for_connection"})
#: Tasks that run whatever was asked for, and the installation of the checker, are about no check.
_COMMON = frozenset({"always", "install"})
_SECONDS = 120


@dataclass(frozen=True)
class Done:
    """One task on the host. ``how``: ok, changed, skipped, failed, unreachable."""

    role: str
    task: str
    action: str
    how: str
    reason: str = ""

    @property
    def name(self) -> str:
        task = self.task.removeprefix(f"{self.role} : ")
        return f"{self.role} : {task}" if self.role else task


def roles_by_tag(play: str, inventory: str, env: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Tag -> names of tasks ("role : task") and of roles (for tasks that a role takes in while it runs). Asks Ansible,
    and no host. UsageError with Ansible's words where it cannot read the play."""
    config = next((folder / "ansible.cfg" for folder in Path(play).parents if (folder / "ansible.cfg").is_file()), None)
    env = {**env, **({"ANSIBLE_CONFIG": str(config)} if config else {})}
    try:
        run = subprocess.run([beside("ansible-playbook"), "-i", inventory, play, "--list-tasks"], env=env,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UsageError(f"Ansible did not list the tasks of {play} within {_SECONDS} s", Misuse.TIMED_OUT) from None
    if run.returncode:
        raise UsageError(f"Ansible cannot read {play}: {one_line(run.stderr.decode(errors='replace'))}",
                         Misuse.UNREADABLE)
    found: dict[str, set[str]] = {}
    common: set[str] = set()
    for line in run.stdout.decode(errors="replace").splitlines():
        task = _TASK.match(line)
        if task is None:
            continue
        tags = {tag.strip() for tag in task["tags"].split(",")} - {""}
        names = {f"{task['role']} : {task['task']}" if task["role"] else task["task"]}
        if tags & _COMMON:
            common |= names
        else:
            for tag in tags:
                found.setdefault(tag, set()).update(names | ({f"{task['role']} : *"} if task["role"] else set()))
    return {tag: frozenset(names - common) for tag, names in found.items()}


def claim(host: str, check: str, tags: Collection[str], tagged: Mapping[str, Collection[str]], done: Iterable[Done],
          trouble: str = "", late: bool = False) -> Claim:
    """What the tasks of the check's tags say together. Only where at least one looked at the box, all that did would
    change nothing, and the run came to its end, it is "same"."""
    about = {name for tag in tags for name in tagged.get(tag, ())}
    listed = {name for names in tagged.values() for name in names}
    done = list(done)
    mine = [task for task in done if task.name in about or (
        task.role and task.name not in listed and f"{task.role} : *" in about)]
    changed = tuple(task.name for task in mine if task.how == "changed")
    if changed:
        return Claim(host, check, "change", changed)
    if late:
        return Claim(host, check, "timeout", reason="the dry run did not end before its deadline")
    failed = next((task for task in done if task.how in ("failed", "unreachable")), None)
    if failed is not None or trouble:
        return Claim(host, check, "failed", (failed.name,) if failed else (),
                     failed.reason or failed.how if failed else trouble)
    looked = tuple(dict.fromkeys(task.name for task in mine
                                 if task.how == "ok" and task.action.rpartition(".")[2] not in _IDLE))
    if looked:
        return Claim(host, check, "same", looked)
    return Claim(host, check, "silent", reason="every task of it was skipped in the dry run")
