"""Where each box and line of the tree goes: columns from the CPUs on the left to the accelerators on the right."""

from __future__ import annotations

from ...util.at_first_use import dataclass
from .tree import Node

__all__ = ["Box", "Line", "Picture", "arrange", "outline"]

_WIDTH = {"cpus": 92, "numa": 62, "host": 86, "root": 124, "up": 124, "down": 124, "gpu": 240}
_HEIGHT, _ROW, _MARGIN = 34, 44, 10
#: Between two columns: room for a label where there is a PCIe link, for a bend where there is none.
_LINKED, _INSIDE, _BEND = 98, 26, 12
#: Of the narrow picture: every node a row, its children below it and further to the right.
_INDENTED, _OUTLINE, _STEP, _LABEL = 13, 340, 50, 14
_ADVANCE = 6.0      # of a character at 10.5 px, on the safe side


@dataclass(frozen=True)
class Box:
    node: Node
    x: int
    y: int
    width: int
    height: int
    detail: str


@dataclass(frozen=True)
class Line:
    """The line from a node's parent to the node; ``x``, ``y``: where its label ends, above the line."""

    node: Node
    path: str
    x: int
    y: int


@dataclass(frozen=True)
class Picture:
    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def arrange(nodes: dict[str, Node]) -> Picture:
    """Place every node; the accelerators are the leaves, one row each, all in the last column."""
    children: dict[str, list[str]] = {}
    depth: dict[str, int] = {}
    for node in nodes.values():
        depth[node.id] = depth[node.parent] + 1 if node.parent else 0
        if node.parent:
            children.setdefault(node.parent, []).append(node.id)
    last = max(depth.values(), default=0)
    column = {node.id: last if node.kind == "gpu" else depth[node.id] for node in nodes.values()}
    left = _columns(nodes, column, last)
    middle: dict[str, int] = {}
    row = 0
    for node in nodes.values():
        if node.kind == "gpu":
            middle[node.id] = _MARGIN + _HEIGHT // 2 + row * _ROW
            row += 1
    for node in reversed(nodes.values()):      # children stand behind their parents
        below = [middle[child] for child in children.get(node.id, ())]
        if node.id not in middle:
            middle[node.id] = (min(below) + max(below)) // 2 if below else _MARGIN + _HEIGHT // 2
    boxes = tuple(Box(node, left[column[node.id]], middle[node.id] - _HEIGHT // 2, _WIDTH[node.kind], _HEIGHT,
                      _fitting(node.detail, _WIDTH[node.kind])) for node in nodes.values())
    at = {box.node.id: box for box in boxes}
    lines = tuple(_line(at[node.parent], at[node.id]) for node in nodes.values() if node.parent)
    width = max((box.x + box.width for box in boxes), default=0) + _MARGIN
    return Picture(width, 2 * _MARGIN + max(row, 1) * _ROW - (_ROW - _HEIGHT), boxes, lines)


def outline(nodes: dict[str, Node]) -> Picture:
    """Place every node for a narrow window: from top to bottom, each node a row below its parent."""
    order: list[tuple[Node, int]] = []
    children: dict[str | None, list[Node]] = {}
    for node in nodes.values():
        children.setdefault(node.parent, []).append(node)
    waiting = [(node, 0) for node in reversed(children.get(None, []))]
    while waiting:
        node, depth = waiting.pop()
        order.append((node, depth))
        waiting += [(child, depth + 1) for child in reversed(children.get(node.id, []))]
    boxes = {}
    for row, (node, depth) in enumerate(order):
        x = _MARGIN + min(depth, 8) * _INDENTED
        width = min(_WIDTH[node.kind], _OUTLINE - x - _MARGIN)
        # In a row of its own the label of the link stands beside the box, or above it where the box is wide.
        boxes[node.id] = Box(node, x, _MARGIN + row * _STEP + _LABEL, width, _HEIGHT, _fitting(node.detail, width))
    lines = []
    for node, _ in order:
        if node.parent:
            above, below = boxes[node.parent], boxes[node.id]
            x, y = above.x + _INDENTED // 2, below.y + _HEIGHT // 2
            path = f"M{x} {above.y + _HEIGHT}V{y}H{below.x}"
            lines.append(Line(node, path, min(below.x + 120, below.x + below.width), below.y - 4))
    return Picture(_OUTLINE, 2 * _MARGIN + len(order) * _STEP, tuple(boxes.values()), tuple(lines))


def _columns(nodes: dict[str, Node], column: dict[str, int], last: int) -> list[int]:
    left, x = [], _MARGIN
    for index in range(last + 1):
        here = [node for node in nodes.values() if column[node.id] == index]
        if index:
            x += _LINKED if any(node.link for node in here) else _INSIDE
        left.append(x)
        x += max((_WIDTH[node.kind] for node in here), default=0)
    return left


def _line(parent: Box, child: Box) -> Line:
    start, end = parent.x + parent.width, child.x
    bend = end - (_LINKED if child.node.link else _INSIDE) + _BEND
    bend = max(bend, start)
    above, below = parent.y + parent.height // 2, child.y + child.height // 2
    path = f"M{start} {above}H{end}" if above == below else f"M{start} {above}H{bend}V{below}H{end}"
    return Line(child.node, path, end - 6, below - 5)


def _fitting(text: str, width: int) -> str:
    most = int((width - 12) / _ADVANCE)
    return text if len(text) <= most else text[:most - 1] + "\u2026"
