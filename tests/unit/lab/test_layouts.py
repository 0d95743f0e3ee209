"""The trees that QEMU is asked for."""

import pytest

from lab import layouts


@pytest.mark.parametrize("name", layouts.LAYOUTS)
def test_every_layout_has_two_endpoints_behind_ports_with_acs(name: str) -> None:
    args = " ".join(layouts.arguments(name, "intel", 1024))
    assert args.count(f"-device {layouts.ENDPOINT},") == 2
    assert "xio3130-downstream" not in args  # it has no ACS capability
    assert len(layouts.LAYOUTS[name].endpoints) == len(layouts.LAYOUTS[name].ports) == 2


@pytest.mark.parametrize("iommu", ["intel", "amd"])
def test_the_iommu_comes_before_the_devices_it_serves(iommu: str) -> None:
    assert layouts.arguments("switch", iommu, 1024)[:2] == ["-device", f"{iommu}-iommu"]


def test_without_iommu_there_is_none() -> None:
    assert "iommu" not in " ".join(layouts.arguments("direct", "none", 1024))


def test_kvm_needs_the_split_interrupt_controller_for_an_iommu() -> None:
    assert layouts.machine_type("intel", kvm=True) == "q35,kernel-irqchip=split"
    assert layouts.machine_type("none", kvm=True) == layouts.machine_type("intel", kvm=False) == "q35"


def test_numa_splits_the_memory() -> None:
    args = layouts.arguments("numa", "none", 1024)
    assert [a for a in args if "size=512M" in a] != [] and "1024" not in " ".join(args)
