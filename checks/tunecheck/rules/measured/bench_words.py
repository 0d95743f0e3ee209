"""What the parts of bench-figures share: names of tables, pairs as text, and where to look."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...facts.peer_paths import PairPath
from ...model.command import Command, run
from ...model.finding import Remedy
from ...parsers.nvidia.bench_grids import Bench
from ...spec.boards import board, board_named
from ...util.at_first_use import dataclass
from ...util.text import some
from ..context import Case
from ..nvidia.peer_access import Peers, peers
from ..nvidia.posted_gpus import given_names, nvlink_words
from ..pcie.peer_ways import ways

__all__ = ["DUPLEX", "KINDS", "Pair", "Places", "figures_text", "missing", "named", "pairs_text", "span", "tells_way",
           "way_outputs"]

KINDS = (("one way", "both ways"), ("write", "both write"), ("read", "both read"))
#: Two directions at once carry 1.7 to 2 times one where they do not share a link (evidence: p2p-duplex).
DUPLEX = 1.5
#: Of these kinds a text may hold the one and not the other.
_COPIES = {"write": "writes", "read": "reads"}

Pair = tuple[int, int]

#: GB/s one way that no PCIe slot carries: Gen6 x16 has 121.
_NO_PCIE = 125.0
#: Without an option it measures one direction, then both at once, without peer access and with it.
_ALL_TABLES = Remedy.typed("run `p2pBandwidthLatencyTest` again and give its whole output, which has both tables")
_TABLE, _NAMES, _TREE = run("nvidia-smi topo -m"), run("nvidia-smi -L"), run("sudo lspci -nnvvv")


@dataclass(frozen=True)
class Places:
    """Where the GPUs of a benchmark are: ``number`` maps their numbers there to those of the PCI tree, ``ways`` the
    numbers of the tree to the way between two of them. ``linked``: the driver's table joins all GPUs by NVLink."""

    number: Mapping[int, int]
    ways: Mapping[frozenset[int], PairPath]
    peers: Peers
    linked: bool = False

    @classmethod
    def of(cls, case: Case, bench: Bench) -> Places:
        known = {device.bdf: index for index, device in enumerate(case.snapshot.topology.devices)}
        number = {gpu: known[bdf] for gpu, (bdf, _) in bench.devices.items() if bdf in known}
        return cls(number, {frozenset((path.pair.a, path.pair.b)): path for path in ways(case)},
                   peers(case), bool(nvlink_words(case.snapshot)))

    def way(self, pair: Pair) -> PairPath | None:
        """Return the way between two GPUs of the benchmark; None where the tree does not tell it."""
        here = [self.number.get(gpu) for gpu in pair]
        return self.ways.get(frozenset(gpu for gpu in here if gpu is not None)) if None not in here else None

    def direct(self, pairs: Collection[Pair]) -> bool:
        """Whether no port redirects on the way of any of these pairs, by the tree or as NVLink joins them. Where the
        benchmark does not tell which GPUs it means, this has to hold of every pair of the tree."""
        found: list[PairPath | None] = [self.way(pair) for pair in pairs]
        if None in found and not self.number:
            found = [*self.ways.values()]
        return self.over_nvlink(pairs) or (bool(found) and all(
            path is not None and path.two_way is not None and not path.redirectors for path in found))

    def over_nvlink(self, pairs: Collection[Pair]) -> bool:
        """Whether NVLink joins all these pairs."""
        found = [self.way(pair) for pair in pairs]
        return self.linked or all(path is not None and path.latency_class == "nvlink" for path in found)


def span(figures: Mapping[Pair, float]) -> str:
    """Return figures as text: "52.2", "52.2 to 52.4"."""
    if not figures:
        return "?"
    low, high = min(figures.values()), max(figures.values())
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"


def figures_text(one: Mapping[Pair, float], both: Mapping[Pair, float]) -> str:
    """Return the figures of a benchmark as text: "52.2 to 52.4 GB/s one way, 102.1 both ways"."""
    told = [(span(figures), way) for figures, way in ((one, "one way"), (both, "both ways")) if figures]
    return ", ".join(f"{figures}{' GB/s' * (not at)} {way}" for at, (figures, way) in enumerate(told))


def named(bench: Bench, kind: str) -> str:
    """Return the benchmark, and of one that measures both which copies: "nvbandwidth (write)"."""
    return f"{bench.tool} ({kind})" if kind in _COPIES else bench.tool


def missing(bench: Bench, kind: str, both: bool) -> tuple[str, Remedy]:
    """Return that the table of one direction, or of both at once, is not in the text, and how it gets there: "not in
    the text: the table of both directions of writes at once"."""
    of = f" of {_COPIES[kind]}" if kind in _COPIES else ""
    text = f"not in the text: the table of {f'both directions{of} at once' if both else f'one direction{of}'}"
    if kind not in _COPIES:
        return f'{text} ("{"Bi" if both else "Uni"}directional P2P=Enabled Bandwidth")', _ALL_TABLES
    way = f"{'bidirectional_' if both else ''}memcpy_{kind}_ce"
    return text, Remedy.typed("measure, and add the output: `nvbandwidth -t device_to_device_{way}`", way=way)


def pairs_text(pairs: Iterable[Pair]) -> str:
    """Return pairs as text, without their directions: "GPU0-GPU1, GPU0-GPU2 and 3 more"."""
    return some(list(dict.fromkeys(f"GPU{min(pair)}-GPU{max(pair)}" for pair in pairs)), 4)


def tells_way(case: Case, bench: Bench) -> str:
    """Return `way_outputs` as the end of a sentence, "" where there are none."""
    wanted = way_outputs(case, bench)
    return f"add: {' and '.join(each.shown for each in wanted)}" if wanted else ""


def way_outputs(case: Case, bench: Bench) -> list[Command]:
    """Return which outputs tell the way between a benchmark's GPUs, none where it is given. NVLink stands in the
    driver's table alone, the way over PCIe in the PCI tree alone. Which it is tell the boards, or figures above any
    PCIe slot's; where nothing tells, both are asked for."""
    kinds = [known.p2p == "nvlink" if known else None for known in (
        *(board_named(name) for _, name in bench.devices.values()),
        *(board(device.ids) for device in case.snapshot.topology.devices))]
    most = max((value for kind, _ in KINDS for value in bench.grid(kind).values()), default=0.0)
    have_table = case.snapshot.posted.table.value is not None or case.snapshot.topo_text.value is not None
    nvlink = bool(nvlink_words(case.snapshot)) if have_table else most > _NO_PCIE or True in kinds
    pcie = not nvlink and False in kinds and None not in kinds
    named = bool(kinds) or bool(given_names(case.snapshot))
    return [*([_TABLE] if not (pcie or have_table) else []), *([_NAMES] if nvlink and not named else []),
            *([_TREE] if not (nvlink or case.snapshot.topology.devices) else [])]
