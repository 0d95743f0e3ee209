"""cdi-refresh: something writes the CDI specification anew when the driver changes."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..context import Case
from ..nvidia import from_driver
from . import from_runtime

CHECK = Check(
    "cdi-refresh", "a new driver gets a new specification by itself",
    Heading.RUNTIME, 70, Family.RUNTIME, RUNTIME, judges=("cdi.refresh",),
)
_ID = CHECK.id
CODES = {
    "not-refreshed": "Nothing writes the CDI specification anew when the driver changes.",
}
_ON = Remedy.of("run: ", run("systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service"),
                ", with toolkit 1.18 and later")


def judge(case: Case) -> Iterator[Finding]:
    specs, runtime = from_runtime.gpu_specs(case), case.host.runtime.value
    if runtime is None or not (specs.value or (specs.value is None and not from_runtime.no_toolkit(case))):
        code, text = from_runtime.no_specs(specs)
        yield Finding(_ID, code, "nvidia.com/gpu", "skip", "configured", text)
        return
    units = runtime.refresh
    if units.value is None:
        yield from_driver.unread(_ID, "nvidia.com/gpu", "which units start at boot", units)
    elif units.value:
        yield Finding(_ID, "ok", "nvidia.com/gpu", "pass", "configured", f"{', '.join(units.value)}: on",
                      evidence=(units.source,))
    else:
        volatile = any(spec.file.startswith(("/var/run/", "/run/")) for spec in specs.value or ())
        yield Finding(_ID, "not-refreshed", "nvidia.com/gpu", "warn", "configured",
                      "nothing renews the CDI specification after a driver update"
                      + ("; this one is gone after a reboot" if volatile else ""), "off", "on",
                      (units.source,), _ON)
