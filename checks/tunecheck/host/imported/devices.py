"""The PCI devices of an import: what lspci shows of them, as the files below /sys/bus/pci that it read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...errors import UsageError
from ...model.absence import Absence, Reason
from ...parsers.pci.lspci import LspciDevice, parse_lspci
from ...parsers.text.bounds import MOST_PCI
from ...parsers.text.damage import Damage
from .pci import FULL, BusTree, config, gaps, has_no_link
from .pci_merge import gone, merge

if TYPE_CHECKING:
    from .texts import Texts

__all__ = ["gathered", "paths"]

_PCI = "/sys/bus/pci/devices"


def gathered(texts: Iterable[str], devices: dict[str, LspciDevice]) -> str | None:
    """Add the devices of every text to ``devices``. Return a sentence where two texts contradict each other, else None.
    UsageError where there are more than a machine has."""
    given: list[dict[str, LspciDevice]] = []
    for text in texts:
        found = list(parse_lspci(text))
        given.append({device.bdf: device for device in found})
        problem = merge(devices, found) or gone(given)
        if problem:
            return problem
        if len(devices) > MOST_PCI:
            raise UsageError(f"lspci lists {len(devices)} devices; tunecheck takes at most {MOST_PCI}. If this is one "
                             "machine, report it with the file", Damage.TOO_MANY)
    return None


def paths(texts: Texts, devices: dict[str, LspciDevice]) -> None:
    """Fill in the paths of every device in ``texts``."""
    texts.lists[_PCI] = sorted(devices)
    texts.cut_at = next((device.bdf for device in devices.values() if device.cut), "")
    texts.unread_header_at = next((device.bdf for device in devices.values() if device.unread_header), "")
    tree = BusTree(devices)
    tree.settle()
    texts.missing = tree.missing()
    for device in devices.values():
        _device(texts, device, tree, devices)


def _device(texts: Texts, device: LspciDevice, tree: BusTree, devices: dict[str, LspciDevice]) -> None:
    folder = f"{_PCI}/{device.bdf}"
    for leaf, value, more in (("vendor", device.vendor, ""), ("device", device.device, ""),
                              ("class", device.class_code, "00")):
        if value is None:
            texts.errors[f"read {folder}/{leaf}"] = Absence.NOT_IN_IMPORT.because(
                "not in the import (names without numbers); add: sudo lspci -nnvvv")
        else:
            texts.file(f"{folder}/{leaf}", f"0x{value}{more}\n")
    place, why = tree.path(device.bdf)
    if place is not None:
        texts.realpaths[folder] = place
    elif why is not None:
        texts.errors[f"realpath {folder}"] = why
    content = config(device)
    if isinstance(content, str):
        texts.errors[f"read {folder}/config"] = Absence.NOT_IN_IMPORT.because(content)
    else:
        texts.reads.setdefault(f"{folder}/config", content)
        texts.doubts.update((f"{folder}/config {part}", why) for part, why in gaps(device))
    _link(texts, device, folder)
    _belongings(texts, device, folder, devices, _node(device, devices, place or ""))


def _node(device: LspciDevice, devices: dict[str, LspciDevice], place: str) -> int | None:
    """Return the NUMA node that the text shows of the device, or else of the nearest bridge above it: lspci shows none
    of a device that does not answer, and the kernel gives each the node of its bus (drivers/pci/probe.c)."""
    above = [devices[name].numa_node for name in reversed(place.split("/")) if name in devices]
    return next((node for node in (device.numa_node, *above) if node is not None), None)


def _link(texts: Texts, device: LspciDevice, folder: str) -> None:
    link = {"current_link_width": device.width, "max_link_width": device.max_width,
            "current_link_speed": device.speed, "max_link_speed": device.max_speed}
    for leaf, value in link.items():
        if value is not None:
            texts.file(f"{folder}/{leaf}", f"{value}\n")
        else:
            texts.errors[f"read {folder}/{leaf}"] = (
                Reason(Absence.NOT_PRESENT) if has_no_link(device) else
                Absence.NOT_IN_IMPORT.because(f"not in the import (the link is not shown); {FULL}"))


def _belongings(texts: Texts, device: LspciDevice, folder: str, devices: dict[str, LspciDevice],
                node: int | None) -> None:
    # lspci prints these only where there is something to print; that it can, other devices show.
    if node is not None or any(other.numa_node is not None for other in devices.values()):
        texts.file(f"{folder}/numa_node", f"{-1 if node is None else node}\n")
    if device.driver is not None:
        texts.realpaths[f"{folder}/driver"] = f"/sys/bus/pci/drivers/{device.driver}"
    elif not device.cut and any(other.driver_shown for other in devices.values()):
        texts.errors[f"realpath {folder}/driver"] = Reason(Absence.NOT_SHOWN)
    if device.iommu_group is not None:
        texts.realpaths[f"{folder}/iommu_group"] = f"/sys/kernel/iommu_groups/{device.iommu_group}"
    elif any(other.iommu_group is not None for other in devices.values()):
        # Where one device has a group the kernel has put the others into one, too: this one's line is gone.
        texts.errors[f"realpath {folder}/iommu_group"] = Absence.NOT_IN_IMPORT.because(
            f"not in the import (its IOMMU group is not shown); {FULL}")
