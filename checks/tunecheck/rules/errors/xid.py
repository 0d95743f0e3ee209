"""xid: no Xid since boot; each one with NVIDIA's recommended action. Xid 154 takes precedence over the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log, xid_remedies

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import KernelEvents, Xid

CHECK = Check(
    "xid", "no Xid since boot; each with NVIDIA's recommended action",
    Heading.KERNEL, 10, Family.ERRORS,
)
CODES = {
    "xid-N": "A GPU reported Xid N.",
    "cut-off": "A line of an Xid ends before the number: what happened cannot be told.",
    "quoted": "A sentence or another program names an Xid, and no line of the kernel that is here.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    for xid in log.xids:
        yield _judge(case, log, xid, xid.load == log.loads)
    if log.cut_xids:
        yield _cut_off(case, log.cut_xids)
    quoted = from_log.quoted(case, _ID)
    if quoted:
        yield quoted
    elif not log.xids and not log.cut_xids:
        yield from_log.nothing_logged(case, _ID, "Xid")


def _cut_off(case: Case, count: int) -> Finding:
    lines = "a line of an Xid ends" if count == 1 else f"{count} lines of an Xid end"
    return Finding(_ID, "cut-off", "lines", "unknown", "behaviour",
                   f"{lines} before the number, so what happened is not known", str(count), "no Xid since boot",
                   (case.host.kernel.log.source,),
                   Remedy.typed("give the whole lines: `sudo journalctl -k -b -g Xid --no-pager`"))


def _judge(case: Case, log: KernelEvents, xid: Xid, current: bool) -> Finding:
    recommended = xid_remedies.recommended(log, xid)
    subject = f"{from_log.name(case, xid.gpu)} {xid.instance}".strip()
    fatal = ", fatal" if 144 <= xid.code <= 150 and recommended.severity == "fail" else ""
    times = f" {xid.count} times, last" if xid.count > 1 else ""
    text = (f"{subject}: Xid {xid.code} ({recommended.meaning}{fatal}){times}"
            + from_log.at(xid.last) + (f" by {xid.process}" if xid.process else "")
            + ("" if current else ", before the driver was loaded again") + from_log.not_listed(case, xid.gpu))
    line = f"{case.host.kernel.log.source}: Xid {xid.code}, {xid.text}"
    return Finding(_ID, f"xid-{xid.code}", f"{subject} Xid {xid.code}{fatal}",
                   recommended.severity if current else "warn", "behaviour", text, str(xid.count), "no Xid since boot",
                   (line,), xid_remedies.remedy(log, xid))
