"""Finds texts of two machines or boots by what is in them once: the driver that is loaded, and the models of the
boards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ...util.at_first_use import regex

if TYPE_CHECKING:
    from .texts import Texts

__all__ = ["other_boards", "other_driver"]

#: The kernel's module says it each time that it is loaded.
_LOADED = regex(r"NVRM: loading NVIDIA UNIX [^\n]{0,120}?\b(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b")
_VERSION = regex(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?\Z")
_DMESG = ("dmesg",)
_BENCHES = ("p2pBandwidthLatencyTest", "nvbandwidth")


def other_driver(texts: Texts) -> str | None:
    """Return a sentence where nvidia-smi tells another driver than the one that the log of this boot loaded last, else
    None. A driver that was upgraded below a loaded module has no such text: its nvidia-smi fails. The log in a bug
    report may have lost its last lines."""
    loaded = [] if texts.reported else _LOADED.findall(texts.runs.get(_DMESG, ""))
    if not loaded or not (texts.smi or "nvidia-smi" in texts.posts):
        return None
    from .nvidia_smi import drivers  # start-up time

    told = next((driver for driver in drivers(texts) if _VERSION.match(driver) and driver != loaded[-1]), None)
    return f"nvidia-smi tells the driver {told}, and the kernel log loads {loaded[-1]}" if told else None


def other_boards(texts: Texts) -> str | None:
    """Return a sentence where a run of a benchmark names its boards and none of them is a model that nvidia-smi lists,
    else None. A run may have only some of a machine's boards, so it is compared with lists that have as many, and are
    not known to be a part."""
    if texts.posts.keys().isdisjoint(("nccl-tests", *_BENCHES)):
        return None
    lists = list(_listed(texts))
    for tool, names in _run(texts) if lists else ():
        for source, models in lists:
            if names and len(models) >= len(names) and not any(_same(a, b) for a in names for b in models):
                return f"{tool} ran on {names[0]}, and {source} lists {models[0]}"
    return None


def _listed(texts: Texts) -> Iterator[tuple[str, list[str]]]:
    """Yield the models of every text of nvidia-smi that lists all boards: the source, and one name for each."""
    from ...parsers.nvidia.smi_table import listed
    from .nvidia_smi import boards

    for post in texts.posts.get("nvidia-smi -L", ()):
        # `nvidia-smi nvlink -s` has the same lines above its links, and may be of one GPU.
        if "Link " not in post.text and (names := [name for _, name in listed(post.text)]):
            yield "nvidia-smi -L", names
    for names in boards(texts):
        yield "nvidia-smi", names


def _run(texts: Texts) -> Iterator[tuple[str, list[str]]]:
    """Yield the models that each run of a benchmark on one machine names."""
    for kind in _BENCHES:
        for post in texts.posts.get(kind, ()):
            from ...parsers.nvidia.bench_grids import parse_grids  # start-up time

            yield kind, _of(lambda text: (name for _, name in parse_grids(text).devices.values()), post.text)
    for post in texts.posts.get("nccl-tests", ()):
        yield "nccl-tests", _of(_ranks, post.text)


def _ranks(text: str) -> Iterator[str]:
    from ...parsers.nvidia.nccl_tests import parse_nccl_tests  # start-up time

    ranks = parse_nccl_tests(text).ranks
    # Of a run on several machines this may be any one.
    return (rank.name for rank in ranks if len({each.host for each in ranks}) == 1)


def _of(read: Callable[[str], Iterable[str]], text: str) -> list[str]:
    try:
        return [name for name in read(text) if name]
    except ValueError:
        return []


def _same(one: str, other: str) -> bool:
    """Return whether two names may be of one model: older drivers print none of NVIDIA's, a table cuts long ones, and
    that of a MIG instance goes on behind the board's."""
    first, second = (name.lower().removeprefix("nvidia ").removesuffix("...").strip() for name in (one, other))
    return first.startswith(second) or second.startswith(first)
