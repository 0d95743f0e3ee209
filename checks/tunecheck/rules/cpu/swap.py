"""swap: how much swap is there and in use. Information: what is read from it again waits for a disk."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import Check, Family, Heading
from ..context import Case

CHECK = Check(
    "swap", "how much swap is there and in use", Heading.SYSTEM, 90, Family.CPU,
    judges=("memory.swap", "memory.swappiness"),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    swaps, swappiness = case.host.platform.swaps, case.host.platform.swappiness
    if swaps.value is None and not swaps.missing:
        yield Finding(_ID, "swap", "unknown", "effective", f"the swap areas cannot be read: {swaps.why()}",
                      absence=swaps.absence)
        return
    size, used = sum(area.size for area in swaps.value or ()), sum(area.used for area in swaps.value or ())
    seen = f"{size >> 10} MiB of swap, {used >> 10} MiB in use, vm.swappiness {swappiness.value}"
    yield Finding(_ID, "swap", "skip" if size else "pass", "effective", f"{seen}; information only: no limit is "
                  "known that holds for every box" if size else "no swap is active", seen, evidence=(swaps.source,))
