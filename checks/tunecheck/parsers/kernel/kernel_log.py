"""Turns a kernel log into events: Xid, lost GPUs, failed starts, PCIe errors and who handles them, hung tasks, and from
when to when the log goes.

Pure: text in, events out, for any text. Formats of NVIDIA's open kernel modules 595 (kernel_rc.c, gpu.c, nv.c, osapi.c)
and of kernel/hung_task.c. Memory and time are bounded whatever the log holds.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from itertools import islice

from ...util.at_first_use import dataclass, regex
from ..nvidia.driver_failures import Failure, Failures
from ..nvidia.driver_refusals import Mismatch, Refusals, Unsupported
from ..pci.aer import PcieError, PcieErrors
from ..pci.bandwidth import Limited, Limits
from ..pci.dma_faults import DmaFault, DmaFaults
from ..pci.osc import Bridge
from ..pci.pci_space import Assignments, Unassigned
from ..text.log_lines import Line, begins, bounded, lines, span
from .lockups import Lockup, Lockups
from .log_boards import Boards
from .memory_errors import HostError, MemoryErrors
from .quotations import Quotations, Quoted
from .quotations import address as _address

__all__ = ["Fallen", "HungTask", "KernelEvents", "SXid", "Xid", "parse"]

# The pid may be '<unknown>' and the name hold any character but a comma; a MIG instance stands inside the parentheses.
_XID = regex(
    r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?"
    r"(?: (GPU-I:\d+(?: GPU-CI:\d+)?))?\): (\d{1,6})(?:, pid=('?[^,]*'?), name=([^,]*))?,? ?(.*)")
#: What is left of such a line where its end is missing, before the number or within the address.
_CUT_XID = regex(r"NVRM: Xid(?: \([^)\n]{0,60}(?:\):?)?)?\s*\Z")
_BARE_PID = regex(r"pid=(\d{1,10}), (.*)")
_LOST = regex(r"NVRM: GPU ([0-9a-fA-F:]{7,16})(?:\.[0-7])?: GPU has fallen off the bus")
_PROBED = regex(r"NVRM: The NVIDIA GPU ([0-9a-fA-F:]{7,16})\.[0-7]\b")
#: NVSwitches up to Hopper; continuation lines of the same error name no severity.
_SXID = regex(r"nvidia-nvswitch\d{1,3}: SXid \((?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})"
              r"(?:\.[0-7])?\): (\d{1,6}), (Non-fatal|Fatal), (.*)")
_RECOVERY = regex(r"GPU recovery action changed from 0x[0-9a-fA-F]+ \([^)]*\) to 0x([0-9a-fA-F]+) \(([^)]*)\)")
_HUNG = regex(r"INFO: task (.{1,64}):(\d+) blocked (?:in I/O wait )?for more than (\d+) seconds")
#: kernel/sched/core.c, sched_show_task(): what stands below that line, above the stack; SysRq W prints it without one.
_SLEEPS = regex(r"task:(.{1,64}?) +state:D\b.{0,40}? pid: {0,8}(\d{1,10})\b")
_DRIVER_TASK = regex(r"nvidia|nv_queue|nv_open|UVM |irq/\d+-(?:s-)?nvidia")
_START = regex(r"^([^\n]{0,120}?)Linux version \d", re.MULTILINE)
#: "NETIR_LINK_EVT  Fatal   XC0", and not "Nonfatal" or "Non-Fatal".
_FATAL = regex(r"(?<![-\w])Fatal\b")

#: nv.c probes the devices and says "loading" only afterwards; this comes before both.
_LOADED = "nvidia-nvlink: Nvlink Core is being initialized"
_MOST = 512         # groups kept of each kind
_STACK = 64         # lines of a hung task's stack
_TEXT = 300


@dataclass(frozen=True)
class Xid:
    """All Xids of one code at one GPU ("0000:01:00", no function) within one load of the driver; of NVLink's codes
    (144 to 150) the fatal ones apart from the others. ``recovery``: of Xid 154, the action's number and name. ``order``
    is the line of the last one."""

    gpu: str
    instance: str
    code: int
    count: int
    first: str
    last: str
    process: str
    text: str
    order: int
    load: int
    recovery: tuple[int, str] | None = None


@dataclass(frozen=True)
class Fallen:
    """A GPU that fell off the bus; ``at_probe``: it did not answer when the driver looked, which makes no Xid."""

    gpu: str
    when: str
    at_probe: bool
    load: int


@dataclass(frozen=True)
class HungTask:
    """A task stuck in the kernel; ``in_driver``: the NVIDIA driver is in its stack or its name. ``seconds`` is 0 where
    only its state D is shown, and not for how long."""

    name: str
    pid: int
    seconds: int
    when: str
    in_driver: bool


@dataclass(frozen=True)
class SXid:
    """All errors of one code and severity that one NVSwitch reported within one load of the driver."""

    switch: str
    code: int
    fatal: bool
    count: int
    last: str
    text: str
    load: int


@dataclass(frozen=True)
class KernelEvents:
    """Everything that a kernel log tells. ``start``: the log reaches back to its first line; ``cut``: its middle is
    missing; ``doubt``: why nobody can tell whether lines were left out or came later, "" where the log was read to its
    end. ``first`` and ``last`` are the times from which to which it goes, as printed. ``loads`` counts how often the
    NVIDIA driver was loaded; events of an earlier load are history. ``osc`` says for each ACPI host bridge who handles
    PCIe errors. ``unassigned`` is memory of PCI devices that found no place. ``failures`` are those that make no
    Xid. ``faults`` is what an IOMMU refused; ``lockups`` are CPUs that got stuck. ``mismatches`` are
    programs that the driver refused for their version, ``unsupported`` boards that the loaded modules do not drive.
    ``memory`` are errors of the host's memory and processors, and kills for want of memory. ``links`` are ways that are
    narrower or slower than their device. ``quoted`` are Xids that a sentence or another program names, and no line of
    the kernel. ``boards`` are the addresses of NVIDIA's GPUs that the kernel found at boot. ``cut_xids`` counts the
    driver's lines of an Xid that end before its number: a window or a filter cut them off."""

    start: bool
    cut: bool
    loads: int
    xids: tuple[Xid, ...]
    fallen: tuple[Fallen, ...]
    hung: tuple[HungTask, ...]
    pcie: tuple[PcieError, ...]
    osc: dict[str, Bridge]
    unassigned: tuple[Unassigned, ...]
    sxids: tuple[SXid, ...] = ()
    failures: tuple[Failure, ...] = ()
    faults: tuple[DmaFault, ...] = ()
    lockups: tuple[Lockup, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    memory: tuple[HostError, ...] = ()
    first: str = ""
    last: str = ""
    doubt: str = ""
    links: tuple[Limited, ...] = ()
    quoted: tuple[Quoted, ...] = ()
    boards: tuple[str, ...] = ()
    cut_xids: int = 0

    @property
    def complete(self) -> bool:
        """Whether the log covers the boot from its first line to the time of reading. Only then something that it does
        not say did not happen."""
        return self.start and not self.cut and not self.doubt


def parse(log: str, doubt: str = "") -> KernelEvents:
    """Return every event of a kernel log. Never fails: what is not understood is no event. ``doubt``: as in
    KernelEvents."""
    text, cut = bounded(log)
    found = _Collector()
    for entry in lines(text):
        found.feed(entry)
    return KernelEvents(_has_start(text), cut, found.loads, tuple(found.xids.values()),
                        tuple(found.fallen.values()), tuple(found.hung.values()), found.pcie.result(),
                        found.pcie.osc.bridges, found.bars.result(), tuple(found.sxids.values()),
                        found.failures.result(), found.faults.result(), found.lockups.result(),
                        found.refusals.mismatches(), found.refusals.boards(), found.memory.result(), *span(text), doubt,
                        found.limits.result({xid.gpu for xid in found.xids.values()}),
                        found.quoted.result((xid.gpu, xid.code) for xid in found.xids.values()),
                        tuple(found.boards.found), found.cut_xids)


def _has_start(log: str) -> bool:
    # Other messages, of a USB device for one, may hold the words too.
    return any(begins(found[1]) for found in islice(_START.finditer(log), 50))


@dataclass
class _Collector:
    loads: int = 0
    xids: dict[tuple[int, str, str, int, bool], Xid] = field(default_factory=dict)
    fallen: dict[tuple[int, str], Fallen] = field(default_factory=dict)
    hung: dict[tuple[str, int], HungTask] = field(default_factory=dict)
    sxids: dict[tuple[int, str, int, bool], SXid] = field(default_factory=dict)
    cut_xids: int = 0
    pcie: PcieErrors = field(default_factory=PcieErrors)
    bars: Assignments = field(default_factory=Assignments)
    limits: Limits = field(default_factory=Limits)
    failures: Failures = field(default_factory=Failures)
    faults: DmaFaults = field(default_factory=DmaFaults)
    lockups: Lockups = field(default_factory=Lockups)
    refusals: Refusals = field(default_factory=Refusals)
    memory: MemoryErrors = field(default_factory=MemoryErrors)
    quoted: Quotations = field(default_factory=Quotations)
    boards: Boards = field(default_factory=Boards)
    _probed: tuple[str, str, int] = ("", "", 0)         # address, time, lines left in which the verdict may stand
    _stack: tuple[tuple[str, int], int] | None = None   # the hung task whose stack may follow, up to this line

    def feed(self, line: Line) -> None:
        text = line.text
        if "[10de:" in text:
            self.boards.feed(line)
        if "NVRM: " in text and not text.startswith("NVRM: "):
            self.quoted.feed(text)
        if text.startswith("NVRM: "):
            self._driver(line)
        elif text.startswith("nvidia-nvswitch"):
            self._sxid(line)
        elif text.startswith(_LOADED):
            self.loads += 1
        elif text.startswith("INFO: task "):
            self._hung(line)
        elif text.startswith("task:"):
            self._sleeps(line)
        elif "[nvidia" in text and self._stack and line.number <= self._stack[1]:
            task = self.hung[self._stack[0]]
            self.hung[self._stack[0]] = replace(task, in_driver=True)
        elif not (self.limits.feed(line) or self.bars.feed(line) or self.failures.feed(line, self.loads)
                  or self.faults.feed(line) or self.lockups.feed(line) or self.memory.feed(line)):
            self.pcie.feed(line)

    def _driver(self, line: Line) -> None:
        xid, lost, probed = _XID.match(line.text), _LOST.match(line.text), _PROBED.match(line.text)
        address, when, left = self._probed
        self._probed = (address, when, left - 1)
        if xid:
            self._xid(line, xid)
        elif _CUT_XID.match(line.text):
            self.cut_xids += line.count
        elif lost:
            self._fell(_address(lost[1]), line.when, at_probe=False)
        elif probed:
            self._probed = (_address(probed[1]), line.when, 3)
            self.refusals.feed(line, self.loads, self._probed[0])
        elif self.bars.feed(line):
            pass
        elif left > 0 and "fallen off the bus" in line.text:
            self._fell(address, when, at_probe=True)
        elif not self.refusals.feed(line, self.loads, address if left > 0 else ""):
            self.failures.feed(line, self.loads)

    def _xid(self, line: Line, found: re.Match[str]) -> None:
        gpu, instance, code = _address(found[1]), found[2] or "", int(found[3])
        fatal = 144 <= code <= 150 and _FATAL.search(found[6]) is not None
        key = (self.loads, gpu, instance, code, fatal)
        known = self.xids.get(key)
        if known is None and len(self.xids) >= _MOST:
            return
        pid, name, text = (found[4] or "").strip("'"), (found[5] or "").strip("'"), found[6].strip()[:_TEXT]
        process = f"pid {pid}, {name}" if pid.isdigit() else ""
        bare = None if found[4] else _BARE_PID.match(text)      # some 94 and 95: a pid without a name
        if bare:
            process, text = f"pid {bare[1]}", bare[2]
        action = _RECOVERY.match(text) if code == 154 else None
        self.xids[key] = Xid(gpu, instance, code, (known.count if known else 0) + line.count,
                             known.first if known else line.when, line.when, process, text, line.number, self.loads,
                             (int(action[1], 16), action[2]) if action else None)
        if code == 79:
            self._fell(gpu, line.when, at_probe=False)

    def _sxid(self, line: Line) -> None:
        found = _SXID.match(line.text)
        if found is None:
            return
        switch, code, fatal = _address(found[1]), int(found[2]), found[3] == "Fatal"
        key = (self.loads, switch, code, fatal)
        known = self.sxids.get(key)
        if known is not None or len(self.sxids) < _MOST:
            self.sxids[key] = SXid(switch, code, fatal, known.count + 1 if known else 1, line.when,
                                   found[4].strip()[:_TEXT], self.loads)

    def _fell(self, gpu: str, when: str, at_probe: bool) -> None:
        if len(self.fallen) < _MOST:
            self.fallen.setdefault((self.loads, gpu), Fallen(gpu, when, at_probe, self.loads))

    def _hung(self, line: Line) -> None:
        found = _HUNG.match(line.text)
        if found is not None:
            self._stuck(line, (found[1], int(found[2])), int(found[3]))

    def _sleeps(self, line: Line) -> None:
        found = _SLEEPS.match(line.text)
        key = (found[1], int(found[2])) if found else None
        if key is not None and key not in self.hung:
            self._stuck(line, key, 0)
        elif key is None or not self._stack or self._stack[0] != key:
            self._stack = None      # another task's stack follows

    def _stuck(self, line: Line, key: tuple[str, int], seconds: int) -> None:
        known = self.hung.get(key)
        if known is None and len(self.hung) >= _MOST:
            return
        in_driver = bool(_DRIVER_TASK.match(key[0])) or bool(known and known.in_driver)
        self.hung[key] = HungTask(*key, seconds, line.when, in_driver)
        self._stack = (key, line.number + _STACK)
