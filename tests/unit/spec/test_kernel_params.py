"""What the kernel parses: the tables, and that the module stays free of third-party imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tunecheck.spec.kernel_params import INEFFECTIVE, PCI_WORDS, conflicts, name_of, problems

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


def test_standard_library_only() -> None:
    code = "import sys, tunecheck.spec.kernel_params; print('pydantic' in sys.modules, 'yaml' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(CHECKS)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
