"""Who was refused for a library of another version than the loaded module: for driver-coherence.

One cause has three witnesses: the kernel log (API mismatch), NVML's own answer, and what nvidia-smi printed."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.absence import Absence
from ...model.finding import Finding, Remedy
from ...parsers.nvidia.driver_refusals import Mismatch
from ..context import Case
from ..errors import from_log
from ..nvidia import from_driver

__all__ = ["MISMATCH", "refused"]

#: The kind that parsers/nvidia/smi_failure.py gives it.
MISMATCH = "mismatch"
_INSTALL = Remedy.of(
    *from_driver.AFTER_REBOOT.parts, "; or install the libraries in the loaded module's version (a container or an "
    "environment with libraries of its own: the host's, by CDI)", needs_reboot=True)


def refused(case: Case, explained: set[str], fits: bool) -> Iterator[Finding]:
    """Yield a finding for each version that was refused. ``explained``: versions of which a finding speaks already;
    ``fits``: a library of the host's own is known to be of the module's version, so that the log's lines are of another
    library, or of an earlier time."""
    told = case.snapshot.nvml
    said = next((failure.text for failure in case.snapshot.posted.failures if failure.kind == MISMATCH), "")
    of_nvml = bool(said) or told.absence is Absence.MISMATCH
    logged = [each for each in _logged(case) if not (explained if not each.client else {each.client} & explained)]
    for each in logged:
        yield _of_log(case, each, "warn" if fits and not of_nvml else "fail")
    if of_nvml and not explained and not logged:
        module = from_driver.loaded(case)
        why = said or "of another version: NVML refuses to work with this module"
        yield Finding("driver-coherence", "other-version", "NVML's library", "fail", "effective",
                      f"NVML's library is of another version than the loaded module{f': {said}' if said else ''}", why,
                      module.value or "one version", ("nvidia-smi" if said else told.source, module.source), _INSTALL)


def _logged(case: Case) -> Iterator[Mismatch]:
    """Yield the mismatches with the module that is loaded now."""
    log = from_log.events(case)
    loaded = from_driver.loaded(case).value
    for each in log.mismatches if log else ():
        if log and each.load == log.loads and (not loaded or not each.module or each.module == loaded):
            yield each


def _of_log(case: Case, each: Mismatch, outcome: str) -> Finding:
    who = each.program or "a program"
    times = f", {each.count} times, last" if each.count > 1 else ""
    module = each.module or from_driver.loaded(case).value or ""
    text = (f"the loaded module{f' {module}' if module else ''} refused {who}, whose library is "
            f"{each.client or 'of another version'} (API mismatch){times}{from_log.at(each.last)}")
    source = case.host.kernel.log.source
    return Finding("driver-coherence", "other-version", each.program.partition(" ")[0] or "client", outcome,
                   "behaviour", text, each.client or each.text, module or "one version", (f"{source}: {each.text}",),
                   _INSTALL)
