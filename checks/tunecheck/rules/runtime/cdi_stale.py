"""cdi-stale: the CDI specification mounts the loaded driver's libraries, and what it mounts exists."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding
from ...util.text import some
from ..check import RUNTIME, Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from ..nvidia import from_driver
from . import from_runtime

CHECK = Check(
    "cdi-stale", "the CDI specification is of the loaded driver, and its files are there",
    Heading.RUNTIME, 60, Family.RUNTIME, RUNTIME, judges=("cdi.drivers", "cdi.missing"),
    compares=("driver.loaded",),
)
_ID = CHECK.id
CODES = {
    "other-driver": "A CDI specification mounts libraries of another driver than the loaded one.",
    "files-missing": "A CDI specification names files that are not there.",
}


def judge(case: Case) -> Iterator[Finding]:
    specs, loaded = from_runtime.gpu_specs(case), from_driver.loaded(case)
    if specs.value is None and specs.absence is not Absence.NOT_ASKED and not from_runtime.no_toolkit(case):
        yield from_driver.unread(_ID, "nvidia.com/gpu", "the CDI specifications", specs)
    elif not specs.value:
        code, text = from_runtime.no_specs(specs)
        yield Finding(_ID, code, "nvidia.com/gpu", "skip", "generated", text)
    for spec in specs.value or ():
        # The one that is read last defines the devices (CDI SPEC.md).
        outcome = "fail" if specs.value and spec is specs.value[-1] else "warn"
        again = from_runtime.made_again(spec.file)
        others = [version for version in spec.drivers if version != loaded.value]
        if others and loaded.value:
            yield Finding(_ID, "other-driver", spec.file, outcome, "generated",
                          f"{spec.file} mounts libraries of driver "
                          f"{', '.join(others)}, the loaded module is {loaded.value}", others[0], loaded.value,
                          (spec.file, loaded.source), again)
        elif spec.missing:
            yield Finding(_ID, "files-missing", spec.file, outcome, "generated",
                          f"{spec.file} names files that are not there: "
                          f"{some(spec.missing, 3)}", "not present", "present", (spec.file,), again)
        elif spec.unread or (spec.drivers and not loaded.known and not loaded.missing):
            yield Finding(_ID, UNREAD, spec.file, "unknown", "generated", f"whether {spec.file} fits cannot be told: "
                          + (spec.unread or loaded.why()), "", "", (spec.file,), AS_ROOT,
                          absence=loaded.absence)
        else:
            yield Finding(_ID, "ok", spec.file, "pass", "generated", f"{spec.file} fits what is there",
                          evidence=(spec.file,))
