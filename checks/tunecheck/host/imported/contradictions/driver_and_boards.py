"""Finds texts of two machines or boots by what is in them once: the driver that is loaded, and the models of
the boards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ....util.at_first_use import regex

if TYPE_CHECKING:
    from ....parsers.pci.lspci import LspciDevice
    from ..texts import Texts

__all__ = ["linked_without_nvlink", "other_boards", "other_devices", "other_driver"]

#: The kernel's module says it each time that it is loaded.
_LOADED = regex(r"NVRM: loading NVIDIA UNIX [^\n]{0,120}?\b(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b")
#: The kernel says it of each device that it finds (drivers/pci/probe.c, pci_setup_device()).
_FOUND = regex(r"\bpci ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): \[([0-9a-f]{4}:[0-9a-f]{4})\] type 0")
#: One device may have been exchanged, or be another since its firmware was written.
_FEW = 3
_VERSION = regex(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?\Z")
_DMESG = ("dmesg",)
_BENCHES = ("p2pBandwidthLatencyTest", "nvbandwidth")
#: What spec/boards.toml says of the peer-to-peer of boards that have no NVLink. Of others it may not be known.
_OVER_PCIE = ("stock", "patched driver only")


def other_driver(texts: Texts) -> str | None:
    """Return a sentence where nvidia-smi tells another driver than the one that the log of this boot loaded last, else
    None. A driver that was upgraded below a loaded module has no such text: its nvidia-smi fails. The log in a bug
    report may have lost its last lines."""
    loaded = [] if texts.reported else _LOADED.findall(texts.runs.get(_DMESG, ""))
    if not loaded or not (texts.smi or "nvidia-smi" in texts.posts):
        return None
    from ..nvidia_smi import drivers  # start-up time

    told = next((driver for driver in drivers(texts) if _VERSION.match(driver) and driver != loaded[-1]), None)
    return f"nvidia-smi tells the driver {told}, and the kernel log loads {loaded[-1]}" if told else None


def other_devices(texts: Texts, devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where lspci shows other devices than the kernel found at the same addresses, else None."""
    if not devices:
        return None
    differ, alike = [], 0
    for address, ids in dict(_FOUND.findall(texts.runs.get(_DMESG, ""))).items():
        shown = devices.get(address)
        if shown is not None and shown.device is not None:
            own = f"{shown.vendor}:{shown.device}"
            alike += own == ids
            differ += [f"the kernel log found {ids} at {address}, and lspci shows {own} there"] * (own != ids)
    return differ[0] if len(differ) >= _FEW and len(differ) > alike else None


def other_boards(texts: Texts, devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where a run of a benchmark names its boards and none of them is a model that nvidia-smi or
    lspci lists, else None. A run may have only some of a machine's boards, so it is compared with lists that have as
    many, and are not known to be a part."""
    if texts.posts.keys().isdisjoint(("nccl-tests", *_BENCHES)):
        return None
    lists = [*_listed(texts), *_of_tree(devices)]
    for tool, names in _run(texts) if lists else ():
        for source, models in lists:
            if names and len(models) >= len(names) and not any(_same(a, b) for a in names for b in models):
                return f"{tool} ran on {names[0]}, and {source} lists {models[0]}"
    return None


def linked_without_nvlink(texts: Texts, devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where nvidia-smi topo -m joins boards by NVLink that have none, else None. A text may name some
    boards of a machine that has others, too: so many must be without NVLink that the others are too few."""
    linked = {gpu for table in texts.tables for pair, word in table.pairs.items() if word.startswith("NV")
              for gpu in pair}
    if not linked:
        return None
    gpus = max(table.gpus for table in texts.tables)
    word = next(word for table in texts.tables for word in table.pairs.values() if word.startswith("NV"))
    for source, names in _without_nvlink(texts, devices):
        if len(names) + len(linked) > gpus:
            return (f"nvidia-smi topo -m says {word} between two of {gpus} GPUs, and {source} names {names[0]}, which "
                    "has no NVLink")
    return None


def _without_nvlink(texts: Texts, devices: Mapping[str, LspciDevice]) -> Iterator[tuple[str, list[str]]]:
    """Yield the boards of every text that are surely without NVLink: the source, and one name for each. Of the PCI tree
    they are those of NVIDIA's driver: the table has no others."""
    from ....spec.boards import board  # start-up time

    for source, names in (*_run(texts), *_listed(texts)):
        if found := [name for name in names if _has_none(name)]:
            yield source, found
    tree = [known.name for each in devices.values() if each.driver == "nvidia"
            and (known := board(f"{each.vendor}:{each.device}")) and known.p2p in _OVER_PCIE]
    if tree:
        yield "lspci", tree


def _of_tree(devices: Mapping[str, LspciDevice]) -> Iterator[tuple[str, list[str]]]:
    """Yield what the driver calls the boards that it has, where that is known of all of them."""
    from ....spec.boards import board  # start-up time

    found = [board(f"{each.vendor}:{each.device}") for each in devices.values() if each.driver == "nvidia"]
    names = [each.driver_name for each in found if each is not None and each.driver_name]
    if names and len(names) == len(found):
        yield "lspci", names


def _has_none(name: str) -> bool:
    """Return whether the board of this name, which older drivers print without NVIDIA's, is known to have no NVLink."""
    from ....spec.boards import board_named

    known = board_named(name) or board_named(f"NVIDIA {name}")
    return known is not None and known.p2p in _OVER_PCIE


def _listed(texts: Texts) -> Iterator[tuple[str, list[str]]]:
    """Yield the models of every text of nvidia-smi that lists all boards: the source, and one name for each."""
    from ....parsers.nvidia.smi_table import listed
    from ..nvidia_smi import boards

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
            from ....parsers.nvidia.bench_grids import parse_grids  # start-up time

            yield kind, _of(lambda text: (name for _, name in parse_grids(text).devices.values()), post.text)
    for post in texts.posts.get("nccl-tests", ()):
        yield "nccl-tests", _of(_ranks, post.text)


def _ranks(text: str) -> Iterable[str]:
    from ....parsers.nvidia.nccl_tests import parse_nccl_tests  # start-up time

    ranks = parse_nccl_tests(text).ranks
    # Of a run on several machines this may be any one. A text of several runs names a board in each of them.
    return {rank.bdf or rank.rank: rank.name for rank in ranks if len({each.host for each in ranks}) == 1}.values()


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
