"""secure-boot-key: under Secure Boot, the next boot's kernel trusts whoever signed the driver's module."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "secure-boot-key", "the kernel trusts whoever signed the module",
    Heading.DRIVER, 80, Family.DRIVER, DRIVER, judges=("driver.signer", "driver.keys"),
    compares=("platform.secure_boot",),
)
_ID = CHECK.id
CODES = {
    "secure-boot-off": "Secure Boot is off.",
    "no-module": "There is no module to judge.",
    "not-signed": "Secure Boot is on, and the module is not signed.",
    "not-trusted": "The kernel does not trust the key that the module is signed with.",
}
_ENROL = Remedy.of("run: ", run("mokutil --import /var/lib/dkms/mok.pub"), ", reboot, and confirm on the console; or "
                   "install modules that the distribution signs (linux-modules-nvidia-<branch>-open-generic)",
                   needs_reboot=True)


def judge(case: Case) -> Iterator[Finding]:
    secure, keys, modules = case.host.platform.secure_boot, case.host.module_keys, case.host.driver_parts.modules
    release, file = list(modules.items())[-1] if modules else ("", None)
    if not secure.value or file is None or file.value is None:
        unknown = not secure.known and not secure.missing and file is not None and file.value is not None
        off = secure.missing or secure.value is False       # not read is not off
        why = "Secure Boot is off" if off else "there is no module to judge"
        yield from_driver.unread(_ID, "module", "whether Secure Boot is on", secure) if unknown else Finding(
            _ID, "secure-boot-off" if off else "no-module", "module", "skip", "effective", why)
        return
    signer, running = file.value.signer, next(iter(modules.values())).value
    proven = case.host.driver.version.known and running is not None and running.signer == signer
    if not signer:
        yield Finding(_ID, "not-signed", release, "fail", "generated",
                      f"Secure Boot is on, and the module for kernel {release} is "
                      "not signed: it will not load", "unsigned", "signed", (file.source,), _ENROL)
    elif proven or (keys.value and keys.value.takes(signer)):
        yield Finding(_ID, "ok", release, "pass", "effective",
                      f"the module is signed by {signer}, which the kernel trusts")
    elif keys.value is None:
        yield from_driver.unread(_ID, release, "which keys the kernel trusts", keys)
    else:
        wait = "; a key waits to be confirmed on the console at the next boot" if keys.value.pending else ""
        yield Finding(_ID, "not-trusted", release, "fail", "effective",
                      f"the module for kernel {release} is signed by {signer}, "
                      f"which the kernel does not trust: it will not load{wait}", signer, "a trusted key",
                      (keys.source,), _ENROL)
