"""The link of each GPU as `nvidia-smi -q` shows it, where the PCI tree is not known: width and generation. It is the
GPU's own link alone: the text does not show what lies above it, so nothing passes on it. What the board itself could do
it may not show either: another board of the same kind in a better slot does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...facts.loaded_links import works
from ...facts.nvidia.nvml import Gpu
from ...facts.pci.devices import Device
from ...model.fact import Absence
from ...model.finding import Finding, Place, Remedy
from ...parsers.pci.pcie_cap import generation
from ..codes import UNREAD
from ..context import Case

__all__ = ["from_smi", "worse_by_smi"]

#: Code, outcome, text, observed and expected value, remedy.
_Judged = tuple[str, str, str, str, str, Remedy | None]

_OWN = "own-link-only"
_ADD = "the links above its own are not given; add: sudo lspci -nnvvv"
_SEAT = Remedy("reseat the board or riser, and look for slot bifurcation in the BIOS", place=Place.MACHINE)
_ANEW = ("take both texts anew, at one time: `sudo lspci -nnvvv`, `nvidia-smi -q`; where they still differ, reseat "
         "board, riser and cable, and look at the slot in the BIOS (bifurcation, speed)")
_RANK = {"fail": 2, "warn": 1}
_VALUES = {"link-width": ("link_width", "link_width_max"), "link-speed": ("link_gen", "link_gen_max", "link_gen_board")}
#: NVML has no such value here, or nobody asked for it.
_NO_SUCH = (Absence.NOT_SUPPORTED, Absence.NOT_READ, Absence.OLDER, Absence.NOT_IN_IMPORT)
_SPEED = Remedy("reseat board, riser and cable; set the slot's speed in the BIOS to Auto", place=Place.MACHINE)


def _width(gpu: Gpu, peers: Sequence[Gpu]) -> _Judged | None:
    """Judge the width of the GPU's own link; None where it is not known. ``link_width_max`` is what board and slot can
    do together: fewer lanes than that were lost, and a board of the same kind that has more shows what the slot
    lacks."""
    now, most = gpu.number("link_width").value, gpu.number("link_width_max").value
    if now is None or most is None or not 0 < most <= 32 or not 0 <= now <= 32:
        return None
    if now < most:
        return "lost-lanes", "fail", f"its own link has x{now} of x{most}", f"x{now}", f"x{most}", _SEAT
    best, who = _best(peers, "link_width_max", 32)
    if best > most:
        text = f"its own link has x{most} at most, and {who}, a board of the same kind, x{best}"
        return "fewer-lanes-than-known", "warn", text, f"x{now}", f"x{best}", _SEAT
    text = f"{_ADD}; that has x{now}, all that board and slot can do"
    return _OWN, "unknown", text, f"x{now}", f"x{most}", None


def _speed(gpu: Gpu, peers: Sequence[Gpu]) -> _Judged | None:
    """Judge the speed of the GPU's own link; None where it is not known. An idle link sleeps at 2.5 GT/s, so a low
    speed says something only of a GPU at work."""
    now, most, board = (gpu.number(key).value for key in ("link_gen", "link_gen_max", "link_gen_board"))
    load = works(gpu)
    if now is None or most is None or not 0 < now <= 8 or not 0 < most <= 8:
        return None
    if board and most < board <= 8:
        text = f"its slot allows Gen{most}, the board can do Gen{board}"
        return "slower-than-board", "warn", text, f"Gen{most}", f"Gen{board}", _SPEED
    best, who = _best(peers, "link_gen_max", 8)
    if not board and best > most:
        text = f"its slot allows Gen{most}, and that of {who}, a board of the same kind, Gen{best}"
        return "slower-than-board", "warn", text, f"Gen{most}", f"Gen{best}", _SPEED
    if now < most and load:
        text = f"under load its own link runs at Gen{now} of Gen{most}"
        return "slow-under-load", "fail", text, f"Gen{now}", f"Gen{most}", _SPEED
    idle = "" if now >= most else ", idle" if load is False else "; whether it was under load is not told"
    text = f"{_ADD}; that runs at Gen{now} of Gen{most}{idle}"
    return _OWN, "unknown", text, f"Gen{now}", f"Gen{most} under load", None


def _best(peers: Sequence[Gpu], key: str, limit: int) -> tuple[int, str]:
    """Return the highest value that one of these GPUs tells, no more than ``limit``, and which GPU it is."""
    told = [(value, f"GPU{peer.index}") for peer in peers
            if (value := peer.number(key).value) is not None and 0 < value <= limit]
    return max(told, key=lambda each: each[0], default=(0, ""))


def _equals(gpus: Sequence[Gpu], gpu: Gpu) -> list[Gpu]:
    """Return the other GPUs of the same model."""
    name, ids = gpu.values.get("name"), gpu.values.get("ids")
    return [other for other in gpus if other is not gpu and name and other.values.get("name") == name
            and other.values.get("ids") == ids]


_LOOKS: dict[str, Callable[[Gpu, Sequence[Gpu]], _Judged | None]] = {"link-width": _width, "link-speed": _speed}


def from_smi(case: Case, check: str) -> list[Finding]:
    """Return a finding for each GPU, where the text shows something of one. Empty where the PCI tree is known, and for
    checks of neither width nor speed."""
    nvml, topology, look = case.snapshot.nvml.value, case.snapshot.topology, _LOOKS.get(check)
    if topology.accelerators.value is not None or nvml is None or look is None:
        return []
    findings = []
    told = [(gpu, look(gpu, _equals(nvml.gpus, gpu))) for gpu in nvml.gpus]
    for gpu, judged in told if any(judged for _, judged in told) else ():
        if judged is None:
            # Beside GPUs that the text tells of, one of which it lost a line is not left out.
            facts = [fact for fact in map(gpu.number, _VALUES[check]) if not fact.known]
            findings.append(Finding(check, UNREAD, f"GPU{gpu.index} {gpu.bdf}", "unknown", "effective",
                                    f"GPU{gpu.index} {gpu.bdf}: its own link is not known: "
                                    f"{facts[0].why() if facts else 'no number of lanes or generation'}",
                                    evidence=(f"NVML {gpu.bdf}",),
                                    absence=facts[0].absence if facts else Absence.NOT_UNDERSTOOD))
        else:
            code, outcome, text, observed, expected, fix = judged
            findings.append(Finding(check, code, f"GPU{gpu.index} {gpu.bdf}", outcome, "effective",
                                    f"GPU{gpu.index} {gpu.bdf}: {text}", observed, expected,
                                    (f"NVML {gpu.bdf}",), fix))
    return findings


def worse_by_smi(case: Case, check: str, device: Device, found: Finding) -> Finding:
    """Return the finding ``found`` of the PCI tree, and in its place one of what NVML says of the GPU's own link where
    that is worse: of two values of one link the worse one counts. Where NVML could not read its value, a good tree is
    unknown: that value may be the worse one."""
    nvml, look, wanted = case.snapshot.nvml.value, _LOOKS.get(check), case.spec.accelerators.link_width
    gpu = nvml.gpu(device.bdf) if nvml is not None else None
    judged = look(gpu, ()) if gpu is not None and look is not None else None
    if gpu is not None and found.outcome == "pass" and not case.guest:
        for fact in map(gpu.number, _VALUES.get(check, ())):
            if not fact.known and fact.absence not in _NO_SUCH:
                return replace(found, outcome="unknown", code=UNREAD, evidence=(*found.evidence, fact.source),
                               absence=fact.absence, text=f"{found.text}; NVML could not read its own value, which may "
                               f"be worse: {fact.source}: {fact.why()}")
    if gpu is None or judged is None:
        return found
    code, outcome, text, observed, expected, _ = judged
    if check == "link-width" and wanted:
        if (gpu.number("link_width").value or 0) >= wanted:
            return found
        code, expected = "narrower-than-declared", f"x{wanted} at every hop"
    # What a port of a virtual machine allows is made up. What the GPU's own link lost, or is slow at, is not.
    if _RANK.get(outcome, 0) <= _RANK.get(found.outcome, 0) or (case.guest and outcome != "fail"):
        return found
    link = device.link
    tree = f"x{link.width.value}" if check == "link-width" else f"Gen{generation(link.speed.value or '')}"
    known = link.width.known if check == "link-width" else link.speed.known
    text = f"{found.subject}: {text}, by NVML (nvidia-smi -q); " + (
        f"the PCI tree shows {tree} there, and the worse of the two counts" if known else
        "the PCI tree does not show it")
    return Finding(check, code, found.subject, outcome, "effective", text, observed, expected,
                   (f"NVML {device.bdf}", *found.evidence), Remedy.typed(_ANEW, place=Place.MACHINE))
