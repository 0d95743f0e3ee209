"""earlier-boots: what the kernel said of GPUs before this boot. History: it judges nothing of this boot."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from .earlier_boot_events import boots, counted, from_to

CHECK = Check(
    "earlier-boots", "what the kernel said of GPUs before this boot: history",
    Heading.KERNEL, 90, Family.ERRORS,
)
_ID = CHECK.id
_LIST = Remedy.typed("list them: `tunecheck preflight --history`, with --from where the evidence is a file; what comes "
                     "back in boot after boot is hardware or a driver, not chance")


def judge(case: Case) -> Iterator[Finding]:
    fact = case.snapshot.past
    if fact.value is None:
        yield Finding(_ID, "history", "skip", "behaviour", f"what happened before this boot was not read: {fact.why()}",
                      evidence=(fact.source,), absence=fact.absence)
        return
    found, more = fact.value, ", and more that is not here" if fact.value.cut else ""
    marked = [boot for boot in found.boots if boot.events]
    if not marked:
        text = f"nothing of GPUs in the lines of {boots(len(found.boots))}{more}" if found.boots else (
            "no line of an earlier boot is here")
        yield Finding(_ID, "history", "skip", "behaviour", text, evidence=(fact.source,))
        return
    yield Finding(_ID, "history", "warn", "behaviour", f"before this boot, in {len(marked)} of "
                  f"{boots(len(found.boots))}{from_to(marked)}: {counted(found)}{more}", counted(found), "",
                  (fact.source,), _LIST)
