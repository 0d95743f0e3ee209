"""New kernel messages as reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..parsers.kernel.kernel_log import parse
from ..parsers.nvidia.xid_catalog import advice
from .model import Code, Reason

__all__ = ["reasons"]

_OOM = re.compile(r"\[ *[0-9.]+\] (?:Out of memory|Memory cgroup out of memory)(?: \(oom_kill_allocating_task\))?: "
                  r"Killed process ([0-9]{1,10}) \(([^)]{1,64})\)")
#: Correctable errors of one device between two looks; a marginal link makes hundreds a second.
_STORM = 50


def reasons(lines: Sequence[str]) -> tuple[Reason, ...]:
    """``lines`` as dmesg shows them. An application's own fault (Xid 13, 31, 43 and such) is no fault of the box."""
    if not lines:
        return ()
    found = parse("\n".join(lines))
    told = [Reason(Code.XID, f"{each.gpu}.0", (("xid", float(each.code)),)) for each in found.xids
            if advice(each.code, each.text, each.recovery).severity == "fail"]
    told += [Reason(Code.GPU_GONE, f"{each.gpu}.0") for each in found.fallen]
    told += [Reason(Code.SXID, each.switch, (("sxid", float(each.code)),)) for each in found.sxids if each.fatal]
    told += [Reason(Code.HUNG_TASK, f"{each.name} {each.pid}") for each in found.hung if each.seconds]
    told += [Reason(Code.AER_STORM, each.bdf, (("errors", float(each.count)),)) for each in found.pcie
             if each.severity != "correctable" or each.count >= _STORM]
    told += [Reason(Code.OOM_KILL, f"{oom[2]} {oom[1]}") for line in lines if (oom := _OOM.match(line))]
    return tuple(told)
