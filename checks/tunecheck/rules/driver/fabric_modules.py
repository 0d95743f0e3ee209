"""fabric-modules: what the fabric manager of Blackwell's NVSwitches needs of the kernel is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "fabric-modules", "what Blackwell's fabric manager needs of the kernel is there",
    Heading.DRIVER, 170, Family.DRIVER, DRIVER,
)
_ID = CHECK.id
CODES = {
    "not-needed": "No board here needs them.",
    "in-a-guest": "In a virtual machine the switches are its host's, or another machine's.",
    "joined": "Every GPU has joined the fabric.",
    "not-loaded": "A kernel module that Fabric Manager needs on these boards is not loaded.",
}
#: B200 and B300: their switches are reached by InfiniBand's management datagrams.
BOARDS = ("10de:2901", "10de:3182")
_NAMES = ("NVIDIA B200", "NVIDIA B300")


def _boards(case: Case) -> list[str]:
    """Return the boards that need the modules: by the PCI tree, and without it by what nvidia-smi says they are."""
    topology, nvml = case.snapshot.topology, case.snapshot.nvml.value
    if topology.accelerators.value is not None or nvml is None:
        return [device.bdf for device in topology.devices if device.ids in BOARDS]
    return [gpu.bdf for gpu in nvml.gpus
            if gpu.values.get("ids") in BOARDS or str(gpu.values.get("name")).startswith(_NAMES)]


def judge(case: Case) -> Iterator[Finding]:
    boards = _boards(case)
    loaded, states = case.host.hgx.loaded, from_driver.fabric(case)
    bare = [name for name, fact in loaded.items() if fact.value is False]
    unread = next((fact for fact in loaded.values() if not fact.known), None)
    if len(boards) < 2 or case.guest:
        yield Finding(_ID, "not-needed" if len(boards) < 2 else "in-a-guest", "modules", "skip", "effective",
                      "no board here needs them" if len(boards) < 2 else
                      "this is a virtual machine: the switches are its host's, or another machine's")
    elif set(states.values()) == {"completed"} and len(states) == len(boards):
        yield Finding(_ID, "joined", "modules", "pass", "behaviour", f"all {len(states)} GPUs have joined the fabric")
    elif bare:
        yield Finding(_ID, "not-loaded", ", ".join(bare), "fail" if states else "warn", "effective", "not loaded: "
                      f"{', '.join(bare)}; nvidia-fabricmanager does not start without them on boards like these",
                      ", ".join(bare), "loaded", tuple(fact.source for fact in loaded.values()),
                      Remedy.of("run: ", run("modprobe -a", *bare), "; keep them in /etc/modules-load.d; then: ",
                                run("systemctl restart nvidia-fabricmanager")))
    elif unread is not None or not loaded:
        why = unread.why() if unread else "/sys/module: not recorded"
        yield Finding(_ID, UNREAD, "modules", "unknown", "effective", f"whether they are loaded is unknown: {why}")
    else:
        yield Finding(_ID, "ok", "modules", "pass", "effective", f"loaded: {', '.join(loaded)}")
