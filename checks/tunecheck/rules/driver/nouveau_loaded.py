"""nouveau-loaded: no GPU of NVIDIA's is driven by nouveau, beside which NVIDIA's driver cannot work."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Fact
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading, Needs
from ..codes import NO_GPU, OK, UNREAD
from ..context import Case

CHECK = Check(
    "nouveau-loaded", "nouveau drives no GPU of NVIDIA's", Heading.DRIVER, 100, Family.DRIVER, DRIVER,
    needs=(Needs.TREE, Needs.WHOLE_TREE), judges=("pcie.driver",),
)
_ID = CHECK.id
CODES = {
    "loaded": "The driver nouveau is loaded.",
    "drives-gpu": "The driver nouveau, or nova, drives a GPU of NVIDIA's.",
}
_OUT = Remedy.typed('write "blacklist nouveau" and "options nouveau modeset=0" to /etc/modprobe.d/nouveau.conf, one '
                    "below the other, run `sudo update-initramfs -u`, on Fedora and Rocky `sudo dracut -f`, reboot", (),
                    True)


def judge(case: Case) -> Iterator[Finding]:
    gpus = [device for device in case.snapshot.topology.devices if device.ids.startswith("10de:")]
    if not gpus and "nouveau" in (case.snapshot.posted.modules.modules if case.snapshot.posted.modules else ()):
        yield Finding(_ID, "loaded", "nouveau", "fail", "effective",
                      "nouveau is loaded: what it drives, NVIDIA's driver cannot "
                      "have", "nouveau", "nvidia alone", ("lsmod",), _OUT)
        return
    bad = 0
    for gpu in gpus:
        fact = gpu.driver
        bad += (wrong := fact.value in ("nouveau", "nova_core")) or not _is_known(fact)
        if wrong:
            yield Finding(_ID, "drives-gpu", gpu.bdf, "fail", "effective", f"{fact.value} drives {gpu.bdf}",
                          str(fact.value),
                          "nvidia", (fact.source,), _OUT)
        elif not _is_known(fact):
            # driver-bound says the same of it.
            text = (f"lspci shows no \"Kernel driver in use\" for {gpu.bdf}; nouveau cannot be ruled out"
                    if fact.silent else f"the driver of {gpu.bdf} is not known: {fact.why()}")
            yield Finding(_ID, UNREAD, gpu.bdf, "unknown", "effective", text,
                          evidence=(fact.source,), absence=fact.absence)
    if not bad:
        yield Finding(_ID, OK if gpus else NO_GPU, "nouveau", "pass" if gpus else "skip", "effective",
                      "nouveau drives no GPU" if gpus else
                      "there is no GPU of NVIDIA's", evidence=tuple(gpu.driver.source for gpu in gpus[:1]))


def _is_known(fact: Fact[str]) -> bool:
    """Whether the driver is known, or that there is none."""
    return fact.known or (fact.missing and not fact.silent)
