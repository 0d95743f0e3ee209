"""xid: no Xid since boot; each one with NVIDIA's recommended action. What Xid 154 says wins over the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...model.command import addresses
from ...model.finding import Finding, Place, Remedy
from ...parsers.nvidia.xid_catalog import advice
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import Xid

CHECK = Check(
    "xid", "no Xid since boot; each with NVIDIA's recommended action",
    Heading.KERNEL, 10, Family.ERRORS, happening=True,
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    found = from_log.events(case)
    if found is None:
        yield from_log.unread(case, _ID)
        return
    asked = {xid.gpu: xid for xid in found.xids if xid.recovery and xid.load == found.loads}
    for xid in found.xids:
        yield _judge(case, xid, asked.get(xid.gpu), xid.load == found.loads)
    if not found.xids:
        yield from_log.nothing(case, _ID, "Xid")


def _judge(case: Case, xid: Xid, asked: Xid | None, current: bool) -> Finding:
    says = advice(xid.code, xid.text, asked.recovery if asked and current and asked.order >= xid.order else None)
    subject = f"{from_log.name(case, xid.gpu)} {xid.instance}".strip()
    fatal = ", fatal" if 144 <= xid.code <= 150 and says.severity == "fail" else ""
    times = f" {xid.count} times, last" if xid.count > 1 else ""
    text = (f"{subject}: Xid {xid.code} ({says.meaning}{fatal}){times}"
            + from_log.at(xid.last) + (f" by {xid.process}" if xid.process else "")
            + ("" if current else ", before the driver was loaded again"))
    # The address is what the log says: it gets into a command only where it is one.
    gpu, action = f"{xid.gpu}.0", f"recommended: {says.action} ({says.source})"
    place = Place.MACHINE if says.physical else Place.BOX
    remedy = Remedy.typed(action, (), says.reboot, place, gpu=gpu) if addresses([gpu]) else \
        Remedy(action.replace("`", "").replace("{gpu}", "ADDRESS"), (), says.reboot, place)
    line = f"{case.host.kernel.log.source}: Xid {xid.code}, {xid.text}"
    return Finding(_ID, f"{subject} Xid {xid.code}{fatal}", says.severity if current else "warn", "behaviour", text,
                   str(xid.count), "no Xid since boot", (line,), remedy, f"xid-{xid.code}")
