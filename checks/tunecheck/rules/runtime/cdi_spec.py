"""cdi-spec: a specification of the Container Device Interface names every GPU, and all of them as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..codes import NO_TOOLKIT, OK
from ..context import Case
from ..evidence_guard import no_tree
from ..nvidia import from_driver
from . import from_runtime

CHECK = Check(
    "cdi-spec", "a CDI specification names the GPUs", Heading.RUNTIME, 50, Family.RUNTIME, RUNTIME,
    judges=("cdi.files", "cdi.devices"),
)
_ID = CHECK.id
CODES = {
    "none": "No CDI specification names the GPUs.",
    "no-device-all": "A CDI specification names GPUs, and no device `all`.",
    "not-every-gpu": "The CDI specifications name fewer GPUs than the host has.",
    "defined-twice": "Two CDI specifications define the same device, so engines refuse it.",
}
_MAKE = Remedy.of("run: ", run("systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service"),
                  "; before toolkit 1.18: ", run("nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"))


def judge(case: Case) -> Iterator[Finding]:
    if early := [*from_runtime.read(case, _ID, "nvidia.com/gpu"), *from_runtime.perhaps_unwanted(case, _ID)]:
        yield early[0]
        return
    specs, toolkit = from_runtime.gpu_specs(case), bool(case.host.packages.toolkit)
    wanted = from_runtime.declared(case) or toolkit
    if not specs.value:
        if not wanted:
            yield Finding(_ID, NO_TOOLKIT, "nvidia.com/gpu", "skip", "generated", "no container toolkit is installed")
        elif from_driver.loaded(case).missing:
            yield from_driver.without(case, _ID, "nvidia.com/gpu", specs.source, "generated")
        elif specs.value is None:
            yield from_driver.unread(_ID, "nvidia.com/gpu", "the CDI specifications", specs)
        else:
            yield Finding(_ID, "none", "nvidia.com/gpu", "fail" if from_runtime.declared(case) else "warn", "generated",
                          f"no CDI specification in {specs.source} names nvidia.com/gpu", "none", "nvidia.com/gpu=all",
                          (specs.source,), _MAKE)
        return
    names = {name for spec in specs.value for name in spec.devices}
    named = max(sum(name.isdigit() for name in names), sum(name.startswith("GPU-") for name in names))
    gpus, uncounted = _gpus(case)
    twice, few = from_runtime.defined_twice(specs.value), named and named < gpus
    good = "all" in names and not (few or twice)
    text = "no device all" if "all" not in names else f"{named} of {gpus} GPUs" if few else "all GPUs"
    if good and uncounted is not None:
        yield replace(uncounted, text=f"{specs.value[-1].file} names {named} GPUs; whether these are all is not known: "
                      f"{uncounted.text}")
        return
    text += f", and engines refuse {twice[0]}, which define the same device" if twice else ""
    code = OK if good else "no-device-all" if "all" not in names else "not-every-gpu" if few else "defined-twice"
    yield Finding(_ID, code, "nvidia.com/gpu", "pass" if good else "fail", "generated",
                  f"{specs.value[-1].file}: {text}",
                  text, "" if good else "every GPU, and all", (specs.source,), None if good else _MAKE)


def _gpus(case: Case) -> tuple[int, Finding | None]:
    """Return how many GPUs the driver has at least, and the finding that there may be more."""
    topology, nvml = case.snapshot.topology, case.snapshot.nvml.value
    if topology.accelerators.value is None:
        return len(nvml.gpus) if nvml is not None else 0, no_tree(case, _ID, "nvidia.com/gpu", "generated")
    return sum(device.driver.value == "nvidia" for device in topology.devices), None
