"""What every check about the NVIDIA driver has in common."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...facts.nvidia.nvml import Gpu
from ...model.command import packages, release, run
from ...model.fact import Absence, Fact, known, not_understood
from ...model.finding import AS_ROOT, Finding, Remedy
from ...spec.boards import board
from ...util.text import some
from ..codes import NO_DRIVER, UNREAD
from ..context import Case
from . import wanted_driver
from .nvlinks import always_switched
from .posted_gpus import whole_or_add

__all__ = ["AFTER_REBOOT", "build", "fabric", "fabric_missing", "fabric_unread", "fabric_unsaid", "hold", "loaded",
           "not_asked", "nothing", "parts", "unread", "without"]

#: Nothing says it; any other reason is the driver's own answer.
_UNSAID = (Absence.NOT_READ, Absence.NOT_SUPPORTED, Absence.OLDER, Absence.NOT_IN_IMPORT, Absence.NOT_UNDERSTOOD,
           Absence.NO_PERMISSION)
#: Those of them after which there may be a state all the same.
_UNTOLD = (Absence.NOT_READ, Absence.NOT_UNDERSTOOD, Absence.NO_PERMISSION)
AFTER_REBOOT = Remedy.of(
    "reboot; or stop everything on the GPUs, then: ", run("systemctl stop nvidia-persistenced"), "; ",
    run("modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia"), "; ", run("modprobe nvidia_uvm"), needs_reboot=True)


def loaded(case: Case) -> Fact[str]:
    """Return the version of the loaded kernel module. A text that does not look like a version counts as not
    understood."""
    version = case.host.driver.version
    if version.value is not None and not re.fullmatch(r"\d{1,4}(?:\.\d{1,4}){1,2}", version.value):
        return not_understood(version.source, f"{version.value[:40]!r}")
    return version


def nothing(case: Case, check: str, needs_version: bool = False) -> Iterator[Finding]:
    """Yield the finding that ends a check early: no driver is loaded, or (``needs_version``) its version cannot be
    read."""
    version = loaded(case)
    if version.missing:
        yield without(case, check, "nvidia", version.source)
    elif needs_version and version.value is None:
        yield unread(check, "nvidia", "the driver's version", version)


def without(case: Case, check: str, subject: str, source: str, layer: str = "effective",
            text: str = "no NVIDIA driver is loaded") -> Finding:
    """Return the finding of a check that needs the driver, where there is none. On a box that is not meant to have one
    it is skip, else unknown: driver-bound fails and says how to get the driver."""
    if wanted_driver.needs_nvidia(case):
        return Finding(check, NO_DRIVER, subject, "unknown", layer, f"not known before driver-bound passes: {text}",
                       "?", "",
                       (source,), absence=Absence.NO_DRIVER)
    return Finding(check, NO_DRIVER, subject, "skip", layer, text, evidence=(source,))


def not_asked(fact: Fact[Any]) -> bool:
    """Whether the driver was not asked about a fact because there is no driver, or it has no GPU."""
    return fact.absence in (Absence.NO_DRIVER, Absence.NO_BOARDS)


def hold(manager: str | None, names: list[str]) -> Remedy:
    """Return how packages are kept from upgrades. Names that are no package's are left out of the command."""
    known = packages(names, 40)
    way = "apt-mark hold" if manager == "dpkg" else "dnf versionlock add"
    return Remedy.of("run: ", run(way, *known)) if known else Remedy(f"hold them ({way}); their names are no packages'")


def build(kernel: str, first: str, otherwise: str = "") -> Remedy:
    """Return how DKMS builds for a kernel. ``first``: what to do before; ``otherwise``: what would do as well. Where
    ``kernel`` is no release of a kernel, there is no command."""
    known = release(kernel)
    if known is None:
        return Remedy(otherwise or "install that kernel's headers, and let DKMS build for it")
    return Remedy.of(f"{first}run: ", run("dkms autoinstall -k", known), *([f", or {otherwise}"] if otherwise else []))


def unread(check: str, subject: str, what: str, fact: Fact[Any]) -> Finding:
    """Return the finding that ``what`` cannot be read, with the reason of the fact."""
    return Finding(check, UNREAD, subject, "unknown", "effective", f"{what} cannot be read: {fact.why()}", "?", "",
                   (fact.source,), AS_ROOT if fact.absence is Absence.NO_PERMISSION else None, absence=fact.absence)


def parts(case: Case) -> Iterator[tuple[str, str, Fact[str]]]:
    """Yield everything that has to have the loaded module's version: name, outcome where it has not, version. Libraries
    that are not there are left out, and so are packages where none is installed."""
    libraries = {name: fact for name, fact in case.host.driver_parts.libraries.items() if not fact.missing}
    for name, fact in libraries.items():
        # Where none can be read one says so for all.
        if fact.known or (name == next(iter(libraries)) and not any(each.known for each in libraries.values())):
            yield name, "fail", fact
    told = case.snapshot.nvml
    if told.value is not None:
        # "13.595.71.05": the CUDA version before the driver's.
        yield "NVML's library", "fail", (known(re.sub(r"^\d{1,2}\.(?=\d{3}\.)", "", told.value.library.value),
                                               told.value.library.source) if told.value.library.value else
                                         told.value.library)
    versions: dict[str, list[str]] = {}
    for package in case.host.packages.driver:
        versions.setdefault(package.driver or "", []).append(package.name)
    for version, names in versions.items():
        yield f"package {some(names, 3)}", "warn", known(version, case.host.packages.installed.source)


def fabric(case: Case) -> dict[str, str]:
    """Return the fabric state of every GPU that hangs on an NVSwitch, by address. A registration that is completed and
    ended with an error is no "completed". Empty where none does, and where NVML says nothing."""
    told = case.snapshot.nvml.value
    facts = {gpu.bdf: gpu.fact("fabric_state") for gpu in (told.gpus if told else ())}
    if all(fact.value in (None, "not_supported") for fact in facts.values()):
        return {}
    # Beside GPUs that have a state, one that answers with an error (GPU_IS_LOST) has not joined. One of which nothing
    # is told (a report that is cut) is fabric_unread's.
    states = {bdf: str(fact.value or fact.reason) for bdf, fact in facts.items() if fact.absence not in _UNSAID}
    for gpu in told.gpus if told else ():
        error = _fabric_error(gpu)
        if states.get(gpu.bdf) == "completed" and error:
            states[gpu.bdf] = f"completed, status {error}"
    return {bdf: state for bdf, state in states.items() if state.lower() != "not_supported"}


def _fabric_error(gpu: Gpu) -> str:
    """Return the error with which the registration ended; "" for success, and where nothing says it."""
    status = gpu.fact("fabric_status")
    if status.known:
        return "" if status.value == "SUCCESS" else str(status.value)[:40]
    return "" if status.absence in _UNSAID else str(status.reason)[:40]


def fabric_unsaid(case: Case) -> dict[str, str]:
    """Return the GPUs that have joined the fabric, and of which it is not told how that ended, or whether they are
    healthy there: the address, and what is not told."""
    told, found = case.snapshot.nvml.value, {}
    for gpu in told.gpus if told else ():
        status, health = gpu.fact("fabric_status"), gpu.fact("fabric_health")
        if gpu.values.get("fabric_state") != "completed":
            continue
        if not status.known:
            found[gpu.bdf] = f"status ({status.reason})"
        elif not isinstance(health.value, list) and health.absence not in (Absence.NOT_SUPPORTED, Absence.OLDER):
            found[gpu.bdf] = f"health ({health.reason or 'senseless'})"
    return found


def fabric_unread(case: Case) -> str:
    """Return the GPUs of which it is not known whether they hang on an NVSwitch; "" where it is known of all. A report
    that lost lines does not tell their state. Boards without NVLink have no NVSwitch, whatever the report tells."""
    told = case.snapshot.nvml.value
    ids = {device.bdf: device.ids for device in case.snapshot.topology.devices}
    beside = bool(fabric(case))
    return ", ".join(gpu.bdf for gpu in (told.gpus if told else ()) if _fabric_open(gpu, ids.get(gpu.bdf), beside))


def fabric_missing(case: Case) -> str:
    """Return why it is not known whether GPUs hang on an NVSwitch, and what would tell it."""
    told = case.snapshot.nvml.value
    ends = {whole_or_add(gpu) for gpu in (told.gpus if told else ())}
    return f"no fabric state in the report{min(ends, key=len, default='')}"


def _fabric_open(gpu: Gpu, ids: str | None, beside: bool) -> bool:
    """``beside``: other GPUs of the machine hang on an NVSwitch, so that any one that tells nothing may as well."""
    absence = gpu.fact("fabric_state").absence
    if absence is Absence.NOT_IN_IMPORT:        # a text that never tells it; what the board is its name says
        return always_switched(gpu.values.get("name"))
    silent = _UNTOLD if beside else (Absence.NOT_READ,)
    return absence in silent and not _without_nvlink(gpu, ids)


def _without_nvlink(gpu: Gpu, ids: str | None) -> bool:
    model = board(ids or str(gpu.values.get("ids", "")))
    return model is not None and model.p2p not in (None, "nvlink")
