"""What all texts of `nvidia-smi -q` and all plain tables of an import tell of the GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...parsers.pci.lspci import LspciDevice
    from .texts import Texts

__all__ = ["contradiction", "document_of", "elsewhere"]


def document_of(texts: Texts) -> dict[str, Any] | None:
    """Return the NVML document, of two values the worse one. None where no text names a GPU."""
    from ...parsers.nvidia.smi_merge import document, of_table  # start-up time
    from ...parsers.nvidia.smi_table import parse_table

    tables = [parse_table(post.text) for post in texts.posts.get("nvidia-smi", ())]
    if not texts.smi and len(tables) == 1:
        return tables[0] if of_table(tables[0]) else None
    return document(_told(texts))


def contradiction(texts: Texts) -> str | None:
    """Return a sentence where two of the texts are of two machines or boots, else None."""
    if len(texts.smi) + len(texts.posts.get("nvidia-smi", ())) < 2:
        return None
    from ...parsers.nvidia.smi_merge import apart  # start-up time

    return apart(_told(texts))


def elsewhere(texts: Texts, devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where lspci shows something else at the addresses of the driver's GPUs, else None. A GPU that
    lspci does not show may have left the bus; what is there in its place did not come by itself."""
    if not devices or not (texts.smi or "nvidia-smi" in texts.posts):
        return None
    gpus = list(dict.fromkeys(bdf for told in _told(texts) for bdf in told["gpus"]))
    for bdf in gpus:
        device = devices.get(bdf)
        if device is not None and device.vendor not in (None, "10de") and not device.all_ones:
            return f"{bdf} is a GPU in nvidia-smi and {device.vendor}:{device.device} in lspci"
    return None


def _told(texts: Texts) -> list[dict[str, Any]]:
    from ...parsers.nvidia.smi_merge import of_table
    from ...parsers.nvidia.smi_query import told
    from ...parsers.nvidia.smi_table import parse_table

    tables = [of_table(parse_table(post.text)) for post in texts.posts.get("nvidia-smi", ())]
    return [*map(told, texts.smi), *(table for table in tables if table)]
