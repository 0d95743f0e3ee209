"""Who holds the others up: what NCCL's RAS, the processes and the GPUs say, and what follows from it. Pure.

A witness is believed by how directly it sees: a process that is stopped or gone, or does not answer NCCL, before one
that is behind in a collective or hangs in the kernel, before a GPU that does something else than its peers. Where the
most direct ones name different processes nobody is blamed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..host.nvml_samples import GpuSample
from ..parsers.nvidia.nccl_ras import Rank as RasRank
from ..parsers.nvidia.nccl_ras import Ras
from .model import Claim, Culprit, Kind, Process, Witness

__all__ = ["claims", "culprit", "disagree"]

_LEVELS = ((Kind.STOPPED, Kind.ENDED, Kind.SILENT, Kind.DEAD), (Kind.BEHIND, Kind.FAILED), (Kind.HANGS,),
           (Kind.IDLE, Kind.COMPUTES))
#: Where several are as guilty as each other, as threads of one group that are stopped together.
_SEVERAL = (_LEVELS[0], _LEVELS[2])
_STATES = {"T": Kind.STOPPED, "Z": Kind.ENDED, "X": Kind.ENDED, "D": Kind.HANGS}
_LETTERS = {Kind.STOPPED: "T", Kind.ENDED: "Z", Kind.HANGS: "D"}
#: What NCCL says of a rank whose peer failed, and of one that is under way: no fault of its own.
_OF_OTHERS = ("remote process error", "nccl operation in progress")
_MOST = 64


def claims(ras: Ras | None, processes: Sequence[Process], outliers: Iterable[tuple[str, Kind]],
           gpus: Sequence[GpuSample]) -> tuple[Claim, ...]:
    """``outliers``: addresses of GPUs that do something else than their peers, which only wait."""
    known = _Known(processes, gpus)
    found = [Claim(Witness.PROCESS, _STATES[each.state], each.pid, each.name, error=each.waits_in)
             for each in processes if each.state in _STATES and (each.state != "Z" or each.gpus)]
    found += [each if ras.nodes < 2 else _far(each) for each in _of_ras(ras)] if ras is not None else []
    for address, kind in outliers:
        on = [each for each in processes if address in each.gpus]
        one = on[0] if len(on) == 1 else None
        found.append(Claim(Witness.GPU, kind, one.pid if one else 0, one.name if one else "", gpu=address))
    return tuple(known.completed(each) for each in found[:_MOST])


def _of_ras(ras: Ras) -> list[Claim]:
    claims = [Claim(Witness.RAS, kind, engine_pid=each.pid, index=each.gpus[0] if len(each.gpus) == 1 else None)
              for kind, peers in ((Kind.SILENT, ras.silent), (Kind.DEAD, ras.dead)) for each in peers]
    claims += [_rank(each, Kind.SILENT) for each in ras.missing]
    claims += [replace(_rank(each.rank, Kind.BEHIND), collective=each.collective, launched=each.launched,
                       others=each.others) for each in ras.behind]
    claims += [replace(_rank(each.rank, Kind.FAILED), error=each.error) for each in ras.failed
               if each.error.lower() not in _OF_OTHERS]
    # A process that is named with its ranks is not told a second time without them.
    ranked = {(each.kind, each.engine_pid) for each in claims if each.rank is not None}
    return [each for each in claims if each.rank is not None or (each.kind, each.engine_pid) not in ranked]


def _far(claim: Claim) -> Claim:
    """Of a job on several machines: process and GPU may be another machine's, and these ids somebody else's here."""
    return replace(claim, engine_pid=0, index=None)


def _rank(rank: RasRank, kind: Kind) -> Claim:
    return Claim(Witness.RAS, kind, engine_pid=rank.pid or 0, rank=rank.number, communicator=rank.communicator,
                 index=rank.gpu)


class _Known:
    """Fills in what follows from the list of processes and GPUs: NCCL tells ids as they are in its container."""

    def __init__(self, processes: Sequence[Process], gpus: Sequence[GpuSample]) -> None:
        self._processes, self._uuids = processes, {each.bdf: each.uuid for each in gpus}
        # Who lives with this machine's ids sees its GPUs too; of who is gone nothing else is left.
        inner = [each for each in processes if each.engine_pid]
        self._together = bool(inner) and all(each.engine_pid == each.pid for each in inner)
        self._places: dict[int | None, str] = {
            number: each.bdf for number, each in enumerate(gpus) if ":" in each.bdf}

    def completed(self, claim: Claim) -> Claim:
        if not claim.pid and claim.engine_pid:
            same = [each for each in self._processes if each.engine_pid == claim.engine_pid]
            if len(same) == 1:
                claim = replace(claim, pid=same[0].pid, name=same[0].name)
            elif not same and self._together:
                claim = replace(claim, pid=claim.engine_pid, gpu=self._places.get(claim.index, ""))
        process = next((each for each in self._processes if claim.pid and each.pid == claim.pid), None)
        if process is not None:
            claim = replace(claim, engine_pid=claim.engine_pid or process.engine_pid,
                            gpu=claim.gpu or (process.gpus[0] if len(process.gpus) == 1 else ""))
        return replace(claim, uuid=self._uuids.get(claim.gpu, ""))


def _names(claim: Claim) -> bool:
    return bool(claim.pid or claim.engine_pid or claim.gpu) or claim.rank is not None


def _who(claim: Claim) -> tuple[object, ...]:
    """Two claims with one of these are about the same."""
    if claim.pid or claim.engine_pid:
        return ("process", claim.pid) if claim.pid else ("engine's process", claim.engine_pid)
    return ("gpu", claim.gpu) if claim.gpu else ("rank", claim.communicator, claim.rank)


def disagree(claims: Sequence[Claim]) -> bool:
    """Whether two witnesses name nobody in common. State D comes and goes, with those that wait too."""
    named = list(_named(each for each in claims if each.kind is not Kind.HANGS).values())
    return any(not one & other for number, one in enumerate(named) for other in named[:number])


def _named(claims: Iterable[Claim]) -> dict[Witness, set[tuple[object, ...]]]:
    found: dict[Witness, set[tuple[object, ...]]] = {}
    for each in claims:
        if _names(each):
            found.setdefault(each.witness, set()).add(_who(each))
    return found


def culprit(claims: Sequence[Claim], before: Culprit | None = None) -> Culprit | None:
    """None where nobody is named, or where it is not one. ``before``: who was blamed in the last look of this stall; he
    stays until a witness that sees as directly names another: state D comes and goes, and RAS is asked now and then."""
    for number, level in enumerate(_LEVELS):
        if before is not None and any(each in earlier for earlier in _LEVELS[:number] for each in before.kinds):
            return before
        these = [each for each in claims if each.kind in level and _names(each)]
        if not these:
            continue
        by_all = set.intersection(*_named(these).values())
        who = [each for each in dict.fromkeys(map(_who, these)) if each in by_all]
        if not who or (len(who) > 1 and level not in _SEVERAL):
            return None
        # Of several that are stopped the first that was blamed stays.
        chosen = next((each for each in who if before is not None and each == ("process", before.pid)), who[0])
        return _of([each for each in claims if _who(each) == chosen], before)
    return before


def _of(claims: list[Claim], before: Culprit | None) -> Culprit:
    found = Culprit(
        next((each.pid for each in claims if each.pid), 0), next((each.name for each in claims if each.name), ""),
        next((_LETTERS[each.kind] for each in claims if each.kind in _LETTERS), ""),
        next((each.rank for each in claims if each.rank is not None), None),
        next((each.gpu for each in claims if each.gpu), ""), next((each.uuid for each in claims if each.uuid), ""),
        next((each.collective for each in claims if each.collective), ""),
        tuple(dict.fromkeys(each.witness for each in claims)), tuple(dict.fromkeys(each.kind for each in claims)))
    if before is None or not found.pid or before.pid != found.pid:
        return found
    # RAS is asked anew now and then: what was said of the same process stays.
    return replace(
        found, name=found.name or before.name, letter=found.letter or before.letter,
        rank=found.rank if found.rank is not None else before.rank, gpu=found.gpu or before.gpu,
        uuid=found.uuid or before.uuid, collective=found.collective or before.collective,
        witnesses=tuple(dict.fromkeys((*before.witnesses, *found.witnesses))),
        kinds=tuple(dict.fromkeys((*before.kinds, *found.kinds))))
