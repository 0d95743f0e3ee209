"""What every check that judges GPU by GPU on NVML's values has in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from ...facts.nvidia.nvml import Gpu, name_of, shown_error
from ...model.command import Command, run
from ...model.fact import Absence
from ...model.finding import Finding, Place, Remedy
from ...spec.boards import Board, board
from ...util.at_first_use import dataclass
from ..codes import (
    GPU_LIST_INCOMPLETE,
    GPU_NOT_LISTED,
    NO_GPU,
    NOT_SUPPORTED,
    NVML_UNREAD,
    SENSELESS_VALUE,
    UNREAD,
)
from ..context import Case
from ..evidence_guard import no_tree
from .from_driver import without

__all__ = ["Unread", "Verdict", "board_of", "each", "ids_of", "maybe", "number", "smi", "value", "word"]

_SAVE = Remedy.typed("see what `nvidia-smi -q` prints")


@dataclass(frozen=True)
class Verdict:
    """What holds for one GPU. ``code`` is the finding's; ``text`` goes behind the GPU's name; "{gpus}" in ``fix``
    stands for the numbers or addresses of all GPUs with this fix, also where their figures differ: one command covers
    them."""

    code: str
    outcome: str
    text: str
    observed: str = ""
    expected: str = ""
    fix: str | tuple[str | Command, ...] = ""
    reboot: bool = False
    evidence: tuple[str, ...] = ()
    place: Place = Place.BOX
    absence: Absence | None = None


class Unread(Exception):  # noqa: N818 - not an error of the program: a value that is not there
    """Raised where a value of a GPU cannot be had. It carries the verdict about that GPU."""

    def __init__(self, code: str, outcome: str, text: str, evidence: str = "",
                 absence: Absence | None = None) -> None:
        self.verdict = Verdict(code, outcome, text, evidence=(evidence,) if evidence else (), absence=absence)
        super().__init__(text)


@dataclass
class _Group:
    #: What ``nvidia-smi -i`` takes. The addresses where the driver counts other GPUs than this report: a number would
    #: name another board.
    gpus: list[str] = field(default_factory=list)
    bdfs: list[str] = field(default_factory=list)


def value(gpu: Gpu, key: str) -> Any:
    """Return what NVML says of this key. Unread (skip) where the board has no such value, (unknown) where NVML gave no
    answer."""
    if key in gpu.values:
        return gpu.values[key]
    fact = gpu.fact(key)
    outcome = "skip" if fact.absence is Absence.NOT_SUPPORTED else "unknown"
    words = "has no such value" if outcome == "skip" else "gives no answer"
    raise Unread(NOT_SUPPORTED if outcome == "skip" else UNREAD, outcome,
                 f"{words} for its {name_of(key)} ({shown_error(str(fact.reason))})", f"NVML {key}", fact.absence)


def number(gpu: Gpu, key: str, most: int, least: int = 0) -> int:
    """Return a whole number that NVML says of this key. Unread as `value`, and (unknown) for a number that no board can
    have: below ``least`` or above ``most``."""
    found = value(gpu, key)
    if type(found) is not int or not least <= found <= most:
        raise Unread(SENSELESS_VALUE, "unknown", f"gives a senseless {name_of(key)}: {str(found)[:40]!r}",
                     f"NVML {key}")
    return found


def maybe(gpu: Gpu, key: str, most: int) -> int | None:
    """Return the number from 0 to ``most`` that NVML says, else None. For what a verdict can do without."""
    found = gpu.values.get(key)
    return found if type(found) is int and 0 <= found <= most else None


def board_of(case: Case, gpu: Gpu) -> Board | None:
    """Return what the table of boards knows about this GPU's board; None where it is not in there."""
    return board(ids_of(case, gpu))


def ids_of(case: Case, gpu: Gpu) -> str:
    """Return the PCI id of the board by the PCI tree, else by NVML; "" where neither tells it."""
    ids = next((device.ids for device in case.snapshot.topology.devices if device.bdf == gpu.bdf), None)
    found = ids or gpu.values.get("ids")
    return found if isinstance(found, str) else ""


def word(gpu: Gpu, key: str, *allowed: str | bool) -> Any:
    """Return what NVML says of this key, which has to be one of ``allowed``. Unread as `value`, and (unknown) for any
    other answer."""
    found = value(gpu, key)
    if not isinstance(found, (str, bool)) or found not in allowed:
        raise Unread(SENSELESS_VALUE, "unknown", f"gives a senseless {name_of(key)}: {str(found)[:40]!r}",
                     f"NVML {key}")
    return found


def smi(arguments: str, *then: str | Command) -> tuple[str | Command, ...]:
    """Return the parts of a fix: the command ``nvidia-smi -i 0,1 -pm 1`` for these arguments, and what is said behind
    it."""
    return ("run: ", run(f"nvidia-smi -i {{gpus}} {arguments}"), *then)


def each(case: Case, check: str, look: Callable[[Gpu], Iterable[Verdict] | Verdict]) -> Iterator[Finding]:
    """Yield one finding for all the GPUs of which ``look`` says the same."""
    topology, found, driver = case.snapshot.topology, case.snapshot.nvml, case.host.driver.version
    devices: Sequence[tuple[int, str]] = topology.of_nvidia
    if topology.accelerators.value is None and found.value is not None:
        # Without the tree NVML's own list is the list: the addresses are in it.
        devices = [(gpu.index, gpu.bdf) for gpu in found.value.gpus]
    if not devices and topology.accelerators.value is None and not driver.missing:
        yield no_tree(case, check, "GPUs")
    elif not devices:
        yield Finding(check, NO_GPU, "GPUs", "skip", "effective", "no NVIDIA GPU among the accelerators")
    elif found.value is None:
        reason = found.reason or "not read"
        if driver.missing:
            yield without(case, check, "GPUs", driver.source)
            return
        asked = found.absence not in (Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST, Absence.NOT_RECORDED)
        text = f"NVML does not answer: {reason}" if asked else f"what NVML says of the GPUs is {reason}"
        yield Finding(check, NVML_UNREAD, "GPUs", "unknown", "effective", text, "?", "", (found.source,),
                      _SAVE if asked else None,
                      absence=found.absence)
    else:
        groups: dict[Verdict, _Group] = {}
        same = all(gpu.index == index for index, bdf in devices if (gpu := found.value.gpu(bdf)) is not None)
        last: Verdict | None = None
        for index, bdf in devices:
            gpu = found.value.gpu(bdf)
            for verdict in _verdicts(gpu, look):
                if verdict != last:         # to compare takes less time than a hash, and most boards are alike
                    last, group = verdict, groups.setdefault(verdict, _Group())
                group.gpus.append(str(index) if same else bdf)
                group.bdfs.append(f"GPU{index} {bdf}")
        mended: dict[object, list[str]] = {}
        for verdict, group in groups.items():
            mended.setdefault(_same_fix(verdict), []).extend(group.gpus)
        order = [str(index) if same else bdf for index, bdf in devices]
        for verdict, group in groups.items():
            yield _finding(check, verdict, group, sorted(set(mended[_same_fix(verdict)]), key=order.index))
        cut = found.value.error("gpus")
        if cut is not None and topology.accelerators.value is None:
            yield Finding(check, GPU_LIST_INCOMPLETE, "GPUs", "unknown", "effective",
                          f"not every GPU is told: the list is {cut}", "?", "",
                          (found.source,))


def _verdicts(gpu: Gpu | None, look: Callable[[Gpu], Iterable[Verdict] | Verdict]) -> list[Verdict]:
    if gpu is None:
        return [Verdict(GPU_NOT_LISTED, "unknown", "is not listed by NVML")]
    try:
        result = look(gpu)
        return [result] if isinstance(result, Verdict) else list(result)
    except Unread as error:
        return [error.verdict]


def _same_fix(verdict: Verdict) -> object:
    return verdict.fix, verdict.reboot, verdict.place


def _finding(check: str, verdict: Verdict, group: _Group, mended: Sequence[str]) -> Finding:
    names = ", ".join(group.bdfs) if len(group.bdfs) < 4 else f"{len(group.bdfs)} GPUs ({group.bdfs[0]} and others)"
    fix = [_filled(part, ",".join(mended)) for part in
           ([verdict.fix] if isinstance(verdict.fix, str) else verdict.fix)]
    return Finding(check, verdict.code, ", ".join(name.split(" ")[0] for name in group.bdfs), verdict.outcome,
                   "effective",
                   f"{names}: {verdict.text}", verdict.observed, verdict.expected,
                   verdict.evidence or tuple(f"NVML {name.split(' ')[1]}" for name in group.bdfs[:8]),
                   Remedy.of(*fix, needs_reboot=verdict.reboot, place=verdict.place) if verdict.fix else None,
                   absence=verdict.absence)


def _filled(part: str | Command, gpus: str) -> str | Command:
    if isinstance(part, str):
        return part.replace("{gpus}", gpus)
    return replace(part, argv=tuple(word.replace("{gpus}", gpus) for word in part.argv))
