"""host-memory: no error of the host's memory and processors, and no process killed for want of memory, since boot."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

CHECK = Check(
    "host-memory", "the host's memory is sound, and nothing was killed for want of it",
    Heading.KERNEL, 75, Family.ERRORS,
)
CODES = {
    "uncorrected-error": "The host's memory or a processor had an error that was not corrected (EDAC, machine check).",
    "corrected-error": "The host's memory or a processor had an error that was corrected (EDAC, machine check).",
    "killed-for-memory": "The kernel killed a process because the host's memory ran out.",
    "killed-at-limit": "The kernel killed a process at the memory limit of its container or service (its cgroup).",
}
_ID = CHECK.id
_KINDS = {"uncorrected": ("uncorrected-error", "fail", "uncorrected error"),
          "corrected": ("corrected-error", "warn", "corrected error")}
_MODULE = Remedy("find the memory module by the message and the BMC's log, and replace it; a processor's bank is told "
                 "by the maker's tools (rasdaemon)", place=Place.MACHINE)
_OOM = Remedy.typed("see what took the memory (`sudo journalctl -k -b -g oom`): an engine that pins host memory for "
                    "its cache, for example; what was killed has to be started again")
_LIMIT = Remedy.typed("run `sudo journalctl -k -b -g oom-kill` and read oom_memcg there: it names the container or "
                      "service. Raise its limit; what was killed has to be started again")
_KILLS = {"out of memory": ("killed-for-memory", "the host's memory ran out", _OOM),
          "memory limit": ("killed-at-limit", "it reached the memory limit of its container or service (cgroup)",
                           _LIMIT)}


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    for error in log.memory:
        evidence = (f"{case.host.kernel.log.source}: {error.text}",)
        last = ", last" if error.count > 1 else ""
        if error.kind in _KILLS:
            code, words, remedy = _KILLS[error.kind]
            times = f" {error.count} times{last}" if error.count > 1 else ""
            yield Finding(_ID, code, error.where, "warn", "behaviour", f"the kernel killed {error.where}{times}"
                          f"{from_log.at(error.last)}; {words}", str(error.count), "no such kill since boot", evidence,
                          remedy)
            continue
        code, outcome, words = _KINDS[error.kind]
        yield Finding(_ID, code, error.where, outcome, "behaviour", f"{error.where}: {error.count} {words}"
                      f"{'s' if error.count > 1 else ''} of memory or processor{last}{from_log.at(error.last)}",
                      str(error.count), "no such error since boot", evidence, _MODULE)
    if not log.memory:
        yield from_log.nothing_logged(case, _ID, "error of the host's memory")
