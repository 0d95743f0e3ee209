"""For which features a board or a driver is too old. A remedy that it cannot follow is left out."""

from __future__ import annotations

from dataclasses import replace

from ...facts.nvidia.nvml import Gpu, Nvml
from ...model.fact import Absence, absent, known
from ...spec.architectures import before
from ..context import Case
from ..nvidia import from_driver
from ..nvidia.from_nvml import ids_of

__all__ = ["no_open_modules", "no_resizable_bar", "with_lspci_bar1"]

#: The first branch with open modules: open-gpu-kernel-modules begins with 515.43.04 (2022-05).
_FIRST = 515


def no_open_modules(case: Case) -> str:
    """Return why the open kernel modules cannot be used here, "" where they can. One older board decides for the
    machine."""
    old = {device.bdf: name for device in case.snapshot.topology.devices if (name := before(device.ids, "Turing"))}
    if old:
        shown = ", ".join(f"{bdf} is {name}" for bdf, name in list(old.items())[:4])
        return f"{shown}: the open modules need Turing or later"
    branch = (from_driver.loaded(case).value or "").split(".")[0]
    return f"driver {branch} has no open modules: they came with {_FIRST}" if branch and int(branch) < _FIRST else ""


def no_resizable_bar(case: Case, gpu: Gpu) -> str:
    """Return why this board cannot have Resizable BAR, "" where it can."""
    old = before(ids_of(case, gpu), "Ampere")
    return f"the board is {old}, and Resizable BAR needs Ampere or later" if old else ""


def _smaller_bar1(gpu: Gpu, shown: int | None) -> Gpu:
    told = gpu.number("bar1_total_mib").value
    if shown is None or told is None or told <= shown:
        return gpu
    return replace(gpu, values={**gpu.values, "bar1_total_mib": shown})


def with_lspci_bar1(case: Case) -> Case:
    """The case with BAR1's size as lspci shows it, where NVML's answer is not given or tells more."""
    shown, devices, nvml = case.snapshot.posted.bar1, case.snapshot.topology.devices, case.snapshot.nvml
    if not shown:
        return case
    if nvml.value is not None:
        gpus = tuple(_smaller_bar1(gpu, shown.get(gpu.bdf)) for gpu in nvml.value.gpus)
        less = known(replace(nvml.value, gpus=gpus), nvml.source)
        return replace(case, snapshot=replace(case.snapshot, nvml=less))
    none = {"bar1_total_mib": "not in the import; add: nvidia-smi -q"}
    gpus = tuple(Gpu(device.bdf, index, {"bar1_total_mib": shown[device.bdf]} if device.bdf in shown else {},
                     {} if device.bdf in shown else none) for index, device in enumerate(devices))
    document = Nvml(absent("lspci", Absence.NOT_READ), absent("lspci", Absence.NOT_READ), gpus, {})
    return replace(case, snapshot=replace(case.snapshot, nvml=known(document, "lspci, BAR1")))
