"""gpu-ecc: ECC looks for memory errors, and it corrected each of them."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu, name_of
from ...model.command import run
from ...model.fact import Absence
from ...model.finding import Finding, Place
from ...util.text import some
from ..check import Check, Family, Heading, Needs
from ..codes import UNREAD
from ..context import Case
from ..nvidia.from_nvml import Unread, Verdict, each, maybe, smi, word
from ..nvidia.posted_gpus import whole_or_add

CHECK = Check(
    "gpu-ecc", "ECC is on, and no memory error was uncorrectable",
    Heading.GPUS, 50, Family.GPU, needs=(Needs.GPUS,),
    judges=("gpu.ecc", "gpu.ecc_pending", "gpu.remap_failed", "gpu.remap_pending"), happening=True,
)
CODES = {
    "differs": "ECC is in another mode than declared; where nothing is declared, it is off.",
    "changes-at-reset": "ECC is in the mode that it should be in, and the next reset changes it.",
    "remap-failed": "The GPU could not remap a memory row.",
    "unrepairable-memory": "The driver says that memory of the GPU cannot be repaired.",
    "sram-threshold-exceeded": "The driver counts more SRAM errors than it takes for sound.",
    "uncorrectable-errors": "The GPU had uncorrectable memory errors since the driver was loaded.",
    "remap-pending": "A memory row waits to be remapped.",
    "page-retirement-pending": "A memory page waits to be retired.",
    "channel-repair-pending": "A memory channel waits to be repaired.",
    "tpc-repair-pending": "A TPC of the GPU waits to be repaired.",
    "earlier-uncorrectable-errors": "The board had uncorrectable memory errors, none since the driver was loaded.",
}
_ID = CHECK.id
_MOST = 1 << 62
_MODES = ("enabled", "disabled")
_COUNTS = ("ecc_volatile_uncorrected", "ecc_aggregate_uncorrected")
#: key -> (code, what it says, what is observed): the board is broken.
_BROKEN = {
    "remap_failed": ("remap-failed", "a memory row could not be remapped", "remapping failed"),
    "unrepairable_memory": ("unrepairable-memory", "the driver says that memory cannot be repaired", "unrepairable"),
    "sram_threshold_exceeded": ("sram-threshold-exceeded", "the driver counts too many SRAM errors", "exceeded"),
}
#: key -> (code, what waits for a reset)
_PENDING = {
    "remap_pending": ("remap-pending", "a memory row waits to be remapped"),
    "retire_pending": ("page-retirement-pending", "a memory page waits to be retired"),
    "channel_repair_pending": ("channel-repair-pending", "a memory channel waits to be repaired"),
    "tpc_repair_pending": ("tpc-repair-pending", "a TPC waits to be repaired"),
}
_KEYS = ("ecc_pending", *_COUNTS, *_BROKEN, *_PENDING)
#: The board, or the version that recorded it, has no such value.
_NONE = (Absence.NOT_SUPPORTED, Absence.OLDER)
_REPLACE = "replace the board (ask its maker for an RMA)"
_WATCH = ("note the count, and look again after some days of load: ",
          run("nvidia-smi -i {gpus} -q -d ECC,ROW_REMAPPER"), "; one that grows is a board to be replaced")


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, lambda gpu: list(_look(gpu, case.spec.gpu.ecc)))


def _look(gpu: Gpu, wanted: str | None) -> Iterator[Verdict]:
    mode, goal = word(gpu, "ecc_mode", *_MODES), wanted or "enabled"
    now = maybe(gpu, "ecc_volatile_uncorrected", _MOST)
    bad = [*_modes(gpu, mode, goal, wanted), *_faults(gpu, now)]
    if not bad and mode == "enabled" and now is None:
        raise Unread(UNREAD, "unknown", "NVML does not tell its memory's error counts; ECC is enabled")
    missing = list(_missing(gpu))
    yield from bad
    if missing:     # one fault that is told says nothing of another one that cannot be
        yield Unread(UNREAD, "unknown", f"{'; '.join(missing)}; ECC is {mode}").verdict
    elif not bad:
        yield Verdict("ok", "pass", f"ECC is {mode}" + ("" if now is None else ", no uncorrectable memory error"))


def _modes(gpu: Gpu, mode: str, goal: str, wanted: str | None) -> Iterator[Verdict]:
    pending, fix = gpu.values.get("ecc_pending"), smi(f"-e {int(goal == 'enabled')}", ", then reboot")
    if mode != goal:
        yield Verdict("differs", "fail" if wanted else "warn", f"ECC is {mode}", mode, goal, fix, True)
    elif pending in _MODES and pending != goal:
        yield Verdict("changes-at-reset", "warn", f"ECC will be {pending} after the next reset; it is {mode} now",
                      str(pending), goal, smi(f"-e {int(goal == 'enabled')}"))


def _faults(gpu: Gpu, now: int | None) -> Iterator[Verdict]:
    for key, (code, text, observed) in _BROKEN.items():
        if gpu.values.get(key) is True:
            yield Verdict(code, "fail", text, observed, "no", _REPLACE, place=Place.MACHINE)
    ever = maybe(gpu, "ecc_aggregate_uncorrected", _MOST)
    waiting = [each for key, each in _PENDING.items() if gpu.values.get(key) is True]
    if now:
        yield Verdict("uncorrectable-errors", "fail", f"{now} uncorrectable memory errors since the driver was loaded",
                      str(now), "0", smi("--gpu-reset", "; nothing may use it meanwhile"))
    elif not waiting and ever:
        yield Verdict("earlier-uncorrectable-errors", "warn", f"{ever} uncorrectable memory errors over the "
                      "board's life", str(ever), "0", _WATCH)
    for code, text in waiting if not now else ():       # the same reset
        yield Verdict(code, "warn", text, "pending", "no", smi("--gpu-reset"))


def _missing(gpu: Gpu) -> Iterator[str]:
    """Yield sentences about values that are not known and could show an error. A value that the board does not have is
    none of them."""
    facts = {key: gpu.fact(key) for key in _KEYS}
    absent = [key for key, fact in facts.items() if fact.absence is Absence.NOT_READ]
    if absent:
        yield f"not known: {some([name_of(key) for key in absent], 3)}: not in the report{whole_or_add(gpu)}"
    unread: dict[str, list[str]] = {}
    for key, fact in facts.items():
        sound = (maybe(gpu, key, _MOST) is not None if key in _COUNTS else
                 fact.value in _MODES if key == "ecc_pending" else isinstance(fact.value, bool))
        if not sound and fact.absence not in (*_NONE, Absence.NOT_READ):
            unread.setdefault(fact.reason or f"senseless: {str(fact.value)[:40]!r}", []).append(key)
    for reason, keys in unread.items():
        yield f"there is no answer for {some([name_of(key) for key in keys], 3)} ({reason})"
