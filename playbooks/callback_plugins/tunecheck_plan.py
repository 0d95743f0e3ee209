"""Callback: at the end of --check what the run would do to each box; of a box that Ansible could not work on, one
sentence with the next step. It only listens: nothing is asked of a box for it. What it says is in playbooks/plans."""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
import textwrap

from ansible import constants, context
from ansible.errors import AnsibleError
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: tunecheck_plan
type: aggregate
short_description: What a run with --check would do, and the next step where a box cannot be worked on
description: [Prints a few lines for each host at the end of a play.]
requirements: [enabled in ansible.cfg]
"""

_PLANS, _PACKAGE = os.path.join(os.path.dirname(__file__), "..", "plans"), "tunecheck_plans"


def _plans():
    """Make playbooks/plans a package that can be imported. Ansible takes every file beside this one for a plugin."""
    if _PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(_PACKAGE, os.path.join(_PLANS, "__init__.py"),
                                                      submodule_search_locations=[_PLANS])
        sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[_PACKAGE])


_plans()
from tunecheck_plans import command_line, other_plays, provisioning, undoing, variables
from tunecheck_plans.parts import part, some, whole
from tunecheck_plans.seen import Box, locks

#: The playbooks that make a box what its variables say.
_DECLARED_FOR = ("site.yml", "provision.yml", "handoff.yml")
_ROLLBACK = "rollback.yml"
#: Tags of the playbooks' tasks; a test compares them.
_TAGS = {"acs", "cmdline", "driver", "governor", "gpu", "inference", "install", "modules", "preflight", "runtime",
         "snapshot"}
_OF_ANSIBLE = {"all", "always", "never", "tagged", "untagged"}
#: In front of the next step where a box was lost in the role that reboots it.
_REBOOTING = ("it was lost around its reboot. A trial boot that is not committed within box_spec.boot.confirm_seconds "
              "returns to its old entry by itself: wait for the box, then run the same command again. Else: ")
#: So many files that belong to no host and no group are named in a plan.
_UNREAD = 6
_GO_ON = ("  next: run the same command again on this control node. It takes over its own lock at once and goes on; "
          "what is done changes nothing. A trial boot that nobody commits returns to its old entry by itself. More: "
          "docs/rollout.md")


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "tunecheck_plan"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self._boxes, self._variables, self._asked = {}, {}, []
        self._first, self._mistyped, self._file = True, [], "site.yml"
        self._unfinished, self._unread = "", []
        self._process, self._ended = os.getpid(), False
        self._waiting = {}      # name of a host -> the task that it has not answered

    @property
    def _play(self):
        return os.path.basename(self._file)

    def v2_playbook_on_start(self, playbook):
        atexit.register(self._cut_off)
        self._file = os.path.relpath(playbook._file_name)
        if self._play in _DECLARED_FOR:
            self._mistyped = sorted(command_line.given("tags", "skip_tags") - _TAGS - _OF_ANSIBLE)
            for tag in self._mistyped:
                near = part("tunecheck", "util", "suggestions").nearest(tag, sorted(_TAGS))
                self._display.warning(f"no task has the tag {tag}; " + (f"did you mean {near[0]}?" if near else
                                      f"known are {', '.join(sorted(_TAGS))}"))

    def v2_playbook_on_play_start(self, play):
        manager = play.get_variable_manager()
        self._variables = {"manager": manager, "play": play}
        if not manager._inventory.get_hosts():
            # Ansible would do nothing, and end with 0.
            given = [each for each in command_line.inventories() if each not in constants.DEFAULT_HOST_LIST]
            self._display.error("there is no host, so nothing was done: " + (
                f"{' and '.join(given)} holds none; expected all:, below it hosts:, and a name below that (tunecheck "
                "init writes an inventory)" if given else
                f"name an inventory, as in ansible-playbook {self._file} -i inventory/box1"))
            self._ended = True
            raise SystemExit(2)
        if not self._asked:
            self._asked = [host.get_name() for host in manager._inventory.get_hosts()]
        if self._first:     # before the first task: what a role holds later is no variable of the inventory
            self._first = False
            names = self._names(manager)
            if self._play in _DECLARED_FOR:
                self._warn_of_guesses()
                self._warn_of_slips(manager, names)

    def _names(self, manager):
        """Return the names of all variables of the hosts. Where Ansible cannot read them nothing can be done: it would
        end in the middle of the play, and name neither file nor line."""
        names = set()
        try:
            for host in manager._inventory.get_hosts():
                names.update(manager.get_vars(host=host, include_hostvars=False))
        except AnsibleError as error:
            broken = whole("tunecheck.spec.inventory").broken_files
            where = [each for given in context.CLIARGS.get("inventory") or () for each in broken(given)]
            why = "; ".join(where) or " ".join(str(error).split()).rstrip(".")
            mend = ("run this again with --ask-vault-pass, or with --vault-password-file FILE, and the password that "
                    "they were encrypted with" if command_line.of_vault(error) and not where else
                    "mend that file, then run this again")
            self._display.error(f"the inventory's variables cannot be read, so nothing was done: {why}; {mend}")
            self._ended = True
            raise SystemExit(4) from None
        return names

    def _warn_of_guesses(self):
        """Ansible reads no comments, so it is the files that are looked at."""
        marked, lines = [], part("tunecheck", "spec", "unfinished")
        for given in context.CLIARGS.get("inventory") or ():
            found = lines.unfinished(given)
            root = command_line.shorter(given if os.path.isdir(given) else os.path.dirname(given) or ".")
            marked += [os.path.normpath(os.path.join(root, place)) for place in found]
        if marked:
            self._unfinished = lines.sentence(len(marked), some(marked, 6))
            if not context.CLIARGS.get("check"):
                self._display.warning(f"the inventory is not complete: {self._unfinished}")

    def _warn_of_slips(self, manager, names):
        hosts, groups = sorted(manager._inventory.hosts), sorted(manager._inventory.groups)
        self._unread = [told for given in context.CLIARGS.get("inventory") or ()
                        for told in whole("tunecheck.spec.orphans").unread_files(given, hosts, groups)]
        for told in self._unread:
            self._display.warning(told)
        for name, meant in part("tunecheck", "spec", "variables").without_effect(map(str, names)).items():
            self._display.warning(f"{name} has no effect; {meant}")

    def v2_runner_on_start(self, host, task):
        self._waiting[host.get_name()] = task

    def v2_runner_on_skipped(self, result):
        self._waiting.pop(result._host.get_name(), None)

    def v2_runner_on_ok(self, result):
        box, data, task = self._seen(result)
        box.ok(data, task, context.CLIARGS.get("check"))
        if "spec" in (data.get("cmd") or ()) and "freeze" in data["cmd"] and data.get("rc") == 0:
            # Ansible's display says the same of many hosts once.
            for line in str(data.get("stderr") or "").splitlines():
                self._display.warning(line)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if ignore_errors:
            self._waiting.pop(result._host.get_name(), None)
            return
        box, data, task = self._seen(result)
        box.failed(data, task)

    def v2_runner_on_unreachable(self, result):
        box, data, task = self._seen(result)
        box.unreachable(data, task)

    def _cut_off(self):
        """Say what is so where Ansible ended in the middle (Ctrl-C, SIGTERM): it then runs no `always` section, and
        calls no callback."""
        if self._ended or os.getpid() != self._process:     # a worker is a copy of this process
            return
        waited = f" It waited for {some(sorted(self._waiting), 6)}." if self._waiting else ""
        if context.CLIARGS.get("check"):
            self._show(["The plan was ended in the middle (--check): nothing was written, and no box was locked."
                        f"{waited}"])
            return
        held = sorted(name for name, box in self._boxes.items() if box.holds_lock)
        asked = sorted(name for name, task in self._waiting.items() if locks(task) and name not in held)
        if held:
            self._show([f"The play was ended in the middle. Its lock is still on {some(held, 6)}, where the work may "
                        "be half done.", _GO_ON])
        if asked:
            self._show([f"{'It' if held else 'The play was ended in the middle. It'} was about to lock "
                        f"{some(asked, 6)}: the lock may be there, nothing else was begun there.",
                        *([] if held else [_GO_ON])])
        if not held and not asked and self._play in (*_DECLARED_FOR, _ROLLBACK):
            self._show(["The play was ended in the middle. It holds the lock of no box, so no work is half done."
                        f"{waited}",
                        "  next: run the same command again; what is done changes nothing"])

    def v2_playbook_on_stats(self, stats):
        self._ended = True
        check = context.CLIARGS.get("check")
        for name, box in sorted(self._boxes.items()):
            if box.kept_out:
                self._show([f"{name}: {_REBOOTING if box.rebooting else ''}{self._step(name, box)}{self._done(box)}"])
            if check and (self._play == _ROLLBACK or any(each.frozen for each in self._boxes.values())
                          or (self._play in _DECLARED_FOR and box.refused)):
                self._show(self._plan(name, box))
        if check and (told := other_plays.closing(self._play, self._file, sorted(self._boxes))):
            self._show(told)
        if self._play == "handoff.yml":
            left = {name: self._of(name) for name in self._asked if name not in self._boxes}
            if told := other_plays.not_handed_over(left, self._file):
                self._show(told)

    def _seen(self, result):
        name = result._host.get_name()
        self._waiting.pop(name, None)
        return self._boxes.setdefault(name, Box()), result._result, result._task

    def _of(self, name):
        """Return the variables of a host."""
        if not self._variables:
            return {}
        host = self._variables["play"].get_variable_manager()._inventory.get_host(name)
        return variables.of_host(self._variables["manager"], host) if host else {}

    def _step(self, name, box):
        told = self._of(name)
        user, port = told.get("ansible_user"), str(told.get("ansible_port") or "")
        connecting = part("tunecheck_fleet", "connecting")
        return connecting.next_step(box.kept_out, str(told.get("ansible_host") or name), str(user) if user else None,
                                    port=int(port) if port.isascii() and port.isdecimal() else None)

    def _done(self, box):
        """What is so on a box that Ansible lost, behind the next step; with --check the plan says it."""
        if context.CLIARGS.get("check"):
            return ""
        verb = "undone" if self._play == _ROLLBACK else "changed"
        return f". Nothing was {verb} on it" if not box.changed else (
            f". It was lost in the middle; done before that: {'; '.join(box.changed)}. The same command again goes on")

    def _plan(self, name, box):
        # A line that nobody completed may be the address itself.
        guesses = [f"  not complete: {self._unfinished}"] * bool(self._unfinished)
        if box.kept_out:
            return [f"no plan for {name}: it could not be looked at, and nothing was written", *guesses,
                    "  next: do what is said above, then run this again"]
        if box.refused and not box.frozen and self._play != _ROLLBACK:
            return [f"no plan for {name}: its variables are refused, and nothing was written", *guesses,
                    *(f"  not read: {told}" for told in self._unread[:_UNREAD]),
                    *([f"  not read: {len(self._unread) - _UNREAD} more files"] if len(self._unread) > _UNREAD else []),
                    f"  refused: {' '.join(box.refused.split())}", "  next: mend what is refused, then run this again"]
        if self._play == _ROLLBACK:
            return undoing.lines(name, box, self._file, self._of(name))
        return provisioning.lines(name, box, guesses, self._mistyped)

    def _show(self, lines):
        width = command_line.width()
        self._display.display("")
        for line in lines:
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            for piece in textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False,
                                       break_long_words=False):
                self._display.display(piece.replace(command_line.NO_BREAK, " "))
