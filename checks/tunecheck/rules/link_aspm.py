"""link-aspm: no port or board between the root complex and an accelerator lets its link sleep (ASPM)."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.pci import Device
from .finding import Case, Finding, Remedy
from .on_path import each

_ID = "link-aspm"
_FIX = Remedy("switch ASPM off in the BIOS, or boot with pcie_aspm.policy=performance; pcie_aspm=off only keeps the "
              "kernel from managing it: what the firmware switched on stays on", physical=True)


def judge(case: Case) -> Iterator[Finding]:
    yield from each(case, _ID, _judge)


def _judge(subject: str, chain: list[Device]) -> Finding:
    links = [(hop.bdf, hop.express.value.link) for hop in chain if hop.express.value]
    asleep = [f"{bdf} ({link.aspm})" for bdf, link in links if link and link.aspm]
    text = f"ASPM is on at {', '.join(asleep)}" if asleep else "ASPM is off at every hop"
    return Finding(_ID, subject, "warn" if asleep else "pass", "effective", f"{subject}: {text}",
                   ", ".join(asleep) or "off", "ASPM Disabled in LnkCtl at every hop",
                   (chain[-1].express.source,), _FIX if asleep else None)
