"""Finds texts of one kind that cannot both be of this machine as it runs now: the output of one command, twice, and
not the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....parsers.nvidia.topo_matrix import parse_matrix

if TYPE_CHECKING:
    from ..texts import Texts

__all__ = ["differing"]

#: The modules that a check asks for.
_MODULES = ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nouveau", "nvidia_peermem")


def differing(texts: Texts) -> str | None:
    """Return a sentence where two texts of one kind differ in what is judged, else None."""
    for kind, given in texts.answers.items():
        if len(given) > 1 and _apart([_read(kind, text) for text in given]):
            return f"two texts of {kind} that differ"
    for kind, reader in _POSTED.items():
        posts = texts.posts.get(kind, ())
        if len(posts) > 1 and _apart([reader(post.text) for post in posts]):
            return f"two texts of {kind} that differ"
    loads = texts.posts.get("lsmod", ())
    return _loaded([post.text for post in loads]) if len(loads) > 1 else None


def _apart(told: list[dict[Any, Any]]) -> bool:
    """Return whether two of these answers give one question two values. What only one answers, says nothing."""
    known: dict[Any, Any] = {}
    return any(known.setdefault(key, value) != value for each in told for key, value in each.items()
               if value is not None)


def _read(kind: str, text: str) -> dict[Any, Any]:
    reader = _GIVEN.get(kind)
    if reader is not None:
        return reader(text)
    if kind.startswith("nvidia-smi topo"):
        return {pair: word for pair, word in parse_matrix(text).pairs.items()}
    return {"": " ".join(text.split())}


def _lscpu(text: str) -> dict[Any, Any]:
    from ....parsers.kernel.lscpu import parse_lscpu  # start-up time

    found = parse_lscpu(_whole(text))
    return {"online": found.online, "present": found.present, "threads": found.threads_per_core,
            "sockets": found.sockets, "count": found.count, **found.nodes}


def _numactl(text: str) -> dict[Any, Any]:
    from ....parsers.kernel.lscpu import parse_numactl

    found = parse_numactl(_whole(text))
    return {"online": found.online or None, **found.nodes,
            **{f"memory {node}": size > 0 for node, size in found.memory.items()}}


def _whole(text: str) -> str:
    """Return the lines that are not cut: the last one may be."""
    return text if text.endswith("\n") else text[:text.rfind("\n") + 1]


def _swaps(text: str) -> dict[Any, Any]:
    return {"": sorted(words[0] for line in text.splitlines()[1:] if (words := line.split()))}


def _boards(text: str) -> dict[Any, Any]:
    from ....parsers.nvidia.smi_table import listed_whole

    found = listed_whole(text)
    # `nvidia-smi nvlink -s` has the same lines above its links, and may be of one GPU.
    count = None if "Link " in text else len(found)
    return {"count": count, **dict(found)}


def _nodes(text: str) -> dict[Any, Any]:
    from ....parsers.nvidia.small_outputs import nodes

    found = nodes(text)
    return {"names": sorted(found.nodes), **found.nodes}


def _modinfo(text: str) -> dict[Any, Any]:
    from ....parsers.nvidia.small_outputs import modinfo

    return {**modinfo(text)}


def _loaded(given: list[str]) -> str | None:
    """Return a sentence where a whole list of modules lacks one that another list has. Parts complete each other."""
    from ....parsers.nvidia.small_outputs import loaded

    lists = [loaded(text) for text in given]
    there = {name for each in lists for name in each.modules if name in _MODULES}
    lacks = next((name for each in lists if each.whole for name in sorted(there - set(each.modules))), "")
    return f"two texts of lsmod that differ: {lacks} is in one of them" if lacks else None


_GIVEN: dict[str, Callable[[str], dict[Any, Any]]] = {"lscpu": _lscpu, "numactl -H": _numactl, "/proc/swaps": _swaps}
_POSTED: dict[str, Callable[[str], dict[Any, Any]]] = {
    "nvidia-smi -L": _boards, "ls /dev/nvidia*": _nodes, "modinfo": _modinfo}
