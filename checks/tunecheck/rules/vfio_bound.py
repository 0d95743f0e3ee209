"""vfio-bound: vfio-pci has every accelerator that is declared for virtual machines, and no other."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy

_ID = "vfio-bound"
_VFIO = "vfio-pci"
_BIND = Remedy("write `options vfio-pci ids=` with the ids of the boards and `softdep nvidia pre: vfio-pci` to "
               "/etc/modprobe.d, renew the initramfs, reboot")
_STATE = Remedy("state box_spec.accelerators.kernel_driver: vfio-pci (profile passthrough-host) where that is meant")


def judge(case: Case) -> Iterator[Finding]:
    devices = case.snapshot.topology.devices
    held = [device.bdf for device in devices if device.driver.value == _VFIO]
    loose = [f"{device.bdf} ({device.driver.value or 'no driver'})" for device in devices
             if device.driver.value != _VFIO and (device.driver.known or device.driver.missing)]
    unread = [device for device in devices if not (device.driver.known or device.driver.missing)]
    if case.spec.accelerators.kernel_driver == _VFIO and loose:
        yield Finding(_ID, ", ".join(loose), "fail", "effective", f"not bound to vfio-pci: {', '.join(loose)}",
                      ", ".join(loose), _VFIO, ("/sys/bus/pci/devices",), _BIND)
    elif unread:
        yield Finding(_ID, unread[0].bdf, "unknown", "effective", f"the driver of {unread[0].bdf} is not known: "
                      f"{unread[0].driver.why()}")
    elif case.spec.accelerators.kernel_driver == _VFIO:
        yield Finding(_ID, "accelerators", "pass" if held else "skip", "effective", f"vfio-pci has {len(held)} of "
                      f"{len(devices)} accelerators")
    elif held:
        yield Finding(_ID, ", ".join(held), "warn" if case.frozen else "skip", "effective", "vfio-pci has "
                      f"{', '.join(held)}: in use by a virtual machine or kept for one, so nothing that NVIDIA's "
                      "driver tells is proven", _VFIO, "nvidia", ("/sys/bus/pci/devices",), _STATE)
    else:
        yield Finding(_ID, "accelerators", "skip", "effective", "no accelerator is declared for virtual machines")
