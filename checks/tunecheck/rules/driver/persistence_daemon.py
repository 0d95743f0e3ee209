"""persistence-daemon: the driver keeps its state while nobody uses a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.services import PERSISTENCED
from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import GPU_LIST_INCOMPLETE, OK
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "persistence-daemon", "the driver keeps its state while nobody uses a GPU",
    Heading.DRIVER, 140, Family.DRIVER, DRIVER,
)
_ID = CHECK.id
CODES = {
    "off-on-gpus": "Persistence mode is off on some GPUs: `gpu-persistence` judges it, GPU by GPU.",
    "not-running": "The service nvidia-persistenced does not run.",
}
_ON = Remedy.of("run: ", run("systemctl enable --now nvidia-persistenced"), "; for this boot only: ",
                run("nvidia-smi -pm 1"))


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    service, nvml = case.host.services[PERSISTENCED].active, case.snapshot.nvml
    modes = {gpu.bdf: gpu.fact("persistence").value for gpu in nvml.value.gpus} if nvml.value else {}
    # What is so of a GPU is one fact, and one check says it.
    topology = case.snapshot.topology
    judged = set(modes) if topology.accelerators.value is None else {bdf for _, bdf in topology.of_nvidia}
    cut = nvml.value.errors.get("gpus") if nvml.value else None
    off = [bdf for bdf, on in modes.items() if on is False]
    if off and judged.issuperset(off):
        yield Finding(_ID, "off-on-gpus", "nvidia", "skip", "effective",
                      f"persistence mode is off on {', '.join(off)}; gpu-persistence says what that means",
                      evidence=(nvml.source,))
    elif cut and not service.value and not off:
        yield Finding(_ID, GPU_LIST_INCOMPLETE, "nvidia", "unknown", "effective",
                      f"persistence mode is not told of every GPU: the list is {cut}", evidence=(nvml.source,))
    elif service.value or (modes and all(modes.values())):
        how = "nvidia-persistenced runs" if service.value else "persistence mode is on"
        but = f", but persistence mode is off on {', '.join(off)}" if off else ""
        code, outcome = ("off-on-gpus", "warn") if off else (OK, "pass")
        yield Finding(_ID, code, "nvidia", outcome, "effective", how + but, "", "on", (service.source,),
                      _ON if off else None)
    elif service.value is None and not off:
        yield from_driver.unread(_ID, "nvidia", "whether nvidia-persistenced runs", service)
    elif service.value is None:     # that it does not run would be a guess
        yield Finding(_ID, "off-on-gpus", "nvidia", "warn", "effective",
                      f"persistence mode is off on {', '.join(off)}; "
                      f"whether nvidia-persistenced runs is not known: {service.why()}", "off", "on",
                      (service.source, nvml.source), _ON)
    else:
        yield Finding(_ID, "not-running", "nvidia", "warn", "effective", "nvidia-persistenced does not run"
                      + (f" and persistence mode is off on {', '.join(off)}" if off else ""), "off", "on",
                      (service.source, nvml.source), _ON)
