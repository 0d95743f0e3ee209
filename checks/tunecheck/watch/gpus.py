"""What the GPUs of the engine do: work, spin, brake, or nothing any more. Pure."""

from __future__ import annotations

from ..host.nvml_samples import GpuSample
from .memory_errors import MemoryErrors
from .model import Code, Kind, Look, Reason

__all__ = ["Watched"]

_FULL, _EMPTY = 95, 1           # % of utilisation: an SM that spins, a memory that nobody reads
_WORKS = 5                      # % of memory utilisation that only work makes
_IDLE_SHARE, _WORK_SHARE = 0.35, 0.45
#: KiB that an NVLink carries from one look to the next where it works: a decode step moves megabytes (own runs on
#: 2 x H200), a collective that nobody ends moves nothing at all.
_LINK_MOVES = 64
#: % of the SMs of a GPU. NCCL takes 64 channels at most, one SM each, and mostly far fewer; vLLM's own all-reduce 36.
_NO_SM, _FEW_SMS, _ALL_SMS = 0.0, 55.0, 90.0
#: In seconds: power follows the load within 1.5 s, and a sample may be a second old.
_SURE = 3.0
#: nvmlClocksEventReasons: hardware slowdown, its thermal part, its power brake, and the driver's own thermal slowdown,
#: which a board in hot air shows first. A power cap (0x4) is how boards work.
_BRAKES = 0x8 | 0x20 | 0x40 | 0x80
#: Bits that no driver has: all ones is how a device that is lost reads.
_NO_BRAKES = ~0xFFFF
_GONE = ("GPU_IS_LOST", "RESET_REQUIRED")


class Watched:
    """Which GPUs are the engine's is learnt: those that work while its counters move. Until then all may be."""

    def __init__(self) -> None:
        self._ours: set[str] = set()
        self._listed: set[str] = set()
        self._spin_at: float | None = None
        self._brake_at: dict[str, float] = {}
        self._told: list[Reason] = []           # of the last look that had samples
        self._carried: dict[str, int] = {}
        self._moving: set[str] = set()
        self._outlier: tuple[tuple[str, Kind], ...] = ()
        self._outlier_at = 0.0
        self._errors = MemoryErrors()

    def forget_clocks(self) -> None:
        """Nothing was seen for a while."""
        self._spin_at, self._outlier = None, ()
        self._brake_at.clear()

    def learn(self, look: Look) -> None:
        """The engine made progress in this look."""
        self._ours |= {each.bdf for each in look.gpus or () if _works(each)}

    def clock(self, look: Look) -> None:
        """Take note of how long they spin: some only wait, and none works."""
        self._links(look)
        ours = self._of_ours(look)
        spins = any(map(self._spins, ours)) and not any(map(_works, ours))
        self._spin_at = (self._spin_at if self._spin_at is not None else look.at) if spins else None
        outlier = self._find_outlier(look)
        self._outlier, self._outlier_at = outlier, self._outlier_at if outlier == self._outlier else look.at

    def outlier(self, look: Look) -> tuple[tuple[str, Kind], ...]:
        """The one GPU of the engine that does not wait while all others only do, and what it does; () where there is
        none, or more than one, or it is too early to tell."""
        if not self._outlier:
            return self._by_sms(look)
        return self._outlier if look.at - self._outlier_at >= _SURE else ()

    def _by_sms(self, look: Look) -> tuple[tuple[str, Kind], ...]:
        """All seem to wait, and a kernel on all SMs of one of them is no collective: those take a few."""
        occupied, ours = dict(look.sms), [each.bdf for each in self._surely_ours(look)]
        full = [bdf for bdf in ours if occupied.get(bdf, 0.0) >= _ALL_SMS]
        few = [bdf for bdf in ours if _NO_SM < occupied.get(bdf, 0.0) <= _FEW_SMS]
        return ((full[0], Kind.COMPUTES),) if len(full) == 1 and few and len(few) == len(ours) - 1 else ()

    def _find_outlier(self, look: Look) -> tuple[tuple[str, Kind], ...]:
        ours = self._surely_ours(look)
        others = [each for each in ours if not self._spins(each)]
        if len(others) != 1 or len(ours) < 2 or _percent(others[0].gpu) is None or _percent(others[0].memory) is None:
            return ()
        idle = (others[0].gpu or 0) <= _EMPTY and (others[0].memory or 0) <= _EMPTY
        return ((others[0].bdf, Kind.IDLE if idle else Kind.COMPUTES),)

    def _links(self, look: Look) -> None:
        """Whose links have carried something since the last look. A sample that is the same as the last is none."""
        for each in look.gpus or ():
            if each.link_kib is not None and not each.over_pcie:     # a GPU that waits may poll over PCIe
                before = self._carried.get(each.bdf, each.link_kib)
                self._carried[each.bdf] = each.link_kib
                self._moving.discard(each.bdf)
                if abs(each.link_kib - before) > _LINK_MOVES:
                    self._moving.add(each.bdf)

    def _spins(self, gpu: GpuSample) -> bool:
        return _spins(gpu) and gpu.bdf not in self._moving

    def spun(self, at: float) -> float:
        """For how many seconds."""
        return at - self._spin_at if self._spin_at is not None else 0.0

    def spinning(self, look: Look) -> list[Reason]:
        """Which of them."""
        return [Reason(Code.GPUS_SPINNING, each.bdf) for each in self._of_ours(look) if self._spins(each)]

    def work(self, look: Look) -> bool:
        """Whether they are in a long step: some work, and none only waits. Beside one that waits the work is
        another's, or that of a stage before it."""
        ours = self._of_ours(look)
        return any(map(_works, ours)) and not any(map(self._spins, ours))

    def judge(self, look: Look, brake_seconds: float) -> list[Reason]:
        """What is wrong with any GPU of the box. One that NVML no longer lists is gone. What was seen last stays so
        where there are no samples."""
        if look.gpus is None:
            return self._told
        named = {each.bdf for each in look.gpus if ":" in each.bdf}
        gone = [Reason(Code.GPU_GONE, bdf) for bdf in sorted(self._listed - named)]
        self._listed |= named
        self._told = [*gone, *(Reason(Code.GPU_GONE if each.error in _GONE else Code.GPU_TROUBLE, each.bdf)
                               for each in look.gpus if each.error)]
        braked = {each.bdf: _brakes(each) for each in look.gpus if _brakes(each)}
        self._brake_at = {bdf: self._brake_at.get(bdf, look.at) for bdf in braked}
        self._told += [Reason(Code.THROTTLED, bdf, (("bits", float(bits)),)) for bdf, bits in braked.items()
                       if look.at - self._brake_at[bdf] >= brake_seconds]
        self._told += self._errors.judge(look)
        return self._told

    def _surely_ours(self, look: Look) -> list[GpuSample]:
        """Another job's GPU may have been learnt too. Who is blamed for his GPU computes on it for the engine, where it
        is known who does."""
        placed = {gpu for each in look.processes for gpu in each.gpus} or self._ours
        return [each for each in look.gpus or () if each.bdf in self._ours & placed]

    def _of_ours(self, look: Look) -> list[GpuSample]:
        found = [each for each in look.gpus or () if each.bdf in self._ours]
        return found or list(look.gpus or ())


def _percent(value: int | None) -> int | None:
    """A driver that answers with garbage has reported nothing."""
    return value if value is not None and 0 <= value <= 100 else None


def _share(gpu: GpuSample) -> float | None:
    if gpu.power_mw is None or not gpu.limit_mw or not 0 <= gpu.power_mw <= 2 * gpu.limit_mw:
        return None
    return gpu.power_mw / gpu.limit_mw


def _brakes(gpu: GpuSample) -> int:
    return gpu.throttle & _BRAKES if gpu.throttle is not None and not gpu.throttle & _NO_BRAKES else 0


def _spins(gpu: GpuSample) -> bool:
    busy, memory, share = _percent(gpu.gpu), _percent(gpu.memory), _share(gpu)
    return (busy is not None and busy >= _FULL and memory is not None and memory <= _EMPTY
            and (share is None or share <= _IDLE_SHARE))


def _works(gpu: GpuSample) -> bool:
    memory, share = _percent(gpu.memory), _share(gpu)
    if memory is None:
        return False
    return memory >= _WORKS or (memory > _EMPTY and share is not None and share >= _WORK_SHARE)
