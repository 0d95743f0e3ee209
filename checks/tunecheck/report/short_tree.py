"""The PCIe tree in few lines: what is the same at several GPUs stands once, what is not has a line of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..facts.pci.devices import Device, bdf_key
from ..facts.pci.topology import Topology
from .tree import DRAWN, acs_text, besides, grown, idle, link_text, none_found

__all__ = ["numbers_text", "short_tree_lines"]

#: So many addresses are named; of more, the first and the last.
_NAMED = 2
#: Of a chain of ports without a branch, so many are named.
_CHAIN = 3

_IDLE = "Gen1 is normal for an idle GPU, no fault here; link-speed judges its link at work, and the links above always"


def short_tree_lines(topology: Topology, unicode: bool, made_up: bool = False) -> list[str]:
    """Return one line for GPUs that have the same model, link and kind of way up, and one for each branch between.
    Ports on the way are counted; those that redirect, whose ACS cannot be read, or whose link is another than the GPU's
    are named. ``made_up``: the ports are those of a hypervisor, whose ACS turns no traffic."""
    if not topology.devices:
        found = topology.accelerators
        return [none_found(topology) if found.known else f"PCI devices not known: {found.why()}"]
    tree = _Tree(topology, unicode, made_up)
    models = set(topology.names)
    top = [f"{len(topology.devices)} x {topology.names[0]}"] if len(models) == 1 else []
    lines = list(tree.draw(tree.roots, "", (), len(models) > 1, top=True))
    return [*top, *lines, *([_IDLE] if any(idle(device) for device in tree.shown.values()) else []),
            *besides(topology)]


class _Tree:
    def __init__(self, topology: Topology, unicode: bool, made_up: bool) -> None:
        self.made_up = made_up
        self.shown, self.children, self.roots = grown(topology)
        self.names = {device.bdf: name for device, name in zip(topology.devices, topology.names, strict=True)}
        self.numbers = {device.bdf: index for index, device in enumerate(topology.devices)}
        self.drawn = DRAWN[unicode]
        self.shapes = self._shapes()

    def _below(self, node: str) -> list[str]:
        return sorted(self.children.get(node, ()), key=bdf_key)

    def _shapes(self) -> dict[str, int]:
        """Return a number for each subtree, the same where all but addresses is the same. It does not use recursion: a
        recording may be thousands of ports deep. A device above itself, as in a damaged recording, has nothing
        below."""
        shapes: dict[str, int] = {}
        known: dict[tuple[tuple[str, ...], tuple[int, ...]], int] = {}
        seen, left = set(self.roots), [(root, False) for root in self.roots]
        while left:
            node, below_done = left.pop()
            if not below_done:
                below = [child for child in self._below(node) if child not in seen]
                seen.update(below)
                left += [(node, True), *((child, False) for child in below)]
                continue
            numbers = sorted(shapes[child] for child in self._below(node) if child in shapes)
            shapes[node] = known.setdefault((self._lines_of(node), tuple(numbers)), len(known))
        return shapes

    def _lines_of(self, node: str) -> tuple[str, ...]:
        device = self.shown.get(node)
        if device is None:
            return ()
        return (self.names.get(node, device.ids), link_text(device), "" if node in self.numbers else
                acs_text(device, self.made_up))

    def _chain(self, node: str) -> tuple[list[str], list[str]]:
        """Return the ports from ``node`` down to the first branch or GPU, and what is below it."""
        chain = [node]
        while len(below := self._below(chain[-1])) == 1 and below[0] not in chain and chain[-1] not in self.numbers:
            chain.append(below[0])
        return chain, [child for child in self._below(chain[-1]) if child not in chain]

    def draw(self, nodes: Sequence[str], indent: str, above: tuple[str, ...], named: bool,
             top: bool = False) -> Iterator[str]:
        """Yield the lines of the subtrees at ``nodes``. Those with one GPU each are one line where their shape is the
        same."""
        groups: dict[int | str, list[str]] = {}
        for node in nodes:
            single = not self._chain(node)[1]
            groups.setdefault(self.shapes[node] if single else node, []).append(node)
        for index, group in enumerate(groups.values()):
            branch, last, through = self.drawn
            ends = index == len(groups) - 1
            start = "" if top else indent + (last if ends else branch)
            chain, below = self._chain(group[0])
            if not below:
                yield start + self._gpus([self._chain(node)[0] for node in group], named)
            elif group[0] not in above and len(indent) < 60:
                yield start + self._way(chain)
                yield from self.draw(below, indent if top else indent + ("   " if ends else through),
                                     (*above, *chain), named)

    def _gpus(self, chains: list[list[str]], named: bool) -> str:
        """Return the line of GPUs of one shape: ``GPU0-GPU3 0000:03:00.0 to 0000:06:00.0: x16 Gen5, 2 ports above``."""
        ends = [chain[-1] for chain in chains]
        first = self.shown.get(ends[0])
        if first is None:
            return ends[0]      # a host bridge with nothing below
        many = f"{len(ends)} x " if len(ends) > 1 else ""
        model = f"{many}{self.names[ends[0]]}" if named and ends[0] in self.names else ""
        places = ", ".join(ends) if len(ends) <= _NAMED else f"{ends[0]} to {ends[-1]}"
        ports = [port for port in chains[0][:-1] if port in self.shown]
        roots = [chain[0] for chain in chains if chain[0] not in self.shown]
        above = f"{len(ports)} port{'s' * (len(ports) > 1)} above" if ports else ""
        remarks = "; ".join(self._port_remarks(ports, _link(first), len(ends) == 1))
        one = roots[0] if len(roots) == 1 else f"{len(roots)} host bridges, {roots[0]} to {roots[-1]}" if roots else ""
        parts = [model, _link(first), f"{above}: {remarks}" if remarks else above, f"below {one}" if one else ""]
        return f"{self._label(ends)} {places}: {', '.join(part for part in parts if part)}"

    def _label(self, ends: list[str]) -> str:
        numbers = [self.numbers[end] for end in ends if end in self.numbers]
        return numbers_text(numbers) if len(numbers) == len(ends) else ends[0]

    def _port_remarks(self, ports: list[str], link: str, addresses: bool) -> Iterator[str]:
        """Yield what is odd about ports on the way: of one GPU by their address, of several by their number."""
        seen: dict[str, list[str]] = {}
        for port in ports:
            if text := self._remark(port, link):
                seen.setdefault(text, []).append(port)
        for text, which in seen.items():
            many = "" if len(which) == len(ports) == 1 else "all " if len(which) == len(ports) else f"{len(which)} "
            yield f"{', '.join(which)} {text}" if addresses else f"{many}{text}"

    def _remark(self, port: str, link: str) -> str:
        return _port_remark(self.shown[port], link, not self.made_up)

    def _way(self, chain: list[str]) -> str:
        """Return a chain as text: ``pci0000:00 > 0000:00:01.1 (ACS 0x001d redirects) > 0000:01:00.0 x16 Gen5``, with
        the link of the last one. Of a long chain the first and the last ports are named, and those that are odd."""
        ports = [port for port in chain if port in self.shown]
        link = _link(self.shown[ports[-1]]) if ports else ""
        remarks = {port: self._remark(port, link) for port in ports}
        parts, hidden = [], 0
        for index, node in enumerate(chain):
            if len(chain) <= _CHAIN or index < _CHAIN - 1 or index == len(chain) - 1 or remarks.get(node):
                parts += [f"{hidden} more"] if hidden else []
                parts.append(f"{node} ({remarks[node]})" if remarks.get(node) else node)
                hidden = 0
            else:
                hidden += 1
        return f"{' > '.join(parts)}{f' {link}' if link else ''}"


def _link(device: Device) -> str:
    """Return the link of a device as text: "x16 Gen5", "x8 of x16 Gen1 of Gen5"."""
    return link_text(device, "Gen{} of Gen{}").strip()


def _port_remark(device: Device, link: str, real: bool) -> str:
    """Return what is odd about a port: a link other than the GPU's, and ACS that stops or turns traffic between GPUs.
    "" for nothing."""
    acs = device.acs
    loud = real and (not acs.known or (acs.value is not None and acs.value.redirects))
    own = _link(device)
    return " ".join(part for part in (own if own != link else "", acs_text(device) if loud else "") if part)


def numbers_text(numbers: Sequence[int]) -> str:
    """Return GPU numbers as text, runs of them by their ends: "GPU0-GPU3, GPU6"."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"GPU{part[0]}" if len(part) == 1 else f"GPU{part[0]}-GPU{part[-1]}" for part in parts)
