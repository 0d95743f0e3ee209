"""Environment variables of programs that use the GPUs: from the files that services get them from, and from running
processes.

grep reads them and prints only names of parsers/nvidia/nccl_env.py: environments are full of tokens, which must reach
neither memory nor a recording."""

from __future__ import annotations

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known
from ...parsers.containers.environment import ASSIGNED, IN_PROCESS, IN_UNIT, Variables, files_named, variables
from ...util.at_first_use import dataclass
from ..nvidia.nvml import Gpu, Nvml

__all__ = ["ServiceEnv", "pids", "service_env"]

#: Units by hand, quadlets of podman, NCCL's own file, every session's file.
_PLACES = ("/etc/systemd/system", "/etc/containers/systemd", "/etc/nccl.conf", "/etc/environment")
_FILES = ("grep", "-rnHosIE", "-D", "skip")
_MOST = 64


@dataclass(frozen=True)
class ServiceEnv:
    """The variables found. ``found`` maps files to variables, among them ``/proc/<pid>/environ`` of the processes on
    the GPUs; ``refused``: this user may not read that of some processes."""

    found: dict[str, Variables]
    refused: bool


def service_env(host: Host, wanted: bool, nvml: Fact[Nvml]) -> Fact[ServiceEnv]:
    """Ask grep for the variables in all files and processes. Not ``wanted``: nothing is read."""
    source = "grep in " + ", ".join(_PLACES)
    if not wanted:
        return absent(source, Absence.NOT_ASKED)
    try:
        units = host.run((*_FILES, IN_UNIT, *_PLACES), 5.0).stdout
        found = variables(units)
        files = files_named(units)
        if files:
            found.update(variables(host.run((*_FILES, ASSIGNED, *files), 5.0).stdout))
        holders = sorted({pid for gpu in (nvml.value.gpus if nvml.value else ()) for pid in pids(gpu)})
        paths, refused = [f"/proc/{pid}/environ" for pid in holders[:_MOST]], False
        if paths:
            done = host.run(("grep", "-zHoaE", IN_PROCESS, *paths), 5.0)
            found.update(variables(done.stdout, "\0"))
            refused = "denied" in done.stderr
    except Unreadable as error:
        return absent("grep", Absence.NOT_INSTALLED if error.absence is Absence.NOT_PRESENT else error.reason)
    return known(ServiceEnv(found, refused), source)


def pids(gpu: Gpu) -> list[int]:
    """Return the pids of the processes with a context on a GPU."""
    listed = gpu.values.get("processes")
    found = (each.get("pid") for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict))
    return [pid for pid in found if type(pid) is int and 0 < pid < 1 << 31]
