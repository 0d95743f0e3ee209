"""gpu-power-limit: the power limit is the declared one, or the board's default."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.nvml import Gpu
from .check import Check, Family, Heading, Needs
from .finding import Case, Finding
from .from_nvml import Verdict, board_of, each, maybe, number, smi

CHECK = Check(
    "gpu-power-limit", "the power limit is the declared one, or the default",
    Heading.GPUS, 80, Family.GPU, needs=(Needs.GPUS,), judges=("gpu.power_limit",),
)
_ID = CHECK.id
_MOST = 5_000_000
#: Published for the RTX PRO 6000 (600 W); see the page.
_COST = "; of 600 W, 500 W costs nothing, 400 W 8 %, 300 W 3-4 % for one user and 30 % at 64"


def judge(case: Case) -> Iterator[Finding]:
    wanted = case.spec.gpu.power_limit_watts

    def look(gpu: Gpu) -> Verdict:
        known, limit = board_of(case, gpu), number(gpu, "power_limit_mw", _MOST, 1) // 1000
        low, high, default = ((maybe(gpu, f"power_limit_{end}_mw", _MOST) or 0) // 1000
                              or getattr(known, f"power_{end}_w", None) for end in ("min", "max", "default"))
        span = f"{low or '?'} to {high or '?'} W"
        goal = wanted or default
        if goal is None:
            number(gpu, "power_limit_default_mw", _MOST)      # where it is not told, it may be any
            return Verdict("skip", f"the power limit is {limit} W; neither spec nor board tells another", f"{limit} W")
        if (low and goal < low) or (high and goal > high):
            return Verdict("fail", f"{goal} W is outside what the board takes", f"{limit} W", span)
        if limit == goal or (wanted is None and limit > goal):
            return Verdict("pass", f"the power limit is {limit} W (the board takes {span})", f"{limit} W", f"{goal} W")
        cost = _COST if known and known.name.startswith("RTX PRO 6000") and default == 600 else ""
        return Verdict("fail" if wanted else "warn", f"the power limit is {limit} W{cost}", f"{limit} W",
                       f"{goal} W{'' if wanted else ' (the default)'}", smi(f"-pl {goal}", " (after every boot)"))

    yield from each(case, _ID, look)
