"""nvml-answers: the driver's library answers, for every GPU that the driver has."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.nvml import cut_off
from ...model.finding import Finding
from ..check import EVERY, Check, Family, Heading, Needs
from ..context import Case
from ..driver import wanted_driver
from ..driver.nvml_remedies import LOST, STUCK, unanswered
from ..driver.smi_refused import refused

CHECK = Check(
    "nvml-answers", "the driver's library answers for every GPU",
    Heading.ACCELERATORS, 60, Family.GPU, (*EVERY, "driver"), needs=(Needs.GPUS,),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    said = case.snapshot.nvml
    boards = {device.bdf for device in case.snapshot.topology.devices if device.driver.value == wanted_driver.NVIDIA}
    if case.snapshot.posted.failures:
        yield from refused(case, _ID)
        return
    if said.value is None:
        yield unanswered(case, _ID, boards)
        return
    for who, error, lost in said.value.troubles():
        yield Finding(_ID, who, "fail", "effective", f"{who}: {error}" + (", though sysfs still lists it" if lost and
                      who in boards else ""), error, "an answer", (said.source,), LOST if lost else STUCK)
    silent = sorted(boards - {gpu.bdf for gpu in said.value.gpus})
    cut, more = said.value.error("gpus"), len(said.value.gpus)
    if cut is not None:
        yield Finding(_ID, "NVML", "fail" if cut_off(cut) else "unknown", "effective", f"the list of GPUs is {cut}",
                      str(more), "an answer", (said.source,), STUCK if cut_off(cut) else None)
    elif silent and not any(who.startswith("gpu ") for who in said.value.errors):
        yield Finding(_ID, ", ".join(silent), "fail", "effective", f"NVML does not list {', '.join(silent)}, which the "
                      "driver has", "not listed", "an answer", (said.source,), LOST)
    elif said.value.gpus and not said.value.troubles():
        yield Finding(_ID, "NVML", "pass", "effective", f"NVML answers for {more} GPUs")
    elif not said.value.gpus and not said.value.errors:
        yield wanted_driver.no_gpu(case, _ID)
