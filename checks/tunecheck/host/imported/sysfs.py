"""The answers of an import: what the texts hold as it is, and the paths of /sys and /proc that follow from it."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from ...model.absence import Absence, Reason
from ...parsers.nvidia.topo_matrix import Matrix, parse_matrix
from ...util.at_first_use import dataclass, regex
from .cmdline import apart, from_log
from .guest import guest_told
from .posts import Post
from .short import from_short

if TYPE_CHECKING:
    from ...parsers.nvidia.smi import Smi
    from ...parsers.pci.lspci import LspciDevice

__all__ = ["Texts", "synthesise"]

_PCI = "/sys/bus/pci/devices"
_DMESG = ("dmesg",)
_BANNER = regex(r"NVRM: loading (NVIDIA UNIX .{1,300})$", re.MULTILINE)
_CLOCK = regex(r"clocksource: Switched to clocksource ([\w-]{1,40})")
_GROUP = regex(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): Adding to iommu group (\d{1,5})")
#: `nvidia-smi topo -p2p r`, `smi_topo_p2p-rw.txt`
_P2P = regex(r"p2p[ _-]{0,3}([rwnap]{1,2})(?![a-z0-9])", re.IGNORECASE)
_TITLE = 400
_LOCKED = regex(r"^([^\n]{0,120}?)Kernel is locked down from ", re.MULTILINE)
_VALUE = regex(r"^(/(?:sys|proc/sys)/(?:[\w.-]+/)+[\w.-]+):(.*)$", re.MULTILINE)


@dataclass
class Texts:
    """``reads``, ``lists``, ``realpaths`` and ``errors`` as in RecordedHost; ``runs`` maps commands to their output.
    The first text of a kind counts, of kernel logs the most complete one. ``cut_at`` is the device in which an lspci
    text ends, "" for a complete one; ``lost_at`` the one beside a device whose first line cannot be read. ``past``: the
    lines of earlier boots, each with where they are from; ``taken``: when a bug report or nvidia-smi was made;
    ``only_list``: lspci came without details, and such a list does not show its end; ``guest``: the hypervisor that a
    text names; ``missing``: why a device must be there that no text shows; ``doubts``: as in base.doubt."""

    reads: dict[str, bytes] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    realpaths: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Reason] = field(default_factory=dict)
    runs: dict[tuple[str, ...], str] = field(default_factory=dict)
    lspci: list[str] = field(default_factory=list)
    smi: list[str] = field(default_factory=list)
    posts: dict[str, list[Post]] = field(default_factory=dict)
    tables: list[Matrix] = field(default_factory=list)
    cmdlines: list[str] = field(default_factory=list)
    past: list[tuple[str, str]] = field(default_factory=list)
    reported: bool = False
    taken: str = ""
    doubts: dict[str, str] = field(default_factory=dict)
    cut_at: str = ""
    lost_at: str = ""
    missing: str = ""
    only_list: bool = False
    guest: str = ""
    lscpu: list[str] = field(default_factory=list)

    def file(self, path: str, content: str) -> None:
        self.reads.setdefault(path, content.encode())
        if path == "/proc/cmdline":
            self.cmdlines.append(content)

    def longer(self, path: str, content: str) -> None:
        """Keep a list of which another text may hold only the beginning."""
        if len(content) > len(self.reads.get(path, b"")) or path not in self.reads:
            self.reads[path] = content.encode()

    def topo(self, text: str, command: tuple[str, ...], name: str) -> str:
        """Keep a table of GPUs. Which status a table of `topo -p2p` shows, it does not say itself: the command above
        it does, or else ``name``, the file's (topo-p2p-r.txt). One that nobody names is not used."""
        try:
            matrix = parse_matrix(text)
        except ValueError:
            self.runs.setdefault(command, text)     # the fact says what is wrong with it
            return "nvidia-smi topo"
        if matrix.kind == "topo -m":
            if not self.tables:
                self.runs[command] = text
            self.tables.append(matrix)
        else:
            named = _P2P.search(text[:_TITLE]) or _P2P.search(name[-_TITLE:])
            for letter in named.group(1).lower() if named else "":
                self.runs.setdefault((*command[:2], "-p2p", letter), text)
            if named is None:
                self.runs.setdefault((*command[:2], "-p2p", "?"), text)
                return ("nvidia-smi topo -p2p (its letter is not in the text: taken for reads or writes; put the "
                        "command above it)")
        return f"nvidia-smi {matrix.kind}"

    def log(self, text: str, title: str) -> str:
        """Keep a kernel log: its last boot as this one's, the others as history."""
        from .log import add  # start-up time: it takes many patterns

        add(self, text, title)
        return "kernel log"

    def values(self, text: str) -> None:
        """Output of `grep . FILES`."""
        for path, value in _VALUE.findall(text):
            self.file(path, value)
            policy = re.match(r"(/sys/devices/system/cpu/cpufreq)/(policy\d+)/", path)
            if policy:
                names = self.lists.setdefault(policy.group(1), [])
                if policy.group(2) not in names:
                    names.append(policy.group(2))
            module = re.match(r"/sys/module/\w+(?=/parameters/)", path)
            if module:
                self.lists.setdefault(module.group(), [])


def synthesise(texts: Texts) -> str | None:
    """Fill in the paths that follow from lspci, nvidia-smi and the log. A sentence where they contradict each other."""
    devices: dict[str, LspciDevice] = {}
    if texts.lspci:
        from .devices import gathered  # start-up time

        problem = gathered(texts.lspci, devices)
        if problem:
            return problem
    if any(table.pairs != texts.tables[0].pairs for table in texts.tables):
        return "two tables of nvidia-smi topo -m that differ"
    problem = apart(texts.cmdlines, texts.runs.get(_DMESG, ""))
    if problem and texts.reported and len(texts.cmdlines) == 1:
        # One run of one script: only its journal may be of an earlier boot.
        del texts.runs[_DMESG]
        for command in ("dmesg", "journalctl"):
            texts.errors[f"run {command}"] = Absence.NOT_IN_IMPORT.because(
                "the log in the report is of another boot: its command line is another")
    elif problem:
        return problem
    smi = _smi(texts)
    for gpu in (gpu for part in smi for gpu in part.gpus):
        target = devices.get(gpu.bdf)
        if target is not None and gpu.ids and target.device is None:
            target.vendor, target.device = gpu.ids.split(":")
    if devices:
        from .devices import paths

        paths(texts, devices)
    texts.guest = guest_told(texts.runs.get(_DMESG, ""), (device.vendor for device in devices.values()), texts.lscpu)
    _driver(texts, smi, devices)
    from_short(texts.posts, texts)
    _from_log(texts)
    if texts.past or _DMESG in texts.runs:
        from .log import history  # start-up time

        history(texts)
    return None


def _smi(texts: Texts) -> list[Smi]:
    if not texts.smi:
        return []
    from ...parsers.nvidia.smi import parse_smi  # start-up time

    return [parse_smi(text) for text in texts.smi]


def _driver(texts: Texts, smi: list[Smi], devices: dict[str, LspciDevice]) -> None:
    listed = [gpu.bdf for part in smi for gpu in part.gpus]
    if listed:
        texts.lists.setdefault("/proc/driver/nvidia/gpus", listed)
    for part in smi:
        if part.driver:
            texts.file("/sys/module/nvidia/version", part.driver)
        for gpu in part.gpus:
            if gpu.name:
                texts.file(f"/proc/driver/nvidia/gpus/{gpu.bdf}/information", f"Model: {gpu.name}\n")
    banner = _BANNER.findall(texts.runs.get(_DMESG, ""))
    if banner:
        texts.file("/proc/driver/nvidia/version", f"NVRM version: {banner[-1]}\n")
    loaded = any(device.driver == "nvidia" for device in devices.values())
    if loaded or {"/proc/driver/nvidia/params", "/proc/driver/nvidia/version"} & set(texts.reads):
        texts.lists.setdefault("/sys/module/nvidia", [])


def _from_log(texts: Texts) -> None:
    log = texts.runs.get(_DMESG, "")
    release = re.search(r"Linux version (\S+) ", log)
    if release:
        texts.file("/proc/sys/kernel/osrelease", release.group(1))
        line = from_log(log)
        if line is not None:
            texts.reads.setdefault("/proc/cmdline", line.encode())
        _silence(texts, log)


def _silence(texts: Texts, log: str) -> None:
    """What a log tells by its words: the clock, IOMMU groups, lockdown. Its silence tells nothing: a line may be gone.
    So a good clock and an open kernel are not concluded from it, a bad clock and a lock are."""
    from ...parsers.kernel.log_lines import begins  # start-up time

    clock = _CLOCK.findall(log)
    known = {}
    if clock and clock[-1] != "tsc":
        known["/sys/devices/system/clocksource/clocksource0/current_clocksource"] = clock[-1]
    locked = _LOCKED.search(log)
    if locked and begins(locked[1]):
        # At least this much; whether reading is refused, too, the line does not say.
        known["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality"
    for path, value in known.items():
        if f"read {path}" not in texts.errors:
            texts.file(path, value)
    groups = dict(_GROUP.findall(log))
    # drivers/iommu/iommu.c says one word at its start, and one for each device in a group; what follows the groups
    # shows that the log goes on behind them (mm/init.c, free_initmem).
    if groups or ("iommu: Default domain type" in log and "Freeing unused kernel" in log):
        for bdf in texts.lists.get(_PCI, ()):
            link = f"{_PCI}/{bdf}/iommu_group"
            if bdf in groups:
                texts.realpaths.setdefault(link, f"/sys/kernel/iommu_groups/{groups[bdf]}")
            elif not groups:
                texts.errors.setdefault(f"realpath {link}", Reason(Absence.NOT_PRESENT))
