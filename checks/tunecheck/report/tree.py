"""The PCIe tree above the accelerators, and the matrix of their relations."""

from __future__ import annotations

from collections.abc import Mapping

from ..facts.pci.devices import Device, bdf_key
from ..facts.pci.topology import Topology
from ..facts.snapshot import Snapshot
from ..model.absence import Absence
from ..parsers.pci.pcie_cap import generation
from ..rules.other_makers import ONLY_NVIDIA, others_text

__all__ = ["DRAWN", "acs_text", "besides", "grown", "idle", "in_place_of_tree", "link_text", "matrix_lines",
           "none_found", "square", "tree_lines"]

DRAWN = {True: ("├─ ", "└─ ", "│  "), False: ("|- ", "`- ", "|  ")}
_IDLE = ("now / at most: Gen1 is normal for an idle GPU, no fault here; link-speed judges its link at work, and the "
         "links above always")


def tree_lines(topology: Topology, unicode: bool, made_up: bool = False) -> list[str]:
    """Return one line per device, from each host bridge down to the accelerators. ``made_up``: the ports are those of a
    hypervisor, whose ACS turns no traffic."""
    if not topology.devices:
        found = topology.accelerators
        return [none_found(topology) if found.known else f"PCI devices not known: {found.why()}"]
    shown, children, roots = grown(topology)
    numbers = {device.bdf: index for index, device in enumerate(topology.devices)}
    lines = [line for root in roots
             for line in (root, *_below(root, "", children, shown, numbers, topology.names, DRAWN[unicode], made_up))]
    return [*lines, *([_IDLE] if any(idle(device) for device in shown.values()) else []), *besides(topology)]


def none_found(topology: Topology) -> str:
    """Return that no accelerator was found, and which ones of other makers were; or that it is not known, where the
    tree may be larger than what is here."""
    if beside := others_text(topology):
        return f"no NVIDIA GPU found, but {beside}; {ONLY_NVIDIA}"
    if topology.doubt:
        return f"no accelerator in what is here; whether there is one is not known: {topology.doubt}"
    return "no accelerator found"


def besides(topology: Topology) -> list[str]:
    """Return the line below a tree of NVIDIA's GPUs about boards of other makers."""
    beside = others_text(topology, known_boards=True)
    return [f"not judged: {beside}; {ONLY_NVIDIA}"] if beside else []


def grown(topology: Topology) -> tuple[dict[str, Device], dict[str, list[str]], list[str]]:
    """Return every device of the tree by its address, the addresses below each, and the host bridges on top."""
    shown = {**topology.bridges, **{device.bdf: device for device in topology.devices}}
    children: dict[str, list[str]] = {}
    for device in shown.values():
        root = device.chain.value.bridge if device.chain.value else "place unknown"
        parent = device.path[-2] if len(device.path) > 1 else root
        children.setdefault(parent, []).append(device.bdf)
    return shown, children, sorted(name for name in children if name not in shown)


def _below(parent: str, indent: str, children: dict[str, list[str]], shown: dict[str, Device],
           numbers: dict[str, int], names: tuple[str, ...], drawn: tuple[str, str, str],
           made_up: bool) -> list[str]:
    branch, last, through = drawn
    below = sorted(children.get(parent, ()), key=bdf_key)
    lines = []
    for bdf in below:
        end = bdf == below[-1]
        device = shown[bdf]
        if bdf in numbers:
            text = f"GPU{numbers[bdf]} {bdf} {names[numbers[bdf]]}{link_text(device)}"
        else:
            text = f"{bdf} {device.ids}{link_text(device)} {acs_text(device, made_up)}"
        lines.append(f"{indent}{last if end else branch}{text}")
        # A device that is its own parent in a damaged recording must not loop; paths have no repeats.
        if bdf != parent and len(indent) < 120:
            lines += _below(bdf, indent + ("   " if end else through), children, shown, numbers, names, drawn,
                            made_up)
    return lines


def link_text(device: Device, slow: str = "Gen{} now, Gen{} at most") -> str:
    """Return the link of a device as text: " x16 Gen5", " x8 of x16 Gen1 now, Gen5 at most". Idle links slow down and
    keep their lanes; ``slow`` is the form of a link that is slower than it can be."""
    link = device.link
    if link.width.value is None:
        return ""
    if link.width.value == 0:
        return " no link"
    most = f" of x{link.max_width.value}" if link.max_width.value and link.max_width.value != link.width.value else ""
    now, top = (generation(speed.value) if speed.value else None for speed in (link.speed, link.max_speed))
    shown = slow.format(now, top) if idle(device) else f"Gen{now or '?'}"
    return f" x{link.width.value}{most} {shown}"


def idle(device: Device) -> bool:
    """Whether the device's link runs slower than it can."""
    now, top = (generation(speed.value) if speed.value else None for speed in (device.link.speed,
                                                                               device.link.max_speed))
    return bool(device.link.width.value and now and top and now < top)


def acs_text(device: Device, made_up: bool = False) -> str:
    """Return the ACS state of a device as text: "ACS 0x001d redirects", "no ACS"; "virtual port" of one
    that a hypervisor ``made_up``, as it turns no traffic."""
    if made_up:
        return "virtual port"
    if device.acs.absence is Absence.NOT_IN_IMPORT:
        return "ACS ?"      # of every port alike: the line of what to add says why, once
    if not device.acs.known:
        return f"ACS ? ({(device.acs.reason or '').partition(' (')[0]})"
    if device.acs.value is None:
        return "no ACS"
    return f"ACS 0x{device.acs.value.ctl:04x}{' redirects' if device.acs.value.redirects else ''}"


def in_place_of_tree(snapshot: Snapshot) -> bool:
    """Whether the driver's table tells relations of which the PCI tree tells none."""
    return snapshot.posted.table.value is not None and not any(
        pair.relation.known for pair in snapshot.topology.pairs)


def matrix_lines(topology: Topology, width: int) -> list[str]:
    """Return the relations as nvidia-smi prints them, or pair by pair where ``width`` (0: any) is too narrow."""
    count = len(topology.devices)
    return square(count, {(pair.a, pair.b): pair.relation.value or "?" for pair in topology.pairs}, width) \
        if count > 1 else []


def square(count: int, words: Mapping[tuple[int, int], str], width: int) -> list[str]:
    """Return a table of GPU numbers as lines. Where ``words`` has a pair in one order only, the other order is the
    same."""
    labels = [f"GPU{index}" for index in range(count)]
    cell = max((len(label) for label in labels), default=4) + 2
    if width and (count + 1) * cell > width:
        return [f"GPU{a}-GPU{b} {word or '?'}" for (a, b), word in words.items()]
    rows = ["".join(text.ljust(cell) for text in ("", *labels)).rstrip()]
    for row in range(count):
        cells = ["X" if row == column else words.get((row, column), words.get((column, row), "")) or "?"
                 for column in range(count)]
        rows.append("".join(text.ljust(cell) for text in (labels[row], *cells)).rstrip())
    return rows
