"""Reads the values that posted.py describes. It is a module of its own, so that only an import loads these parsers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..host import Host, Unreadable
from ..host.base import posts
from ..host.prefetch import TOPO
from ..model.fact import Absence, Fact, absent, known, not_understood
from ..parsers.nvidia.topo_matrix import gpus_in, parse_matrix
from .posted import Channel, Nccl, Posted, Table

if TYPE_CHECKING:
    from ..parsers.nvidia.bench_grids import Bench
    from ..parsers.nvidia.nccl_tests import NcclTest
    from ..parsers.pci.lspci_tree import Drawing

__all__ = ["read"]

#: Of `nvidia-smi topo -p2p`; "?": which one is not told.
_LETTERS = ("r", "w", "n", "a", "p", "?")


def read(host: Host) -> Posted:
    """Read every text of the import. A parser is loaded only for what is there: most imports hold one or two kinds."""
    found: dict[str, Any] = {}
    for kind, reader in _READERS.items():
        texts = posts(host, kind)
        if texts:
            reader(texts, found)
    return Posted(
        table=_table(host, posts(host, "lspci -t") or ()),
        letters={letter: pairs for letter in _LETTERS
                 if (pairs := _letters(host, letter)) is not None},
        least=_least(host),
        benches=tuple(found.pop("benches", ())),
        **found,
    )


def _names(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.nvidia.small_outputs import link_errors, symbols
    from ..parsers.nvidia.smi_table import listed

    found["names"] = next((names for text in texts if (names := listed(text))), ())
    counted = dict.fromkeys(each for text in texts for each in link_errors(text) or ())
    found["link_errors"] = tuple(each for each in counted if each not in symbols(counted))


def _links(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.nvidia.small_outputs import nvlinks

    links: dict[int, dict[int, bool]] = {}
    for text in texts:
        for gpu, told in nvlinks(text).items():
            known = links.setdefault(gpu, {})
            known.update({number: up and known.get(number, True) for number, up in told.items()})
    found["links"] = links


def _failures(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.nvidia.smi_failure import failures

    found["failures"] = tuple(dict.fromkeys(each for text in texts for each in failures(text)))


def _regions(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.pci.lspci_regions import bar1_sizes, without_address

    sizes: dict[str, int] = {}
    bare: dict[str, tuple[int, ...]] = {}
    for text in texts:
        for bdf, size in bar1_sizes(text).items():
            sizes[bdf] = min(size, sizes.get(bdf, size))
        for bdf, numbers in without_address(text).items():
            bare[bdf] = tuple(sorted({*bare.get(bdf, ()), *numbers}))
    found["bar1"], found["bare"] = sizes, bare


def _tests(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    found["tests"] = tuple(test for text in texts if (test := _test(text)) is not None)


def _benches(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    found.setdefault("benches", []).extend(bench for text in texts if (bench := _bench(text)) is not None)


def _engines(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.containers.engine_log import parse_engine

    found["engines"] = tuple(log for text in texts if (log := parse_engine(text)).decisions or log.nccl)


def _modules(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.nvidia.small_outputs import Loaded, loaded

    lists = [loaded(text) for text in texts]
    found["modules"] = Loaded(tuple(dict.fromkeys(name for each in lists for name in each.modules)),
                              any(each.whole for each in lists))


def _module(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.nvidia.small_outputs import modinfo

    found["module"] = next((told for text in texts if (told := modinfo(text))), {})


def _toolkit(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.nvidia.small_outputs import nvcc

    releases = [release[0] for text in texts if (release := nvcc(text)) is not None]
    # Of two toolkits the older one is judged: the newer one can do what it can.
    found["cuda"] = min(releases, key=lambda release: [int(part) for part in release.split(".")], default="")


def _device_nodes(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    from ..parsers.nvidia.small_outputs import nodes

    found["device_nodes"] = next((each for text in texts if (each := nodes(text)).nodes or each.none), None)


def _table(host: Host, drawings: tuple[str, ...]) -> Fact[Table]:
    source = " ".join(TOPO)
    try:
        text = host.run(TOPO).stdout
    except Unreadable as error:
        return _drawn(drawings) if drawings else absent(source, error.reason)
    try:
        matrix = parse_matrix(text)
        if matrix.kind != "topo -m":
            raise ValueError(f"it is the table of {matrix.kind}")
    except ValueError as error:
        return not_understood(source, error)
    return known(Table(("",) * matrix.gpus, {(a, b): word for (a, b), word in matrix.pairs.items() if a < b}, source),
                 source)


def _drawn(drawings: tuple[str, ...]) -> Fact[Table]:
    """Return the relations that follow from `lspci -tv`. NUMA nodes are not in it, so it cannot tell more than host
    bridges."""
    from ..parsers.pci.lspci_tree import parse_tree
    from ..parsers.pci.topology import relate

    source = "lspci -tv"
    try:
        told = [parse_tree(text) for text in drawings]
        named = [each for each in told if any(device.gpu for device in each.devices)] or told
        drawing = named[0]
        if any(_shape(each) != _shape(drawing) for each in named):
            raise ValueError("two drawings that differ; keep one of them")
    except ValueError as error:
        return not_understood(source, error)
    gpus = sorted((device for device in drawing.devices if device.gpu), key=lambda device: device.bdf)
    if not gpus:
        return absent(source, Absence.NOT_IN_IMPORT.because(
            "it names no GPU of NVIDIA's; add: lspci -nntv" if not any(device.name for device in drawing.devices) else
            "it names no GPU of NVIDIA's"))
    pairs = {}
    for a, one in enumerate(gpus):
        for b in range(a + 1, len(gpus)):
            pairs[a, b] = relate(one.chain, gpus[b].chain, None, None, 0).word or ""
    return known(Table(tuple(gpu.bdf for gpu in gpus), pairs, source, drawing.cut), source)


def _shape(drawing: Drawing) -> dict[str, object]:
    return {device.bdf: device.chain for device in drawing.devices if device.gpu}


def _letters(host: Host, letter: str) -> Mapping[tuple[int, int], str] | None:
    try:
        matrix = parse_matrix(host.run((*TOPO[:2], "-p2p", letter)).stdout)
    except (Unreadable, ValueError):
        return None
    return matrix.pairs if matrix.kind == "topo -p2p" else None


def _least(host: Host) -> dict[str, int]:
    found: dict[str, int] = {}
    for command in (TOPO, *((*TOPO[:2], "-p2p", letter) for letter in _LETTERS)):
        try:
            text = host.run(command).stdout
        except Unreadable:
            continue
        try:
            parse_matrix(text)
        except ValueError:
            found[" ".join(command).removesuffix(" ?")] = gpus_in(text)
    return {source: count for source, count in found.items() if count}


def _nccl(texts: tuple[str, ...], found: dict[str, Any]) -> None:
    """Read the logs of NCCL as one log: every rank may have written its own file."""
    from ..parsers.nvidia.nccl_failures import kind_of
    from ..parsers.nvidia.nccl_log import parse_nccl

    log = parse_nccl("\n".join(texts))
    if not log.version and not log.links and not log.ranks and not any(map(kind_of, log.warnings)):
        return
    channels = tuple(Channel(link.a, link.b, link.way, link.how, len(numbers), log.one_host(link))
                     for link, numbers in sorted(log.links.items(), key=lambda item: (item[0].a, item[0].b,
                                                                                      item[0].way)))
    found["nccl"] = (Nccl(log.version, log.ranks, log.nodes, log.whole, channels, log.rings.get(0, ()),
                          dict(log.variables), tuple(sorted(log.apart)), tuple(log.warnings)),)


def _test(text: str) -> NcclTest | None:
    from ..parsers.nvidia.nccl_tests import parse_nccl_tests

    try:
        return parse_nccl_tests(text)
    except ValueError:
        return None


def _bench(text: str) -> Bench | None:
    from ..parsers.nvidia.bench_grids import parse_grids

    try:
        return parse_grids(text)
    except ValueError:
        return None


_READERS: dict[str, Callable[[tuple[str, ...], dict[str, Any]], None]] = {
    "nvidia-smi -L": _names, "nvidia-smi nvlink -s": _links,
    "nvidia-smi's failure": _failures, "NCCL log": _nccl, "nccl-tests": _tests,
    "p2pBandwidthLatencyTest": _benches, "nvbandwidth": _benches, "engine log": _engines, "lspci -v": _regions,
    "nvcc --version": _toolkit, "lsmod": _modules, "modinfo": _module, "ls /dev/nvidia*": _device_nodes,
}
