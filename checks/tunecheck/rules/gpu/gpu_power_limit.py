"""gpu-power-limit: the power limit is the declared one, or the board's default."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.command import run
from ...model.fact import Absence
from ...model.finding import Finding, Place
from ...spec.boards import Board
from ..check import Check, Family, Heading, Needs
from ..codes import SENSELESS_VALUE, UNREAD
from ..context import Case
from ..nvidia.from_nvml import Unread, Verdict, board_of, each, maybe, number, smi

CHECK = Check(
    "gpu-power-limit", "the power limit is the declared one, or the default",
    Heading.GPUS, 80, Family.GPU, needs=(Needs.GPUS,), judges=("gpu.power_limit",),
    could_not_look=("default-unknown",),
)
CODES = {
    "default-unknown": "The power limit can be read; neither specification nor board has another to compare it with.",
    "out-of-range": "The declared power limit is outside the range of the board.",
    "differs": "The power limit is not the declared one.",
    "below-others": "The power limit is lower than that of another GPU of the same model, and no default is told.",
    "not-in-force": "Another power limit is in force than the one that is set: something else caps the GPU.",
    "below-default": "The power limit is below the board's default, and nothing is declared.",
}
_ID = CHECK.id
_MOST = 5_000_000
#: Published for the RTX PRO 6000 (600 W); see the page.
_COST = ("; published against 600 W: 500 W is about as fast, 400 W 8 % slower; 300 W 30 % slower with 64 users, and 3 "
         "to 4 % with one")
#: Nobody runs it after the next boot but the role.
_LASTS = "; a boot takes it back: gpu.power_limit_watts of the specification sets it after every boot"
_CAPPED = ("what caps the GPU (platform, power brake, temperature) is not set by -pl; the reasons: ",
           run("nvidia-smi -i {gpus} -q -d POWER,PERFORMANCE"),
           "; then look for a power cap in the BMC, at the power supplies and at the board's power cables")


def judge(case: Case) -> Iterator[Finding]:
    wanted = case.spec.gpu.power_limit_watts

    highest: dict[tuple[object, ...], int] = {}
    for other in case.snapshot.nvml.value.gpus if case.snapshot.nvml.value else ():
        if model := _model(other):
            highest[model] = max(maybe(other, "power_limit_mw", _MOST) or 0, highest.get(model, 0))

    def look(gpu: Gpu) -> Verdict:
        known, asked = board_of(case, gpu), number(gpu, "power_limit_mw", _MOST, 1) // 1000
        others = highest.get(_model(gpu), 0) // 1000
        if wanted is None and asked < others and not (known and known.power_default_w) \
                and "power_limit_default_mw" not in gpu.values:
            # "NVIDIA RTX PRO 6000 Blac..." may be the Max-Q, whose default is half of the others'.
            more = "" if gpu.values.get("name") else ", as far as the name is shown; another variant may have less"
            return Verdict("below-others", "warn", f"the power limit is set to {asked} W, and another GPU of this "
                           f"model has {others} W{more}", f"{asked} W", f"{others} W",
                           ("see Default Power Limit: ", run("nvidia-smi -i {gpus} -q -d POWER"),
                            "; where it is higher, ", *smi(f"-pl {others}")))
        limit, unread = _in_force(gpu, asked)
        low, high = _range(gpu, known)
        span = f"{low or '?'} to {high or '?'} W"
        goal = wanted or _default(gpu, known, limit)
        if goal is None:
            return Verdict("default-unknown", "skip", f"the power limit is {limit} W; whether that is the default is "
                           "not known: neither the board nor a spec says another", f"{limit} W")
        fine = limit == goal or (wanted is None and limit > goal)
        if limit != asked:
            return Verdict("not-in-force", "fail" if wanted and not fine else "warn",
                           f"not the {asked} W that are set are in force, but {limit} W", f"{limit} W", f"{goal} W",
                           _CAPPED, place=Place.MACHINE)
        if fine and unread is not None:
            raise unread
        if fine:
            return Verdict("ok", "pass", f"the power limit is {limit} W (the board takes {span})", f"{limit} W",
                           f"{goal} W")
        if wanted and ((low and wanted < low) or (high and wanted > high)):
            return Verdict("out-of-range", "fail", f"{wanted} W is outside what the board takes", f"{limit} W", span)
        cost = _COST if known and known.name.startswith("RTX PRO 6000") and known.power_default_w == 600 else ""
        code, outcome = ("differs", "fail") if wanted else ("below-default", "warn")
        low_now = "" if wanted else ", below the default"
        return Verdict(code, outcome, f"the power limit is {limit} W{low_now}{cost}", f"{limit} W",
                       f"{goal} W{'' if wanted else ' (the default)'}", smi(f"-pl {goal}", _LASTS))

    yield from each(case, _ID, look)


def _in_force(gpu: Gpu, asked: int) -> tuple[int, Unread | None]:
    """Return the limit in force in W; where it is not known, the one that is set, and why a pass would say too much."""
    key = "power_limit_enforced_mw"
    fact = gpu.fact(key)
    if fact.absence in (Absence.NOT_SUPPORTED, Absence.OLDER):
        return asked, None
    try:
        return number(gpu, key, _MOST, 1) // 1000, None
    except Unread:
        why = fact.reason or f"a senseless {str(fact.value)[:40]!r}"
        return asked, Unread(UNREAD, "unknown", f"which power limit is in force is not known ({why}); {asked} W "
                             "is set", f"NVML {key}", fact.absence)


def _model(gpu: Gpu) -> tuple[object, ...]:
    """Return what GPUs of one model have in common, as far as a text shows it; () where no name is told."""
    name = gpu.values.get("name") or gpu.values.get("name_begin")
    return (str(name), str(gpu.values.get("memory_total_mib"))) if name else ()


def _watts(gpu: Gpu, end: str) -> int | None:
    return (maybe(gpu, f"power_limit_{end}_mw", _MOST) or 0) // 1000 or None


def _range(gpu: Gpu, known: Board | None) -> tuple[int | None, int | None]:
    """Return the lowest and the highest limit of the board in W, for the message; None where one is not known."""
    return (_watts(gpu, "min") or (known.power_min_w if known else None),
            _watts(gpu, "max") or (known.power_max_w if known else None))


def _default(gpu: Gpu, known: Board | None, limit: int) -> int | None:
    """The default limit in W. The table of boards decides. The GPU's own default counts only where it is lower and
    the board can take it (a maker's own board): the GPU's own values alone do not excuse a lower limit. For a board
    that the table lacks, the GPU's own default has to lie in its own range; else Unread."""
    low, own, high = (_watts(gpu, end) for end in ("min", "default", "max"))
    if known and known.power_default_w:
        least = known.power_min_w or known.power_default_w
        return own if own and least <= own < known.power_default_w else known.power_default_w
    number(gpu, "power_limit_default_mw", _MOST)      # Unread where the GPU does not say it: it may be any
    if own and limit >= own and not (low and high and low <= own <= high):
        raise Unread(SENSELESS_VALUE, "unknown", f"no sound answer: a default of {own} W in a range of {low or '?'} "
                     f"to {high or '?'} W; the power limit is {limit} W", "NVML power_limit_default_mw")
    return own
