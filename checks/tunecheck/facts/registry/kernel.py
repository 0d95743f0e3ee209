"""The running kernel and the next boot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, absent
from ...parsers.kernel.cmdline import without_trial
from ...parsers.text import secrets
from ...util.at_first_use import regex
from .definition import Entry
from .selectors import booted, of_host, through

if TYPE_CHECKING:
    from ..snapshot import HostFacts
    from ..snapshot_file import Stored

__all__ = ["ENTRIES", "split"]

#: Names the box, its disks or its network, or changes with every kernel: no word of the tuning.
_OWN = frozenset({"BOOT_IMAGE", "root", "resume", "resume_offset", "rd.luks.uuid", "rd.luks.name", "rd.lvm.lv",
                  "rd.md.uuid", "ip", "nfsroot", "netroot", "BOOTIF", "initrd", "cryptdevice", "hostname",
                  "systemd.hostname", "systemd.machine_id"})
#: What is said several times, where the order means something: hugepagesz=1G hugepages=16 hugepagesz=2M ...
_REPEATED = frozenset({"console", "earlycon", "hugepagesz", "hugepages"})
#: What looks like a secret has one of these in it; the patterns themselves are slow.
_SUSPECT = regex("pass|secret|token|cred|key|auth|licen|hf_|sk-|gho_|ghp_|ghr_|ghs_|ghu_|github|nvapi|akia|xox|glpat"
                 "|eyj|://")
#: No kernel takes more (COMMAND_LINE_SIZE is 2048 on x86 and Arm, 4096 elsewhere); patterns are slow on more.
_LONG, _MANY = 4096, 1024


def suspect(text: str) -> bool:
    """Return whether it is worth to look for a secret in ``text``."""
    return _SUSPECT.search(text.lower()) is not None


def split(tokens: Iterable[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the words of a command line as a mapping, and apart from them those with a secret in them. A word without
    a value is true; the kernel takes ``-`` and ``_`` for the same in names (kernel/params.c: parameq()); ``pci=`` adds
    up; otherwise the last one wins."""
    found: dict[str, Any] = {}
    hidden: dict[str, str] = {}
    tokens = without_trial([token[:_LONG] for token in islice(tokens, _MANY)])
    looked = suspect(" ".join(tokens))
    for at, token in enumerate(tokens):
        if token == "--":       # the rest is for init
            rest = tokens[at + 1:]
            found["--"] = secrets.mask(" ".join(rest)) if looked else " ".join(rest)
            break
        name, mark, value = token.partition("=")
        if name in _OWN:
            continue
        name = name.replace("-", "_")
        if value == secrets.MASK or (looked and suspect(token) and secrets.mask(token) != token):
            hidden[name] = value or token
        elif name in _REPEATED:
            found.setdefault(name, []).append(value)
        elif name == "pci":
            found["pci"] = sorted({*found.get("pci", ()), *filter(None, value.split(","))})
        else:
            found[name] = value.strip('"') if mark else True
    return found, hidden


def _safe(token: str) -> str:
    token = token[:_LONG]
    return secrets.mask(token) if suspect(token) else token


def _hidden(tokens: Iterable[str]) -> dict[str, str]:
    line = " ".join(token[:_LONG] for token in islice(tokens, _MANY))
    return split(tokens)[1] if suspect(line) or secrets.MASK in line else {}


def _pending(host: HostFacts) -> Fact[Any]:
    """Return how the next boot's command line differs: {"drops": [...], "adds": [...]}."""
    now, then = host.kernel.cmdline, _next(host.boot.generated)
    if now.value is None or then.value is None:
        return now if now.value is None else then
    # A virtual machine's kernel gets words of its own behind those of the loader.
    have, will = (set(_words(tokens)) for tokens in (now.value, then.value))
    return Fact({"adds": sorted(will - have), "drops": sorted(have - will)}, then.source)


def _words(tokens: Iterable[str]) -> Iterator[str]:
    for name, value in split(tokens)[0].items():
        for each in value if isinstance(value, list) else [value]:
            yield name if each is True else f"{name}={each}"


def _next(fact: Fact[Any]) -> Fact[Any]:
    """Return the fact, or "not present" where there is no boot loader: a machine whose kernel comes from outside has no
    next kernel of its own."""
    return absent(fact.source, Absence.NOT_PRESENT) if fact.absence is Absence.NO_BOOT_LOADER else fact


def _release(fact: Fact[str]) -> Fact[Any]:
    return absent(fact.source, Absence.NO_VERSION) if fact.value == "" else _next(fact)


def _roles(stored: Stored) -> Fact[Any]:
    """Return the state that the receipt notes, which shows that roles are at work on a box. A receipt that cannot be
    read counts as none and makes no box incomplete."""
    found = through(stored.snapshot.receipt, lambda receipt: receipt.state)
    return found if found.reason is None else absent(found.source, Absence.NOT_PRESENT)


def _taints(mask: int) -> list[int]:
    return [bit for bit in range(64) if mask >> bit & 1]


ENTRIES = (
    Entry("kernel.running", "config", "high", "reboot", "release of the running kernel",
          of_host(lambda host: host.kernel.release), pin=True),
    Entry("kernel.next", "config", "medium", "reboot", "release that the default boot entry starts",
          of_host(lambda host: _release(host.boot.release)), pin=True),
    Entry("kernel.cmdline.", "config", "high", "reboot", "one word of the kernel command line that runs",
          of_host(lambda host: through(host.kernel.cmdline, lambda tokens: split(tokens)[0]))),
    Entry("kernel.secret.", "secret", "medium", "reboot", "a word of it that looks like a password or token",
          of_host(lambda host: through(host.kernel.cmdline, _hidden))),
    Entry("kernel.rejected", "config", "high", "reboot", "parameters that the kernel says it did not take",
          of_host(lambda host: booted(host, lambda log: sorted(map(_safe, islice(log.rejected, _MANY)))))),
    Entry("kernel.lockdown", "config", "medium", "reboot", "lockdown mode",
          of_host(lambda host: host.kernel.lockdown)),
    Entry("kernel.taint", "config", "low", "reboot", "why the kernel calls itself tainted",
          of_host(lambda host: through(host.kernel.taint, _taints)), unit="bit numbers", of_boot=True),
    Entry("kernel.clocksource", "config", "high", "reboot", "what the kernel reads the time from",
          of_host(lambda host: host.kernel.clocksource), of_boot=True),
    Entry("kernel.hung_task_seconds", "config", "low", "reload", "after how long a stuck task is reported; 0: never",
          of_host(lambda host: host.kernel.hung_timeout), unit="s"),
    Entry("boot.configured", "config", "medium", "reboot", "the words that our drop-in, or /etc/kernel/cmdline, sets",
          of_host(lambda host: through(_next(host.boot.configured), lambda tokens: sorted(_words(tokens))))),
    Entry("boot.pending", "config", "medium", "reboot", "words that the next boot adds or drops", of_host(_pending)),
    Entry("boot.overwriters", "config", "high", "reboot", "files that throw away what our drop-in set",
          of_host(lambda host: Fact(sorted(host.boot.overwriters), "/etc/default/grub.d"))),
    Entry("boot.trial_staged", "config", "medium", "reboot", "a trial boot waits",
          of_host(lambda host: host.boot.staged)),
    Entry("boot.id", "time", "low", "none", "id of this boot", lambda stored: stored.snapshot.boot_id),
    Entry("roles.state", "gauge", "low", "none", "what our roles left: clean, staged, trial, committed, reverted",
          _roles),
    Entry("kernel.log_whole", "gauge", "low", "none", "the kernel log holds this boot from its first line",
          of_host(lambda host: through(host.kernel.log, lambda log: log.complete))),
)
