"""How many GPUs the texts of an import count, and how they call them, where the PCI tree is not given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...facts.snapshot import Snapshot
from ...util.text import some
from ..context import Case

__all__ = ["counted_names", "given_names", "gpu_count", "gpu_count_text", "nvlink_words"]


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


def gpu_count(case: Case) -> tuple[str, int, bool] | None:
    """Return which text of the driver counts how many GPUs, and whether these are the least that there are (the text is
    cut). None where no text counts them; a tree drawn by lspci is none of the driver's."""
    posted = case.snapshot.posted
    table = posted.table.value
    if table is not None and not any(table.labels):
        return table.source, len(table.labels), table.cut
    if posted.names:
        return "nvidia-smi -L", len(posted.names), False
    return None


def given_names(snapshot: Snapshot) -> list[str]:
    """Return the boards' names by `nvidia-smi -L`, else by nvidia-smi's table or -q, else by nccl-tests. [] where no
    text names them."""
    posted, nvml = snapshot.posted, snapshot.nvml.value
    listed = [name for _, name in posted.names]
    asked = [str(gpu.values["name"]) for gpu in nvml.gpus if gpu.values.get("name")] if nvml else []
    tested = next(([rank.name for rank in test.ranks] for test in posted.tests if test.ranks), [])
    return listed or asked or tested


def counted_names(names: Sequence[str]) -> str:
    """Return names as text: ``2 x NVIDIA H200``."""
    return some([f"{count} x {name}" for name, count in Counter(names).items()], 3)


def nvlink_words(snapshot: Snapshot) -> set[str]:
    """Return the words of the table of `nvidia-smi topo -m` ("NV18") where every pair in it is joined by NVLink: PCIe
    carries none of their traffic, and its tree would tell nothing about it. Empty where that is not known."""
    table = snapshot.posted.table.value
    words = set(table.relations.values()) if table is not None else set()
    return words if all(word.startswith("NV") for word in words) else set()


def _gpus(count: int) -> str:
    return f"{count} GPU{'' if count == 1 else 's'}"
