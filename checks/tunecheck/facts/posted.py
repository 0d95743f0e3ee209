"""What an import holds beside a machine's files: nvidia-smi's tables without the tree, failures of nvidia-smi, the logs
and figures of other tools. On a machine itself none of it is read: the machine is asked directly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ..model.fact import Absence, Fact, absent
from ..util.at_first_use import dataclass

if TYPE_CHECKING:
    from ..parsers.containers.engine_log import EngineLog
    from ..parsers.nvidia.bench_grids import Bench
    from ..parsers.nvidia.nccl_tests import NcclTest
    from ..parsers.nvidia.small_outputs import DeviceNodes, Loaded
    from ..parsers.nvidia.smi_failure import Failure

__all__ = ["NOTHING", "Channel", "Nccl", "Posted", "Table"]



@dataclass(frozen=True)
class Table:
    """The relations between GPUs that have only numbers. ``labels`` are their addresses where ``source`` tells them
    (lspci -tv), else "". ``relations`` maps pairs of numbers to PIX, PXB, PHB, NODE, SYS, NV#, or "" where the relation
    cannot be told; ``cut``: there are more GPUs than shown."""

    labels: tuple[str, ...]
    relations: Mapping[tuple[int, int], str]
    source: str
    cut: bool = False


@dataclass(frozen=True)
class Channel:
    """How rank ``a`` sends to rank ``b``: ``way`` is P2P, SHM, NET, ... on ``count`` channels; ``one_host``: both run
    on one machine."""

    a: int
    b: int
    way: str
    how: str
    count: int
    one_host: bool


@dataclass(frozen=True)
class Nccl:
    """What a log of NCCL says. ``whole``: the log has every channel of every rank. ``apart`` are pairs of ranks whose
    peer access NCCL found off."""

    version: str
    ranks: int
    nodes: int
    whole: bool
    channels: tuple[Channel, ...]
    ring: tuple[int, ...]
    variables: Mapping[str, str]
    apart: tuple[tuple[int, int], ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Posted:
    """Everything that an import holds beside a machine's files. ``letters`` maps r, w, n, a, p ("?": not told) to the
    table of `nvidia-smi topo -p2p`. ``links`` are those of `nvidia-smi nvlink -s`, by GPU: up or not, ``link_errors``
    what each counter of `nvidia-smi nvlink -e` says that is not 0, symbol errors left out. ``names`` are
    those of `nvidia-smi -L`; ``bar1`` maps addresses to MiB, ``bare`` to the numbers of the memory
    regions that have no address (-1: without a number); ``cuda`` is nvcc's release; ``module`` is what modinfo
    tells. ``least`` maps the tables of `nvidia-smi topo` that cannot be used to how many GPUs have a row or
    a column: so many there are at least."""

    table: Fact[Table] = field(default_factory=lambda: absent("nvidia-smi topo -m", Absence.NOT_IN_IMPORT))
    letters: Mapping[str, Mapping[tuple[int, int], str]] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    names: tuple[tuple[int, str], ...] = ()
    links: Mapping[int, Mapping[int, bool]] = field(default_factory=dict)
    link_errors: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    nccl: tuple[Nccl, ...] = ()
    tests: tuple[NcclTest, ...] = ()
    benches: tuple[Bench, ...] = ()
    engines: tuple[EngineLog, ...] = ()
    bar1: Mapping[str, int] = field(default_factory=dict)
    bare: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    cuda: str = ""
    modules: Loaded | None = None
    module: Mapping[str, str] = field(default_factory=dict)
    device_nodes: DeviceNodes | None = None

    @property
    def anything(self) -> bool:
        """Return whether the import holds a text of which a finding or a table speaks."""
        return self.table.known or any((self.letters, self.names, self.links, self.link_errors, self.failures,
                                        self.nccl, self.tests,
                                        self.benches, self.engines, self.cuda, self.module, self.modules,
                                        self.device_nodes))


NOTHING = Posted()
