"""Whether two boards can reach each other's memory at all. Every check, prediction and fix asks here, so that one
report has one answer.

The driver's own tables come first (`nvidia-smi topo -p2p r` and `w`, or NVML). Where they are not given, the model of
the boards tells what NVIDIA's own driver does: it refuses GeForce (docs/peer-to-peer.md). Then a patched driver may be
loaded all the same, and only these tables tell it, a spec that declares it, or NCCL's log that names direct ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cached_property
from itertools import combinations

from ...facts.pci.devices import Device
from ...model.finding import Remedy
from ...spec.architectures import architecture
from ...spec.boards import board, board_named
from ...util.at_first_use import dataclass
from ..context import Case
from .posted_gpus import given_names, gpu_count, shown_name

__all__ = ["COPIES", "FIND_OUT", "NO_PEERS", "OWN_REFUSES", "Access", "Pair", "Peers", "asked_for", "declared", "peers"]

Pair = tuple[int, int]

OWN_REFUSES = "NVIDIA's own driver refuses peer access on this GPU model"
#: What happens where there is no peer access.
COPIES = "CUDA and NCCL copy through host memory (SHM)"
#: What tells whether a patched driver is loaded.
FIND_OUT = Remedy.typed("see what the loaded driver says, beside texts add both: `nvidia-smi topo -p2p r` and "
                        "`nvidia-smi topo -p2p w`; only a driver that is patched for it says OK on this GPU model, and "
                        "without one nothing is to be gained here")
#: Letters that say nothing: U stands for unknown.
_SILENT = frozenset(("U", "", "?", "N/A"))
#: No place and no setting mends it.
_FINAL = "GNS"


class Access(IntEnum):
    """What is known of peer access, the most first: of several pairs the least number counts."""

    ALLOWED = 0
    #: No table is given, and NVIDIA's driver allows it on this model, or a patched driver is declared.
    EXPECTED = 1
    #: No table is given, and the model of a board is not known.
    MODEL_UNKNOWN = 2
    #: No table is given, and NVIDIA's own driver refuses the model. Whether it is the loaded one is not told.
    PATCHED_ONLY = 3
    REFUSED = 4


#: No gain may be promised there.
NO_PEERS = (Access.PATCHED_ONLY, Access.REFUSED)


@dataclass(frozen=True)
class Peers:
    """The peer access of a box, by the numbers of its GPUs. ``told``: the letters of each pair, of reads and of writes,
    both ways round; ``every``: those of all pairs where the tables do not tell which GPU is which."""

    case: Case
    told: Mapping[frozenset[int], frozenset[str]]
    every: frozenset[str]

    def of(self, a: int, b: int) -> Access:
        """Return what is known of two GPUs. One way that is refused is no peer access."""
        letters = self.letters(a, b)
        if letters - {"OK"}:
            return Access.REFUSED
        if letters or self._goes_direct:
            return Access.ALLOWED
        if self._linked(a, b) or declared(self.case):
            return Access.EXPECTED
        refused = self.by_model(a, b)
        return Access.MODEL_UNKNOWN if refused is None else Access.PATCHED_ONLY if refused else Access.EXPECTED

    def over(self, pairs: Iterable[Pair]) -> Access:
        """Return what is known of several pairs: the most that one of them has."""
        least = None
        for a, b in pairs:
            found = self.of(a, b)
            if found is Access.ALLOWED:     # nothing is less
                return found
            least = found if least is None else min(least, found)
        return Access.EXPECTED if least is None else least

    @cached_property
    def whole(self) -> Access:
        """Of all pairs of the box; where no text counts its GPUs, by the models that are told."""
        if self.pairs:
            return self.over(self.pairs)
        refused = self.some_by_model
        if self._goes_direct:
            return Access.ALLOWED
        if refused is None and not declared(self.case):
            return Access.MODEL_UNKNOWN
        return Access.PATCHED_ONLY if refused and not declared(self.case) else Access.EXPECTED

    @property
    def pairs(self) -> list[Pair]:
        return list(combinations(range(gpu_count(self.case)), 2))

    def letters(self, a: int, b: int) -> frozenset[str]:
        """Return the letters of two GPUs that say something."""
        return (self.told.get(frozenset((a, b))) or self.every) - _SILENT

    def refusal(self, pairs: Iterable[Pair]) -> str:
        """Return how the driver refuses these pairs: "the driver refuses peer access between these boards (CNS)"."""
        words = sorted({word for pair in pairs for word in self.letters(*pair)} - {"OK"})
        return f"the driver refuses peer access between these boards ({', '.join(words)})"

    def final(self, pairs: Iterable[Pair]) -> bool:
        """Whether no slot, switch or setting makes the driver allow one of these pairs: it refuses their model."""
        return all(_FINAL in self.letters(a, b) or bool(self.by_model(a, b)) for a, b in pairs)

    def by_model(self, a: int, b: int) -> bool | None:
        """Whether NVIDIA's own driver refuses peer access on the model of one of two GPUs; None where the model of one
        is not known."""
        found = (self._models.get(a), self._models.get(b))
        return True if True in found else None if None in found else False

    @property
    def patched(self) -> bool:
        """Whether the tables allow what NVIDIA's own driver refuses by the model, and refuse none of it: the driver is
        changed."""
        return {word for a, b in self.pairs if self.by_model(a, b) for word in self.letters(a, b)} == {"OK"}

    @property
    def some_by_model(self) -> bool | None:
        """The same of all GPUs: whether one of them is of such a model."""
        found = self._models.values()
        return True if True in found else None if None in found or not found else False

    def below_switch(self, a: int, b: int) -> bool:
        """Whether the PCI tree, or else the driver's table, shows a PCIe switch that joins the two."""
        snapshot, pair = self.case.snapshot, (min(a, b), max(a, b))
        tree = next((each.relation.value for each in snapshot.topology.pairs if (each.a, each.b) == pair), None)
        table = snapshot.posted.table.value
        return (tree or (table.relations.get(pair) if table is not None else None)) in ("PIX", "PXB")

    @cached_property
    def _models(self) -> dict[int, bool | None]:
        """For each GPU whether NVIDIA's own driver refuses its model. The PCI id tells, else a name."""
        devices, count = self.case.snapshot.topology.devices, gpu_count(self.case)
        names = _names(self.case)
        by_name = [_refused(name) for name in names]
        # With fewer names than GPUs no name has its number.
        others = True if True in by_name else None
        if len(names) >= count:
            others = by_name[0] if len(set(by_name)) == 1 else None
        listed = {number: by_name[number] for number in range(count)} if len(names) == count else {}
        found: dict[int, bool | None] = {}
        for number in range(max(count, len(devices))):
            own = self._of_device(devices[number], number) if number < len(devices) else None
            found[number] = own if own is not None else listed.get(number, others)
        return found

    def _of_device(self, device: Device, number: int) -> bool | None:
        nvml, name = self.case.snapshot.nvml.value, self.case.snapshot.topology.names[number]
        gpu = nvml.gpu(device.bdf) if nvml else None
        known = board(device.ids)
        if known is not None and known.p2p:
            return known.p2p == "patched driver only"
        shown = name if name != device.ids else shown_name(gpu) if gpu else ""
        if shown:
            return _refused(shown)
        # Boards of Hopper and others than NVIDIA's are no GeForce, whatever they are called.
        return False if architecture(device.ids) == "Hopper" or not device.ids.startswith("10de:") else None

    @cached_property
    def _goes_direct(self) -> bool:
        """Whether NCCL's log names direct ways between GPUs of one machine, or a benchmark says that they can access
        each other: so the driver lets them."""
        posted = self.case.snapshot.posted
        return any(each.one_host and each.way == "P2P" for log in posted.nccl for each in log.channels) or any(
            value == 1 for bench in posted.benches for value in bench.grid("access").values())

    def _linked(self, a: int, b: int) -> bool:
        """Whether a table says that NVLink joins the two."""
        snapshot, devices = self.case.snapshot, self.case.snapshot.topology.devices
        words: list[str] = []
        if snapshot.topo_text.value is not None and max(a, b) < len(devices):
            words.append(snapshot.topo_text.value.relations.get((devices[a].bdf, devices[b].bdf), ""))
        if snapshot.posted.table.value is not None:
            words.append(snapshot.posted.table.value.relations.get((min(a, b), max(a, b)), ""))
        return any(word.startswith("NV") for word in words)


def peers(case: Case) -> Peers:
    """Return the peer access of a box."""
    return case.once(_peers)


def _peers(case: Case) -> Peers:
    status, number = case.snapshot.p2p.value, {
        device.bdf: index for index, device in enumerate(case.snapshot.topology.devices)}
    told: dict[frozenset[int], set[str]] = {}
    for (a, b, _), fact in (status or {}).items():
        if a in number and b in number and fact.value:
            told.setdefault(frozenset((number[a], number[b])), set()).add(fact.value)
    every: set[str] = set()
    if status is None:
        tables = [case.snapshot.posted.letters.get(letter, {}) for letter in "rw"]
        words = {word for table in tables for word in table.values()}
        if not number:
            for pair, word in (item for table in tables for item in table.items()):
                told.setdefault(frozenset(pair), set()).add(word)
        elif len(words) == 1:
            every = words
    return Peers(case, {pair: frozenset(words) for pair, words in told.items()}, frozenset(every))


def declared(case: Case) -> bool:
    """Whether the spec says that peer access was patched in."""
    return case.spec.driver.flavour == "patched-p2p"


def asked_for(case: Case, final: bool) -> bool:
    """Whether the specification asks for peer access. That ACS redirect is off asks for it always. How close the boards
    are does not where nothing would give them peer access (``final``), unless a patch is declared."""
    close = case.spec.accelerators.how_close and (declared(case) or not final)
    return close or case.spec.acs.peer_redirect == "off"


def _names(case: Case) -> list[str]:
    """Return the boards' names by any text: nvidia-smi, nccl-tests, or a benchmark of NVIDIA's."""
    benches = ([name for _, name in bench.devices.values() if name] for bench in case.snapshot.posted.benches)
    return given_names(case.snapshot) or next((names for names in benches if names), [])


def _refused(name: str) -> bool:
    known = board_named(name)
    return known.p2p == "patched driver only" if known and known.p2p else "GeForce" in name
