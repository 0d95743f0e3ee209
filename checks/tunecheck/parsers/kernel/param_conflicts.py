"""Which words of a kernel command line contradict each other, and which of them the kernel obeys.

"The last one wins" holds for some parameters only. Others remember a word wherever it stands, and no later word takes
it back. Read in source in November 2026, in two whole trees on GitHub: Tptogiar/linux-5.15.85, and
LFRon/Linux-6.12-LTS-nabu, which is deepin's 6.12.43. Releases between and after them were not read. Where a commit
stands below, the function beside it was read in torvalds/linux at that commit too:

- ``arch/x86/kernel/pci-dma.c`` iommu_setup(): ``off`` sets no_iommu, which no word clears; ``pt`` and ``nopt`` only set
  the type of the default domain, and the last of them wins. ``usedac`` ends the loop: what follows it in the same
  token is not read. ``merge`` and ``biomerge`` imply ``force``. Whether merging itself is on is not judged here.
- ``drivers/iommu/iommu.c`` (00208852d351) iommu_set_def_domain_type() and iommu_dma_setup(): ``iommu.passthrough=``
  sets the same type as ``pt``. It, ``iommu.strict=`` and ``iommu.forcedac=`` (dma-iommu.c, the two trees only) are
  early parameters that take what kstrtobool() takes. ``amd_iommu=`` and ``intel_iommu=`` are read later, so their
  ``fullflush``, ``strict`` and ``forcedac`` win.
- ``drivers/iommu/amd/init.c`` (00a7dd64888d) parse_amd_iommu_options(): ``off`` sets amd_iommu_disabled, which nothing
  clears; the last of ``pgtbl_v1`` and ``pgtbl_v2``, and of ``nohugepages`` and ``v2_pgsizes_only``, wins. 5.15.85 knows
  none of these four and finds a word anywhere in the value.
- ``drivers/iommu/intel/iommu.c`` (00939bebe51c) intel_iommu_setup(): the last of ``on`` and ``off`` wins.
  intel_iommu_init(), and detect_intel_iommu() in dmar.c (01feba590cd6), look at no_iommu as well, so ``iommu=off``
  beats ``intel_iommu=on``. Not judged: a tboot launch, and firmware that opts in on a box with external PCI ports,
  where platform_optin_force_iommu() clears no_iommu unless ``intel_iommu=off`` is there.
- ``drivers/iommu/irq_remapping.c`` (65e575744264) setup_irqremap(): the last of ``intremap=on``, ``intremap=off`` and
  ``nointremap`` wins. ``on`` and ``off`` also set posted interrupts, as ``nopost`` does; those are not judged here.
- ``drivers/pci/pcie/aspm.c`` (5dcf8655cc80) pcie_aspm_disable(): ``off`` clears aspm_support_enabled, sets
  aspm_disabled for good and resets the policy; pcie_aspm_set_policy() then returns -EPERM.
- ``drivers/pci/pcie/portdrv.c`` (01464a3fdf91; portdrv_pci.c in 5.15.85) pcie_port_setup() and ``drivers/pci/pci.c``
  pcie_port_pm_setup(): every word is remembered; ``compat`` and ``off`` are looked at first.
- ``drivers/pci/pci.c`` pci_setup(): words add up; of ``realloc``, ``pcie_bus_*`` and ``key=value`` the last one stays.
  ``hpmemsize=`` sets what ``hpmmiosize=`` and ``hpmmioprefsize=`` set. ``config_acs=`` is applied after
  ``disable_acs_redir=``, to the devices that it names; whether both name one device is not judged here.
- ``arch/x86/pci/common.c`` pcibios_setup() and acpi.c: ``nocrs`` and ``no_e820`` are looked at before ``use_crs`` and
  ``use_e820``; the last of ``bfsort`` and ``nobfsort`` wins. ``off``, ``bios``, ``conf1`` and ``conf2`` also drop words
  before them; that is not judged here.

Any other parameter: the last one wins. That is a rule of thumb, not read in source.
"""

from __future__ import annotations

from functools import lru_cache
from typing import List, Mapping, Optional, Sequence, Tuple

from ...util.at_first_use import dataclass
from .kernel_params import MULTI_VALUE, VALUES, name_of

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

_DOMAIN = ("iommu=pt", "iommu=nopt", "iommu.passthrough=0", "iommu.passthrough=1")
_FORCED = ("iommu=force", "iommu=merge", "iommu=biomerge")
_OF_AMD = ("amd_iommu=force_enable", "amd_iommu=pgtbl_v1", "amd_iommu=pgtbl_v2")
_LATER = "the kernel reads {0}= after every iommu.{1}=, wherever the two stand, and {0}={2} only ever switches it on"
#: A word that the kernel remembers, what it takes back wherever that stands (exact words, or name= for any value), why.
_TAKES_BACK: Sequence[Tuple[str, Sequence[str], str]] = (
    ("iommu=off", (*_DOMAIN, *_FORCED, "intel_iommu=on", "intel_iommu=sm_on", *_OF_AMD),
     "the words of iommu= add up: off switches the IOMMU off wherever it stands, and pt does not undo it"),
    ("amd_iommu=off", (*_DOMAIN, *_FORCED, *_OF_AMD),
     "the words of amd_iommu= add up: off switches AMD's IOMMU off wherever it stands, and no other word undoes it"),
    ("intel_iommu=off", (*_DOMAIN, *_FORCED, "intel_iommu=sm_on"),
     "it switches Intel's IOMMU off; only a later intel_iommu=on undoes it"),
    ("amd_iommu=fullflush", ("iommu.strict=0",), _LATER.format("amd_iommu", "strict", "fullflush")),
    ("intel_iommu=strict", ("iommu.strict=0",), _LATER.format("intel_iommu", "strict", "strict")),
    ("intel_iommu=forcedac", ("iommu.forcedac=0",), _LATER.format("intel_iommu", "forcedac", "forcedac")),
    ("pci=nocrs", ("pci=use_crs",), "the words of pci= add up, and nocrs is looked at first"),
    ("pci=no_e820", ("pci=use_e820",), "the words of pci= add up, and no_e820 is looked at first"),
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
    """One contradiction: ``rival`` contradicts ``declared`` (both are one word). ``wins``: the kernel obeys the rival.
    ``index`` is the place of the rival's token on the line; ``why`` is a clause on how the kernel comes to that."""

    declared: str
    rival: str
    wins: bool
    index: int
    why: str


@lru_cache(1024)
def split(token: str) -> Tuple[str, ...]:
    """Return the words of one token: ``iommu=off,pt`` gives ``iommu=off``, ``iommu=pt``. Names are as the kernel
    compares them."""
    name, (_, equals, value) = name_of(token), token.partition("=")
    if not equals:
        return (name,)
    if name not in _LISTS:
        return (f"{name}={value}",)
    words = [f"{name}={part}" for part in value.split(",") if part]
    ends = next((at for at, word in enumerate(words, 1) if word.startswith("iommu=usedac")), None)
    return tuple(words[:ends])


def clash(one: str, other: str) -> str:
    """Return why two words of one command line contradict each other, or "" where they do not."""
    back = _takes_back(one, other) or _takes_back(other, one)
    if back:
        return back
    return _LAST if _apart(one, other) else ""


def conflicts(declared: Sequence[str], line: Sequence[str]) -> List[Conflict]:
    """Return what on ``line`` (tokens in the order of the command line, the declared ones among them) contradicts a
    declared token. Words that are declared too are no rivals: the spec refuses those."""
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
        hides = HIDES_ERRORS.get(_meaning(rival)) if rival != "pcie_aspm=off" else None
        if tuned and hides and rival not in {*ours, *named}:
            named.add(rival)
            found.append(Conflict(tuned, rival, True, index, hides + ", and the spec's PCIe settings are judged by the "
                                  "errors that are left (aer-events, link-errors)"))
    return found


def _judge(word: str, rival: str, index: int, placed: Sequence[Tuple[int, str]]) -> Optional[Conflict]:
    back = _takes_back(rival, word)
    if back:
        return Conflict(word, rival, _in_force(rival, placed), index, back)
    if _takes_back(word, rival):
        return Conflict(word, rival, not _in_force(word, placed), index, _takes_back(word, rival))
    what = _apart(word, rival)
    return Conflict(word, rival, not _in_force(word, placed, what), index, _LAST) if what else None


def _takes_back(rival: str, word: str) -> str:
    """Return why ``rival`` takes ``word`` back wherever it stands, or "" where it does not."""
    rival, word = _meaning(rival), _meaning(word)
    for kept, undone, why in _TAKES_BACK:
        if rival == kept and any(word.startswith(known) if known.endswith("=") else word == known for known in undone):
            return why
    return ""


def _apart(one: str, other: str) -> str:
    """Return the name of a setting that both words set, to different values. "" where there is none."""
    here, there = _sets(one), _sets(other)
    return next((what for what in here if what in there and here[what] != there[what]), "")


def _in_force(word: str, placed: Sequence[Tuple[int, str]], what: str = "") -> bool:
    """Return whether no later word switches ``word`` back. With ``what`` only that setting counts."""
    mine = _sets(word)
    for each in [what] if what else list(mine):
        values = [other[each] for _, text in placed if each in (other := _sets(text))]
        if values and values[-1] != mine[each]:
            return False
    return True


#: Parameters whose value kstrtobool() reads. 5.15.85 does not know t and f yet, 6.12.43 does.
_BOOLS = frozenset({"iommu.passthrough", "iommu.strict", "iommu.forcedac"})
#: Parameters whose words are compared by their beginning only: anything longer means the same.
_BY_BEGINNING = frozenset({*_LISTS - {"pci"}, "pcie_ports"})


@lru_cache(maxsize=1024)
def _meaning(word: str) -> str:
    """Return the word as the tables have it: ``iommu.strict=0`` for ``iommu.strict=off``, ``iommu=pt`` for
    ``iommu=pt1``."""
    name, equals, value = word.partition("=")
    if name in _BOOLS:
        truth = "1" if value[:1] in {*"yYtT1"} or value[:2].lower() == "on" else ""
        return f"{name}={truth or '0'}" if truth or value[:1] in {*"nNfF0"} or value[:2].lower() == "of" else word
    if equals and name in _BY_BEGINNING:
        return f"{name}=" + max((known for known in VALUES[name] if value.startswith(known)), key=len, default=value)
    return word


_SWITCHES: Mapping[str, Tuple[str, str]] = {
    "iommu=pt": ("default domain", "passthrough"), "iommu=nopt": ("default domain", "translated"),
    "iommu.passthrough=1": ("default domain", "passthrough"), "iommu.passthrough=0": ("default domain", "translated"),
    "iommu=force": ("iommu force", "on"), "iommu=noforce": ("iommu force", "off"),
    "iommu=merge": ("iommu force", "on"), "iommu=biomerge": ("iommu force", "on"),
    "iommu=panic": ("iommu panic", "on"), "iommu=nopanic": ("iommu panic", "off"),
    "amd_iommu=pgtbl_v1": ("amd page table", "v1"), "amd_iommu=pgtbl_v2": ("amd page table", "v2"),
    "amd_iommu=nohugepages": ("amd page sizes", "4K"), "amd_iommu=v2_pgsizes_only": ("amd page sizes", "v2"),
    "intel_iommu=on": ("intel iommu", "on"), "intel_iommu=off": ("intel iommu", "off"),
    "intel_iommu=sm_on": ("intel scalable mode", "on"), "intel_iommu=sm_off": ("intel scalable mode", "off"),
    "intremap=on": ("intremap", "on"), "intremap=off": ("intremap", "off"), "nointremap": ("intremap", "off"),
    "pci=realloc": ("pci realloc", "on"), "pci=realloc=on": ("pci realloc", "on"),
    "pci=realloc=off": ("pci realloc", "off"),
    "pci=bfsort": ("pci sorting", "breadth first"), "pci=nobfsort": ("pci sorting", "depth first"),
}
_ADDS_UP = frozenset({"iommu", "amd_iommu", "intel_iommu", "intremap", "pcie_aspm", "pcie_ports", "pcie_port_pm"})


def _sets(word: str) -> Mapping[str, str]:
    """Return what a word sets, and to which value, where the last such word wins. The mapping is empty for a word that
    is remembered wherever it stands."""
    word = _meaning(word)
    if word in _SWITCHES:
        return dict([_SWITCHES[word]])
    name, (_, equals, value) = name_of(word), word.partition("=")
    if name == "pci":
        key, has_value, rest = value.partition("=")
        if key.startswith("pcie_bus_"):
            return {"pci bus": key}
        keys = ("hpmmiosize", "hpmmioprefsize") if key == "hpmemsize" else (key,)
        return {f"pci {each}": rest for each in keys} if has_value else {}
    # A switch with a value that kstrtobool() refuses sets nothing.
    if name in _ADDS_UP or name in MULTI_VALUE or (name in _BOOLS and value not in ("0", "1")):
        return {}
    return {name: value if equals else word}
