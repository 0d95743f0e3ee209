"""What the Linux kernel really parses, for the few parameters that tuning folklore gets wrong.

Read in source: Linux 6.18 and 6.12 ``drivers/pci/pci.c`` (pci_setup), ``arch/x86/pci/common.c``
(pcibios_setup), ``arch/x86/kernel/pci-dma.c`` (iommu_setup), ``drivers/iommu/amd/init.c``
(parse_amd_iommu_options), ``drivers/iommu/intel/iommu.c`` (intel_iommu_setup),
``drivers/pci/pcie/aspm.c`` and ``pcie_port_pm_setup``. Standard library only: the box imports this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["INEFFECTIVE", "MULTI_VALUE", "PCI_WORDS", "VALUES", "conflicts", "name_of", "problems"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words of ``pci=``: exact ones, and ``key=`` for those that take a value.
PCI_WORDS: frozenset[str] = _words(
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

#: Values per parameter. The first three take a comma list, the others exactly one word.
VALUES: Mapping[str, frozenset[str]] = {
    "iommu": _words(
        "off force noforce biomerge panic nopanic merge nomerge forcesac allowdac nodac usedac soft "
        "pt nopt leak noagp noaperture memaper memaper= fullflush nofullflush"
    ),
    "amd_iommu": _words(
        "fullflush force_enable off force_isolation pgtbl_v1 pgtbl_v2 irtcachedis nohugepages v2_pgsizes_only"
    ),
    "intel_iommu": _words("on off igfx_off forcedac strict sp_off sm_on sm_off tboot_noforce"),
    "pcie_aspm": frozenset({"off", "force"}),
    "pcie_port_pm": frozenset({"off", "force"}),
}
_COMMA_LISTS = frozenset({"iommu", "amd_iommu", "intel_iommu"})

#: Accepted in a spec because people ask for them; the kernel rejects them all the same.
INEFFECTIVE: Mapping[str, str] = {
    "pci=noacs": (
        'no mainline kernel parses it: it logs "PCI: Unknown option `noacs\'" and leaves ACS as it is '
        "(booted on 6.1 and 6.12; absent from pci_setup() and pcibios_setup() of 6.18)"
    ),
}

#: Parameters that may stand on one command line several times with different values.
MULTI_VALUE: frozenset[str] = _words(
    "pci console earlycon crashkernel hugepagesz hugepages memmap netconsole ip video acpi_osi dyndbg "
    "modprobe.blacklist module_blacklist rd.driver.blacklist rd.driver.pre rd.luks.uuid rd.md.uuid "
    "rd.lvm.lv systemd.mask systemd.wants systemd.setenv ivrs_ioapic ivrs_hpet ivrs_acpihid"
)

_WHY_NOT: Mapping[tuple[str, str], str] = {
    ("amd_iommu", "pt"): 'passthrough is `iommu=pt`, which box_spec.iommu: "pt" sets',
    ("amd_iommu", "on"): "the AMD IOMMU is on whenever firmware offers it; leave the parameter out",
    ("iommu", "on"): "an IOMMU is on by default; leave the parameter out",
    ("intel_iommu", "pt"): 'passthrough is `iommu=pt`, which box_spec.iommu: "pt" sets',
}
# /etc/default/grub.d/*.cfg is sourced by a shell, so these would not arrive as written.
_SHELL = re.compile(r"[$`\\]")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\[\]:-]*\Z")
_BDF = re.compile(r"(?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z", re.IGNORECASE)


def name_of(token: str) -> str:
    """The parameter's name as the kernel compares it: before ``=``, dash and underscore alike."""
    return token.partition("=")[0].replace("-", "_")


def problems(token: str) -> list[str]:
    """Why the kernel (or GRUB's shell) would not take ``token`` as one parameter. Empty when it would."""
    shape = _shape(token)
    if shape:
        return [shape]
    name, equals, value = token.partition("=")
    if not _NAME.match(name):
        return [f"{token!r} does not begin with a parameter name; expected name or name=value"]
    key = name_of(token)
    if key == "tunecheck.trial":
        return ["tunecheck.trial= is reserved: the trial boot sets it; remove it"]
    if key == "pci":
        return _pci(value) if equals else ["pci needs a value, for example pci=realloc"]
    if key in VALUES:
        return _listed(key, value)
    return []


def _shape(token: str) -> str | None:
    if not token:
        return "is empty; remove the entry"
    if token.count('"') % 2 or token.count("'") % 2:
        return f"{token!r} has unbalanced quotes; write the parameter without quotes of its own"
    if re.search(r"\s", token):
        return f"{token!r} holds a space, which ends a kernel parameter; write one list entry per parameter"
    if not token.isascii() or not token.isprintable():
        return f"{token!r} holds a character that is not printable ASCII; retype it"
    shell = _SHELL.search(token)
    if shell:
        return f"{token!r} holds {shell.group()!r}, which the shell that reads GRUB's settings would expand"
    return None


def _pci(value: str) -> list[str]:
    return [text for word in value.split(",") if (text := _pci_word(word))]


def _pci_word(word: str) -> str | None:
    key, equals, _ = word.partition("=")
    if f"pci={word}" in INEFFECTIVE or key + equals in PCI_WORDS:
        return None
    if _BDF.match(word):
        return f"a comma ends a pci= word, so the kernel reads {word!r} as an option; join devices with ';'"
    if key + "=" in PCI_WORDS:
        return f"pci={key} needs a value: pci={key}=..."
    if key in PCI_WORDS:
        return f"pci={key} takes no value; write pci={key}"
    return (
        f'pci={word} is unknown to the kernel, which would log "PCI: Unknown option `{word}\'" and ignore '
        f"it; known words: {', '.join(sorted(PCI_WORDS))}"
    )


def _listed(name: str, value: str) -> list[str]:
    allowed = VALUES[name]
    found = []
    for word in value.split(",") if name in _COMMA_LISTS else [value]:
        key, equals, _ = word.partition("=")
        if key + equals in allowed:
            continue
        hint = _WHY_NOT.get((name, word), f"known values: {', '.join(sorted(allowed))}")
        found.append(f"{name}={word} is not a value the kernel knows, so it would have no effect; {hint}")
    return found


def conflicts(tokens: Iterable[str]) -> list[tuple[int, str]]:
    """Tokens that contradict an earlier one: ``(index, sentence)``. Which one wins differs per parameter."""
    first: dict[str, str] = {}
    found = []
    for index, token in enumerate(tokens):
        for key, text in _settings(token):
            seen = first.setdefault(key, text)
            if seen != text:
                found.append((index, f"{text} contradicts {seen}: one parameter, two values; keep one of them"))
    return found


def _settings(token: str) -> list[tuple[str, str]]:
    """What a token sets: itself, or for ``pci=`` each of its ``key=value`` words. Multi-value: nothing."""
    name = name_of(token)
    if name == "pci":
        words = [word for word in token.partition("=")[2].split(",") if "=" in word]
        return [(f"pci={word.partition('=')[0]}", f"pci={word}") for word in words]
    return [] if name in MULTI_VALUE else [(name, token)]
