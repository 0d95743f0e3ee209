"""runtime-cdi: containers get their GPUs by CDI; given by the nvidia runtime they lose them at a daemon-reload."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver
from . import from_runtime

CHECK = Check(
    "runtime-cdi", "GPUs come by CDI, which daemon-reload leaves alone",
    Heading.RUNTIME, 20, Family.RUNTIME, RUNTIME,
)
_ID = CHECK.id
CODES = {
    "no-engine": "No container engine is installed.",
    "cdi-off": "The engine does not read CDI specifications.",
    "nvidia-runtime": "Docker has the nvidia runtime: containers that use it lose their GPUs at a daemon-reload.",
    "no-toolkit-for-podman": "Podman is there, and the container toolkit is not.",
}
#: CDI is on without features.cdi from here on (moby#45192, 2025-05-21).
_DEFAULT = (28, 2)
_ON = Remedy.of('set "features": {"cdi": true} in /etc/docker/daemon.json; run: ', run("systemctl restart docker"))


def judge(case: Case) -> Iterator[Finding]:
    if early := [*from_runtime.read(case, _ID, "engine"), *from_runtime.engines_unlisted(case, _ID)]:
        yield early[0]
        return
    runtime, name = case.host.runtime.value, from_runtime.engine(case)
    package = case.host.packages.engine(name) if name else None
    if runtime is None or package is None or name == "podman":
        good = bool(package and case.host.packages.toolkit)
        code = OK if good else "no-toolkit-for-podman" if package else "no-engine"
        yield Finding(_ID, code, name or "engine", "pass" if good else "skip", "configured",
                      "podman gives GPUs by CDI" if package else "no container engine is installed")
        return
    if (settings := runtime.docker).value is None:
        yield from_driver.unread(_ID, name, "docker's settings", settings)
        return
    on = settings.value.cdi if settings.value.cdi is not None else from_runtime.numbers(package.version) >= _DEFAULT
    if not on:
        yield Finding(_ID, "cdi-off", name, "fail" if from_runtime.declared(case) else "warn", "configured",
                      f"docker {package.version} does not read CDI specifications", "off", "features.cdi",
                      (settings.source,), _ON)
    elif settings.value.nvidia and settings.value.cgroups != "cgroupfs" and runtime.mode.value != "cdi":
        yield Finding(_ID, "nvidia-runtime", name, "warn", "configured",
                      "the nvidia runtime is registered in daemon.json; containers "
                      "that use it (--gpus, --runtime=nvidia) lose their GPUs at the next systemctl daemon-reload",
                      "nvidia", "--device nvidia.com/gpu=all", remedy=Remedy('take "nvidia" out of "runtimes"'))
    else:
        yield Finding(_ID, "ok", name, "pass", "configured", "docker reads CDI specifications",
                      evidence=(settings.source,))
