"""PCIe error counters of two snapshots side by side: AER of every hop, and NVML's replay counter."""

from __future__ import annotations

from ...facts.snapshot import Snapshot
from ...model.finding import some
from ...util.at_first_use import dataclass
from ..context import Case
from . import from_log

__all__ = ["Errors", "errors", "latched", "uncounted"]

_UNCORRECTABLE = ("nonfatal", "fatal")


@dataclass(frozen=True)
class Errors:
    """``hard`` and ``soft``: uncorrectable and corrected errors, "0000:03:00.0 BadTLP 12 (correctable)"; with
    ``since`` only what came since the earlier snapshot. ``note``: why the earlier one is of no use. ``read``: how many
    counters were; ``reason``: why one was not, None where all were; ``missing``: the kernel has none at all."""

    hard: tuple[str, ...]
    soft: tuple[str, ...]
    since: bool
    note: str
    read: int
    reason: str | None
    missing: bool


def errors(case: Case) -> Errors:
    """What the counters say."""
    now, dark = _counts(case.snapshot)
    before, note = _before(case)
    grown = {key: count - before.get(key, 0) if before is not None else count for key, count in now.items()}
    if before is not None and any(count < 0 for count in grown.values()):
        # A driver load or a hot plug: some began again, and what they had before is not known.
        note, grown = "a counter went back (driver loaded again, device reset): counted from zero; ", now
        before = None
    shown = {key: f"{key[0]} {key[2]} {'+' if before is not None else ''}{count} ({key[1]})"
             for key, count in grown.items() if count}
    absent = [reason for reason in dark if reason]
    return Errors(tuple(text for key, text in shown.items() if key[1] in _UNCORRECTABLE),
                  tuple(text for key, text in shown.items() if key[1] not in _UNCORRECTABLE),
                  before is not None, note, len(now), absent[0] if absent else None, not now and not absent)


#: Set on healthy machines too: probing for devices that are not there ends in an unsupported request.
_HARMLESS = ("UESta UnsupReq", "CESta AdvNonFatalErr", "DevSta CorrErr", "DevSta NonFatalErr")


def latched(case: Case) -> tuple[str, str, str] | None:
    """Outcome, text and the errors held, where there are no counts: by what every hop itself still holds. Unknown where
    one of them does not show it; None where nobody was asked for it."""
    hops = list(case.host.errors.values())
    facts = [hop.latched for hop in hops]
    if not facts or any(fact is None for fact in facts):
        return None
    held = [f"{hop.bdf} {name}" for hop in hops if hop.latched for name in hop.latched.value or ()
            if name not in _HARMLESS]
    gpus = case.snapshot.nvml.value.gpus if case.snapshot.nvml.value else ()
    counts = [count for gpu in gpus if (count := gpu.number("replay_counter").value) is not None]
    replays = f", and NVML counts {sum(counts)} replays at {len(counts)} GPUs since reset" if counts else ""
    limits = "a state and no count: whoever handles an error clears it; counts need a recording (tunecheck record)"
    dark = next((fact for fact in facts if fact is not None and fact.value is None), None)
    if held:
        return "warn", f"errors latched at a hop: {some(held)}{replays} ({limits})", ", ".join(held)
    if dark is not None:
        return "unknown", f"no error counter can be read, and not every hop shows what it has latched: {dark.why()}", ""
    hidden = next((device.chain for device in case.snapshot.topology.devices if not device.chain.known), None)
    if hidden is not None:
        return "unknown", ("no error counter can be read, and the ports above an accelerator, where most errors are "
                           f"latched, are not known: {hidden.why()}"), ""
    return "skip", f"no error is latched at any of {len(hops)} hops (UESta, CESta, DevSta){replays} ({limits})", ""


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
    dark = []
    for found in snapshot.host.errors.values() if snapshot.host else ():
        for severity, fact in found.by_severity.items():
            if fact.value is None:
                dark.append("" if fact.missing else fact.why())
            else:
                counts.update({(found.bdf, severity, name): count for name, count in fact.value.items()})
    for gpu in snapshot.nvml.value.gpus if snapshot.nvml.value else ():
        replays = gpu.number("replay_counter").value
        if replays is not None:
            counts[gpu.bdf, "replayed, NVML", "packets"] = replays
    return counts, dark


def uncounted(case: Case) -> tuple[str, str, str] | None:
    """Outcome, text and code where counters of 0 prove nothing: they are there whoever handles PCIe errors, and stay
    at 0 where the kernel does not (booted on 6.12.117); None where they count."""
    if from_log.aer_owners(case) - {"kernel"}:
        return "skip", ("the counters stand at 0 and the kernel does not handle PCIe errors (aer-ownership): no sign "
                        "of health"), ""
    if from_log.events(case) is None:
        return "unknown", ("the counters stand at 0; whether the kernel counts is in the kernel log, which cannot be "
                           "read"), ""
    return None if from_log.whole(case) else (
        "unknown", f"the counters stand at 0; whether the kernel counts is not {from_log.partial(case)}",
        from_log.partial_code(case))
