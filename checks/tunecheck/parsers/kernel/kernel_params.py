"""What the Linux kernel really parses, for the few parameters that tuning folklore gets wrong.

Read in source: Linux 6.18 and 6.12 ``drivers/pci/pci.c`` (pci_setup), ``arch/x86/pci/common.c`` (pcibios_setup),
``arch/x86/kernel/pci-dma.c`` (iommu_setup), ``drivers/iommu/amd/init.c`` (parse_amd_iommu_options,
parse_amd_iommu_intr), ``drivers/iommu/intel/iommu.c`` (intel_iommu_setup), ``drivers/iommu/irq_remapping.c``
(setup_irqremap), ``drivers/pci/pcie/{aspm,portdrv}.c`` and ``pcie_port_pm_setup``. The one table for the spec, which
refuses such words, and for the checks, which find them running.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import FrozenSet, Iterable, Mapping, Sequence, Tuple

from ...util.at_first_use import regex
from ...util.suggestions import nearest

__all__ = ["HARMLESS", "INEFFECTIVE", "MULTI_VALUE", "PCI_WORDS", "READ_APART", "VALUES", "corrected", "hint",
           "name_of", "rejected_values", "release_of", "unparsed"]


def _words(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


#: Words of ``pci=``: exact ones, and ``key=`` for those that take a value.
PCI_WORDS: FrozenSet[str] = _words(
    # drivers/pci/pci.c, every architecture
    "nomsi noats noaer earlydump realloc realloc= nodomains noari notph cbiosize= cbmemsize= "
    "resource_alignment= ecrc= hpiosize= hpmmiosize= hpmmioprefsize= hpmemsize= hpbussize= "
    "pcie_bus_tune_off pcie_bus_safe pcie_bus_perf pcie_bus_peer2peer pcie_scan_all "
    "disable_acs_redir= config_acs= "
    # arch/x86/pci/common.c
    "off bfsort nobfsort bios nobios biosirq pirqaddr= conf1 conf2 nommconf check_enable_amd_mmconf "
    "noacpi noearly usepirqmask irqmask= lastbus= rom norom nobar assign-busses use_crs nocrs "
    "use_e820 no_e820 big_root_window routeirq skip_isa_align noioapicquirk ioapicreroute "
    "noioapicreroute"
)

#: Values per parameter.
VALUES: Mapping[str, FrozenSet[str]] = {
    "iommu": _words(
        "off force noforce biomerge panic nopanic merge nomerge forcesac allowdac nodac usedac soft "
        "pt nopt leak noagp noaperture memaper memaper= fullflush nofullflush"
    ),
    "amd_iommu": _words(
        "fullflush force_enable off force_isolation pgtbl_v1 pgtbl_v2 irtcachedis nohugepages v2_pgsizes_only"
    ),
    "amd_iommu_intr": _words("legacy vapic"),
    "intel_iommu": _words("on off igfx_off forcedac strict sp_off sm_on sm_off tboot_noforce"),
    "intremap": _words("on off nosid no_x2apic_optout nopost posted_msi"),
    "pcie_aspm": _words("off force"),
    "pcie_aspm.policy": _words("default performance powersave powersupersave"),
    # "auto" until 4.17, where it was the default.
    "pcie_ports": _words("compat native dpc-native auto"),
    "pcie_port_pm": _words("off force"),
}
_COMMA_LISTS = frozenset({"iommu", "amd_iommu", "intel_iommu", "intremap"})
#: Compared as a whole; the others by strncmp(), which takes anything that begins with a known word.
_EXACT = frozenset({"pcie_aspm", "pcie_aspm.policy", "pcie_port_pm"})

#: What is said of one where the specification asks for it.
HARMLESS = ("it is harmless and changes nothing; what switches ACS redirect off is pci=disable_acs_redir=pci:0:0 (Linux"
            " 4.19 and later) or the role pcie_acs, and acs-redirect proves it; the warning ends once {word} is no "
            "longer in the specification (box_spec.kernel.cmdline)")
#: Accepted in a spec because people ask for them; the kernel rejects them all the same.
INEFFECTIVE: Mapping[str, str] = {
    "pci=noacs": (
        'no mainline kernel parses it: it logs "PCI: Unknown option `noacs\'" and leaves ACS as it is '
        "(booted on 6.1 and 6.12; absent from pci_setup() and pcibios_setup() of 6.18)"
    ),
}

#: Parameters that x86 looks for in the line itself (cmdline_find_option() in arch/x86: kernel/cpu/bugs.c, common.c,
#: tsx.c and intel.c, kernel/fpu/init.c, mm/pti.c, boot/compressed/kaslr.c). The parser of many kernels does not know
#: them and lists them as handed to user space; they work all the same.
READ_APART: FrozenSet[str] = _words(
    "spectre_v2 nospectre_v2 spectre_v2_user spec_store_bypass_disable nospec_store_bypass_disable pti nopti tsx "
    "split_lock_detect clearcpuid setcpuid noxsave noxsaveopt noxsaves nousershstk nokaslr"
)

#: Words of ``pci=`` that are younger than kernels in use, with the release that brought them.
_SINCE: Mapping[str, Tuple[int, int]] = {"disable_acs_redir=": (4, 19), "config_acs=": (6, 11)}

#: Parameters that may stand on one command line several times with different values.
MULTI_VALUE: FrozenSet[str] = _words(
    "pci console earlycon crashkernel hugepagesz hugepages memmap netconsole ip video acpi_osi dyndbg "
    "modprobe.blacklist module_blacklist rd.driver.blacklist rd.driver.pre rd.luks.uuid rd.md.uuid "
    "rd.lvm.lv systemd.mask systemd.wants systemd.setenv ivrs_ioapic ivrs_hpet ivrs_acpihid"
)

_PASSTHROUGH = "passthrough is `iommu=pt`"
_ACS = "ACS redirect is cleared by `pci=disable_acs_redir=pci:0:0` (>= 4.19)"
_WHY_NOT: Mapping[Tuple[str, str], str] = {
    ("amd_iommu", "pt"): _PASSTHROUGH,
    ("amd_iommu", "on"): "the AMD IOMMU is on whenever firmware offers it; leave the parameter out",
    ("iommu", "on"): "an IOMMU is on by default; leave the parameter out",
    ("intel_iommu", "pt"): _PASSTHROUGH,
    ("pcie_aspm", "performance"): "the policy is `pcie_aspm.policy=performance`",
    ("pci", "noacs"): _ACS,
    ("pci", "disable_acs"): _ACS,
    ("pci", "pt"): _PASSTHROUGH,
}

#: Neighbours of the parameters above that are real: a name that is near to one of these is a typo, one of these is not.
_REAL = frozenset(VALUES) | _words(
    "pci pcie_hp pcie_pme pciehp amd_iommu_dump nointremap amd_pstate intel_pstate")
#: ``pci=`` words that make no sense as a parameter of their own, but are written so.
_LONE = frozenset(word for word in PCI_WORDS if word not in (
    "off", "rom", "bios", "nobios", "noearly", "conf1", "conf2")) | {"noacs"}
_BDF = regex(r"(?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z", re.IGNORECASE)


@lru_cache(maxsize=1024)       # at every word of every line
def name_of(token: str) -> str:
    """Return the parameter's name as the kernel compares it: what stands before ``=``, with dash and underscore
    alike."""
    return token.partition("=")[0].replace("-", "_")


def release_of(text: str) -> Tuple[int, int]:
    """Return the first two numbers of a kernel's release: (6, 8) for ``6.8.0-60-generic``; (0, 0) where the text is no
    release."""
    found = re.match(r"(\d{1,3})\.(\d{1,3})", text)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def hint(name: str, value: str) -> str:
    """Return a text on what would work in place of ``name=value``, or on which values there are."""
    return _WHY_NOT.get((name, value)) or f"known values: {', '.join(sorted(VALUES[name]))}"


def rejected_values(name: str, value: str) -> Iterable[str]:
    """Yield the words in the value of a parameter of VALUES that are not in the table. The empty value is one word."""
    for word in value.split(",") if name in _COMMA_LISTS else [value]:
        key, equals, _ = word.partition("=")
        if key + equals not in VALUES[name]:
            yield word


@lru_cache(maxsize=1024)
def unparsed(word: str, release: Tuple[int, int] = (0, 0)) -> str:
    """Return why no mainline kernel, or not that of ``release``, takes one word of a running command line; "" where it
    may.

    ``word`` is as of cmdline.words(): one option of ``pci=``, every other parameter whole. Only parameters of the
    tables are judged, and lone words that are near to them: most of a command line is not the kernel's."""
    if word in INEFFECTIVE:
        return f"{INEFFECTIVE[word]}; {_ACS}"
    name, equals, value = word.partition("=")
    key = name_of(word)
    if key == "pci":
        return _pci(value, release)
    if key in VALUES:
        bad = [part for part in rejected_values(key, value) if key in _EXACT or not any(
            part.startswith(known.rstrip("=")) for known in VALUES[key])]
        # An empty part ends the parsers' loops; a number is the GART's size.
        bad = [part for part in bad if key in _EXACT or (part and not (key == "iommu" and part[0].isdigit()))]
        return f"{key}={bad[0]} is no value that the kernel parses; {hint(key, bad[0])}" if bad else ""
    if key == "pcie_acs_override":
        return ("it is an out-of-tree patch (Proxmox, Zen): a patched kernel only believes that devices are isolated, "
                f"a mainline kernel ignores it, and neither clears an ACS bit; {_ACS}")
    return _stranger(name, key, equals, value)


def corrected(word: str) -> str:
    """Return the word that a misspelt one on a command line is meant to be, with its value; "" where none is near."""
    name, equals, value = word.partition("=")
    if not unparsed(word):
        return ""
    if name == "pci":
        key, mark, rest = value.partition("=")
        if name_of(key) in VALUES:
            return value
        if key + mark in PCI_WORDS or ("pci", value) in _WHY_NOT or key + "=" in PCI_WORDS:
            return ""
        near = _near_pci(key)
        return f"pci={near}{mark}{rest}" if near and near + mark in PCI_WORDS else ""
    if name + equals in _LONE and name != "noacs":
        return f"pci={word}"
    near_names = _meant(name_of(word)) if name_of(word) not in VALUES and "." not in name else ()
    return f"{near_names[0]}{equals}{value}" if near_names else ""


def _near_pci(key: str) -> str:
    """Return the word of ``pci=`` that is nearest to ``key``, without its value; "" where none is near."""
    near = nearest(key[:64], [known.rstrip("=") for known in PCI_WORDS], alike=0.8)
    return near[0] if near else ""


def _pci(word: str, release: Tuple[int, int]) -> str:
    key, equals, _ = word.partition("=")
    if not word:
        return "pci needs a value, for example pci=realloc"
    since = _SINCE.get(key + equals)
    if since and (0, 0) < release < since:
        return f"mainline kernels parse it from {since[0]}.{since[1]} on, this one is {release[0]}.{release[1]}"
    # noats, noari, notph and the words with a value are compared by their beginning only.
    if key + equals in PCI_WORDS or word.startswith(("noats", "noari", "notph", "pcie_bus_", "pcie_scan_all")):
        return ""
    if _BDF.match(word):
        return "a comma ends a pci= word, so the kernel takes the address for an option; join devices with ';'"
    if key + "=" in PCI_WORDS:
        return f"pci={key} needs a value"
    if key in PCI_WORDS:
        return f"pci={key} takes no value"
    if name_of(key) in VALUES:
        return f"{key} is a parameter of its own: write {word}"
    near = _near_pci(key)
    advice = _WHY_NOT.get(("pci", word)) or (f"did you mean pci={near}?" if near else "")
    return "no mainline kernel parses it" + (f"; {advice}" if advice else "")


@lru_cache(maxsize=1024)
def _meant(key: str) -> Sequence[str]:
    """Return the real parameters that ``key`` may be a misspelling of. The answer is kept: a fleet's boxes have the
    same words, and every one is compared with a thousand parameters."""
    return nearest(key[:64], _REAL, alike=0.87)


def _stranger(name: str, key: str, equals: str, value: str) -> str:
    if "." in key or key in _REAL or len(key) > 40:
        return ""
    if name + equals in _LONE:
        return f"{name} is a word of pci=: write pci={name}{equals}{value}" if name != "noacs" else \
            f"no kernel knows it, nor pci=noacs; {_ACS}"
    near = _meant(key)
    return f"no mainline kernel knows {name}; did you mean {near[0]}{equals}{value}?" if near else ""
