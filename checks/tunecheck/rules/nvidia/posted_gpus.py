"""How many GPUs the texts of an import count, where the PCI tree is not given."""

from __future__ import annotations

from ..context import Case

__all__ = ["gpu_count_text"]


def gpu_count_text(case: Case) -> str:
    """Return which text counts how many GPUs: ``nvidia-smi topo -m has 8 GPUs``; "" where no text counts them."""
    posted = case.snapshot.posted
    if posted.table.value is not None:
        more = " or more (the text is cut)" if posted.table.value.cut else ""
        return f"{posted.table.value.source} has {_gpus(len(posted.table.value.labels))}{more}"
    if posted.names:
        return f"nvidia-smi -L has {_gpus(len(posted.names))}"
    for letter, table in posted.letters.items():
        count = len({a for a, _ in table})
        return f"nvidia-smi topo -p2p {letter if letter != '?' else ''}".strip() + f" has {_gpus(count or 1)}"
    return ""


def _gpus(count: int) -> str:
    return f"{count} GPU{'' if count == 1 else 's'}"
