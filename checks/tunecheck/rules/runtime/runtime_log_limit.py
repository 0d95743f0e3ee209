"""runtime-log-limit: the engine cuts a container's log before it fills the disk."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..codes import NOT_DECLARED
from ..context import Case
from ..nvidia import from_driver
from . import from_runtime

CHECK = Check(
    "runtime-log-limit", "no container's log fills the disk",
    Heading.RUNTIME, 80, Family.RUNTIME, RUNTIME,
)
_ID = CHECK.id
CODES = {
    "no-limit": "A container's log may grow without a limit, or beyond the declared one.",
}
#: These write files themselves; everything else hands the lines to something with limits of its own, or to nothing.
_FILES = ("json-file", "k8s-file", "local")
_LIMIT = {
    "docker": Remedy.typed('set "log-opts": {"max-size": "100m"} in /etc/docker/daemon.json, then run `sudo systemctl '
                           "restart docker`; containers that are there keep their old limit"),
    "podman": Remedy("set log_size_max below [containers] in /etc/containers/containers.conf"),
}
_LOCAL = 100 * 10**6        # docker's local driver: five files of 20 MB


def judge(case: Case) -> Iterator[Finding]:
    want, most = case.spec.runtime.engine, case.spec.runtime.log_max_mib << 20
    if want == "leave":
        yield Finding(_ID, NOT_DECLARED, "engine", "skip", "declared", "the spec names no container engine")
        return
    if early := list(from_runtime.read(case, _ID, want)):
        yield from early
        return
    runtime = case.host.runtime.value
    assert runtime is not None
    fact = runtime.docker if want == "docker" else runtime.podman
    if fact.value is None:
        yield from_driver.unread(_ID, want, f"the settings of {want}", fact)
        return
    driver, size = fact.value.log_driver or "journald", fact.value.log_bytes
    if runtime.docker.value and want == "docker":
        size = size * runtime.docker.value.log_files if size else _LOCAL if driver == "local" else None
    good = driver not in _FILES or (size is not None and size <= most)
    limit = "without a limit" if size is None else f"up to {size / (1 << 20):.0f} MiB"
    text = f"{limit} for a container" if driver in _FILES else "which has limits of its own"
    yield Finding(_ID, "ok" if good else "no-limit", want, "pass" if good else "fail", "configured",
                  f"{want} logs by {driver}, {text}", limit,
                  "" if good else f"at most {case.spec.runtime.log_max_mib} MiB", (fact.source,),
                  None if good else case.play("runtime", by_hand=_LIMIT[want]))
