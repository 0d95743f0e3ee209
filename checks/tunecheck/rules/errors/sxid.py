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
_FATAL = Remedy.typed("stop what uses the GPUs, reset all of them together (`sudo nvidia-smi --gpu-reset`) or reboot, "
                      "and look at fabric-state; again: look the number up in appendix D of NVIDIA's fabric manager "
                      "user guide")
_OTHER = Remedy.typed("look at `sudo journalctl -u nvidia-fabricmanager`, and the number up in appendix D of NVIDIA's "
                      "fabric manager user guide")


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
