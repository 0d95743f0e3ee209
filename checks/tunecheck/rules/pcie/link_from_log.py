"""The way of each GPU as the kernel log shows it, where the PCI tree is not known: whether it had fewer lanes or a
lower generation than the GPU when the kernel found it. Of a GPU without such a line the log says nothing."""

from __future__ import annotations

from ...model.finding import Finding, Place, Remedy
from ..context import Case

__all__ = ["from_log"]

_LOOK = Remedy.typed("see which end is short: `sudo lspci -nnvvv`; then reseat the board or riser, and look for slot "
                     "bifurcation and speed in the BIOS", place=Place.MACHINE)


def from_log(case: Case, check: str) -> list[Finding]:
    """Return a finding for each GPU whose way was limited. Empty for checks of neither width nor speed. 2.5 GT/s is no
    limit: an idle link has it to save power. `tunecheck topo` reads no log."""
    if case.snapshot.host is None or check not in ("link-width", "link-speed"):
        return []
    log, nvml = case.snapshot.host.kernel.log, case.snapshot.nvml.value
    findings = []
    for link in log.value.events.links if log.value else ():
        if not link.gpu and (nvml is None or nvml.gpu(link.bdf) is None):
            continue
        if check == "link-width":
            short, code = link.width < link.max_width, "narrow-at-boot"
            now, most = f"x{link.width}", f"x{link.max_width}"
        else:
            short, code = 1 < link.gen < link.max_gen, "slow-at-boot"
            now, most = f"Gen{link.gen}", f"Gen{link.max_gen}"
        if short:
            findings.append(Finding(
                check, code, link.bdf, "warn", "effective", f"{link.bdf}: when the kernel found it"
                f"{f' at [{link.when}]' if link.when else ''} its way was limited to {now} at {link.port}, and it can "
                f"do {most}", now, f"{most} at every hop", (log.source,), _LOOK))
    return findings
