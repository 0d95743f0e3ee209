"""What all texts of `nvidia-smi -q` and all plain tables of an import tell of the GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .texts import Texts

__all__ = ["contradiction", "document_of"]


def document_of(texts: Texts) -> dict[str, Any] | None:
    """Return the NVML document, of two values the worse one. None where no text names a GPU."""
    from ...parsers.nvidia.smi_merge import document  # start-up time
    from ...parsers.nvidia.smi_table import parse_table

    tables = [parse_table(post.text) for post in texts.posts.get("nvidia-smi", ())]
    if not texts.smi and len(tables) == 1:
        return tables[0] if tables[0] and tables[0]["gpus"] else None
    return document(_told(texts))


def contradiction(texts: Texts) -> str | None:
    """Return a sentence where two of the texts are of two machines or boots, else None."""
    if len(texts.smi) + len(texts.posts.get("nvidia-smi", ())) < 2:
        return None
    from ...parsers.nvidia.smi_merge import apart  # start-up time

    return apart(_told(texts))


def _told(texts: Texts) -> list[dict[str, Any]]:
    from ...parsers.nvidia.smi_merge import of_table
    from ...parsers.nvidia.smi_query import told
    from ...parsers.nvidia.smi_table import parse_table

    tables = [of_table(parse_table(post.text)) for post in texts.posts.get("nvidia-smi", ())]
    return [*map(told, texts.smi), *(table for table in tables if table)]
