"""bar1-size: every GPU shows all of its memory on the bus (Resizable BAR), which PCIe peer-to-peer needs."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import Gpu
from ...model.finding import Finding, Place
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..driver.board_age import no_resizable_bar, with_lspci_bar1
from ..nvidia.from_nvml import Verdict, board_of, each, maybe, number
from ..running_words import runs

CHECK = Check(
    "bar1-size", "every GPU shows all of its memory on the bus (Resizable BAR)",
    Heading.GPUS, 10, Family.GPU, needs=(Needs.GPUS,), judges=("gpu.bar1",),
)
CODES = {
    "memory-unknown": "BAR1's size can be read, and the size of the board's memory is not known.",
    "no-resizable-bar": "BAR1 is smaller than the board's memory, and the board has no Resizable BAR.",
    "smaller-than-memory": "BAR1 is smaller than the board's memory.",
}
_ID = CHECK.id
_FIX = ("switch on Above 4G Decoding and Resizable BAR in the BIOS; a professional board may be in a display mode with "
        "256 MiB, which NVIDIA's displaymodeselector changes")
_REALLOC = "pci=realloc"
_MOST = 1 << 24


def judge(case: Case) -> Iterator[Finding]:
    fix = _FIX if runs(case, _REALLOC) or runs(case, f"{_REALLOC}=on") else (
        f"{_FIX}; where bar-assignment says that BAR 1 did not fit, boot with {_REALLOC}")

    def look(gpu: Gpu) -> Verdict:
        size, known = number(gpu, "bar1_total_mib", _MOST, 1), board_of(case, gpu)
        wanted = (known and known.bar1_mib) or maybe(gpu, "memory_total_mib", _MOST)
        if wanted is None:
            return Verdict("memory-unknown", "unknown", "the size of the board's memory is not known; "
                           f"BAR1 has {size} MiB", f"{size} MiB")
        if size >= wanted:
            return Verdict("ok", "pass", f"BAR1 has {size} MiB (necessary for peer-to-peer, not sufficient)",
                           f"{size} MiB")
        if why := no_resizable_bar(case, gpu):
            return Verdict("no-resizable-bar", "skip", f"BAR1 has {size} MiB; {why}", f"{size} MiB")
        needed = known is not None and known.p2p is not None and known.p2p != "nvlink"
        off = ": Resizable BAR is off, or a display mode limits it" if size <= 256 else ""
        return Verdict("smaller-than-memory", "fail" if needed else "warn", f"BAR1 has only {size} MiB{off}",
                       f"{size} MiB", f"at least {wanted} MiB", fix, True, place=Place.FIRMWARE)

    yield from each(with_lspci_bar1(case), _ID, look)
