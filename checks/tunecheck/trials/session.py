"""Before and after a trial: may it run, on which GPUs, and what is kept when it hangs."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ..errors import GpusInUseError, Misuse, TrialError, TunecheckError, UsageError
from ..facts.nvidia.nvml import Gpu, Nvml
from ..facts.snapshot import Snapshot
from ..host import Host, Unreadable
from ..host.recording import RecordingHost
from ..model.measurement import Measured, Measurement
from .counts import before
from .evidence import Evidence
from .lock import Lock, clear_wedged, mark_wedged, refuse_wedged
from .p2p import Flows
from .supervisor import Progress, Supervisor

__all__ = ["Trial", "run"]

class Trial(Protocol):
    """A trial as a session runs it. It gets a host for evidence, CUDA's numbers of the GPUs, the flows of the
    posted-write probe, and who watches its workers."""

    def __call__(self, host: Host, ordinals: Sequence[int], collapse: Flows, /, *,
                 supervisor: Supervisor) -> Measured: ...


#: Framebuffer in use beyond what a driver without clients keeps.
_IDLE_MIB = 512


def run(host: Host, snapshot: Snapshot, trial: Trial, chosen: Sequence[int] = (), force: bool = False,
        after_reset: bool = False, bundles: str = ".", progress: Progress | None = None,
        admitted: Callable[[], None] | None = None, least: int = 2) -> Measured:
    """Run one trial on the ``chosen`` accelerators (numbers of the report; none: all), where there are at ``least`` so
    many. A hang leaves a bundle with the evidence in the folder ``bundles``. ``admitted`` is called once nothing speaks
    against it any more, before the first GPU is touched. TrialError says why it cannot run; Wedged, that it must not.
    """
    boot_id = snapshot.boot_id.value or ""
    with Lock():
        if after_reset:
            clear_wedged()
        refuse_wedged(boot_id)
        numbers = _numbers(snapshot, chosen)
        if len(numbers) < least:
            return Measured(notes={"chosen": numbers})
        gpus = _gpus(snapshot, numbers)
        if not force:
            _refuse_busy(host, gpus)
        if admitted is not None:
            admitted()
        recorder = RecordingHost(host)
        found = trial(recorder, [gpu.index for gpu in gpus], _collapse(snapshot, numbers),
                      supervisor=Supervisor(evidence=Evidence(recorder, before(snapshot)), progress=progress))
        if found.hangs:
            found = _kept(found, recorder, bundles)
        for hang in found.hangs:
            if hang.aftermath.verdict == "wedged":
                mark_wedged(boot_id, hang.aftermath.text)
    return _renumbered(dataclasses.replace(found, notes={**found.notes, "chosen": numbers}), numbers)


def _numbers(snapshot: Snapshot, chosen: Sequence[int]) -> list[int]:
    count = len(snapshot.topology.devices)
    unknown = [number for number in chosen if not 0 <= number < count]
    if unknown:
        raise UsageError(f"--gpus: there is no GPU{unknown[0]}; this machine has GPU0 to GPU{count - 1}"
                         if count else "--gpus: this machine has no accelerator", Misuse.NO_SUCH)
    return sorted(set(chosen)) or list(range(count))


def _gpus(snapshot: Snapshot, numbers: Sequence[int]) -> list[Gpu]:
    """Return the chosen accelerators as NVML has them; its index is CUDA's number in bus order. TrialError where it
    lacks one."""
    nvml = snapshot.nvml.value
    if nvml is None:
        raise TrialError(f"no trial without NVML: {snapshot.nvml.why()}; see `tunecheck explain nvml-answers`")
    found = []
    for number in numbers:
        device = snapshot.topology.devices[number]
        gpu = nvml.gpu(device.bdf)
        if gpu is None:
            raise TrialError(f"GPU{number} {device.bdf}: NVIDIA's driver does not have it; see `tunecheck topo`")
        _refuse_unfit(number, gpu, nvml)
        found.append(gpu)
    return found


def _refuse_unfit(number: int, gpu: Gpu, nvml: Nvml) -> None:
    name = f"GPU{number} {gpu.bdf}"
    lost = {"GPU_IS_LOST", "RESET_REQUIRED"} & set(gpu.errors.values())
    if lost:
        raise TrialError(f"{name}: {min(lost)}: reset it or reboot")
    if gpu.fact("mig_mode").value == "enabled":
        raise TrialError(f"{name} is cut into MIG instances, which have no peer access; switch it off with "
                         f"nvidia-smi -i {gpu.index} -mig 0")
    if gpu.fact("compute_mode").value == "prohibited":
        raise TrialError(f"{name}: its compute mode is prohibited: no program may use it; set it back with "
                         f"nvidia-smi -i {gpu.index} -c 0")


def _refuse_busy(host: Host, gpus: Sequence[Gpu]) -> None:
    users = {}
    for gpu in gpus:
        for process in gpu.fact("processes").value or ():
            users[process["pid"]] = _name(host, process["pid"])
    if users:
        shown = ", ".join(f"{pid} ({name})" for pid, name in sorted(users.items())[:8])
        raise GpusInUseError(f"the GPUs are in use by {shown}: a trial would disturb it and be disturbed; stop it "
                             "first")
    full = [gpu for gpu in gpus if (gpu.number("memory_used_mib").value or 0) > _IDLE_MIB]
    if full:
        raise GpusInUseError(f"{full[0].bdf} has {full[0].number('memory_used_mib').value} MiB in use by a process "
                             "that cannot be seen from here (a container?); stop it first")


def _collapse(snapshot: Snapshot, numbers: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return flows for each switch with two GPUs: both write at once to GPUs below two other root ports, over their one
    uplink. Some switches fall from 37 to 2.7 GB/s then, which no pair alone shows. Numbers are positions among
    ``numbers``."""
    devices = [snapshot.topology.devices[number] for number in numbers]
    groups: dict[str, list[int]] = {}
    for place, device in enumerate(devices):
        if len(device.path) > 3:        # root port, upstream port, downstream port, the board
            groups.setdefault(device.path[1], []).append(place)
    roots = {place: device.path[0] for place, device in enumerate(devices)}
    found = []
    for places in groups.values():
        others = {root: place for place, root in roots.items() if root != roots[places[0]]}
        if len(places) > 1 and len(others) > 1:
            found.append(list(zip(places[:2], sorted(others.values())[:2], strict=True)))
    return found


def _name(host: Host, pid: int) -> str:
    try:
        return host.read_bytes(f"/proc/{pid}/comm").decode("utf-8", "replace").strip()
    except Unreadable:
        return "unknown"


def _kept(found: Measured, recorder: RecordingHost, folder: str) -> Measured:
    """Write what was read at the stall to a bundle, and name it in the result. A full disk costs the bundle, not the
    verdict."""
    from ..util.whole_file import write_file

    path = str(Path(folder) / time.strftime("tunecheck-stall-%Y%m%dT%H%M%SZ.tar.zst", time.gmtime()))
    try:
        write_file(path, recorder.packed(redact=True, root=os.geteuid() == 0), what="bundle")
    except TunecheckError as error:
        return dataclasses.replace(found, notes={**found.notes, "bundle": f"not written: {error}"})
    return dataclasses.replace(found, hangs=tuple(dataclasses.replace(hang, bundle=path) for hang in found.hangs))


def _renumbered(found: Measured, numbers: Sequence[int]) -> Measured:
    """Return the result with the report's numbers of the GPUs in place of positions among the chosen ones."""
    if list(numbers) == list(range(len(numbers))):
        return found

    def figure(each: Measurement) -> Measurement:
        return dataclasses.replace(each, a=None if each.a is None else numbers[each.a],
                                   b=None if each.b is None else numbers[each.b])

    return dataclasses.replace(
        found, figures=tuple(figure(each) for each in found.figures),
        wrong=tuple({**wrong, **{key: numbers[wrong[key]] for key in ("a", "b") if wrong.get(key) is not None}}
                    for wrong in found.wrong),
        notes={**found.notes, "no_access": [[numbers[a], numbers[b]] for a, b in found.notes.get("no_access") or ()]})
