"""sxid: no NVSwitch has reported an error since boot."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

CHECK = Check(
    "sxid", "no NVSwitch reported an error since boot", Heading.KERNEL, 30, Family.ERRORS,
)
CODES = {
    "sxid-N": "An NVSwitch reported SXid N.",
}
_ID = CHECK.id
_NUMBER = ("look up the number in appendix D of NVIDIA's Fabric Manager user guide "
           "(docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide)")
_FATAL = Remedy.typed("stop what uses the GPUs and reset all of them together: `nvidia-smi --gpu-reset`; where that is "
                      f"refused, reboot; see fabric-state; if the error comes back, {_NUMBER}")
_OTHER = Remedy.typed(f"see what Fabric Manager says: `journalctl -u nvidia-fabricmanager`; {_NUMBER}")


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    for each in log.sxids:
        kind = "fatal" if each.fatal else "not fatal"
        times = f", {each.count} times, last" if each.count > 1 else ""
        before_reload = "" if each.load == log.loads else ", before the driver was loaded again"
        yield Finding(_ID, f"sxid-{each.code}", f"{each.switch} SXid {each.code}",
                      "fail" if each.fatal and not before_reload else "warn", "behaviour", f"NVSwitch {each.switch}: "
                      f"SXid {each.code} ({kind}): {each.text}{times}{from_log.at(each.last)}{before_reload}",
                      str(each.count), "no SXid since boot", (case.host.kernel.log.source,),
                      _FATAL if each.fatal else _OTHER)
    if not log.sxids:
        yield from_log.nothing_logged(case, _ID, "SXid")
