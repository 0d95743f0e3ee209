"""The answers of an import: the paths of /sys and /proc that follow from its texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...model.absence import Absence, Reason
from ...util.at_first_use import regex
from .cmdline import apart, from_log
from .contradictions.boards_elsewhere import boards_elsewhere, other_models, other_places
from .contradictions.cpus_and_nodes import other_cpus, other_kernel, set_apart
from .contradictions.differing import differing
from .contradictions.driver_and_boards import linked_without_nvlink, other_boards, other_devices, other_driver
from .guest import guest_evidence
from .nvidia_smi import contradiction
from .short import from_short
from .texts import Texts

if TYPE_CHECKING:
    from ...parsers.nvidia.smi import Smi
    from ...parsers.pci.lspci import LspciDevice

__all__ = ["synthesise"]

_PCI = "/sys/bus/pci/devices"
_DMESG = ("dmesg",)
_BANNER = regex(r"NVRM: loading (NVIDIA UNIX .{1,300})$", re.MULTILINE)
_CLOCK = regex(r"clocksource: Switched to clocksource ([\w-]{1,40})")
_GROUP = regex(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): Adding to iommu group (\d{1,5})")
_LOCKED = regex(r"^([^\n]{0,120}?)Kernel is locked down from ", re.MULTILINE)


def synthesise(texts: Texts) -> str | None:
    """Fill in the paths that follow from lspci, nvidia-smi and the log. Return a sentence where they contradict each
    other, else None."""
    devices: dict[str, LspciDevice] = {}
    if texts.lspci:
        from .devices import gathered  # start-up time

        problem = gathered(texts.lspci, devices)
        if problem:
            return problem
    if any(table.pairs != texts.tables[0].pairs for table in texts.tables):
        return "two tables of nvidia-smi topo -m that differ"
    line = apart(texts.cmdlines, texts.runs.get(_DMESG, ""))
    problem = line or other_kernel(texts)
    if problem and texts.reported and len(texts.cmdlines) < 2 and _DMESG in texts.runs:
        # One run of one script: only its journal may be of an earlier boot.
        del texts.runs[_DMESG]
        why = f"its {'command line' if line else 'kernel'} is another"
        texts.set_aside.append(f"the kernel log in the bug report is of another boot ({why}) and is not judged; add: "
                               "sudo dmesg")
        for command in ("dmesg", "journalctl"):
            texts.errors[f"run {command}"] = Absence.NOT_IN_IMPORT.because(
                f"the log in the report is of another boot: {why}")
    elif problem:
        return problem
    problem = (contradiction(texts) or differing(texts) or other_driver(texts)
               or other_cpus(texts) or other_boards(texts, devices) or other_devices(texts, devices)
               or boards_elsewhere(texts, devices) or linked_without_nvlink(texts, devices))
    if problem:
        return problem
    smi = _smi(texts)
    if problem := other_models(smi, devices):
        return problem
    for gpu in (gpu for part in smi for gpu in part.gpus):
        target = devices.get(gpu.bdf)
        if target is not None and gpu.ids and target.device is None:
            target.vendor, target.device = gpu.ids.split(":")
    if devices:
        from .devices import paths

        paths(texts, devices)
    if problem := other_places(texts, devices):
        return problem
    if devices and any(device.denied for device in devices.values()):
        texts.set_aside.append("lspci ran without root, so it shows neither links nor ACS; give in its place: sudo "
                               "lspci -nnvvv")
    texts.guest = guest_evidence(
        texts.runs.get(_DMESG, ""), (device.vendor for device in devices.values()), texts.lscpu)
    _driver(texts, smi, devices)
    from_short(texts.posts, texts)
    for path, why in texts.torn.items():
        texts.reads.pop(path, None)
        texts.errors[f"read {path}"] = Absence.NOT_UNDERSTOOD.because(f"not usable ({why}); keep one of them")
    set_apart(texts, devices, bool(texts.guest))
    _from_log(texts)
    if texts.past or _DMESG in texts.runs:
        from .logs.log import history  # start-up time

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
    elif log:
        texts.errors.setdefault("read /proc/sys/kernel/osrelease", Absence.LOG_TOO_SHORT.because(
            "the kernel log does not begin at the boot, where it names the release"))


def _silence(texts: Texts, log: str) -> None:
    """Fill in what a log tells by its words: the clock, IOMMU groups, lockdown. Its silence tells nothing: a line may
    be gone. So a good clock and an open kernel are not concluded from it, a bad clock and a lock are."""
    from ...parsers.text.log_lines import begins  # start-up time

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
