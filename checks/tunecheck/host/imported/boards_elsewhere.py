"""Finds texts of two machines or boots by their NVIDIA boards: a board's address and model stay from the start of a
boot on, so the kernel log, lspci and nvidia-smi of one boot tell the same of a board that they all name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...util.at_first_use import regex
from ...util.text import some

if TYPE_CHECKING:
    from ...parsers.nvidia.smi import Smi
    from ...parsers.pci.lspci import LspciDevice
    from .texts import Texts

__all__ = ["boards_elsewhere", "other_models"]

_DMESG = ("dmesg",)
#: The first line of a boot: behind it the log has every device that was there.
_BOOT = "Linux version "
#: drivers/pci/probe.c, pci_setup_device(), of a display or 3D controller.
_BOARD = regex(r"\bpci ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): \[(10de:[0-9a-f]{4})\] type 00 class 0x03")
_NAMED = 3


def boards_elsewhere(texts: Texts, devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where the log of a whole boot found boards, and lspci shows none of them but others, or other
    models in their places; else None. Where they have one in common, the others may have been lost, or come later."""
    _, begins, boot = texts.runs.get(_DMESG, "").rpartition(_BOOT)
    found = dict(_BOARD.findall(boot)) if begins else {}
    shown = {bdf: f"{each.vendor}:{each.device}" for bdf, each in devices.items()
             if each.vendor == "10de" and each.device is not None and (each.class_code or "").startswith("03")}
    common = [bdf for bdf in found if bdf in shown]
    # One board may be another since its firmware was written, or have been exchanged since the boot of the log.
    if len(common) > 1 and all(found[bdf] != shown[bdf] for bdf in common):
        return f"the kernel log found {found[common[0]]} at {common[0]}, and lspci shows {shown[common[0]]} there"
    if found and shown and not common:
        return (f"the kernel log found boards of NVIDIA's at {some(sorted(found), _NAMED)}, and lspci shows them at "
                f"{some(sorted(shown), _NAMED)}")
    return None


def other_models(parts: Iterable[Smi], devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where nvidia-smi tells another model of a board than lspci, else None."""
    for gpu in (gpu for part in parts for gpu in part.gpus):
        shown = devices.get(gpu.bdf)
        if shown is None or shown.device is None or not gpu.ids:
            continue
        if shown.vendor == "10de" and f"{shown.vendor}:{shown.device}" != gpu.ids.lower():
            return f"nvidia-smi tells {gpu.ids} at {gpu.bdf}, and lspci shows {shown.vendor}:{shown.device} there"
    return None
