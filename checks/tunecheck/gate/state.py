"""The facts by which a box is the same box as the one that preflight saw: boot, command line, driver, GPUs. Cheap,
files only.

Nothing here asks the driver (no NVML, no nvidia-smi): behind a dead GSP that would hang the start of a service."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..facts.file_text import text
from ..host import Host, Unreadable
from ..model.fact import Absence, Fact, absent, known, parsed
from .reason import Closed, Reason

__all__ = ["State", "differences", "state"]

_GPUS = "/proc/driver/nvidia/gpus"
_VERSION = re.compile(r"^NVRM version:.*?\s(\d{3}\.\d{1,4}(?:\.\d{1,4})?)\s", re.MULTILINE)


@dataclass(frozen=True)
class State:
    """The state of a box. ``gpus`` are "<bdf> <uuid>" in order; ``uptime`` is in seconds since the boot, and no clock
    moves it."""

    boot_id: Fact[str]
    uptime: Fact[float]
    cmdline: Fact[str]
    driver: Fact[str]
    gpus: Fact[tuple[str, ...]]


def state(host: Host) -> State:
    """Read the state of the box. A box without a driver has an empty ``driver`` and no GPUs, which is an answer."""
    version = text(host, "/proc/driver/nvidia/version")
    driver = known("", version.source) if version.missing else parsed(version, _version)
    return State(text(host, "/proc/sys/kernel/random/boot_id"),
                 parsed(text(host, "/proc/uptime"), lambda content: float(content.split()[0])),
                 text(host, "/proc/cmdline"), driver, _gpus(host))


def _version(content: str) -> str:
    found = _VERSION.search(content)
    if found is None:
        raise ValueError("no version in it")
    return found[1]


def _gpus(host: Host) -> Fact[tuple[str, ...]]:
    try:
        names = host.list(_GPUS)
    except Unreadable as error:
        return known((), _GPUS) if error.absence is Absence.NOT_PRESENT else absent(_GPUS, error.reason)
    found = []
    for bdf in names:
        about = text(host, f"{_GPUS}/{bdf}/information")
        uuid = re.search(r"^GPU UUID:\s*(\S+)", about.value or "", re.MULTILINE)
        found.append(f"{bdf} {uuid[1] if uuid else '(no uuid)'}")
    return known(tuple(sorted(found)), _GPUS)


def differences(then: State, now: State) -> list[Reason]:
    """Return what of the box has changed; what cannot be read now counts as different."""
    found = []
    parts: tuple[tuple[str, str, Fact[str] | Fact[tuple[str, ...]], Fact[str] | Fact[tuple[str, ...]]], ...] = (
        ("cmdline", "the kernel command line", then.cmdline, now.cmdline),
        ("driver", "the driver", then.driver, now.driver), ("gpus", "the GPUs", then.gpus, now.gpus))
    for part, name, before, after in parts:
        if after.reason is not None:
            found.append(Reason(Closed.UNREAD, f"{name} cannot be read ({after.why()})", part))
        elif before.value != after.value:
            text = f"{name} changed since: {_shown(before.value)} then, {_shown(after.value)} now"
            found.append(Reason(Closed.CHANGED, text, part))
    return found


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value) or "none"
