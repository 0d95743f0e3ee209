"""Which words of a command line contradict each other, and which one the kernel obeys: a table per parameter."""

from __future__ import annotations

import pytest

from tunecheck.parsers.kernel.kernel_params import VALUES
from tunecheck.parsers.kernel.param_conflicts import HIDES_ERRORS, clash, conflicts, split

#: declared word, rest of the command line in order, the rival that is named, whether the kernel obeys it.
OBEYED = [
    # iommu=: its words add up
    ("iommu=pt", "iommu=off {}", "iommu=off", True), ("iommu=pt", "{} iommu=off", "iommu=off", True),
    ("iommu=pt", "iommu=merge,off {}", "iommu=off", True), ("iommu=pt", "iommu=nopt {}", "iommu=nopt", False),
    ("iommu=pt", "{} iommu=nopt", "iommu=nopt", True),
    ("iommu=pt", "{} iommu.passthrough=0", "iommu.passthrough=0", True),
    ("iommu=pt", "iommu.passthrough=off {}", "iommu.passthrough=off", False),
    ("iommu=off", "{} iommu=pt", "iommu=pt", False), ("iommu=off", "intel_iommu=on {}", "intel_iommu=on", False),
    ("iommu=off", "{} intel_iommu=on", "intel_iommu=on", False),
    ("iommu=pt", "{} iommu=nopt2", "iommu=nopt2", True), ("iommu=pt", "iommu=off1 {}", "iommu=off1", True),
    ("iommu=noforce", "{} iommu=merge", "iommu=merge", True),
    ("iommu=panic", "iommu=nopanic {}", "iommu=nopanic", False),
    ("iommu=off", "{} intel_iommu=sm_on", "intel_iommu=sm_on", False),
    # booleans are what kstrtobool() reads; amd_iommu= and intel_iommu= are read after every iommu.*
    ("iommu=pt", "{} iommu.passthrough=No", "iommu.passthrough=No", True),
    ("iommu=nopt", "{} iommu.passthrough=ON", "iommu.passthrough=ON", True),
    ("iommu.strict=1", "{} iommu.strict=off", "iommu.strict=off", True),
    ("iommu.strict=0", "amd_iommu=fullflush {}", "amd_iommu=fullflush", True),
    ("iommu.strict=n", "{} intel_iommu=sm_on,strict", "intel_iommu=strict", True),
    ("intel_iommu=strict", "{} iommu.strict=0", "iommu.strict=0", False),
    ("iommu.forcedac=0", "intel_iommu=forcedac {}", "intel_iommu=forcedac", True),
    # amd_iommu=: they add up; intel_iommu=: the last of on and off
    ("iommu=pt", "amd_iommu=off {}", "amd_iommu=off", True), ("iommu=pt", "{} amd-iommu=off", "amd_iommu=off", True),
    ("iommu=pt", "amd_iommu=fullflush,off {}", "amd_iommu=off", True),
    ("amd_iommu=force_enable", "amd_iommu=off {}", "amd_iommu=off", True),
    ("amd_iommu=pgtbl_v1", "amd_iommu=pgtbl_v2 {}", "amd_iommu=pgtbl_v2", False),
    ("amd_iommu=nohugepages", "{} amd_iommu=v2_pgsizes_only", "amd_iommu=v2_pgsizes_only", True),
    ("iommu=pt", "intel_iommu=off {}", "intel_iommu=off", True),
    ("iommu=pt", "intel_iommu=off {} intel_iommu=on", "intel_iommu=off", False),
    ("intel_iommu=on", "{} intel_iommu=sm_on,off", "intel_iommu=off", True),
    ("intel_iommu=on", "intel_iommu=off {}", "intel_iommu=off", False),
    ("intremap=on", "{} nointremap", "nointremap", True), ("intremap=on", "nointremap {}", "nointremap", False),
    # ASPM, ports
    ("pcie_aspm.policy=performance", "pcie_aspm=off {}", "pcie_aspm=off", True),
    ("pcie_aspm.policy=performance", "{} pcie_aspm=off", "pcie_aspm=off", True),
    ("pcie_aspm=force", "pcie_aspm=off {}", "pcie_aspm=off", True),
    ("pcie_aspm.policy=performance", "pcie_aspm.policy=powersave {}", "pcie_aspm.policy=powersave", False),
    ("pcie_aspm.policy=performance", "{} pcie_aspm.policy=powersave", "pcie_aspm.policy=powersave", True),
    ("pcie_port_pm=off", "{} pcie_port_pm=force", "pcie_port_pm=force", False),
    ("pcie_port_pm=force", "pcie_port_pm=off {}", "pcie_port_pm=off", True),
    ("pcie_ports=native", "pcie_ports=compat {}", "pcie_ports=compat", True),
    ("pcie_ports=dpc-native", "{} pcie_ports=compatible", "pcie_ports=compatible", True),
    # pci=: words add up, a key keeps its last value
    ("pci=realloc", "{} pci=realloc=off", "pci=realloc=off", True),
    ("pci=realloc", "pci=nocrs,realloc=off {}", "pci=realloc=off", False),
    ("pci=pcie_bus_perf", "{} pci=pcie_bus_safe", "pci=pcie_bus_safe", True),
    ("pci=disable_acs_redir=pci:0:0", "{} pci=disable_acs_redir=00:01.0", "pci=disable_acs_redir=00:01.0", True),
    ("pci=hpmmioprefsize=1G", "{} pci=hpmemsize=2M", "pci=hpmemsize=2M", True),
    ("pci=hpmmiosize=4M", "pci=nocrs,hpmemsize=2M {}", "pci=hpmemsize=2M", False),
    ("pci=hpmemsize=2M", "{} pci=hpmmioprefsize=1G", "pci=hpmmioprefsize=1G", True),
    ("pci=use_crs", "pci=nocrs {}", "pci=nocrs", True), ("pci=no_e820", "{} pci=use_e820", "pci=use_e820", False),
    ("pci=bfsort", "{} pci=nobfsort", "pci=nobfsort", True),
    ("pci=noacs", "{} pcie_ports=compat1", "pcie_ports=compat1", True),
    ("pci=noacs", "pci=noaer {}", "pci=noaer", True), ("pcie_port_pm=off", "{} pci=nomsi,noaer", "pci=nomsi", True),
    ("pcie_port_pm=off", "pcie_ports=compat {}", "pcie_ports=compat", True),
    # any other parameter: the last one
    ("mitigations=off", "mitigations=auto {}", "mitigations=auto", False),
    ("mitigations=off", "{} mitigations=auto", "mitigations=auto", True),
]


@pytest.mark.parametrize(("declared", "line", "rival", "wins"), OBEYED)
def test_the_rival_is_named_with_what_the_kernel_obeys(declared: str, line: str, rival: str, wins: bool) -> None:
    tokens = line.format(declared).split()
    found = {conflict.rival: conflict for conflict in conflicts([declared], ["root=/dev/vda", *tokens])}
    assert found[rival].wins is wins
    assert found[rival].declared == declared and found[rival].why
    assert rival.partition("=")[0] in ["root=/dev/vda", *tokens][found[rival].index].replace("-", "_")


@pytest.mark.parametrize(("declared", "line"), [
    ("iommu=pt", "iommu=pt intel_iommu=on amd_iommu=fullflush iommu.strict=1 iommu.passthrough=1"),
    ("iommu=off", "iommu=off amd_iommu=off intel_iommu=off iommu=soft"),
    ("pci=realloc", "pci=realloc,nocrs pci=realloc=on pci=config_acs=0@pci:0:0"),
    ("console=ttyS0", "console=tty0 console=ttyS0"), ("pcie_aspm=off", "pcie_aspm=off pcie_ports=native"),
    ("pcie_aspm.policy=performance", "quiet pcie_aspm.policy=performance splash pci=noats"),
    ("iommu=pt", "iommu=usedac,nopt,off iommu=pt"),  # nothing after usedac is read
    ("iommu=pt", "iommu=pt iommu.passthrough=Yes iommu.passthrough=on iommu=pt1"),
    ("iommu=pt", "iommu=pt iommu.passthrough=maybe"), ("iommu.strict=1", "iommu.strict=1 iommu.strict=y"),
    ("iommu.strict=1", "iommu.strict=1 amd_iommu=fullflush intel_iommu=strict"),
    ("intremap=on", "intremap=on,nosid intremap=nopost"), ("iommu=merge", "iommu=merge iommu=force"),
    ("pci=hpmemsize=2M", "pci=hpmemsize=2M pci=hpmmiosize=2M,hpiosize=1M"),
    ("quiet", "quiet pci=noaer pcie_aspm=off"), ("pci=noacs", "pcie_aspm=off"), ("iommu=pt", ""),
])
def test_what_does_not_contradict(declared: str, line: str) -> None:
    assert conflicts([declared], line.split()) == []


def test_words_that_are_declared_together_are_the_specs_own_business() -> None:
    both = ["pcie_port_pm=off", "pci=noaer"]
    assert conflicts(both, both) == []


def test_a_contradiction_is_one_both_ways_round() -> None:
    for declared, line, rival, _ in OBEYED:
        for word in line.replace("{}", "").split():
            for part in split(word):
                assert bool(clash(part, declared)) == bool(clash(declared, part))
        if declared.partition("=")[0] == rival.partition("=")[0] != "pci":
            assert clash(declared, rival), (declared, rival)


def test_every_word_named_here_is_one_that_the_kernel_parses() -> None:
    """A typing error in the tables would never match anything."""
    from tunecheck.parsers.kernel import param_conflicts
    from tunecheck.parsers.kernel.kernel_params import unparsed

    named = [*param_conflicts._SWITCHES, *HIDES_ERRORS]
    for kept, undone, _ in param_conflicts._TAKES_BACK:
        named += [kept, *(word for word in undone if not word.endswith("="))]
    assert [word for word in named if unparsed(word)] == []
    assert {word.partition("=")[0] for word in named} - {"pci", "nointremap", *param_conflicts._BOOLS} <= set(VALUES)
