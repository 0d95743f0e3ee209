"""The running kernel: its command line, identity, lockdown, taints, clock, and what its log holds of this boot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...host import Host, Unreadable
from ...host.base import doubt
from ...host.prefetch import DMESG
from ...model.fact import Absence, Fact, absent, known, parsed
from ...parsers.kernel.cmdline import tokenize
from ...parsers.text.bounds import host_name, release_of
from ...util.at_first_use import dataclass
from ..file_text import text

if TYPE_CHECKING:
    from ...parsers.kernel.boot_log import BootLog
    from ...parsers.kernel.kernel_log import KernelEvents

__all__ = ["Kernel", "KernelLog", "kernel"]

_CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_JOURNAL = ("journalctl", "-k", "-b", "0", "-q", "--no-pager", "-o", "short-monotonic")


@dataclass(frozen=True)
class KernelLog:
    """What the kernel log says. ``complete``: the log covers the boot from its first line to the time of reading.
    ``rejected`` maps a parameter as it would stand on the command line (``pci=noacs``, or a bare name) to the line that
    rejects it. ``boot`` is what the log says once, of processors and firmware; ``events`` is everything else in it."""

    complete: bool
    rejected: dict[str, str]
    events: KernelEvents
    boot: BootLog


@dataclass(frozen=True)
class Kernel:
    """Facts about the running kernel. ``taint`` is the bit mask of /proc/sys/kernel/tainted; ``hung_timeout`` is in
    seconds, 0 where the kernel does not look for hung tasks."""

    hostname: Fact[str]
    release: Fact[str]
    boot_id: Fact[str]
    cmdline: Fact[tuple[str, ...]]
    lockdown: Fact[str]
    log: Fact[KernelLog]
    taint: Fact[int]
    clocksource: Fact[str]
    hung_timeout: Fact[int]


def identity(host: Host) -> tuple[Fact[str], Fact[str], Fact[str]]:
    """Read the host name, the kernel release and the boot id, in this order."""
    folder = "/proc/sys/kernel"
    return (parsed(text(host, f"{folder}/hostname"), host_name), parsed(text(host, f"{folder}/osrelease"), release_of),
            text(host, f"{folder}/random/boot_id"))


def kernel(host: Host) -> Kernel:
    """Read all facts about the running kernel, its log included."""
    return Kernel(*identity(host), parsed(text(host, "/proc/cmdline"), lambda line: tuple(tokenize(line))),
                  parsed(text(host, "/sys/kernel/security/lockdown"), _chosen), _log(host),
                  parsed(text(host, "/proc/sys/kernel/tainted"), int), text(host, _CLOCKSOURCE),
                  parsed(text(host, "/proc/sys/kernel/hung_task_timeout_secs"), int))


def _chosen(line: str) -> str:
    """Return the word in brackets: ``integrity`` for ``none [integrity] confidentiality``. ValueError where there is
    none."""
    found = re.search(r"\[(\w+)\]", line)
    if not found:
        raise ValueError("no value is marked as chosen")
    return found.group(1)


def _log(host: Host) -> Fact[KernelLog]:
    """Read the log of this boot: dmesg first (cheap), then the journal where the ring buffer lost its start or is
    closed to this user."""
    best: Fact[KernelLog] = absent("dmesg, journalctl -k", Absence.NO_PERMISSION)
    for argv in (DMESG, _JOURNAL):
        fact = _log_from(host, argv)
        if fact.value is not None and fact.value.complete:
            return fact
        # An incomplete log beats none, and any other failure says more than "no permission".
        if not best.known and (fact.known or fact.absence not in (Absence.NOT_PRESENT, Absence.NO_PERMISSION)):
            best = fact
    return best


def _log_from(host: Host, argv: tuple[str, ...]) -> Fact[KernelLog]:
    source = " ".join(argv)
    try:
        done = host.run(argv)
    except Unreadable as error:
        return absent(source, error.reason)
    if done.returncode != 0 or not done.stdout.strip():
        said = done.stderr.strip()
        refused = not done.stderr or re.search(r"not permitted|permission", said, re.IGNORECASE)
        return absent(source, Absence.NO_PERMISSION if refused else Absence.FAILED.because(
            said.splitlines()[0][:200] if said else f"failed with exit code {done.returncode} and no message"))
    # Not for `tunecheck topo`, which reads no log: its start-up must not pay for the patterns.
    from ...parsers.kernel import boot_log
    from ...parsers.kernel.kernel_log import parse
    from ...parsers.kernel.rejected import rejected
    from ...parsers.text.log_lines import without_middle
    from ...parsers.text.repeats import shortened

    log = without_middle(shortened(done.stdout))
    events = parse(log, doubt(host, argv[0]))
    return known(KernelLog(events.complete, rejected(log), events, boot_log.parse(log)), source)
