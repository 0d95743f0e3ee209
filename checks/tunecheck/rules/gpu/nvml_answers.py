"""nvml-answers: the driver's library answers, for every GPU that the driver has."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import cut_off, name_of, shown_error
from ...model.finding import Finding
from ..check import EVERY, Check, Family, Heading, Needs
from ..codes import GPU_LIST_INCOMPLETE, GPU_NOT_LISTED
from ..context import Case
from ..driver.nvml_remedies import LOST, SENSOR, STUCK, unanswered
from ..driver.smi_refused import refused
from ..nvidia import wanted_driver
from ..nvidia.posted_gpus import counted_names, given_names

CHECK = Check(
    "nvml-answers", "the driver's library answers for every GPU",
    Heading.ACCELERATORS, 60, Family.GPU, (*EVERY, "driver"), needs=(Needs.GPUS,),
)
CODES = {
    "no-answer": "NVML was asked and gave no answer.",
    "no-library": "The driver's library is not installed.",
    "library-mismatch": "The driver's library is of another version than the loaded kernel module.",
    "driver-does-not-answer": "The kernel module is not loaded, or did not get to its end.",
    "driver-without-gpu": "The driver is loaded and has no GPU.",
    "permission-refused": "The driver refuses this user.",
    "nvml-does-not-start": "The driver is loaded and gives NVML an unknown error.",
    "no-nvidia-smi": "The program nvidia-smi is not installed.",
    "gpu-not-opened": "The driver cannot open a GPU.",
    "gpu-lost": "NVML or nvidia-smi says that a GPU is lost.",
    "gpu-no-answer": "A GPU gave NVML no answer, or not all of it, or errors in place of its values.",
    "value-refused": "A GPU gave an error in place of one value that every board tells.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    nvml = case.snapshot.nvml
    boards = {device.bdf for device in case.snapshot.topology.devices if device.driver.value == wanted_driver.NVIDIA}
    if case.snapshot.posted.failures:
        from ...parsers.nvidia.smi_tree import address  # start-up time

        yield from refused(case, _ID)
        named = {address(failure.gpu) for failure in case.snapshot.posted.failures if failure.gpu}
        yield from _troubles(case, boards, named)
        return
    if nvml.value is None:
        yield unanswered(case, _ID, boards)
        return
    troubles = list(_troubles(case, boards, set()))
    yield from troubles
    unlisted = sorted(boards - {gpu.bdf for gpu in nvml.value.gpus})
    cut, count = nvml.value.error("gpus"), len(nvml.value.gpus)
    if cut is not None:
        yield Finding(_ID, GPU_LIST_INCOMPLETE, "NVML", "fail" if cut_off(cut) else "unknown", "effective",
                      f"the list of GPUs is {cut}", str(count), "an answer", (nvml.source,),
                      STUCK if cut_off(cut) else None)
    elif unlisted and not any(who.startswith("gpu ") for who in nvml.value.errors):
        yield Finding(_ID, GPU_NOT_LISTED, ", ".join(unlisted), "fail", "effective",
                      f"NVML does not list {', '.join(unlisted)}, which the driver has", "not listed", "an answer",
                      (nvml.source,), LOST)
    elif nvml.value.gpus and not troubles:
        yield Finding(_ID, "ok", "NVML", "pass", "effective", f"NVML answers for {count} GPUs{_models(case)}")
    elif not nvml.value.gpus and not nvml.value.errors:
        yield wanted_driver.no_gpu(case, _ID)


def _models(case: Case) -> str:
    """Return which models the GPUs are, "" where they are of one: what one board does says little about another."""
    names = given_names(case.snapshot)
    return f" of several models: {counted_names(names)}" if len(set(names)) > 1 else ""


def _troubles(case: Case, boards: set[str], named: set[str | None]) -> Iterator[Finding]:
    """Yield a finding for each GPU that gave no answer, or errors in place of values, and is not ``named`` yet."""
    nvml = case.snapshot.nvml
    for who, reason, lost in nvml.value.troubles() if nvml.value is not None else ():
        if who not in named:
            yield Finding(_ID, "gpu-lost" if lost else "gpu-no-answer", who, "fail", "effective",
                          f"{who}: {reason}" + (", though sysfs still lists it" if lost and who in boards else ""),
                          reason, "an answer", (nvml.source,), LOST if lost else STUCK)
    for gpu in nvml.value.gpus if nvml.value is not None else ():
        if len(gpu.refused) == 1 and not gpu.ill and gpu.bdf not in named:
            key = gpu.refused[0]
            yield Finding(_ID, "value-refused", gpu.bdf, "warn", "effective",
                          f"{gpu.bdf}: {shown_error(gpu.errors[key])} in place of {name_of(key)}", gpu.errors[key],
                          "an answer", (nvml.source,), SENSOR)
