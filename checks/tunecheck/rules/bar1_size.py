"""bar1-size: every GPU shows all of its memory on the bus (Resizable BAR), which PCIe peer-to-peer needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..facts.fact import absent
from ..facts.fact import known as known_fact
from ..facts.nvml import Gpu, Nvml
from ..spec.architectures import before
from .finding import Case, Finding
from .from_nvml import Verdict, board_of, each, ids_of, maybe, number

_ID = "bar1-size"
_FIX = ("switch on Above 4G Decoding and Resizable BAR in the BIOS; a professional board may be in a display mode with "
        "256 MiB, which NVIDIA's displaymodeselector changes; where bar-assignment says that BAR 1 did not fit, boot "
        "with pci=realloc")
_MOST = 1 << 24
_ADD = "not in the import; add: nvidia-smi -q"


def judge(case: Case) -> Iterator[Finding]:
    shown = case.snapshot.posted.bar1

    def look(gpu: Gpu) -> Verdict:
        size, known = number(gpu, "bar1_total_mib", _MOST, 1), board_of(case, gpu)
        wanted = (known and known.bar1_mib) or maybe(gpu, "memory_total_mib", _MOST)
        if wanted is None:
            return Verdict("unknown", f"BAR1 has {size} MiB; the board's memory is not known", f"{size} MiB")
        if size >= wanted:
            return Verdict("pass", f"BAR1 has {size} MiB (necessary for peer-to-peer, not sufficient)", f"{size} MiB")
        old = before(ids_of(case, gpu), "Ampere")
        if old:
            return Verdict("skip", f"BAR1 has {size} MiB; the board is {old}, and Resizable BAR needs Ampere or later",
                           f"{size} MiB")
        needed = known is not None and known.p2p is not None and known.p2p != "nvlink"
        off = ": Resizable BAR is off, or a display mode limits it" if size <= 256 else ""
        return Verdict("fail" if needed else "warn", f"BAR1 has only {size} MiB{off}", f"{size} MiB",
                       f"at least {wanted} MiB", _FIX, True, physical=True)

    if shown and case.snapshot.nvml.value is None:
        # `lspci -v` shows the window itself: Region 1. What NVML would say of it is not given.
        case = replace(case, snapshot=replace(case.snapshot, nvml=known_fact(Nvml(
            absent("lspci", "not read"), absent("lspci", "not read"),
            tuple(Gpu(device.bdf, number_of, {"bar1_total_mib": shown[device.bdf]} if device.bdf in shown else {},
                      {} if device.bdf in shown else {"bar1_total_mib": _ADD})
                  for number_of, device in enumerate(case.snapshot.topology.devices)), {}), "lspci, Region 1")))
    yield from each(case, _ID, look)
