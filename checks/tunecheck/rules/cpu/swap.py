"""swap: how much swap is there and in use. Only information: a page that comes back from swap waits for a disk."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "swap", "how much swap is there and in use", Heading.SYSTEM, 90, Family.CPU,
    judges=("memory.swap", "memory.swappiness"),
)
CODES = {
    "swap-active": "Swap is active; no limit is known that holds for every box.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    swaps, swappiness = case.host.platform.swaps, case.host.platform.swappiness
    if swaps.value is None and not swaps.missing:
        yield Finding(_ID, UNREAD, "swap", "unknown", "effective", f"the swap areas cannot be read: {swaps.why()}",
                      evidence=(swaps.source,), absence=swaps.absence)
        return
    size, used = sum(area.size for area in swaps.value or ()), sum(area.used for area in swaps.value or ())
    shown = f"{size >> 10} MiB of swap, {used >> 10} MiB in use"
    shown += f", vm.swappiness {swappiness.value}" if swappiness.value is not None else ""
    code, outcome, text = (("swap-active", "skip",
                            f"{shown}; information only: no limit is known that holds for every box") if size else
                           ("ok", "pass", "no swap is active"))
    yield Finding(_ID, code, "swap", outcome, "effective", text, shown, evidence=(swaps.source,))
