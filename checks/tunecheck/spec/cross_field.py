"""What fields mean for each other: contradictions between those of driver, runtime, gpu and watch, which are right by
themselves but not together; and keys that have no effect beside the value of another key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tunecheck.parsers.packages.driver_set import FIRST_BLACKWELL
from tunecheck.spec.boards import board
from tunecheck.spec.contradiction import Contradiction
from tunecheck.spec.frozen import Spec

__all__ = ["idle", "problems"]

#: Key -> (the key that decides, its value beside which this one has no effect).
_BESIDE: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("driver.hold", "driver.modules", "driver.drain"), ("driver.source", "leave")),
    **dict.fromkeys(("acs.mechanism", "acs.scope", "acs.at_boot_unit"), ("acs.peer_redirect", "leave")),
}


def problems(spec: Spec) -> list[Contradiction]:
    """Return each contradiction."""
    return [*_mirror(spec), *_handed_on(spec), *_driver(spec), *_runtime(spec), *_gpu(spec), *_watch(spec)]


def _watch(spec: Spec) -> Iterator[Contradiction]:
    every = spec.watch.canary_every
    if 0 < every < 60:
        yield Contradiction("watch.canary_every",
               f"is {every} seconds; expected 0 (never), or 60 and more: it is for an engine "
               "that nobody asks for minutes")
    if spec.watch.gpu_reset and spec.watch.on_stall != "restart":
        yield Contradiction("watch.gpu_reset",
               f"is true, and watch.on_stall is {spec.watch.on_stall}: nothing is stopped then; set "
               "watch.on_stall to restart, or remove it", ("watch.on_stall",))


def _mirror(spec: Spec) -> Iterator[Contradiction]:
    driver, runtime = spec.driver, spec.runtime
    users = [name for name, source in (("driver.source", driver.source), ("runtime.toolkit_source",
             runtime.toolkit_source)) if source == "mirror"]
    says = "say" if len(users) > 1 else "says"
    for name, value in (("mirror", driver.mirror), ("mirror_fingerprint", driver.mirror_fingerprint)):
        if users and value is None:
            yield Contradiction(f"driver.{name}", f"is missing, and {' and '.join(users)} {says} mirror; state "
                   + ("the repository's address" if name == "mirror"
                      else "the fingerprint of the key that signs it"), tuple(users))
        elif value is not None and not users:
            yield Contradiction(f"driver.{name}",
               "is stated, but neither driver.source nor runtime.toolkit_source says mirror; set "
                   "one of them to mirror, or remove it", ("driver.source", "runtime.toolkit_source"))


def _driver(spec: Spec) -> Iterator[Contradiction]:
    driver = spec.driver
    if driver.source != "leave" and driver.version is None:
        yield Contradiction("driver.version",
               f"is missing, and driver.source is {driver.source}: what is installed must be one "
               'exact release, for example "595.71.05"', ("driver.source",))
    if driver.modules == "precompiled" and driver.source in ("nvidia", "mirror"):
        yield Contradiction("driver.modules",
               f"is precompiled, which source {driver.source} does not have: precompiled open "
               "modules are known from Ubuntu's own repository only; expected driver.source: distribution, or "
               "driver.modules: dkms", ("driver.source",))
    boards = [board(ids) for ids in spec.accelerators.pci_ids]
    if driver.flavour != "stock" and driver.source in ("nvidia", "distribution"):
        yield Contradiction("driver.flavour",
               f"is {driver.flavour}, and driver.source {driver.source} installs NVIDIA's own "
               "modules over the patched ones; set driver.source: leave, or mirror with a repository that holds the "
               "patched packages", ("driver.source",))
    if driver.flavour != "stock" and boards and all(known is not None and known.p2p in ("stock", "nvlink")
                                                    for known in boards):
        yield Contradiction("driver.flavour",
               f"is {driver.flavour}, and NVIDIA's own driver allows peer-to-peer on every board of "
               "accelerators.pci_ids; remove it", ("accelerators.pci_ids",))
    blackwell = bool(boards) and all(known is not None and known.architecture == "Blackwell" for known in boards)
    if blackwell and driver.version is not None and int(driver.version.partition(".")[0]) < FIRST_BLACKWELL:
        yield Contradiction("driver.version", f"is {driver.version}, which knows no Blackwell GPU, and all of "
               f"accelerators.pci_ids are; expected {FIRST_BLACKWELL} or newer, for example \"595.71.05\"",
               ("accelerators.pci_ids",))


def _handed_on(spec: Spec) -> Iterator[Contradiction]:
    if spec.accelerators.kernel_driver != "vfio-pci":
        return
    if spec.iommu == "off" or "iommu=off" in spec.kernel.cmdline:
        yield Contradiction("iommu",
               "is off, and vfio-pci hands no device to a virtual machine without an IOMMU; set leave, "
               "translated or pt",
               ("accelerators.kernel_driver", *(() if spec.iommu == "off" else ("kernel.cmdline",))))
    if spec.driver.source != "leave":
        yield Contradiction("driver.source",
               f"is {spec.driver.source}, and accelerators.kernel_driver is vfio-pci: NVIDIA's driver "
               "belongs into the virtual machines then; set driver.source: leave", ("accelerators.kernel_driver",))


def _runtime(spec: Spec) -> Iterator[Contradiction]:
    runtime = spec.runtime
    stated = [name for name in ("toolkit", "user", "storage") if getattr(runtime, name) is not None]
    if runtime.engine == "leave":
        yield from (Contradiction(f"runtime.{name}", "is stated, but runtime.engine is leave, so no role sets a "
                                  "runtime up; state podman or docker, or remove it", ("runtime.engine",))
                    for name in stated)
    if runtime.engine == "docker" and runtime.user is not None:
        yield Contradiction("runtime.user",
               "runs containers without root, which this project does with podman only; set "
               "runtime.engine: podman, or remove it", ("runtime.engine",))


def _gpu(spec: Spec) -> Iterator[Contradiction]:
    clocks = spec.gpu.clocks_mhz
    if clocks is not None and len(clocks) == 2 and clocks[0] > clocks[1]:
        yield Contradiction("gpu.clocks_mhz",
               f"is [{clocks[0]}, {clocks[1]}]: the lowest is above the highest; write the lowest "
               "first")
    watts = spec.gpu.power_limit_watts
    if watts is None:
        return
    # A box has one of the boards that a profile lists: refused is what none of them takes. NVML has the last word.
    ranges = []
    for ids in spec.accelerators.pci_ids:
        known = board(ids)
        low, high = (known.power_min_w, known.power_max_w) if known else (None, None)
        if (low is None or watts >= low) and (high is None or watts <= high):
            return
        ranges.append(f"{known.name if known else ids} {low or '?'} to {high or '?'} W")
    if ranges:
        yield Contradiction("gpu.power_limit_watts", f"is {watts} W, which no board of accelerators.pci_ids takes: "
               + "; ".join(ranges), ("accelerators.pci_ids",))


def idle(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of a specification (path -> value) that have no effect, and beside what: "driver.hold" ->
    "driver.source = leave"."""
    return {path: f"{decides} = {value}" for path, (decides, value) in _BESIDE.items()
            if path in values and values[decides] == value}
