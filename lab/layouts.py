"""PCIe trees for the lab box, as QEMU arguments.

Every slot and bus number is fixed, so that every boot gives the same addresses. The endpoints are two
`bochs-display` functions (1234:1111): plain PCIe endpoints that no driver claims, standing in for GPUs.
Ports are `pcie-root-port` even below the switch: it has a real ACS capability, QEMU's xio3130-downstream has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

ENDPOINT = "bochs-display"
IOMMUS = ("intel", "amd", "none")
#: A hardware watchdog on the root bus, beside every layout.
WATCHDOG = ["-device", "i6300esb,bus=pcie.0,addr=1d.0", "-action", "watchdog=reset"]


@dataclass(frozen=True)
class Layout:
    """A PCIe tree: what it is for, the endpoints it gives, the ports on the way between them."""

    summary: str
    endpoints: tuple[str, ...]
    ports: tuple[str, ...]
    devices: Callable[[int], list[str]]


def _port(ident: str, bus: str, number: int, addr: str) -> list[str]:
    return ["-device", f"pcie-root-port,id={ident},bus={bus},chassis={number},slot={number},addr={addr}"]


def _endpoint(ident: str, bus: str) -> list[str]:
    return ["-device", f"{ENDPOINT},id={ident},bus={bus}"]


def _switch(_memory: int) -> list[str]:
    return [
        *_port("rp0", "pcie.0", 1, "04.0"),
        "-device", "x3130-upstream,id=up0,bus=rp0",
        *_port("dn0", "up0", 10, "00.0"),
        *_port("dn1", "up0", 11, "01.0"),
        *_endpoint("gpu0", "dn0"),
        *_endpoint("gpu1", "dn1"),
    ]  # fmt: skip


def _direct(_memory: int) -> list[str]:
    return [
        *_port("rp0", "pcie.0", 1, "04.0"),
        *_port("rp1", "pcie.0", 2, "05.0"),
        *_endpoint("gpu0", "rp0"),
        *_endpoint("gpu1", "rp1"),
    ]


def _numa(memory: int) -> list[str]:
    args = []
    for node in (0, 1):
        args += ["-object", f"memory-backend-ram,id=m{node},size={memory // 2}M"]
        args += ["-numa", f"node,nodeid={node},memdev=m{node},cpus={node}"]
    for node, bus in ((0, 64), (1, 128)):
        args += ["-device", f"pxb-pcie,id=pxb{node},bus=pcie.0,bus_nr={bus},numa_node={node},addr=0{node + 4}.0"]
        args += _port(f"rp{node}", f"pxb{node}", 1 + 10 * node, "00.0")
        args += _endpoint(f"gpu{node}", f"rp{node}")
    return args


LAYOUTS: dict[str, Layout] = {
    "switch": Layout(
        "two endpoints behind one PCIe switch (PIX)",
        ("0000:03:00.0", "0000:04:00.0"),
        ("0000:02:00.0", "0000:02:01.0"),
        _switch,
    ),
    "direct": Layout(
        "each endpoint behind a root port of its own (PHB)",
        ("0000:01:00.0", "0000:02:00.0"),
        ("0000:00:04.0", "0000:00:05.0"),
        _direct,
    ),
    "numa": Layout(
        "each endpoint behind a host bridge and NUMA node of its own (SYS)",
        ("0000:41:00.0", "0000:81:00.0"),
        ("0000:40:00.0", "0000:80:00.0"),
        _numa,
    ),
}


def machine_type(iommu: str, kvm: bool) -> str:
    """Return QEMU's -M value: under KVM an emulated IOMMU needs the split interrupt controller."""
    return "q35,kernel-irqchip=split" if kvm and iommu != "none" else "q35"


def arguments(layout: str, iommu: str, memory: int) -> list[str]:
    """Return the QEMU arguments of `layout` with `iommu`; `memory` in MiB is split over NUMA nodes."""
    # The IOMMU must come first: QEMU applies it to devices created after it.
    unit = [] if iommu == "none" else ["-device", f"{iommu}-iommu"]
    return [*unit, *LAYOUTS[layout].devices(memory)]
