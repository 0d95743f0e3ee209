"""runtime-engine: the declared container engine is installed, runs, and knows the Container Device Interface."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.packages import ENGINES
from ...facts.runtime.runtime import OLDEST_CDI
from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..context import Case
from ..driver import from_driver
from . import from_runtime

CHECK = Check(
    "runtime-engine", "the declared engine is there and knows CDI",
    Heading.RUNTIME, 10, Family.RUNTIME, RUNTIME, judges=("engine.*",),
)
_ID, _START = CHECK.id, Remedy.of("run: ", run("systemctl enable --now docker"))


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
    package, runtime = found.engine(want), case.host.runtime.value
    daemon = runtime.daemon.active if runtime and want == "docker" else None
    if found.others.value is None or (daemon is not None and not daemon.known):
        unread = daemon if daemon is not None and found.others.known else found.others
        yield from_driver.unread(_ID, want, f"whether {want} is there", unread)
        return
    problem, fix = "", case.play("runtime", by_hand=Remedy("install it from the distribution, in that release or a "
                                                           "later one"))
    if package is None:
        problem = f"{want} is not installed"
    elif from_runtime.numbers(package.version) < OLDEST_CDI[want]:
        problem = f"{package.name} {package.version} does not know CDI devices ({want} %s.%s)" % OLDEST_CDI[want]
    elif daemon is not None and not daemon.value:
        problem, fix = f"docker {package.version} does not run", _START
    text = problem or f"{package.name if package else ''} {package.version if package else ''} is there"
    yield Finding(_ID, want, "fail" if problem else "pass", "effective", text, "", want if problem else "",
                  (found.others.source,), fix if problem else None)
