"""driver-bound: every GPU of NVIDIA's has a driver; without one, nothing that the driver tells is proven."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy

_ID = "driver-bound"
_NONE = Remedy("install NVIDIA's driver, or name one in the specification (driver.source) and run the play; where it "
               "is installed, the kernel's log says why it did not load (dmesg | grep -i nvrm)")


def judge(case: Case) -> Iterator[Finding]:
    if case.spec.accelerators.kernel_driver == "vfio-pci":
        yield Finding(_ID, "GPUs", "skip", "effective", "the spec hands the accelerators to virtual machines: "
                      "see vfio-bound")
        return
    gpus = [device for device in case.snapshot.topology.accelerators.value or () if device.ids.startswith("10de:")]
    bare = [device.bdf for device in gpus if device.driver.missing]
    unread = [device for device in gpus if not (device.driver.known or device.driver.missing)]
    if bare:
        yield Finding(_ID, ", ".join(bare), "warn", "effective", f"no driver has {', '.join(bare)}", "no driver",
                      "nvidia", ("/sys/bus/pci/devices",), _NONE)
    elif unread:
        yield Finding(_ID, unread[0].bdf, "unknown", "effective",
                      f"the driver of {unread[0].bdf} is not known: {unread[0].driver.why()}")
    else:
        names = ", ".join(sorted({str(device.driver.value) for device in gpus}))
        yield Finding(_ID, "GPUs", "pass" if gpus else "skip", "effective",
                      f"every GPU has a driver: {names}" if gpus else "there is no GPU of NVIDIA's")
