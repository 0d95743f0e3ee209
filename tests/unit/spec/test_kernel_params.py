"""What the kernel parses: the tables, and that the module stays free of third-party imports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tunecheck.parsers.kernel.kernel_params import release_of, unparsed
from tunecheck.spec.kernel_params import INEFFECTIVE, PCI_WORDS, VALUES, conflicts, name_of, problems

CHECKS = Path(__file__).parents[3] / "checks"


@pytest.mark.parametrize(
    "token",
    [
        "pci=noacs", "pci=realloc", "pci=realloc=on", "pci=noacs,realloc", "pci=disable_acs_redir=pci:0:0",
        "pci=config_acs=0000000@pci:0:0", "pci=pcie_bus_perf", "pci=hpmmiosize=256M", "iommu=pt", "iommu=off",
        "amd_iommu=off", "amd_iommu=force_enable,pgtbl_v2", "intel_iommu=on,sm_on", "pcie_aspm=off", "pcie_port_pm=off",
        "quiet", "mitigations=off", "console=ttyS0,115200n8", "nvme_core.default_ps_max_latency_us=0",
        "init=/nonexistent", 'dyndbg="file*+p"',
    ],
)  # fmt: skip
def test_taken(token: str) -> None:
    assert problems(token) == []


@pytest.mark.parametrize(
    ("token", "count"),
    [
        ("pci=foo", 1), ("pci=foo,bar,noacs", 2), ("pci", 1), ("pci=", 1), ("pci=realloc,,noats", 1),
        ("pci=nomsi=1", 1), ("pci=NOMSI", 1), ("iommu=on", 1), ("iommu=", 1), ("iommu=pt,on", 1),
        ("amd_iommu=pt", 1), ("amd-iommu=pt", 1), ("intel_iommu", 1), ("pcie_aspm=off,force", 1),
        ("pcie_port_pm=auto", 1), ("a b", 1), ('x="y', 1), ("x='y", 1), ("=x", 1), ("ä=1", 1), ("a`b", 1), ("", 1),
    ],
)  # fmt: skip
def test_not_taken(token: str, count: int) -> None:
    assert len(problems(token)) == count


def test_ineffective_words_are_really_unknown() -> None:
    for token in INEFFECTIVE:
        assert token.removeprefix("pci=") not in PCI_WORDS


def test_name_is_compared_as_the_kernel_does() -> None:
    assert name_of("amd-iommu=off") == name_of("amd_iommu=on") == "amd_iommu"


@pytest.mark.parametrize(
    ("tokens", "indexes"),
    [
        (["a=1", "a=1"], []),
        (["a=1", "b=1", "a=2"], [2]),
        (["console=a", "console=b"], []),
        (["pci=noacs", "pci=realloc"], []),
        (["pci=disable_acs_redir=a", "pci=disable_acs_redir=b"], [1]),
        (["quiet", "quiet=1"], [1]),
    ],
)
def test_conflicts(tokens: list[str], indexes: list[int]) -> None:
    assert [index for index, _ in conflicts(tokens)] == indexes


@pytest.mark.parametrize(("word", "says"), [
    ("pci=noacs", "disable_acs_redir=pci:0:0"), ("pci=realoc", "pci=realloc?"), ("pci", "pci=realloc"),
    ("pci=00:02.0", "';'"), ("pci=pcie_aspm=off", "pcie_aspm"),
    ("amd_iommu=on", "AMD IOMMU"), ("amd-iommu=pt", "`iommu=pt`"),
    ("intel_iommu=on,pt", "`iommu=pt`"), ("pcie_aspm=performance", "pcie_aspm.policy=performance"),
    ("pcie_aspm.policy=fast", "powersupersave"), ("pcie_ports=on", "dpc-native"), ("intremap=of", "no_x2apic_optout"),
    ("iomu=pt", "iommu=pt?"), ("pcie_asmp=off", "pcie_aspm=off?"), ("realloc", "pci=realloc"),
    ("noacs", "pci=noacs"), ("pcie_acs_override=downstream", "(Proxmox, Zen)"),
])
def test_words_that_no_kernel_parses(word: str, says: str) -> None:
    assert says in unparsed(word, (6, 8))


@pytest.mark.parametrize("word", ["pci=NOMSI", "amd_iommu=on", "iommu=on"])
def test_where_nothing_is_to_be_written_instead_nothing_is_advised(word: str) -> None:
    """Neither a near name nor the list of values."""
    said = unparsed(word, (6, 8))
    assert said and "?" not in said and not {*VALUES["iommu"], *VALUES["amd_iommu"]} & {*re.findall(r"\w+", said)} - {
        "off", "on", "force"}


def test_a_word_that_is_younger_than_the_kernel_names_both() -> None:
    assert re.findall(r"\b\d+\.\d+\b", unparsed("pci=config_acs=0000000@pci:0:0", (6, 8))) == ["6.11", "6.8"]


@pytest.mark.parametrize("word", [
    "pci=realloc", "pci=noats", "pci=disable_acs_redir=pci:0:0", "pci=assign-busses", "iommu=pt", "iommu=off,pt",
    "iommu=128M", "iommu=soft", "iommu=", "amd_iommu=off", "intel_iommu=on,sm_on", "pcie_aspm=off", "intremap=nosid,on",
    "pcie_aspm.policy=performance", "pcie_ports=native", "ro", "quiet", "splash", "root=UUID=x", "nopcid", "nopti",
    "nvidia-drm.modeset=1", "rd.auto=1", "iommu.passthrough=1", "amd_pstate=active", "pciehp.pciehp_force=1", "nohz",
    "tunecheck.trial=x", "panic=1", "noiommu",
])
def test_words_that_are_nobodys_business_or_taken(word: str) -> None:
    assert unparsed(word, (6, 12)) == ""


def test_an_unknown_release_is_no_old_one() -> None:
    assert unparsed("pci=config_acs=0000000@pci:0:0", release_of("garbage")) == ""
    assert release_of("6.17.0-20-generic") == (6, 17)


def test_standard_library_only() -> None:
    code = "import sys, tunecheck.spec.kernel_params; print('pydantic' in sys.modules, 'yaml' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(CHECKS)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
