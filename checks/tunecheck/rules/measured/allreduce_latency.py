"""allreduce-latency: small all-reduces take an even time; the size from which NCCL is faster is reported."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import ALLREDUCE, Check, Family, Heading
from ..codes import NOT_MEASURED, OK
from ..context import Case
from .pair_figures import measured
from .reduce_figures import crossover, ranks_of, single, sized, tail, unmeasured

CHECK = Check(
    "allreduce-latency", "small all-reduces take an even time",
    Heading.ALLREDUCE, 20, Family.MEASURED, ALLREDUCE,
)
_ID = CHECK.id
CODES = {
    "uneven": "The slowest small all-reduces take much longer than most.",
    "through-host": "Small all-reduces take as long as a way through the host's memory.",
}
_SIZES = (8192, 65536)
_UNEVEN = 2.0       # p99 / p50. Measured on 2 x H200: 1.28 over 260,000 of them, with NVML polled beside it
_STAGED_US = 100.0  # 64 KB took 3.5 to 26 us on healthy boxes, 242 us (114 KB) where peer traffic went through the host
_FIX = Remedy("see gpu-throttle, cpu-governor and link-errors; more than 100 us is a way through the host: p2p-staged")


def judge(case: Case) -> Iterator[Finding]:
    trial, nothing = measured(case), unmeasured(case, _ID)
    if nothing:
        yield nothing
    for ranks in [] if nothing else ranks_of(trial):
        parts, bad, staged = [], [], False
        for size in _SIZES:
            pair = [(name, each) for name in ("own", "nccl") if (each := single(trial, name, ranks, size))]
            parts += [f"{sized(size)} " + ", ".join(f"{tail(each)[0]:.1f} us {name} (p99 {tail(each)[1]:.1f})"
                                                   for name, each in pair)] if pair else []
            slow = [name for name, each in pair if name == "own" and tail(each)[0] > _STAGED_US]
            staged = staged or bool(slow)
            bad += [f"{name} {sized(size)}" for name, each in pair
                    if tail(each)[1] > _UNEVEN * tail(each)[0] or name in slow]
        text = "; ".join([f"{ranks} ranks: {parts[0]}", *parts[1:], crossover(trial, ranks)]) if parts else ""
        code, outcome = ("through-host" if staged else "uneven", "warn") if bad else \
            (OK, "pass") if parts else (NOT_MEASURED, "unknown")
        yield Finding(_ID, code, f"{ranks} ranks", outcome, "behaviour",
                      text or f"{ranks} ranks: not measured", ", ".join(bad),
                      f"p99 at most {_UNEVEN:g} x p50, 64 KB in less than {_STAGED_US:g} us", (), _FIX if bad else None)
