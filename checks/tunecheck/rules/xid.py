"""xid: no Xid since boot; each one with NVIDIA's recommended action. What Xid 154 says wins over the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.kernel_log import Xid
from ..formats.xid_catalog import CATALOG, RECOVERY, SOURCE, severity
from . import from_log
from .finding import Case, Finding, Remedy

_ID = "xid"


def judge(case: Case) -> Iterator[Finding]:
    found = from_log.events(case)
    if found is None:
        yield from_log.unread(case, _ID)
        return
    # The last word of Xid 154 about each GPU, since the driver was loaded.
    asked = {xid.gpu: xid for xid in found.xids if xid.recovery and xid.load == found.loads}
    for xid in found.xids:
        yield _judge(case, xid, asked.get(xid.gpu), xid.load == found.loads)
    if not found.xids:
        yield from_log.nothing(case, _ID, "Xid")


def _judge(case: Case, xid: Xid, asked: Xid | None, current: bool) -> Finding:
    entry = CATALOG.get(xid.code)
    outcome = severity(xid.code, xid.text) if current else "warn"
    action, said = (entry.action, SOURCE) if entry else ("", f"not in the {SOURCE}")
    if current and asked and asked.recovery and asked.order >= xid.order:
        number, words = asked.recovery
        outcome = "warn" if number == 0 else outcome
        action, said = RECOVERY.get(number, f"what the driver calls {words}"), f"Xid 154: {words}"
    subject = " ".join(part for part in (from_log.name(case, xid.gpu), xid.instance) if part)
    text = f"{subject}: Xid {xid.code} ({entry.meaning if entry else 'unknown code'})"
    text += f" {xid.count} times, last" if xid.count > 1 else ""
    text += from_log.at(xid.last) + (f" by {xid.process}" if xid.process else "")
    text += "" if current else ", before the driver was loaded again"
    log = f"{case.host.kernel.log.source}: Xid {xid.code}, {xid.text}"
    remedy = Remedy(f"recommended: {action} ({said})" if action else f"{said}: look it up at docs.nvidia.com", (),
                    current and "reboot the host" in action)
    return Finding(_ID, f"{subject} Xid {xid.code}", outcome, "behaviour", text, f"{xid.count}", "no Xid since boot",
                   (log,), remedy)
