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
_ID = CHECK.id
_FATAL = Remedy.typed("stop what uses the GPUs, reset all of them together (`sudo nvidia-smi --gpu-reset`) or reboot, "
                      "and look at fabric-state; again: look the number up in appendix D of NVIDIA's fabric manager "
                      "user guide")
_OTHER = Remedy.typed("look at `sudo journalctl -u nvidia-fabricmanager`, and the number up in appendix D of NVIDIA's "
                      "fabric manager user guide")


def judge(case: Case) -> Iterator[Finding]:
    found = from_log.events(case)
    if found is None:
        yield from_log.unread(case, _ID)
        return
    for each in found.sxids:
        kind = "fatal" if each.fatal else "not fatal"
        times = f", {each.count} times, last" if each.count > 1 else ""
        old = "" if each.load == found.loads else ", before the driver was loaded again"
        yield Finding(_ID, f"{each.switch} SXid {each.code}", "fail" if each.fatal and not old else "warn", "behaviour",
                      f"NVSwitch {each.switch}: SXid {each.code} ({kind}): {each.text}{times}"
                      f"{from_log.at(each.last)}{old}", str(each.count), "no SXid since boot",
                      (case.host.kernel.log.source,), _FATAL if each.fatal else _OTHER, f"sxid-{each.code}")
    if not found.sxids:
        yield from_log.nothing(case, _ID, "SXid")
