"""Which words of a kernel command line contradict each other, and which of them the kernel obeys.

"The last one wins" holds for some parameters only. Others remember a word wherever it stands, and no later word takes
it back. Read in source, Linux 5.15 to 6.18:

- ``arch/x86/kernel/pci-dma.c`` iommu_setup(): ``off`` sets no_iommu, which nothing clears; ``pt`` and ``nopt`` only set
  the type of the default domain, and the last of them wins (so does ``iommu.passthrough=``, drivers/iommu/iommu.c).
- ``drivers/iommu/amd/init.c`` parse_amd_iommu_options(): ``off`` sets amd_iommu_disabled, which nothing clears.
- ``drivers/iommu/intel/iommu.c`` intel_iommu_setup(): the last of ``on`` and ``off`` wins; detect_intel_iommu() in
  dmar.c looks at no_iommu first, so ``iommu=off`` beats ``intel_iommu=on``.
- ``drivers/pci/pcie/aspm.c`` pcie_aspm_disable(): ``off`` clears aspm_support_enabled and sets aspm_disabled for good;
  pcie_aspm_set_policy() then returns -EPERM.
- ``drivers/pci/pcie/portdrv.c`` pcie_port_setup() and ``drivers/pci/pci.c`` pcie_port_pm_setup(): every word is
  remembered; ``compat`` and ``off`` are looked at first.
- ``drivers/pci/pci.c`` pci_setup(): words add up; of ``realloc``, ``pcie_bus_*`` and ``key=value`` the last one stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Mapping, Optional, Sequence, Tuple

from .kernel_params import MULTI_VALUE, name_of

__all__ = ["HIDES_ERRORS", "Conflict", "clash", "conflicts", "split"]

#: Parameters whose value is a list of words, each of which the kernel takes on its own.
_LISTS = frozenset({"pci", "iommu", "amd_iommu", "intel_iommu", "intremap"})

#: Words after which the kernel neither logs nor counts a PCIe error, and why.
HIDES_ERRORS: Mapping[str, str] = {
    "pcie_aspm=off": "it takes ASPM from what the kernel says it supports, and without that the kernel asks the "
                     "firmware for no PCIe feature at all (_OSC): no AER, no DPC, no native hot plug",
    "pcie_ports=compat": "it switches the PCIe port services off: no AER, no DPC, no native hot plug",
    "pci=noaer": "it switches the kernel's PCIe error reporting (AER) off",
    "pci=nomsi": "AER needs message signalled interrupts, and without them the kernel asks the firmware for no PCIe "
                 "feature (_OSC)",
}

_DOMAIN = ("iommu=pt", "iommu=nopt", "iommu.passthrough=")
#: A word that the kernel remembers, what it takes back wherever that stands (exact words, or name= for any value), why.
_TAKES_BACK: Sequence[Tuple[str, Sequence[str], str]] = (
    ("iommu=off", (*_DOMAIN, "iommu=force", "intel_iommu=on", "amd_iommu=force_enable", "amd_iommu=pgtbl_v1",
                   "amd_iommu=pgtbl_v2"),
     "the words of iommu= add up: off switches the IOMMU off wherever it stands, and pt does not undo it"),
    ("amd_iommu=off", (*_DOMAIN, "iommu=force", "amd_iommu=force_enable", "amd_iommu=pgtbl_v1", "amd_iommu=pgtbl_v2"),
     "the words of amd_iommu= add up: off switches AMD's IOMMU off wherever it stands, and no other word undoes it"),
    ("intel_iommu=off", (*_DOMAIN, "iommu=force", "intel_iommu=sm_on"),
     "it switches Intel's IOMMU off; only a later intel_iommu=on undoes it"),
    ("pcie_aspm=off", ("pcie_aspm.policy=", "pcie_aspm=force"),
     "the kernel refuses every ASPM policy beside it and leaves the links as the firmware set them; " +
     HIDES_ERRORS["pcie_aspm=off"]),
    ("pcie_ports=compat", ("pcie_ports=native", "pcie_ports=dpc-native"),
     "the words of pcie_ports= add up, and compat is looked at first"),
    ("pcie_port_pm=off", ("pcie_port_pm=force",), "the words of pcie_port_pm= add up, and off is looked at first"),
)
#: Tuning of PCIe links is judged by the errors that are left.
_TUNES_PCIE = frozenset({"pci", "pcie_aspm.policy", "pcie_port_pm"})
_LAST = "the kernel obeys the last of them"


@dataclass(frozen=True)
class Conflict:
    """``rival`` contradicts ``declared`` (both one word). ``wins``: the kernel obeys the rival. ``index``: of the
    rival's token on the line; ``why``: a clause on how the kernel comes to that."""

    declared: str
    rival: str
    wins: bool
    index: int
    why: str


def split(token: str) -> List[str]:
    """The words of one token: ``iommu=off,pt`` -> ``iommu=off``, ``iommu=pt``. Names as the kernel compares them."""
    name, (_, equals, value) = name_of(token), token.partition("=")
    if not equals:
        return [name]
    if name not in _LISTS:
        return [f"{name}={value}"]
    return [f"{name}={part}" for part in value.split(",") if part]


def clash(one: str, other: str) -> str:
    """Why two words of one command line contradict each other; "" where they do not."""
    back = _takes_back(one, other) or _takes_back(other, one)
    if back:
        return back
    here, there = _switch(one), _switch(other)
    return _LAST if here and there and here[0] == there[0] and here[1] != there[1] else ""


def conflicts(declared: Sequence[str], line: Sequence[str]) -> List[Conflict]:
    """What on ``line`` (tokens in the order of the command line, the declared ones among them) contradicts a declared
    token. Words that are declared too are no rivals: the spec refuses those."""
    ours = {word: None for token in declared for word in split(token)}
    placed = [(index, word) for index, token in enumerate(line) for word in split(token)]
    found, seen = [], set()
    for word in ours:
        for index, rival in placed:
            if rival in ours or (word, rival) in seen:
                continue
            conflict = _judge(word, rival, index, placed)
            if conflict:
                seen.add((word, rival))
                found.append(conflict)
    tuned = next((word for word in ours if name_of(word) in _TUNES_PCIE), None)
    named = {conflict.rival for conflict in found}
    for index, rival in placed:
        if tuned and rival in HIDES_ERRORS and rival not in {*ours, *named, "pcie_aspm=off"}:
            named.add(rival)
            found.append(Conflict(tuned, rival, True, index, HIDES_ERRORS[rival] + ", and the spec's PCIe settings are "
                                  "judged by the errors that are left (aer-events, link-errors)"))
    return found


def _judge(word: str, rival: str, index: int, placed: Sequence[Tuple[int, str]]) -> Optional[Conflict]:
    back = _takes_back(rival, word)
    if back:
        return Conflict(word, rival, _in_force(rival, placed), index, back)
    if _takes_back(word, rival):
        return Conflict(word, rival, not _in_force(word, placed), index, _takes_back(word, rival))
    here, there = _switch(word), _switch(rival)
    if not here or not there or here[0] != there[0] or here[1] == there[1]:
        return None
    return Conflict(word, rival, not _in_force(word, placed), index, _LAST)


def _takes_back(rival: str, word: str) -> str:
    """Why ``rival`` takes ``word`` back wherever it stands; "" where it does not."""
    for kept, undone, why in _TAKES_BACK:
        if rival == kept and any(word.startswith(known) if known.endswith("=") else word == known for known in undone):
            return why
    return ""


def _in_force(word: str, placed: Sequence[Tuple[int, str]]) -> bool:
    """Whether no later word switches ``word`` back."""
    switch = _switch(word)
    if switch is None:
        return True
    values = [other[1] for _, text in placed if (other := _switch(text)) and other[0] == switch[0]]
    return not values or values[-1] == switch[1]


_TRUE = frozenset({"1", "y", "Y", "t", "T", "on", "yes", "true"})
_SWITCHES: Mapping[str, Tuple[str, str]] = {
    "iommu=pt": ("default domain", "passthrough"), "iommu=nopt": ("default domain", "translated"),
    "iommu=force": ("iommu force", "on"), "iommu=noforce": ("iommu force", "off"),
    "amd_iommu=pgtbl_v1": ("amd page table", "v1"), "amd_iommu=pgtbl_v2": ("amd page table", "v2"),
    "intel_iommu=on": ("intel iommu", "on"), "intel_iommu=off": ("intel iommu", "off"),
    "intel_iommu=sm_on": ("intel scalable mode", "on"), "intel_iommu=sm_off": ("intel scalable mode", "off"),
    "intremap=on": ("intremap", "on"), "intremap=off": ("intremap", "off"), "nointremap": ("intremap", "off"),
    "pci=realloc": ("pci realloc", "on"), "pci=realloc=on": ("pci realloc", "on"),
    "pci=realloc=off": ("pci realloc", "off"),
}
_ADDS_UP = frozenset({"iommu", "amd_iommu", "intel_iommu", "intremap", "pcie_aspm", "pcie_ports", "pcie_port_pm"})


def _switch(word: str) -> Optional[Tuple[str, str]]:
    """What a word sets, and to which value, where the last such word wins; None where it is remembered."""
    known = _SWITCHES.get(word)
    if known:
        return known
    name, (_, equals, value) = name_of(word), word.partition("=")
    if name == "iommu.passthrough":
        return "default domain", "passthrough" if value in _TRUE else "translated"
    if name == "pci":
        key, has_value, rest = value.partition("=")
        if key.startswith("pcie_bus_"):
            return "pci bus", key
        return (f"pci {key}", rest) if has_value else None
    if name in _ADDS_UP or name in MULTI_VALUE:
        return None
    return name, value if equals else word
