"""hung-task: no task hung in the kernel; in the NVIDIA driver it means that the driver is wedged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...model.finding import Finding, Remedy
from ...util.at_first_use import regex
from ..check import Check, Family, Heading
from ..context import Case
from ..wedged import REBOOT
from . import from_log

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import HungTask
    from ...parsers.kernel.lockups import Lockup

CHECK = Check(
    "hung-task", "no task hung, and no CPU got stuck, in the kernel or in the NVIDIA driver",
    Heading.KERNEL, 70, Family.ERRORS,
)
CODES = {
    "hung-in-driver": "A task hung in the NVIDIA driver.",
    "hung-in-kernel": "A task hung in the kernel.",
    "blocked-in-driver": "A task was blocked (state D) in the NVIDIA driver; the log does not show for how long.",
    "blocked": "A task was blocked (state D) in the kernel; the log does not show for how long.",
    "cpu-stuck-in-driver": "A CPU was stuck in the NVIDIA driver (soft or hard lockup).",
    "cpu-stuck": "A CPU was stuck in the kernel (soft or hard lockup).",
    "cpu-stalled-in-driver": "RCU waited for a CPU that was in the NVIDIA driver (RCU stall).",
    "cpu-stalled": "RCU waited for a CPU that did not get out of the kernel, or got no time (RCU stall).",
    "detector-off": "The kernel does not look for hung tasks.",
}
_ID = CHECK.id
_LOOK = Remedy("see the stack of the task in the kernel log: mostly storage or network that does not answer")
#: Processes of engines that serve models, and of what they run on.
_ENGINE = regex(r"(?i)vllm|sglang|tensorrt|trtllm|ray::|python|torchrun|llama|nccl|mpirun|ollama")
_LOOK_ENGINE = Remedy.typed("the stack of the task in the kernel log says what it waits for (`sudo journalctl -k -b`): "
                            "a line with [nvidia] or [nvidia_uvm] is the GPU's driver, and then the host has to be "
                            "rebooted; nfs, ceph, ext4 or xfs is storage. See xid for what the GPU reported before")
_LONGER = Remedy.typed("look for \"blocked for more than\" above it in the kernel log (`sudo journalctl -k -b -g "
                       "blocked`), and whether it still hangs: `ps -eo pid,stat,wchan:32,comm`")
_BUSY = Remedy("see the stack of the CPU in the kernel log for what ran; a virtual machine that got no CPU says it too")


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    for task in log.hung:
        if not task.seconds:
            yield _blocked(case, task)
            continue
        code, outcome, where = (("hung-in-driver", "fail", "in the NVIDIA driver") if task.in_driver else
                                ("hung-in-kernel", "warn", "in the kernel"))
        yield Finding(_ID, code, f"{task.name} {task.pid}", outcome, "behaviour",
                      f"{task.name} (pid {task.pid}) hung {where} for more than {task.seconds} s"
                      f"{from_log.at(task.when)}", f"{task.seconds} s", "no hung task since boot",
                      (case.host.kernel.log.source,), REBOOT if task.in_driver else
                      _LOOK_ENGINE if _ENGINE.search(task.name) else _LOOK)
    for lockup in log.lockups:
        yield _stuck(case, lockup)
    timeout = case.host.kernel.hung_timeout
    quiet = not log.hung and not log.lockups
    if quiet and (timeout.missing or timeout.value == 0):
        yield Finding(_ID, "detector-off", "kernel log", "skip", "behaviour", "the kernel does not look for hung tasks "
                      "(kernel.hung_task_timeout_secs is 0 or absent)", evidence=(timeout.source,))
    elif quiet:
        yield from_log.nothing_logged(case, _ID, "hung task")


def _blocked(case: Case, task: HungTask) -> Finding:
    """The finding of a task in state D without the line that says for how long: that is cut off, or somebody asked for
    a list of tasks (SysRq), in which a moment's wait is shown too."""
    code, outcome, where = (("blocked-in-driver", "warn", "in the NVIDIA driver") if task.in_driver else
                            ("blocked", "unknown", "in the kernel"))
    state = f"blocked {where} (state D){from_log.at(task.when)}"
    who = f"{task.name} (pid {task.pid})"
    text = f"not told for how long {who} was {state}: the line that says it is not here"
    text = f"{who} was {state}; the line that says for how long is not here" if task.in_driver else text
    return Finding(_ID, code, f"{task.name} {task.pid}", outcome, "behaviour", text, "state D",
                   "no hung task since boot",
                   (case.host.kernel.log.source,), _LONGER)


def _stuck(case: Case, lockup: Lockup) -> Finding:
    if lockup.rcu:
        return _stalled(case, lockup)
    code, where = (("cpu-stuck-in-driver", "in the NVIDIA driver") if lockup.in_driver else
                   ("cpu-stuck", "in the kernel"))
    long = "without interrupts" if lockup.hard else f"for {lockup.seconds} s"
    times = f" {lockup.count} times, last" if lockup.count > 1 else ""
    return Finding(_ID, code, f"CPU {lockup.cpu}{' hard' * lockup.hard}",
                   "fail" if lockup.in_driver or lockup.hard else "warn", "behaviour",
                   f"CPU {lockup.cpu} was stuck {where} {long}{f' with {lockup.task}' if lockup.task else ''}{times}"
                   f"{from_log.at(lockup.last)}", long, "no CPU stuck since boot", (case.host.kernel.log.source,),
                   REBOOT if lockup.in_driver else _BUSY)


def _stalled(case: Case, lockup: Lockup) -> Finding:
    """The finding of an RCU stall. How long a jiffy is, the log does not say."""
    code, where = (("cpu-stalled-in-driver", " in the NVIDIA driver") if lockup.in_driver else ("cpu-stalled", ""))
    cpu = f"CPU {lockup.cpu}" if lockup.cpu >= 0 else "a CPU or task that the log does not name"
    long = f" for {lockup.jiffies} jiffies" if lockup.jiffies else ""
    times = f" {lockup.count} times, last" if lockup.count > 1 else ""
    return Finding(_ID, code, f"CPU {lockup.cpu} RCU" if lockup.cpu >= 0 else "RCU",
                   "fail" if lockup.in_driver else "warn", "behaviour",
                   f"{cpu} held up RCU{long}{where} (RCU stall){times}{from_log.at(lockup.last)}",
                   f"RCU stall{long}", "no CPU stuck since boot", (case.host.kernel.log.source,),
                   REBOOT if lockup.in_driver else _BUSY)
