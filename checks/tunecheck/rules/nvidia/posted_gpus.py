"""How many GPUs there are by any source, and how the texts of an import call them where the PCI tree is not given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...facts.nvidia.nvml import Gpu
from ...facts.snapshot import Snapshot
from ...util.text import some
from ..context import Case

__all__ = ["counted_names", "driver_count", "driver_counts", "given_names", "gpu_count", "gpu_count_text", "maybe_more",
           "nvlink_words", "shown_name", "whole_or_add"]


def gpu_count(case: Case) -> int:
    """Return how many GPUs this machine has at least: by the PCI tree, by NVML, or by a text that counts them."""
    posted, nvml = case.snapshot.posted, case.snapshot.nvml.value
    told = [len(case.snapshot.topology.devices), len(posted.names), *posted.least.values(),
            *(1 + max((max(pair) for pair in table), default=-1) for table in posted.letters.values())]
    if posted.table.value is not None:
        told.append(len(posted.table.value.labels))
    if nvml is not None:
        told += [len(nvml.gpus) + sum(who.startswith("gpu ") for who in nvml.errors), nvml.attached]
    return max(told)


def maybe_more(case: Case) -> bool:
    """Whether there may be more GPUs than gpu_count says: the only source that names them is cut, or names a part."""
    topology, nvml = case.snapshot.topology, case.snapshot.nvml.value
    if topology.accelerators.value is not None:
        return bool(topology.doubt or topology.unidentified)
    return nvml is not None and nvml.error("gpus") is not None


def whole_or_add(gpu: Gpu) -> str:
    """Return the end of a sentence about what a text of nvidia-smi -q does not show of this GPU. Of one that is given
    whole no more is asked: its driver does not show it."""
    if gpu.values.get("whole_report") is True:
        return ", which is whole: this driver does not show it there; a recording of the box has what NVML tells"
    return "; add the whole of: nvidia-smi -q"


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


def shown_name(gpu: Gpu) -> str:
    """Return a GPU's name; one that a table cut ends in "..."; "" where none is told."""
    begin = gpu.values.get("name_begin")
    return str(gpu.values.get("name") or (f"{begin}..." if begin else ""))


def driver_count(case: Case) -> tuple[str, int, bool] | None:
    """Return which text of the driver counts how many GPUs, and whether these are the least that there are (the text is
    cut). None where no text counts them; a tree drawn by lspci is none of the driver's."""
    posted = case.snapshot.posted
    table = posted.table.value
    if table is not None and not any(table.labels):
        return table.source, len(table.labels), table.cut
    if posted.names:
        return "nvidia-smi -L", len(posted.names), False
    return None


def driver_counts(case: Case) -> dict[str, int]:
    """Return how many GPUs each text of the driver has, by its name. Only of texts that name all GPUs: one that is cut,
    was asked for some of them, or lost one has no count."""
    posted, nvml = case.snapshot.posted, case.snapshot.nvml.value
    found = {}
    table = posted.table.value
    if table is not None and not any(table.labels) and not table.cut:
        found[table.source] = len(table.labels)
    if posted.names:
        found["nvidia-smi -L"] = len(posted.names)
    for letter, pairs in posted.letters.items():
        if pairs:
            found["nvidia-smi topo -p2p" + (f" {letter}" if letter != "?" else "")] = len({b for _, b in pairs} | {
                a for a, _ in pairs})
    whole = nvml is not None and not any(who == "gpus" or who.startswith("gpu ") for who in nvml.errors)
    if nvml is not None and whole and [gpu.index for gpu in nvml.gpus] == list(range(len(nvml.gpus))) and nvml.gpus:
        found["nvidia-smi"] = len(nvml.gpus)
    return found


def given_names(snapshot: Snapshot) -> list[str]:
    """Return the boards' names by `nvidia-smi -L`, else by nvidia-smi's table or -q, else by nccl-tests. [] where no
    text names them."""
    posted, nvml = snapshot.posted, snapshot.nvml.value
    listed = [name for _, name in posted.names]
    asked = [name for gpu in (nvml.gpus if nvml else ()) if (name := shown_name(gpu))]
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
