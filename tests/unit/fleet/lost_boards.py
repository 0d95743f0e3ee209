"""A machine of eight GPUs that lost one: it does not answer any more where it is listed, or is in no list."""

from __future__ import annotations

from tests.unit.facts.trees import PCI, Machine

__all__ = ["BUS", "goes_away", "goes_silent", "goes_unlisted"]

#: The GPU that is lost.
BUS = "0000:26:00.0"


def goes_silent(machine: Machine) -> None:
    """It is listed, and reads ff."""
    machine.file(f"{PCI}/{BUS}/config", b"\xff" * 256)
    for name in ("current_link_width", "current_link_speed", "max_link_width", "max_link_speed"):
        machine.file(f"{PCI}/{BUS}/{name}", "")
    goes_unlisted(machine)


def goes_away(machine: Machine) -> None:
    """It is not in the PCI tree any more."""
    machine.lists[PCI].remove(BUS)
    goes_unlisted(machine)


def goes_unlisted(machine: Machine) -> None:
    """NVML does not list it."""
    assert machine.nvml is not None
    machine.nvml = {**machine.nvml, "gpus": [gpu for gpu in machine.nvml["gpus"] if gpu["bdf"] != BUS],
                    "pairs": [pair for pair in machine.nvml["pairs"] if BUS not in (pair["a"], pair["b"])]}
