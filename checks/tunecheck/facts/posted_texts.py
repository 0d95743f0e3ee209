"""Reads what posted.py describes. Apart from it, so that only an import pays for loading these parsers."""

from __future__ import annotations

from collections.abc import Mapping

from ..formats.bench_grids import Bench, parse_grids
from ..formats.engine_log import parse_engine
from ..formats.lspci_regions import bar1_sizes
from ..formats.lspci_tree import parse_tree
from ..formats.nccl_log import parse_nccl
from ..formats.nccl_tests import NcclTest, parse_nccl_tests
from ..formats.small_outputs import loaded, modinfo, nodes, nvcc
from ..formats.smi_failure import failures
from ..formats.smi_table import listed
from ..formats.topo_matrix import parse_matrix
from ..formats.topology import relate
from ..host import Host, Unreadable
from ..host.base import posts
from ..host.early import TOPO
from .fact import Fact, absent, known
from .posted import Channel, Nccl, Posted, Table

__all__ = ["read"]


def read(host: Host) -> Posted:
    """Every post of the import."""

    def of(kind: str) -> tuple[str, ...]:
        return posts(host, kind) or ()

    lists = [names for text in of("nvidia-smi -L") if (names := listed(text))]
    short = [nodes(text) for text in of("ls /dev/nvidia*")]
    small = [found for found in short if found.nodes or found.none]
    mods = [loaded(text) for text in of("lsmod")]
    tests = [_test(text) for text in of("nccl-tests")]
    benches = [_bench(text) for kind in ("p2pBandwidthLatencyTest", "nvbandwidth") for text in of(kind)]
    engines = [parse_engine(text) for text in of("engine log")]
    toolkit = [release for text in of("nvcc --version") if (release := nvcc(text)) is not None]
    files = [told for text in of("modinfo") if (told := modinfo(text))]
    return Posted(
        table=_table(host, of("lspci -t")),
        letters={letter: found for letter in ("r", "w", "n", "a", "p", "?")
                 if (found := _letters(host, letter)) is not None},
        names=lists[0] if lists else (),
        failures=tuple(dict.fromkeys(each for text in of("nvidia-smi's failure") for each in failures(text))),
        nccl=_nccl(of("NCCL log")),
        tests=tuple(test for test in tests if test is not None),
        benches=tuple(bench for bench in benches if bench is not None),
        engines=tuple(log for log in engines if log.decisions or log.nccl),
        bar1={bdf: size for text in of("lspci -v") for bdf, size in bar1_sizes(text).items()},
        cuda=toolkit[0][0] if toolkit else "",
        modules=mods[0] if mods else None,
        module=files[0] if files else {},
        device_nodes=small[0] if small else None,
    )


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
        return absent(source, f"not understood: {error}")
    return known(Table(("",) * matrix.gpus, {(a, b): word for (a, b), word in matrix.pairs.items() if a < b}, source),
                 source)


def _drawn(drawings: tuple[str, ...]) -> Fact[Table]:
    """The relations that follow from `lspci -tv`; NUMA nodes are not in it, so host bridges are all that it tells."""
    source = "lspci -tv"
    try:
        drawing = parse_tree(drawings[0])
    except ValueError as error:
        return absent(source, f"not understood: {error}")
    gpus = sorted((device for device in drawing.devices if device.gpu), key=lambda device: device.bdf)
    if not gpus:
        return absent(source, "it names no GPU of NVIDIA's; add: lspci -nntv" if not any(
            device.name for device in drawing.devices) else "it names no GPU of NVIDIA's")
    pairs = {}
    for a, one in enumerate(gpus):
        for b in range(a + 1, len(gpus)):
            pairs[a, b] = relate(one.chain, gpus[b].chain, None, None, 0).word or ""
    return known(Table(tuple(gpu.bdf for gpu in gpus), pairs, source, drawing.cut), source)


def _letters(host: Host, letter: str) -> Mapping[tuple[int, int], str] | None:
    try:
        matrix = parse_matrix(host.run((*TOPO[:2], "-p2p", letter)).stdout)
    except (Unreadable, ValueError):
        return None
    return matrix.pairs if matrix.kind == "topo -p2p" else None


def _nccl(texts: tuple[str, ...]) -> tuple[Nccl, ...]:
    """Every rank may have written its own file: they are read as one log."""
    if not texts:
        return ()
    log = parse_nccl("\n".join(texts))
    if not log.version and not log.links and not log.ranks:
        return ()
    channels = tuple(Channel(link.a, link.b, link.way, link.how, len(numbers), log.one_host(link))
                     for link, numbers in sorted(log.links.items(), key=lambda item: (item[0].a, item[0].b,
                                                                                      item[0].way)))
    return (Nccl(log.version, log.ranks, log.nodes, log.whole, channels, log.rings.get(0, ()), dict(log.variables),
                 tuple(sorted(log.apart)), tuple(log.warnings)),)


def _test(text: str) -> NcclTest | None:
    try:
        return parse_nccl_tests(text)
    except ValueError:
        return None


def _bench(text: str) -> Bench | None:
    try:
        return parse_grids(text)
    except ValueError:
        return None
