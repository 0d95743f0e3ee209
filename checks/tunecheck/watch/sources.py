"""What one look reads: the engine's page, NVML's samples, kernel messages, links, disks and the supervisor. None of it
is waited for without a bound: pages and commands have deadlines, NVML has a process of its own."""

from __future__ import annotations

import contextlib
import ssl
import time
from dataclasses import replace

from ..errors import ProbeError
from ..host import Host, Unreadable
from ..host.http_page import fetch
from ..host.kmsg import KernelMessages
from ..host.nvml_samples import GpuSample, NvmlSampler
from ..model.absence import Absence
from ..serving import accepted
from ..serving.accepted import Accepted
from ..util.at_first_use import dataclass
from . import kernel
from .canary import Canary
from .model import Code, Engine, Look, Phase, Reason, Run
from .progress import engine_of_page
from .run import Supervisor
from .witnesses import Witnesses

__all__ = ["Sources", "Target"]

_PCI = "/sys/bus/pci/devices"
#: In seconds: how often what changes slowly is read.
_LINKS_EVERY, _DISK_EVERY, _ACCEPTED_EVERY = 30.0, 60.0, 10.0
_PAGE, _COMMAND = 2.0, 3.0
#: The last page before the limit of silence has so long at least.
_LAST_PAGE = 0.5
#: Below both a log or a cache fails soon.
_FREE_SHARE, _FREE_BYTES = 0.05, 5 << 30
_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
#: Corrected errors of one device between two readings of its links.
_STORM = 100


@dataclass(frozen=True)
class Target:
    """``url``: the engine, as http://127.0.0.1:30000; ``assumed``: nobody gave it. ``paths``: folders whose file system
    must not fill up. ``accepted``: where the acceptance left its figures, "": not judged by them; ``by_unit``: they
    are of this run of a unit; ``boot_id``: of this boot."""

    url: str
    assumed: bool = False
    key: str = ""
    context: ssl.SSLContext | None = None
    paths: tuple[str, ...] = ("/", "/var/lib", "/var/log", "/var/cache")
    accepted: str = ""
    by_unit: bool = False
    boot_id: str = ""


class Sources:
    """``look`` is called once an interval; what fails is told as a reason, never raised."""

    def __init__(self, host: Host, target: Target, sampler: NvmlSampler | None,
                 messages: KernelMessages | None, canary: Canary | None = None,
                 supervisor: Supervisor | None = None) -> None:
        self._host, self._target, self._canary = host, target, canary
        self._sampler, self._messages, self._supervisor = sampler, messages, supervisor
        self._slow: dict[str, float] = {}
        self._links: dict[str, int] = {}
        self._corrected: dict[str, int] = {}
        #: What was seen last stays so where it cannot be read again.
        self._narrow: dict[str, Reason | None] = {}
        self._disk: dict[str, Reason | None] = {}
        self._witnesses = Witnesses(host)
        self._accepted: Accepted | None = None
        self._invocation = ""       # as it was told last

    def look(self, processes: bool, ask: bool = False, due: float | None = None) -> Look:
        """``processes``: whether those of the engine, and NCCL's RAS, are worth asking now. ``ask``: whether to ask a
        canary, unless a request runs by now. ``due``: the monotonic time at which its silence becomes a stall."""
        began = time.monotonic()
        answer = self._canary.answer() if self._canary is not None else None
        engine = self._engine(due)
        conditions: list[Reason] = []
        gpus = self._gpus(conditions)
        events = self._kernel(conditions)
        run = self._run()
        if gpus and self._due("links", _LINKS_EVERY):
            for each in gpus:
                self._narrower(each.bdf)
                events += self._storm(each.bdf)
        if self._due("disk", _DISK_EVERY):
            for path in self._target.paths:
                self._full(path)
        if self._target.accepted and self._due("accepted", _ACCEPTED_EVERY):
            self._accepted = self._reference()
        if self._target.accepted and self._accepted is None and engine.running is not None:
            conditions.append(Reason(Code.NOT_ACCEPTED))
        self._witnesses.note(run, gpus or (), engine.moved)
        found = self._witnesses.processes(run) if processes else ()
        ras, absence = self._witnesses.ras(found) if processes else (None, None)
        sms = self._witnesses.sms() if processes and gpus else ()
        asking = processes and self._witnesses.asking
        if not processes:
            self._witnesses.forget()
        slow = [each for each in (*self._narrow.values(), *self._disk.values()) if each is not None]
        if ask and answer is None:
            self._ask()
        at = time.monotonic()
        return Look(at, engine, gpus, run, events, (*conditions, *slow), found, at - began, ras, absence, sms,
                    asking, self._accepted, answer, self._canary is not None and self._canary.asking)

    def close(self) -> None:
        """Let go of who is being asked."""
        self._witnesses.forget()

    def _ask(self) -> None:
        if self._canary is not None and not self._canary.asking:
            with contextlib.suppress(OSError):      # no process can be started: it is due again at the next look
                self._canary.ask(self._accepted)

    def _due(self, name: str, every: float) -> bool:
        now = time.monotonic()
        if name in self._slow and now - self._slow[name] < every:
            return False
        self._slow[name] = now
        return True

    def _engine(self, due: float | None) -> Engine:
        # No longer than until the limit: a look that began shortly before it would tell the stall 2 s later.
        left = due - time.monotonic() if due is not None else 0.0
        seconds = min(_PAGE, max(left, _LAST_PAGE)) if left > 0 else _PAGE
        try:
            page = fetch(f"{self._target.url}/metrics", seconds, self._target.key or None, self._target.context)
        except Unreadable as error:
            # What answers with something else, or with too much of it, is not silent.
            answers = error.absence is Absence.UNREADABLE
            return Engine(absence=error.absence, code=Code.METRICS_UNREADABLE if answers else None)
        return engine_of_page(page.status, page.text)

    def _reference(self) -> Accepted | None:
        """What was accepted, where it is of what runs now: this run of the unit, this boot, these GPUs."""
        found = []
        with contextlib.suppress(ProbeError, ValueError):
            found.append(accepted.parsed(self._host.read_bytes(self._target.accepted)))
        if self._accepted is not None:      # a file that is gone or torn takes back nothing
            found.append(self._accepted)
        try:
            gpus = accepted.addresses(self._host.list(accepted.GPUS))
        except ProbeError:
            gpus = self._accepted.gpus if self._accepted is not None else ()
        run = self._invocation if self._target.by_unit else None
        held = next((each for each in found if each.holds(self._target.boot_id, run, gpus)), None)
        return self._accepted if held == self._accepted else held

    def _gpus(self, conditions: list[Reason]) -> tuple[GpuSample, ...] | None:
        if self._sampler is None:
            return None
        try:
            return self._sampler.latest().gpus
        except Unreadable as error:
            code = Code.NVML_SILENT if error.absence in (Absence.TIMED_OUT, Absence.CUT_OFF) else Code.NVML_STARTS \
                if error.absence is Absence.NOT_READ else Code.NVML_REFUSES
            conditions.append(Reason(code))
            return None

    def _kernel(self, conditions: list[Reason]) -> tuple[Reason, ...]:
        if self._messages is None:
            conditions.append(Reason(Code.KMSG_UNREADABLE))
            return ()
        try:
            new = self._messages.new()
        except Unreadable:
            conditions.append(Reason(Code.KMSG_UNREADABLE))
            return ()
        return (*kernel.reasons(new.lines), *([Reason(Code.KMSG_OVERRUN)] if new.overrun else []))

    def _run(self) -> Run | None:
        if self._supervisor is None:
            return None
        run = self._supervisor.run()
        self._invocation = run.invocation if run.phase is not Phase.UNREAD else self._invocation
        # Where another engine may be asked than this one, its silence says nothing of how long this one loads.
        return replace(run, entered=None) if self._target.assumed else run

    def _narrower(self, bdf: str) -> None:
        """A link that lost lanes since the watch began. Speed falls and rises with the load; lanes do not."""
        try:
            width = int(self._host.read_bytes(f"{_PCI}/{bdf}/current_link_width"))
        except (ProbeError, ValueError):
            return
        if width not in _WIDTHS:        # a lost device reads as all ones, which are 63 lanes
            return
        first = self._links.setdefault(bdf, width)
        self._narrow[bdf] = Reason(Code.LINK_NARROWER, bdf, (("lanes", float(width)), ("before", float(first)))) \
            if width < first else None

    def _storm(self, bdf: str) -> tuple[Reason, ...]:
        """Corrected errors that sysfs counts: the kernel's log has only some of many."""
        try:
            text = self._host.read_bytes(f"{_PCI}/{bdf}/aer_dev_correctable").decode("ascii", "replace")
            count = int(text.rpartition("TOTAL_ERR_COR")[2])
        except (ProbeError, ValueError):
            return ()
        before = self._corrected.get(bdf, count)
        self._corrected[bdf] = count
        return (Reason(Code.AER_STORM, bdf, (("errors", float(count - before)),)),) if count - before >= _STORM else ()

    def _full(self, path: str) -> None:
        try:
            done = self._host.run(("df", "--output=avail,size,target", "--block-size=1", "--", path), _COMMAND)
            words = done.stdout.splitlines()[1].split(maxsplit=2)
            free, size, place = int(words[0]), int(words[1]), words[2]
        except (ProbeError, ValueError, IndexError):
            return
        low = free < _FREE_BYTES and free < _FREE_SHARE * size
        # By its file system: two folders of one are one disk.
        self._disk[place] = Reason(Code.DISK_LOW, place, (("free_bytes", float(free)),)) if low else None
