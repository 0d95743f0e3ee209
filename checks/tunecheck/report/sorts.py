"""What many findings have in common is one entry of the screen: which findings these are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ..facts.pci.devices import DEVICES
from ..facts.pci.topology import Topology
from ..model.absence import Absence
from ..model.finding import Finding
from ..rules.codes import GPU_LIST_INCOMPLETE, GPU_NOT_LISTED
from ..rules.errors.from_log import only_log_incomplete
from ..rules.part_of_devices import only_of_a_part
from ..util.at_first_use import dataclass
from ..util.text import some
from .not_given import is_missing

__all__ = ["Sorts", "sort"]

#: Its finding says why the list is not whole; those of the others say what that leaves open.
_LISTS_GPUS = "nvml-answers"


@dataclass(frozen=True)
class Sorts:
    """The findings by how they are shown. ``here``: one by one. ``cut``: open only because the kernel log is not whole.
    ``missing``: its text was not given to an import. ``rootless``: only root could read it. ``part``: open only because
    the list of PCI devices is not whole, of which ``doubt`` says why. ``gpus``: open only because the list of GPUs is
    not whole; the first of them says why. ``gone``: open only because an accelerator does not answer, which is a
    failure of its own; ``silent``: its name, or their names."""

    here: list[Finding]
    cut: list[Finding]
    missing: list[Finding]
    rootless: list[Finding]
    part: list[Finding]
    gpus: list[Finding]
    gone: list[Finding]
    doubt: str
    silent: str


def sort(findings: Iterable[Finding], imported: bool, topology: Topology) -> Sorts:
    """Return the findings by how they are shown; what would stand alone in its group is shown as it is, but
    for a text that is missing."""
    silent = {device.bdf: f"GPU{index} {device.bdf}" for index, device in enumerate(topology.devices)
              if device.answers.value is False}
    left = list(findings)

    def taken(belongs: Callable[[Finding], bool], least: int = 2) -> list[Finding]:
        nonlocal left
        found = [finding for finding in left if belongs(finding)]
        if len(found) < least:
            return []       # one is said as it is
        left = [finding for finding in left if not belongs(finding)]
        return found

    gone = taken(lambda finding: _of_silent(finding, silent))
    # Also one: its own sentence ends with what to add, and a long one is cut there.
    missing = taken(lambda finding: imported and is_missing(finding), 1)
    rootless = taken(_needs_root)
    cut = taken(only_log_incomplete)
    part = taken(only_of_a_part)
    gpus = sorted(taken(_only_of_listed_gpus), key=lambda finding: finding.id != _LISTS_GPUS)
    return Sorts(left, cut, missing, rootless, part, gpus, gone, topology.doubt, some(list(silent.values()), 4))


def _of_silent(finding: Finding, silent: Collection[str]) -> bool:
    """Whether it is open because one of these accelerators does not answer: by its registers, or as NVML, too, does not
    list it any more."""
    own = tuple(f"{DEVICES}/{bdf}/" for bdf in silent)
    if finding.outcome != "unknown" or not finding.evidence:
        return False
    if finding.code == GPU_NOT_LISTED:
        return set(finding.evidence) <= {f"NVML {bdf}" for bdf in silent}
    told = finding.evidence if finding.absence is Absence.LOST else finding.evidence[:1]
    return any(each.startswith(own) for each in told)


def _only_of_listed_gpus(finding: Finding) -> bool:
    return finding.outcome == "unknown" and finding.code == GPU_LIST_INCOMPLETE


def _needs_root(finding: Finding) -> bool:
    return finding.outcome == "unknown" and finding.remedy is not None and finding.remedy.as_root
