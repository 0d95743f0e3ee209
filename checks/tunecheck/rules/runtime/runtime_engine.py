"""runtime-engine: the declared container engine is installed, runs, and knows the Container Device Interface."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.nvidia.packages import ENGINES
from ...facts.runtime.runtime import OLDEST_CDI
from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..codes import NOT_DECLARED, OK
from ..context import Case
from ..nvidia import from_driver
from . import from_runtime

CHECK = Check(
    "runtime-engine", "the declared engine is there and knows CDI",
    Heading.RUNTIME, 10, Family.RUNTIME, RUNTIME, judges=("engine.*",),
)
_ID, _START = CHECK.id, Remedy.of("run: ", run("systemctl enable --now docker"))
CODES = {
    "not-installed": "The declared container engine is not installed.",
    "too-old": "The container engine is too old to know CDI devices.",
    "not-running": "The container engine's daemon does not run.",
}


def judge(case: Case) -> Iterator[Finding]:
    want, packages = case.spec.runtime.engine, case.host.packages
    if want == "leave":
        there = [f"{name} {each.version}" for name in ENGINES if (each := packages.engine(name))]
        yield Finding(_ID, NOT_DECLARED, "engine", "skip", "declared", "the spec names no container engine"
                      + (f"; installed: {', '.join(there)}" if there else ""))
        return
    if early := list(from_runtime.read(case, _ID, want)):
        yield from early
        return
    package, runtime = packages.engine(want), case.host.runtime.value
    daemon = runtime.daemon.active if runtime and want == "docker" else None
    if packages.others.value is None or (daemon is not None and not daemon.known):
        unread = daemon if daemon is not None and packages.others.known else packages.others
        yield from_driver.unread(_ID, want, f"whether {want} is there", unread)
        return
    code, problem = OK, ""
    fix = case.play("runtime", by_hand=Remedy(f"install {want} from the distribution, in that release or a "
                                                       "later one"))
    if package is None:
        code, problem = "not-installed", f"{want} is not installed"
    elif from_runtime.numbers(package.version) < OLDEST_CDI[want]:
        code = "too-old"
        problem = f"{package.name} {package.version} does not know CDI devices ({want} %s.%s)" % OLDEST_CDI[want]
    elif daemon is not None and not daemon.value:
        code, problem, fix = "not-running", f"docker {package.version} does not run", _START
    text = problem or f"{package.name if package else ''} {package.version if package else ''} is there"
    yield Finding(_ID, code, want, "fail" if problem else "pass", "effective", text, "", want if problem else "",
                  (packages.others.source,), fix if problem else None)
