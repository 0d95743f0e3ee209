"""earlier-boots: what the kernel log holds about GPUs before this boot. History: it judges nothing of this boot."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from .earlier_boot_events import boots, counted, from_to

CHECK = Check(
    "earlier-boots", "what the kernel said of GPUs before this boot: history",
    Heading.KERNEL, 90, Family.ERRORS, happening=False,
)
CODES = {
    "nothing-of-gpus": "The lines of earlier boots hold no event of a GPU.",
    "no-earlier-boot": "There is no line of an earlier boot.",
    "gpu-events": "The kernel log of earlier boots holds events of GPUs.",
}
_ID = CHECK.id
_LIST = Remedy.typed("list them: `tunecheck preflight --history`, with --from where the evidence is a file; what comes "
                     "back in boot after boot is hardware or a driver, not chance")


def judge(case: Case) -> Iterator[Finding]:
    fact = case.snapshot.past
    if fact.value is None:
        yield Finding(_ID, UNREAD, "history", "skip", "behaviour", "what happened before this boot was not read: "
                      f"{fact.why()}", evidence=(fact.source,), absence=fact.absence)
        return
    past, more = fact.value, ", and more that is not here" if fact.value.cut else ""
    marked = [boot for boot in past.boots if boot.events]
    if not marked:
        code, text = (("nothing-of-gpus", f"nothing of GPUs in the lines of {boots(len(past.boots))}{more}")
                      if past.boots else ("no-earlier-boot", "no line of an earlier boot is here"))
        yield Finding(_ID, code, "history", "skip", "behaviour", text, evidence=(fact.source,))
        return
    yield Finding(_ID, "gpu-events", "history", "warn", "behaviour", f"before this boot, in {len(marked)} of "
                  f"{boots(len(past.boots))}{from_to(marked)}: {counted(past)}{more}", counted(past), "",
                  (fact.source,), _LIST)
