"""The key of a measured pass: everything on which the measurement depends. It is read from files alone, so that a dead
driver cannot hang the start of a service."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ..facts.file_text import text
from ..facts.measured_pass import Key
from ..facts.pci.devices import Device
from ..facts.pci.iommu import modes
from ..facts.pci.topology import Topology, topology
from ..host import Host, Unreadable
from ..model.fact import Absence, Fact, absent, absent_as, known
from ..util.text import some
from .reason import Closed, Reason
from .state import State

__all__ = ["differences", "key", "library"]

_STAT_SECONDS = 5.0
_UUID = re.compile(r" GPU-[0-9a-f-]{8,}$")
_SHOWN = 4


def key(host: Host, wanted: tuple[str, ...], state: State, nccl: str = "", nccl_file: str = "", image: str = "") -> Key:
    """Return the key as the box is now. ``wanted``: the specification's PCI ids; the last three belong to the
    measurement."""
    tree = topology(host, wanted)
    return Key(_boards(state.gpus), state.driver, text(host, "/proc/sys/kernel/osrelease"), state.cmdline, _links(tree),
               _acs(tree), _iommu(host, tree), nccl, nccl_file, image)


def _boards(gpus: Fact[tuple[str, ...]]) -> Fact[tuple[str, ...]]:
    """Return the GPUs, absent where one has no UUID: without it another board at the same address would be the same.
    The driver shows question marks in it until the GPU was used once."""
    nameless = next((each for each in gpus.value or () if not _UUID.search(each)), None)
    return gpus if nameless is None else absent(
        gpus.source, Absence.INCOMPLETE.because(f"{nameless.split()[0]} has no UUID there"))


def library(host: Host, path: str) -> Fact[str]:
    """Return "<path> <bytes> <time>" of a library: another one at the same path shows by size or time."""
    argv = ("stat", "-L", "-c", "%s %Y", "--", path)
    try:
        done = host.run(argv, _STAT_SECONDS)
    except Unreadable as error:
        return absent(path, error.reason)
    if done.returncode != 0:
        return absent(path, Absence.NOT_PRESENT)
    return known(f"{path} {done.stdout.strip()}", path)


def _links(tree: Topology) -> Fact[tuple[str, ...]]:
    incomplete = _incomplete(tree)
    if incomplete is not None:
        return incomplete
    return known(tuple(sorted({f"{link.name} {link.text}" for device in tree.devices
                               for link in tree.links_above(device)})), "/sys/bus/pci/devices")


def _acs(tree: Topology) -> Fact[tuple[str, ...]]:
    incomplete = _incomplete(tree)
    if incomplete is not None:
        return incomplete
    dark = next((port.acs for port in tree.bridges.values() if not port.acs.known), None)
    if dark is not None:
        return absent_as(dark)
    return known(tuple(_register(port) for port in tree.bridges.values()), "/sys/bus/pci/devices")


def _register(port: Device) -> str:
    return f"{port.bdf} 0x{port.acs.value.ctl:04x}" if port.acs.value is not None else f"{port.bdf} none"


def _iommu(host: Host, tree: Topology) -> Fact[tuple[str, ...]]:
    incomplete = _incomplete(tree)
    if incomplete is not None:
        return incomplete
    found = modes(host, tree.devices)
    dark = next((mode for mode in found.values() if mode.value is None), None)
    if dark is not None:
        return absent_as(dark)
    return known(tuple(f"{bdf} {mode.value}" for bdf, mode in found.items()), "/sys/kernel/iommu_groups")


def _incomplete(tree: Topology) -> Fact[tuple[str, ...]] | None:
    """Return why the tree does not show every way, None where it does. If it does not, nothing read from it is the
    whole truth."""
    found = tree.accelerators
    if found.value is None:
        return absent_as(found)
    dark = next((device.chain for device in found.value if device.chain.value is None), None)
    if dark is not None:
        return absent_as(dark)
    return absent(found.source, Absence.INCOMPLETE.because(tree.doubt)) if tree.doubt else None


def differences(then: Key, now: Key) -> list[Reason]:
    """Return everything that a measurement depends on and that has changed. What cannot be read now,
    or could not be read then, counts as different."""
    parts: tuple[tuple[str, str, Fact[tuple[str, ...]] | Fact[str], Fact[tuple[str, ...]] | Fact[str]], ...] = (
        ("gpus", "the GPUs", then.gpus, now.gpus), ("driver", "the driver", then.driver, now.driver),
        ("kernel", "the kernel", then.kernel, now.kernel),
        ("cmdline", "the kernel command line", then.cmdline, now.cmdline),
        ("links", "the PCIe links of the GPUs", then.links, now.links),
        ("acs", "ACS above the GPUs", then.acs, now.acs),
        ("iommu", "the IOMMU mode of the GPUs", then.iommu, now.iommu))
    found = []
    for part, name, before, after in parts:
        if after.value is None:
            found.append(Reason(Closed.UNREAD, f"{name} cannot be read ({after.why()})", part))
        elif before.value is None:
            text = f"{name} could not be read when it was measured ({before.why()})"
            found.append(Reason(Closed.UNREAD_THEN, text, part))
        elif before.value != after.value:
            text = _changed(name, _items(before.value), _items(after.value))
            found.append(Reason(Closed.CHANGED, text, part))
    if then.nccl_file != now.nccl_file:
        text = f"NCCL changed: {then.nccl_file or 'none'} then, {now.nccl_file or 'none'} now"
        found.append(Reason(Closed.CHANGED, text, "nccl_file"))
    if then.image != now.image:
        text = f"the image changed: {then.image[:19] or 'none'} then, {now.image[:19] or 'none'} now"
        found.append(Reason(Closed.CHANGED, text, "image"))
    return found


def _items(value: str | tuple[str, ...]) -> Sequence[str]:
    """Return the words of a command line, or the entries of a list."""
    return value.split() if isinstance(value, str) else value


def _changed(name: str, before: Sequence[str], after: Sequence[str]) -> str:
    gone, new = _less(before, after), _less(after, before)
    if not gone and not new:
        return f"{name} changed: its order is another"
    return f"{name} changed: {_listed(gone)} then, {_listed(new)} now"


def _less(some: Sequence[str], others: Collection[str]) -> list[str]:
    return [each for each in some if each not in others]


def _listed(items: Sequence[str]) -> str:
    return some(items, _SHOWN) if items else "nothing"
