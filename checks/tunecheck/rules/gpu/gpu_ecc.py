"""gpu-ecc: memory errors are watched for (ECC), and there was none that could not be corrected."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.fact import Absence
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..context import Case
from .from_nvml import Unread, Verdict, each, maybe, smi, word

CHECK = Check(
    "gpu-ecc", "ECC is on, and no memory error was uncorrectable",
    Heading.GPUS, 50, Family.GPU, needs=(Needs.GPUS,), judges=("gpu.ecc", "gpu.ecc_pending"), happening=True,
)
_ID = CHECK.id
_MOST = 1 << 62
_COUNTS = ("ecc_volatile_uncorrected", "ecc_aggregate_uncorrected")
_FLAGS = ("remap_failed", "remap_pending")


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, lambda gpu: list(_look(gpu, case.spec.gpu.ecc)))


def _look(gpu: Gpu, wanted: str | None) -> Iterator[Verdict]:
    mode, goal, bad = word(gpu, "ecc_mode", "enabled", "disabled"), wanted or "enabled", []
    now, ever = (maybe(gpu, key, _MOST) for key in _COUNTS)
    if mode != goal:
        bad.append(Verdict("fail" if wanted else "warn", f"ECC is {mode}", mode, goal,
                           smi(f"-e {int(goal == 'enabled')}", ", then reboot"), True))
    if gpu.values.get("remap_failed") is True:
        bad.append(Verdict("fail", "a memory row could not be remapped", "remapping failed", "no", "replace the board",
                           place=Place.MACHINE))
    if now:
        bad.append(Verdict("fail", f"{now} uncorrectable memory errors since the driver was loaded", str(now), "0",
                           smi("--gpu-reset", " (nothing may use it)")))
    elif gpu.values.get("remap_pending") is True:
        bad.append(Verdict("warn", "a memory row waits to be remapped", "pending", "no", smi("--gpu-reset")))
    elif ever:
        bad.append(Verdict("warn", f"{ever} uncorrectable memory errors over the board's life", str(ever), "0"))
    if not bad and mode == "enabled" and now is None:
        raise Unread("unknown", "ECC is enabled, but NVML does not tell its error counts")
    untold = list(_untold(gpu)) if not bad else []
    if untold:
        raise Unread("unknown", f"ECC is {mode}, and {'; '.join(untold)}")
    yield from bad or [Verdict("pass", f"ECC is {mode}" + ("" if now is None else ", no uncorrectable memory error"))]


def _untold(gpu: Gpu) -> Iterator[str]:
    """What could still speak against the board, and is not known: a value that the board has not is none of it."""
    gone = [key for key in (*_COUNTS, *_FLAGS) if gpu.fact(key).absence is Absence.NOT_READ]
    if gone:
        yield f"{', '.join(gone)} is not in the report; add the whole of: nvidia-smi -q"
    for key in (*_COUNTS, *_FLAGS):
        fact = gpu.fact(key)
        sound = maybe(gpu, key, _MOST) is not None if key in _COUNTS else isinstance(fact.value, bool)
        if not sound and fact.absence not in (Absence.NOT_SUPPORTED, Absence.NOT_READ):
            yield f"there is no answer for {key} ({fact.reason or f'senseless: {str(fact.value)[:40]!r}'})"
