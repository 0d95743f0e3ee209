"""What all texts of `nvidia-smi -q` and all plain tables of an import tell of the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .texts import Texts

__all__ = ["boards", "contradiction", "document_of", "drivers", "places"]


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


def places(texts: Texts) -> tuple[list[str], bool]:
    """Return the addresses of the GPUs in all texts of nvidia-smi, and whether these are all that the driver has."""
    if not (texts.smi or "nvidia-smi" in texts.posts):
        return [], False
    told = _told(texts)
    gpus = list(dict.fromkeys(bdf for each in told for bdf in each["gpus"]))
    return gpus, len(gpus) == max((each["attached"] for each in told), default=0)


def drivers(texts: Texts) -> list[str]:
    """Return the driver that each text tells; those that tell none are left out."""
    return [told["driver"] for told in _told(texts) if told["driver"]]


def boards(texts: Texts) -> Iterator[list[str]]:
    """Yield the names of the boards of each text that names as many as the machine has."""
    for told in _told(texts):
        values = [gpu["values"] for gpu in told["gpus"].values()]
        names = [str(name) for each in values if (name := each.get("name") or each.get("name_begin"))]
        if names and len(names) == told["attached"]:
            yield names


def _told(texts: Texts) -> list[dict[str, Any]]:
    from ...parsers.nvidia.smi_merge import of_table
    from ...parsers.nvidia.smi_query import told
    from ...parsers.nvidia.smi_table import parse_table

    tables = [of_table(parse_table(post.text)) for post in texts.posts.get("nvidia-smi", ())]
    return [*map(told, texts.smi), *(table for table in tables if table)]
