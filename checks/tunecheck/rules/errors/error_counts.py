"""PCIe error counters of two snapshots side by side: AER of every hop, and NVML's replay counter."""

from __future__ import annotations

from typing import Any

from ...facts.snapshot import Snapshot
from ...model.fact import Absence, Fact
from ...util.at_first_use import dataclass
from ...util.text import some
from ..codes import LOG_UNREAD, PATH_UNREAD, REGISTERS_UNREAD
from ..context import Case
from . import from_log

__all__ = ["Errors", "errors", "latched", "replayed", "uncounted"]

_UNCORRECTABLE = ("nonfatal", "fatal")


@dataclass(frozen=True)
class Errors:
    """What the counters show. ``hard`` and ``soft``: uncorrectable and corrected errors, "0000:03:00.0 BadTLP 12
    (correctable)". With ``since`` they are only those since the earlier snapshot. ``note``: why the earlier one is of
    no use. ``read``: the number of counters that were read. ``reason``: why one was not, None where all were.
    ``missing``: the kernel has no counters."""

    hard: tuple[str, ...]
    soft: tuple[str, ...]
    since: bool
    note: str
    read: int
    reason: str | None
    missing: bool


def errors(case: Case) -> Errors:
    """Return the counters of this snapshot. Where there is an earlier one, return how much they grew since."""
    now, unread = _counts(case.snapshot)
    before, note = _before(case)
    grown = {key: count - before.get(key, 0) if before is not None else count for key, count in now.items()}
    if before is not None and any(count < 0 for count in grown.values()):
        # After a driver load or a hot plug some counters began again at 0.
        note, grown = "a counter went back (driver loaded again, device reset): counted from zero; ", now
        before = None
    shown = {key: f"{key[0]} {key[2]} {'+' if before is not None else ''}{count} ({key[1]})"
             for key, count in grown.items() if count}
    absent = [reason for reason in unread if reason]
    return Errors(tuple(text for key, text in shown.items() if key[1] in _UNCORRECTABLE),
                  tuple(text for key, text in shown.items() if key[1] not in _UNCORRECTABLE),
                  before is not None, note, len(now), absent[0] if absent else None, not now and not absent)


#: Replays since the driver was loaded that a sound link does not reach where its neighbours stay far below.
_MANY, _TIMES = 1000, 100
_UNTOLD = (Absence.NOT_READ, Absence.FAILED, Absence.LOST)


def replayed(case: Case) -> tuple[tuple[str, ...], str]:
    """Return what NVML or nvidia-smi tells of GPUs whose link replays packets as no sound one does, "0000:03:00.0 12
    replays, 3 rollovers"; and the GPUs whose rollovers are not told though they replay."""
    gpus = case.snapshot.nvml.value.gpus if case.snapshot.nvml.value else ()
    counts = {gpu.bdf: gpu.number("replay_counter").value or 0 for gpu in gpus}
    least = min(counts.values(), default=0) if len(counts) > 1 else 0
    wrong, unread = [], []
    for gpu in gpus:
        rollovers, count = gpu.number("replay_rollovers"), counts[gpu.bdf]
        if rollovers.value or (count >= _MANY and count >= _TIMES * max(least, 1)):
            more = "" if rollovers.value is None else f", {rollovers.value} rollovers"
            wrong.append(f"{gpu.bdf} {count} replays{more}")
        elif gpu.fact("replay_counter").absence in _UNTOLD or rollovers.absence in _UNTOLD[1:] or (
                count and rollovers.absence is Absence.NOT_READ):
            unread.append(gpu.bdf)
    return tuple(wrong), ", ".join(unread)


#: Set on healthy machines, too: a probe for a device that is not there ends in an unsupported request.
_HARMLESS = ("UESta UnsupReq", "CESta AdvNonFatalErr", "DevSta CorrErr", "DevSta NonFatalErr")


def latched(case: Case) -> tuple[str, str, str, str, Fact[Any] | None] | None:
    """Return code, outcome, text and the errors by what every hop itself has latched, for a machine without counts, and
    the fact that is missing. The outcome is unknown where a hop does not show it. None where no hop was asked."""
    hops = list(case.host.errors.values())
    facts = [hop.latched for hop in hops]
    if not facts or any(fact is None for fact in facts):
        return None
    held = [f"{hop.bdf} {name}" for hop in hops if hop.latched for name in hop.latched.value or ()
            if name not in _HARMLESS]
    gpus = case.snapshot.nvml.value.gpus if case.snapshot.nvml.value else ()
    counts = [count for gpu in gpus if (count := gpu.number("replay_counter").value) is not None]
    replays = f", and NVML counts {sum(counts)} replays at {len(counts)} GPUs since reset" if counts else ""
    limits = "a state and no count: whoever handles an error clears it; counts need a recording: sudo tunecheck record"
    unread = next((fact for fact in facts if fact is not None and fact.value is None), None)
    if held:
        text = f"errors latched at a hop: {some(held, 6, ', ')}{replays} ({limits})"
        return "errors-latched", "warn", text, ", ".join(held), None
    if unread is not None:
        text = f"no error counter can be read, and not every hop shows what it has latched: {unread.why()}"
        return REGISTERS_UNREAD, "unknown", text, "", unread
    hidden = next((device.chain for device in case.snapshot.topology.devices if not device.chain.known), None)
    if hidden is not None:
        text = ("no error counter can be read, and the ports above an accelerator, where most errors are latched, are "
                f"not known: {hidden.why()}")
        return PATH_UNREAD, "unknown", text, "", hidden
    text = f"not judged: no error is latched at any of {len(hops)} hops (UESta, CESta, DevSta){replays} ({limits})"
    return "nothing-latched", "skip", text, "", None


def _before(case: Case) -> tuple[dict[tuple[str, str, str], int] | None, str]:
    if case.before is None or case.before.host is None:
        return None, ""
    now, then = case.snapshot.boot_id.value, case.before.boot_id.value
    if now is None or then is None:
        return None, "whether the earlier recording is of this boot is not known: not compared; "
    if now != then:
        return None, "the earlier recording is of another boot, and the counters began again: not compared; "
    return _counts(case.before)[0], ""


def _counts(snapshot: Snapshot) -> tuple[dict[tuple[str, str, str], int], list[str]]:
    """Counts by (address, severity, name), and the reason for each that could not be read ("" for not present)."""
    counts: dict[tuple[str, str, str], int] = {}
    unread = []
    for hop in snapshot.host.errors.values() if snapshot.host else ():
        for severity, fact in hop.by_severity.items():
            if fact.value is None:
                unread.append("" if fact.missing else fact.why())
            elif fact.value:
                counts.update({(hop.bdf, severity, name): count for name, count in fact.value.items()})
    for gpu in snapshot.nvml.value.gpus if snapshot.nvml.value else ():
        replays = gpu.number("replay_counter").value
        if replays is not None:
            counts[gpu.bdf, "replayed, NVML", "packets"] = replays
    return counts, unread


def uncounted(case: Case) -> tuple[str, str, str] | None:
    """Return code, outcome and text where counters of 0 prove nothing, None where they do. Counters are there also
    where the kernel does not handle PCIe errors, and stay at 0 then (booted on 6.12.117)."""
    if from_log.aer_owners(case) - {"kernel"}:
        return "not-counted", "skip", ("the counters stand at 0 and the kernel does not handle PCIe errors "
                                       "(aer-ownership): no sign of health")
    if from_log.events(case) is None:
        return LOG_UNREAD, "unknown", ("whether the kernel counts at all is not known, as its log cannot be read; "
                                       "the counters stand at 0")
    return None if from_log.is_complete(case) else (
        from_log.incomplete_code(case), "unknown",
        f"whether the kernel counts is not {from_log.limits_of_log(case)}; the counters stand at 0")
