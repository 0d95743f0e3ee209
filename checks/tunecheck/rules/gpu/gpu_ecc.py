"""gpu-ecc: ECC looks for memory errors, and it corrected each of them."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.fact import Absence
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case
from ..nvidia.from_nvml import Unread, Verdict, each, maybe, smi, word

CHECK = Check(
    "gpu-ecc", "ECC is on, and no memory error was uncorrectable",
    Heading.GPUS, 50, Family.GPU, needs=(Needs.GPUS,), judges=("gpu.ecc", "gpu.ecc_pending"), happening=True,
)
CODES = {
    "differs": "ECC is in another mode than declared; where nothing is declared, it is off.",
    "remap-failed": "The GPU could not remap a memory row.",
    "uncorrectable-errors": "The GPU had uncorrectable memory errors since the driver was loaded.",
    "remap-pending": "A memory row waits to be remapped.",
    "earlier-uncorrectable-errors": "The board had uncorrectable memory errors, none since the driver was loaded.",
}
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
        bad.append(Verdict("differs", "fail" if wanted else "warn", f"ECC is {mode}", mode, goal,
                           smi(f"-e {int(goal == 'enabled')}", ", then reboot"), True))
    if gpu.values.get("remap_failed") is True:
        bad.append(Verdict("remap-failed", "fail", "a memory row could not be remapped", "remapping failed", "no",
                           "replace the board", place=Place.MACHINE))
    if now:
        bad.append(Verdict("uncorrectable-errors", "fail", f"{now} uncorrectable memory errors since the driver was "
                           "loaded", str(now), "0", smi("--gpu-reset", " (nothing may use it)")))
    elif gpu.values.get("remap_pending") is True:
        bad.append(Verdict("remap-pending", "warn", "a memory row waits to be remapped", "pending", "no",
                           smi("--gpu-reset")))
    elif ever:
        bad.append(Verdict("earlier-uncorrectable-errors", "warn", f"{ever} uncorrectable memory errors over the "
                           "board's life", str(ever), "0"))
    if not bad and mode == "enabled" and now is None:
        raise Unread(UNREAD, "unknown", "ECC is enabled, but NVML does not tell its error counts")
    missing = list(_missing(gpu)) if not bad else []
    if missing:
        raise Unread(UNREAD, "unknown", f"ECC is {mode}, and {'; '.join(missing)}")
    yield from bad or [Verdict("ok", "pass",
                               f"ECC is {mode}" + ("" if now is None else ", no uncorrectable memory error"))]


def _missing(gpu: Gpu) -> Iterator[str]:
    """Yield sentences about values that are not known and could show an error. A value that the board does not have is
    none of them."""
    absent = [key for key in (*_COUNTS, *_FLAGS) if gpu.fact(key).absence is Absence.NOT_READ]
    if absent:
        yield f"{', '.join(absent)} is not in the report; add the whole of: nvidia-smi -q"
    for key in (*_COUNTS, *_FLAGS):
        fact = gpu.fact(key)
        sound = maybe(gpu, key, _MOST) is not None if key in _COUNTS else isinstance(fact.value, bool)
        if not sound and fact.absence not in (Absence.NOT_SUPPORTED, Absence.NOT_READ):
            yield f"there is no answer for {key} ({fact.reason or f'senseless: {str(fact.value)[:40]!r}'})"
