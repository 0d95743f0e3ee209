"""What a recipe's rules ask of a box, out of its snapshot: boards, how they relate, who redirects, the driver.

The boards are those that the checks count (rules/nvidia/posted_gpus.py): of the PCI tree, and where that is not given
of NVML, of a text of nvidia-smi, or of a table of `nvidia-smi topo -m`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

from ..model.fact import Absence, Fact, absent, absent_as, known
from ..parsers.pci.topology import RELATIONS, within
from ..spec.architectures import architecture
from ..spec.boards import board as known_board

if TYPE_CHECKING:
    from ..facts.nvidia.nvml import Gpu
    from ..facts.posted import Table
    from ..facts.snapshot import Snapshot
    from ..rules.nvidia.peer_access import Access

__all__ = ["Board", "Box", "box_of", "capability"]

# Product name -> compute capability. After lists that name NVIDIA's page of CUDA GPUs as their source (2026-11-21).
_CAPABILITIES = (
    (r"RTX PRO \d{4}\b.* Blackwell|GeForce RTX 50\d\d", "12.0"), (r"\bGB10\b", "12.1"), (r"\bG?B300\b", "10.3"),
    (r"\bG?B200\b", "10.0"), (r"\b(GH200|H100|H200|H800|H20)\b", "9.0"),
    (r"\b(L4|L40S?|RTX \d{4} Ada|GeForce RTX 40\d\d)\b", "8.9"),
    (r"\b(A10|A40|RTX A\d{4}|GeForce RTX 30\d\d)\b", "8.6"), (r"\bA100\b", "8.0"),
)  # fmt: skip
#: Architectures of which every board has one capability; the other ones have several.
_OF_ARCHITECTURE = {"Hopper": "9.0", "Ada": "8.9"}
#: More boards than one machine has: the search for a group stays small.
_MOST = 16


@dataclass(frozen=True)
class Board:
    """A GPU board of the box. ``name``: "" where nothing names it. ``sm``: compute capability, None where neither name
    nor id says one. ``nvlinks``: how many are up."""

    name: str
    sm: str | None = None
    memory_mib: int | None = None
    nvlinks: int | None = None
    addressing: str | None = None


@dataclass(frozen=True)
class Box:
    """What a recipe's rules ask of a box. ``relations``: pairs (a < b, indices of ``boards``) to PIX, PXB, PHB, NODE,
    SYS, or None where it is unknown. ``redirects``: ports between boards that send peer traffic up to the root
    complex. ``more``: there may be more boards than these. ``peers``: whether the driver lets the two boards of a pair
    reach each other's memory, as the checks tell it."""

    boards: Fact[tuple[Board, ...]]
    relations: Mapping[tuple[int, int], str | None] = field(default_factory=dict)
    redirects: Fact[tuple[str, ...]] = field(default_factory=lambda: known((), "PCI"))
    driver: Fact[str] = field(default_factory=lambda: absent("driver", Absence.NOT_READ))
    more: bool = False
    peers: Mapping[tuple[int, int], Access] = field(default_factory=dict)

    def enough(self, count: int, fits: Callable[[Board], bool | None]) -> bool | None:
        """Return whether ``count`` boards fit; None where that depends on what is not known."""
        if self.boards.value is None:
            return None
        words = [*(fits(board) for board in self.boards.value), *([None] * count if self.more else ())]
        return True if words.count(True) >= count else None if words.count(True) + words.count(None) >= count else False

    def group(self, count: int, worst: str) -> bool | None:
        """Return whether ``count`` boards are pairwise ``worst`` or closer; None where an unknown pair decides."""
        return self._joined(count, lambda pair: None if (word := self.relations.get(pair)) is None else
                            within(word, worst))

    def reaching(self, count: int) -> bool | None:
        """Return whether the driver lets ``count`` boards reach each other's memory, pair by pair; None where that is
        not known."""
        from ..rules.nvidia.peer_access import NO_PEERS, Access

        return self._joined(count, lambda pair: None if (access := self.peers.get(pair)) in (
            None, Access.PATCHED_ONLY, Access.MODEL_UNKNOWN) else access not in NO_PEERS)

    def _joined(self, count: int, good: Callable[[tuple[int, int]], bool | None]) -> bool | None:
        """Return whether every pair of some ``count`` boards is good; None where an unknown pair decides."""
        if self.boards.value is None:
            return None
        found: bool | None = False
        for chosen in combinations(range(min(len(self.boards.value), _MOST)), count):
            words = [good(pair) for pair in combinations(chosen, 2)]
            if False in words:
                continue
            if None not in words:
                return True
            found = None
        return found


def capability(name: str, ids: str = "") -> str | None:
    """Return the compute capability of a board by its product name; None for a name that is not in the table. Of one
    that nothing names (``name`` is "" or the id) the PCI id tells it."""
    shown = (known_board(ids) or Board("")).name if name in ("", ids) else name
    return next((sm for pattern, sm in _CAPABILITIES if re.search(pattern, shown)), None) or (
        _OF_ARCHITECTURE.get(architecture(ids) or "") if name in ("", ids) else None)


def box_of(snapshot: Snapshot) -> Box:
    """Return the box of a snapshot."""
    from ..rules.context import Case
    from ..rules.nvidia.peer_access import peers
    from ..rules.nvidia.posted_gpus import maybe_more

    topology, nvml = snapshot.topology, snapshot.nvml.value
    relations: dict[tuple[int, int], str | None] = {(pair.a, pair.b): pair.relation.value for pair in topology.pairs}
    if topology.accelerators.known:
        listed = zip(topology.devices, topology.names, strict=True)
        found = [_board(name, device.ids, nvml.gpu(device.bdf) if nvml else None) for device, name in listed]
    else:
        found, relations = _without_tree(snapshot)
    boards: Fact[tuple[Board, ...]] = absent_as(topology.accelerators)
    if found or topology.accelerators.known:
        boards = known(tuple(found), topology.accelerators.source)
    driver: Fact[str] = snapshot.host.driver.version if snapshot.host else absent("driver", Absence.NOT_READ)
    if not driver.known and nvml is not None and nvml.driver.known:
        driver = nvml.driver
    reach = peers(Case(snapshot))
    return Box(boards, relations, _redirects(snapshot), driver, maybe_more(Case(snapshot)),
               {pair: reach.of(*pair) for pair in combinations(range(min(len(found), _MOST)), 2)})


def _board(name: str, ids: str, gpu: Gpu | None) -> Board:
    values = gpu.values if gpu else {}
    shown = str(values.get("name") or name)
    return Board(shown, capability(shown, ids or str(values.get("ids") or "")), _whole(values.get("memory_total_mib")),
                 _whole(values.get("nvlinks_active")), values.get("addressing_mode"))


def _without_tree(snapshot: Snapshot) -> tuple[list[Board], dict[tuple[int, int], str | None]]:
    """Return the boards and their relations by NVML and texts of nvidia-smi; as many as these count, also of those that
    only a number tells."""
    from ..rules.context import Case
    from ..rules.nvidia.posted_gpus import given_names, gpu_count

    nvml, table = snapshot.nvml.value, snapshot.posted.table.value
    found = [_board("", "", gpu) for gpu in (nvml.gpus if nvml else ())]
    if not found:
        found = [_board(name, "", None) for name in given_names(snapshot)]
    found += [Board("")] * (gpu_count(Case(snapshot)) - len(found))
    if table is None or len(table.labels) != len(found):
        return found, {}
    return [_linked(each, number, table) for number, each in enumerate(found)], {
        pair: word if word in RELATIONS else None for pair, word in table.relations.items()}


def _linked(board: Board, number: int, table: Table) -> Board:
    """Return the board with the NVLinks that a table of `nvidia-smi topo -m` shows (NV18), where NVML told none."""
    words = [word for pair, word in table.relations.items() if number in pair]
    if board.nvlinks is not None or not words or "" in words:
        return board
    links = [int(word[2:]) for word in words if word.startswith("NV") and word[2:].isdigit()]
    return replace(board, nvlinks=max(links, default=0))


def _redirects(snapshot: Snapshot) -> Fact[tuple[str, ...]]:
    topology = snapshot.topology
    if not topology.accelerators.known:
        return absent_as(topology.accelerators)
    found = []
    for port in topology.path_ports():
        acs = topology.bridges[port].acs
        if not acs.known:
            return absent_as(acs)
        if acs.value is not None and acs.value.redirects:
            found.append(port)
    hidden = [pair for pair in topology.pairs if pair.relation.value is None and not pair.bridges]
    if hidden and not found:
        return absent(hidden[0].relation.source, hidden[0].relation.reason or Absence.NOT_DERIVABLE)
    return known(tuple(found), "PCI configuration space")


def _whole(value: object) -> int | None:
    return value if type(value) is int else None
