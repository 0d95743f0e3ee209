"""allreduce-bus: large all-reduces reach the bus bandwidth that such boards are known for."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...spec.boards import board
from ..check import ALLREDUCE, Check, Family, Heading
from ..codes import NO_COMPARISON, NOT_MEASURED, OK
from ..context import Case
from .pair_figures import measured
from .reduce_figures import sized, unmeasured

CHECK = Check(
    "allreduce-bus", "large all-reduces reach what such boards are known for",
    Heading.ALLREDUCE, 30, Family.MEASURED, ALLREDUCE,
)
_ID = CHECK.id
CODES = {
    "no-nccl": "NCCL is missing, so no large all-reduce was measured.",
    "slow": "A large all-reduce is slower than what such boards are known for.",
}
_GOOD = 0.9     # of the known figure. Eight RTX PRO 6000: 37 to 41 GB/s tuned, 22 with NCCL's defaults
_FIX = Remedy.typed("without NVLink try NCCL_MIN_NCHANNELS=8 and NCCL_P2P_LEVEL=SYS (NCCL ignores what it does not "
                    "know, as NODE); with it see `nvidia-smi nvlink -s`")


def judge(case: Case) -> Iterator[Finding]:
    figures = [each for each in measured(case).find("allreduce", "bus") if each.size and each.ranks]
    nothing = unmeasured(case, _ID)
    if nothing or not figures:
        code, outcome, text = ("no-nccl", "skip", "NCCL is missing: see allreduce-nccl") \
            if "nccl missing" in measured(case).notes else (NOT_MEASURED, "unknown", "no large all-reduce was measured")
        yield nothing or Finding(_ID, code, "ranks", outcome, "behaviour", text)
        return
    each = max(figures, key=lambda one: (one.ranks or 0, one.size or 0))
    ids = {device.ids for device in case.snapshot.topology.devices}
    known = board(ids.pop()) if len(ids) == 1 else None
    prior = getattr(known, f"bus_{each.ranks}_gb_s", None) if known else None
    text = f"{each.ranks} ranks: {each.value:.1f} GB/s bus bandwidth at {sized(each.size or 0)}"
    low = prior is not None and each.value < _GOOD * prior
    tail = f", {each.value / prior:.0%} of what {known.name if known else ''} reached" if prior else \
        "; nothing to compare with: no figure of such boards is known"
    code, outcome = ("slow", "warn") if low else (OK if prior else NO_COMPARISON, "pass")
    yield Finding(_ID, code, f"{each.ranks} ranks", outcome, "behaviour", text + tail,
                  f"{each.value:.1f} GB/s", f"{prior} GB/s" if prior else "", (each.method,), _FIX if low else None)
