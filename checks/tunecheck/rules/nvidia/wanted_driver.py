"""Which kernel driver the GPUs of this box are meant to have: asked by every check that would skip without one."""

from __future__ import annotations

from ...facts.pci.devices import Device
from ...model.command import addresses, run, typed
from ...model.finding import Finding, Remedy
from ..codes import NO_GPU_LISTED
from ..context import Case

__all__ = ["NVIDIA", "VFIO", "by_the_spec", "gpus", "in_nvml", "install", "needs_nvidia", "no_gpu", "release"]

NVIDIA = "nvidia"
#: What hands a GPU to a virtual machine of this host.
VFIO = "vfio-pci"
_LOOK = "where the driver is installed, the kernel log says why it did not load (`sudo journalctl -k -b -g nvrm`)"
_PCI = "/sys/bus/pci/devices"


def by_the_spec(case: Case) -> str | None:
    """Return the driver that the specification expects on its GPUs. None where it names GPUs and none of them is
    NVIDIA's, or names neither GPUs nor a driver. A box that hands its GPUs to guests wants another one: this function
    is the only place that says so."""
    spec = case.spec
    if spec.accelerators.kernel_driver == VFIO:
        return VFIO
    if spec.accelerators.pci_ids:
        named = any(ids.startswith("10de:") for ids in spec.accelerators.pci_ids)
    else:
        named = spec.driver.version is not None or spec.driver.source != "leave"
    return NVIDIA if named else None


def gpus(case: Case) -> list[Device]:
    """Return the accelerators of NVIDIA's, in address order."""
    return [device for device in case.snapshot.topology.devices if device.ids.startswith("10de:")]


def needs_nvidia(case: Case) -> bool:
    """Whether the box needs NVIDIA's driver: without it nothing can be skipped as "does not apply"."""
    return by_the_spec(case) == NVIDIA


def in_nvml(case: Case, gpu: Device) -> bool:
    """Whether NVML names the GPU: then the driver has it, though an lspci of another time shows none."""
    return case.snapshot.nvml.value is not None and case.snapshot.nvml.value.gpu(gpu.bdf) is not None


def no_gpu(case: Case, check: str) -> Finding:
    """Return the finding that NVML answers and lists no GPU."""
    needed = needs_nvidia(case)
    return Finding(check, NO_GPU_LISTED, "NVML", "fail" if needed else "skip", "effective",
                   "NVML answers and lists no GPU", "0",
                   "every GPU", (case.snapshot.nvml.source,), install(case) if needed else None)


def release(held: list[Device], driver: str, wanted: str) -> Remedy:
    """Return how to move GPUs from one driver to another."""
    bdf = held[0].bdf
    words = (f"take away what binds it to {driver} (look for {driver} and {held[0].ids} in /etc/modprobe.d and "
             "/proc/cmdline), then reboot")
    if not addresses([bdf]):
        return Remedy(words, (), True)
    writes = f"echo {bdf} > {_PCI}/{bdf}/driver/unbind && echo {wanted} > {_PCI}/{bdf}/driver_override && " \
        f"echo {bdf} > /sys/bus/pci/drivers_probe"
    return Remedy.of(f"{words}; for this boot only: ", run("sudo sh -c", writes), needs_reboot=True)


def install(case: Case) -> Remedy:
    """Return how to get the driver that is missing."""
    if by_the_spec(case) == VFIO:
        return Remedy.typed("write \"options vfio-pci ids=\" with the ids of the boards and \"softdep nvidia pre: "
                            "vfio-pci\" to a file of its own in /etc/modprobe.d, run `sudo update-initramfs -u`, "
                            "on Fedora and Rocky `sudo dracut -f`, reboot", (), True)
    if case.frozen and case.spec.driver.source != "leave":
        play = case.play("driver")
        return Remedy.of(*typed(f"{_LOOK}; else "), *play.parts, ansible_tags=play.ansible_tags)
    return Remedy.of(*typed(f"{_LOOK}; else install NVIDIA's driver, or name one in the specification "
                            "(box_spec.driver.source) and "), *case.play("driver").parts, ansible_tags=("driver",))
