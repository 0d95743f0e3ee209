"""Callback: at the end of --check what the run would do to each box; of a box that Ansible could not work on, one
sentence with the next step. It only listens: nothing is asked of a box for it."""

from __future__ import annotations

import atexit
import errno
import importlib.util
import os
import re
import shlex
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

_CHECKS = os.path.join(os.path.dirname(__file__), "..", "..", "checks")
#: Words of what keeps Ansible itself from working; anything else is a task's own failure, which says its remedy.
_KEPT_OUT = re.compile(r"sudo|become|password|privilege|permission denied|interpreter|python.*not found|no space left|"
                       r"no usable temporary directory",
                       re.IGNORECASE)
#: By the code that kernel_cmdline returns. What the kernel's own detectors find ends in a panic and a reboot anyway.
_WATCHDOG = {
    "usable": "{identity} ({device}) restarts it",
    "in_use": "{identity} ({device}) is in use already and stays as it is",
    "unknown": "the kernel does not say what {device} is; only a hang that the kernel notices ends by itself",
    "software": "no hardware watchdog, only softdog; only a hang that the kernel notices ends by itself",
    "none": "no hardware watchdog; only a hang that the kernel notices ends by itself",
}
#: The playbooks that make a box what its variables say.
_DECLARED_FOR = ("site.yml", "provision.yml", "handoff.yml")
#: Tags of the playbooks' tasks; a test compares them.
_TAGS = {"acs", "cmdline", "driver", "governor", "gpu", "inference", "install", "modules", "preflight", "runtime",
         "snapshot"}
_OF_ANSIBLE = {"all", "always", "never", "tagged", "untagged"}
#: textwrap breaks at white space of ASCII alone.
_NO_BREAK = "\u00a0"
_UNDO = "ansible-playbook playbooks/rollback.yml"


def _part(path):
    # By its path: the control node's Ansible need not have the package.
    spec = importlib.util.spec_from_file_location(f"tunecheck_{path[-1]}", os.path.join(_CHECKS, *path) + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _given(*options):
    """The tags of these options of the command line."""
    return {tag.strip() for option in options for text in context.CLIARGS.get(option) or () for tag in text.split(",")
            if tag.strip()}


def _shorter(path):
    """As it can be typed in this folder."""
    return min(path, os.path.relpath(path), key=len) if os.path.exists(path) else path


#: Why the system starts no program: it is not there, may not be run, or is none.
_NO_START = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)


def _not_started(data):
    """Return which program a module could not start, and why: its own message names neither. The result code is the
    system's error number then (AnsibleModule.run_command). A command that ran and failed has the time of its start."""
    if not data.get("cmd") or "start" in data or data.get("rc") not in _NO_START or not data.get("msg"):
        return ""
    if data.get("stdout") or data.get("stderr"):
        return ""
    command = data["cmd"] if isinstance(data["cmd"], str) else " ".join(map(str, data["cmd"]))
    return f" ({command}: {os.strerror(data['rc'])})"


#: In front of the next step where a box was lost in the role that reboots it.
_REBOOTING = ("it was lost around its reboot. A trial boot that is not committed within box_spec.boot.confirm_seconds "
              "returns to its old entry by itself: wait for the box, then run the same command again. Else: ")

_GO_ON = ("  next: run the same command again on this control node. It takes over its own lock at once and goes on; "
          "what is done changes nothing. A trial boot that nobody commits returns to its old entry by itself. More: "
          "docs/rollout.md")


def _locks(task):
    return task.action.endswith("box_lock") and task.args.get("state") == "held"


class Box:
    """What was seen of one host."""

    def __init__(self):
        self.spec, self.info, self.trial, self.watchdog, self.bmc, self.locked = {}, {}, {}, {}, {}, "none"
        self.one_shot, self.by_kexec = "", False
        self.changed, self.refused, self.kept_out, self.rebooting = [], "", "", False
        self.holds_lock = False


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "tunecheck_plan"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self._boxes, self._variables, self._frozen = {}, {}, False
        self._looks, self._mistyped, self._file = False, [], "site.yml"
        self._unfinished = ""
        self._process, self._ended = os.getpid(), False
        self._waiting = {}      # name of a host -> the task that it has not answered

    def v2_playbook_on_start(self, playbook):
        atexit.register(self._cut_off)
        self._looks = os.path.basename(playbook._file_name) in _DECLARED_FOR
        self._file = os.path.relpath(playbook._file_name)
        if self._looks:
            self._mistyped = sorted(_given("tags", "skip_tags") - _TAGS - _OF_ANSIBLE)
            for tag in self._mistyped:
                near = _part(("tunecheck", "util", "suggestions")).nearest(tag, sorted(_TAGS))
                self._display.warning(f"no task has the tag {tag}; " + (f"did you mean {near[0]}?" if near else
                                      f"known are {', '.join(sorted(_TAGS))}"))

    def v2_playbook_on_play_start(self, play):
        manager = play.get_variable_manager()
        self._variables = {"manager": manager, "play": play}
        if not manager._inventory.get_hosts():
            # Ansible would do nothing, and end with 0.
            given = [_shorter(path) for path in context.CLIARGS.get("inventory") or ()
                     if path not in constants.DEFAULT_HOST_LIST]
            self._display.error("there is no host, so nothing was done: " + (
                f"{' and '.join(given)} holds none; write one below `hosts:` (tunecheck init writes an inventory)"
                if given else f"name an inventory, as in ansible-playbook {self._file} -i inventory/box1"))
            self._ended = True
            raise SystemExit(2)
        if self._looks:     # before the first task: what a role holds later is no variable of the inventory
            self._looks = False
            self._warn_of_guesses()
            try:
                self._warn_of_slips(manager)
            except AnsibleError:
                # Ansible meets it again behind this, and then names neither file nor line.
                given = " ".join(f"-i {each}" for each in context.CLIARGS.get("inventory") or ())
                self._display.warning("the inventory's variables cannot be read; the file and the line: "
                                      f"tunecheck spec show {given}".rstrip())

    def _warn_of_guesses(self):
        """Ansible reads no comments, so it is the files that are looked at."""
        marked, lines = [], _part(("tunecheck", "spec", "unfinished"))
        for given in context.CLIARGS.get("inventory") or ():
            found = lines.unfinished(given)
            root = _shorter(given if os.path.isdir(given) else os.path.dirname(given) or ".")
            marked += [os.path.normpath(os.path.join(root, place)) for place in found]
        if marked:
            self._unfinished = lines.sentence(len(marked), _part(("tunecheck", "util", "text")).some(marked, 6))
            if not context.CLIARGS.get("check"):
                self._display.warning(f"the inventory is not complete: {self._unfinished}")

    def _warn_of_slips(self, manager):
        names = set()
        for host in manager._inventory.get_hosts():
            names.update(manager.get_vars(host=host, include_hostvars=False))
        for name, meant in _part(("tunecheck", "spec", "variables")).without_effect(map(str, names)).items():
            self._display.warning(f"{name} has no effect; {meant}")

    def v2_runner_on_start(self, host, task):
        self._waiting[host.get_name()] = task

    def v2_runner_on_skipped(self, result):
        self._waiting.pop(result._host.get_name(), None)

    def v2_runner_on_ok(self, result):
        box, data, task = self._seen(result)
        facts = data.get("ansible_facts") or {}
        if "box_spec_frozen" in facts:
            box.spec, self._frozen = facts["box_spec_frozen"].get("spec", {}), True
        if "kernel_cmdline_watchdog" in facts:
            box.watchdog = facts["kernel_cmdline_watchdog"]
            box.one_shot = facts.get("kernel_cmdline_one_shot", "")
            box.by_kexec = facts.get("kernel_cmdline_one_shot_code") == "kexec"
        box.locked = facts.get("pcie_acs_locked", box.locked)
        if "boot_trial_bmc" in facts:
            box.bmc = facts["boot_trial_bmc"]
        if "boot_trial_needs_reboot" in facts:
            box.trial = facts
        if task.action.endswith("box_lock") and not context.CLIARGS.get("check"):
            box.holds_lock = _locks(task)
        if task.action.endswith("box_info") and not box.info:
            box.info = data
        if data.get("changed") and task.get_name() not in box.changed and not task.action.endswith("box_lock"):
            box.changed.append(task.get_name())

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if ignore_errors:
            self._waiting.pop(result._host.get_name(), None)
            return
        box, data, task = self._seen(result)
        output = " ".join(str(data.get(key) or "") for key in ("msg", "module_stderr", "module_stdout"))
        if not box.refused:     # what fails behind it only follows from it
            reason = str(data.get("msg") or output).strip() or f"a task failed and said nothing: {task.get_name()}"
            box.refused = f"{reason}{_not_started(data)}"
            own = task.action.rpartition(".")[2] in ("fail", "assert") or ("rc" in data and "module_stderr" not in data)
            box.kept_out = output if not own and _KEPT_OUT.search(output) else ""

    def v2_runner_on_unreachable(self, result):
        box, data, task = self._seen(result)
        box.kept_out = box.kept_out or str(data.get("msg") or "unreachable")
        box.rebooting = getattr(getattr(task, "_role", None), "_role_name", "") == "boot_trial"

    def _cut_off(self):
        """Say what is so where Ansible ended in the middle (Ctrl-C, SIGTERM): it then runs no `always` section, and
        calls no callback."""
        if self._ended or os.getpid() != self._process:     # a worker is a copy of this process
            return
        some = _part(("tunecheck", "util", "text")).some
        waited = f" It waited for {some(sorted(self._waiting), 6)}." if self._waiting else ""
        if context.CLIARGS.get("check"):
            self._show(["The plan was ended in the middle (--check): nothing was written, and no box was locked."
                        f"{waited}"])
            return
        held = sorted(name for name, box in self._boxes.items() if box.holds_lock)
        asked = sorted(name for name, task in self._waiting.items() if _locks(task) and name not in held)
        if held:
            self._show([f"The play was ended in the middle. Its lock is still on {some(held, 6)}, where the work may "
                        "be half done.", _GO_ON])
        if asked:
            self._show([f"{'It' if held else 'The play was ended in the middle. It'} was about to lock "
                        f"{some(asked, 6)}: the lock may be there, nothing else was begun there.",
                        *([] if held else [_GO_ON])])
        if not held and not asked and os.path.basename(self._file) in (*_DECLARED_FOR, "rollback.yml"):
            self._show(["The play was ended in the middle. It holds the lock of no box, so no work is half done."
                        f"{waited}",
                        "  next: run the same command again; what is done changes nothing"])

    def v2_playbook_on_stats(self, stats):
        self._ended = True
        for name, box in sorted(self._boxes.items()):
            if box.kept_out:
                self._show([f"{name}: {_REBOOTING if box.rebooting else ''}{self._step(name, box)}{self._done(box)}"])
            if context.CLIARGS.get("check") and self._frozen:
                self._show(self._plan(name, box))

    def _seen(self, result):
        name = result._host.get_name()
        self._waiting.pop(name, None)
        return self._boxes.setdefault(name, Box()), result._result, result._task

    def _step(self, name, box):
        variables = {}
        if self._variables:
            host = self._variables["play"].get_variable_manager()._inventory.get_host(name)
            variables = host.get_vars() if host else {}
            variables = self._variables["manager"].get_vars(host=host, include_hostvars=False) if host else variables
        user = variables.get("ansible_user") or context.CLIARGS.get("remote_user")
        connecting = _part(("tunecheck_fleet", "connecting"))
        port = str(variables.get("ansible_port") or "")
        return connecting.next_step(box.kept_out, str(variables.get("ansible_host") or name), user,
                                    port=int(port) if port.isdecimal() else None)

    def _done(self, box):
        """What is so on a box that Ansible lost, behind the next step; with --check the plan says it."""
        if context.CLIARGS.get("check"):
            return ""
        verb = "undone" if os.path.basename(self._file) == "rollback.yml" else "changed"
        return f". Nothing was {verb} on it" if not box.changed else (
            f". It was lost in the middle; done before that: {'; '.join(box.changed)}. The same command again goes on")

    def _plan(self, name, box):
        # A line that nobody completed may be the address itself.
        guesses = [f"  not complete: {self._unfinished}"] * bool(self._unfinished)
        if box.kept_out:
            return [f"no plan for {name}: it could not be looked at, and nothing was written", *guesses,
                    "  next: do what is said above, then run this again"]
        wanted, gpus = box.spec.get("accelerators", {}).get("count"), box.info.get("gpus")
        lines = [f"plan for {name} (--check: nothing was written)"]
        only = sorted(_given("tags") - {"all"})
        if only:
            wrong = f"; no task has {', '.join(self._mistyped)}" if self._mistyped else ""
            lines.append(f"  only what has these tags: {', '.join(only)}{wrong}")
        # Without a count in the specification a box with no GPU at all is short, too.
        short = gpus is not None and ((not gpus and wanted != 0) or (wanted is not None and len(gpus) < wanted))
        if gpus is not None:
            lines.append(f"  GPUs: {len(gpus)}{f' of {wanted}' if wanted is not None else ''} found"
                         + (f": {' '.join(gpus[:8])}" if gpus else "")
                         + ("; the run would fail at its proof: look at slots and power, or correct "
                            "box_spec.accelerators" if short else ""))
        lines.append(f"  would change: {'; '.join(box.changed) or ('not known' if box.refused else 'nothing')}")
        if box.locked != "none" and not box.refused:
            lines.append(f"  kernel lockdown: {box.locked}; no PCI register is written, the command line alone keeps "
                         "ACS redirect off, without tunecheck-acs.service")
        if not box.refused:
            lines.append(f"  would reboot: {self._reboot(box)}")
            if box.trial.get("boot_trial_on_trial") and box.by_kexec:
                lines.append("  not in that trial: firmware, boot loader and a reset of the devices")
            if box.trial.get("boot_trial_on_trial") and box.watchdog.get("code") in _WATCHDOG:
                lines.append(f"  if the trial hangs: {_WATCHDOG[box.watchdog['code']].format(**box.watchdog)}")
            if box.bmc:
                lines.append(f"  if it does not come back: {self._bmc(box.bmc)}")
        else:
            # As a whole: the way out stands at its end.
            lines.append(f"  refused: {' '.join(box.refused.split())}")
        given = "".join(f" -i {shlex.quote(_shorter(each))}" for each in context.CLIARGS.get("inventory") or ())
        # It is there to be copied, so it is broken nowhere, however long the inventory's path is.
        lines.append("  undo it later: " + f"{_UNDO}{given} -l {name}".replace(" ", _NO_BREAK))
        lines += guesses
        lines.append("  next: " + ("mend what is refused, then run this again" if box.refused else
                                   "mend the number of GPUs as said above, then run this again" if short else
                                   "the same command without --check"))
        return lines

    @staticmethod
    def _reboot(box):
        boot = box.spec.get("boot", {})
        if not box.trial.get("boot_trial_needs_reboot"):
            return "no"
        if boot.get("reboot") == "never":
            return "no, box_spec.boot.reboot is never; a reboot would stay pending"
        busy = box.info.get("busy") or []
        if busy and not boot.get("reboot_when_busy"):
            return f"no, while it is in use ({', '.join(busy[:3])}); the run would stop there"
        on_trial = box.trial.get("boot_trial_on_trial")
        by = f" by {box.one_shot}" if box.one_shot else ""
        return f"once, on trial{by}: the old entry stays the default until the box is proven" if on_trial else "once"

    @staticmethod
    def _bmc(bmc):
        if not bmc.get("usable"):
            return (f"its BMC is not usable ({bmc.get('code')}): {bmc.get('sentence')}"
                    + ("" if bmc.get("policy") == "never" else " The run would stop before the reboot"))
        done = {"auto": "the run power-cycles it", "confirm": "the run asks you, then power-cycles it"}
        return (f"{done.get(bmc.get('policy'), 'the run says the command for a power cycle')} through its BMC "
                f"{bmc.get('address')} (usable, system {bmc.get('identity')})")

    def _show(self, lines):
        width = max(40, min(int(os.environ.get("COLUMNS") or 80), 120))
        self._display.display("")
        for line in lines:
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            for part in textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False,
                                      break_long_words=False):
                self._display.display(part.replace(_NO_BREAK, " "))
