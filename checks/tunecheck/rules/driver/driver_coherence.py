"""driver-coherence: kernel module, user libraries and packages are of one version."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from ..nvidia import from_driver
from .version_refused import refused

CHECK = Check(
    "driver-coherence", "kernel module, libraries and packages are of one version",
    Heading.DRIVER, 20, Family.DRIVER, DRIVER, judges=("driver.library.*", "driver.nvml"),
    compares=("driver.loaded",),
)
_ID = CHECK.id
CODES = {
    "not-loaded": "A driver is installed for this kernel, and it is not loaded.",
    "other-version": "A library, a package or a refused program is of another version than the loaded module.",
    "nothing-to-compare": "There is no library, package or NVML answer to compare the loaded module with.",
}
_LOAD = Remedy.typed("run: `modprobe nvidia`; if that fails, look for NVRM in the kernel log: `sudo "
                     "journalctl -k -b -g NVRM`")


def judge(case: Case) -> Iterator[Finding]:
    loaded, there = from_driver.loaded(case), next(iter(case.host.driver_parts.modules.values()), None)
    if loaded.missing and there is not None and there.value:
        yield Finding(_ID, "not-loaded", "nvidia", "fail", "effective",
                      f"driver {there.value.version} is installed for this kernel, "
                      "but not loaded", "not loaded", there.value.version, (there.source,), _LOAD)
        return
    if from_driver.loaded(case).value is None and (told := list(refused(case, set(), False))):
        yield from told
        return
    if early := list(from_driver.nothing(case, _ID, needs_version=True)):
        yield from early
        return
    agree, others, fits = [], set(), False
    for name, outcome, fact in from_driver.parts(case):
        if fact.value == loaded.value:
            agree.append(name)
            fits = fits or outcome == "fail"     # a library; a package may be another one's
        elif fact.value is None:
            yield from_driver.unread(_ID, name, f"the version of {name}", fact)
        else:
            others |= {fact.value} if outcome == "fail" else set()
            yield Finding(_ID, "other-version", name, outcome, "effective",
                          f"{name} is {fact.value}, the loaded module {loaded.value}",
                          fact.value, str(loaded.value), (fact.source, loaded.source), from_driver.AFTER_REBOOT)
    told = list(refused(case, others, fits))
    yield from told
    if agree:
        yield Finding(_ID, "ok", "nvidia", "pass", "effective", f"the loaded module is {loaded.value}, and so are: "
                      + "; ".join(agree), str(loaded.value), "", (loaded.source,))
    elif not told and not list(from_driver.parts(case)):
        yield Finding(_ID, "nothing-to-compare", "nvidia", "unknown", "effective",
                      "no library, package or NVML answer to hold against the "
                      f"loaded module {loaded.value}", "", "", (loaded.source,))
