"""runtime-engine: the declared container engine is installed, runs, and knows the Container Device Interface."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.packages import ENGINES
from ..facts.runtime import OLDEST_CDI
from . import from_driver, from_runtime
from .finding import Case, Finding, Remedy

_ID = "runtime-engine"


def judge(case: Case) -> Iterator[Finding]:
    want, found = case.spec.runtime.engine, case.host.packages
    if want == "leave":
        there = [f"{name} {each.version}" for name in ENGINES if (each := found.engine(name))]
        yield Finding(_ID, "engine", "skip", "declared", "the spec names no container engine"
                      + (f"; installed: {', '.join(there)}" if there else ""))
        return
    if early := list(from_runtime.read(case, _ID, want)):
        yield from early
        return
    package, runtime, install = found.engine(want), case.host.runtime.value, case.play("runtime")
    daemon = runtime.daemon.active if runtime and want == "docker" else None
    if found.others.value is None:
        yield from_driver.unread(_ID, want, f"whether {want} is installed", found.others)
    elif package is None:
        yield Finding(_ID, want, "fail", "effective", f"{want} is not installed", "", want, (found.others.source,),
                      install)
    elif from_runtime.numbers(package.version) < OLDEST_CDI[want]:
        oldest = ".".join(map(str, OLDEST_CDI[want]))
        yield Finding(_ID, want, "fail", "effective", f"{package.name} {package.version} does not know CDI devices",
                      package.version, f"{oldest} or later", (found.others.source,), install)
    elif daemon is not None and daemon.value is None:
        yield from_driver.unread(_ID, want, "whether docker runs", daemon)
    elif daemon is not None and not daemon.value:
        yield Finding(_ID, want, "fail", "effective", f"docker {package.version} is installed and does not run",
                      "inactive", "active", (daemon.source,), Remedy("run: systemctl enable --now docker"))
    else:
        yield Finding(_ID, want, "pass", "effective", f"{package.name} {package.version} is there",
                      package.version, want)
