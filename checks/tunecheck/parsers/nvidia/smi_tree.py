"""``nvidia-smi -q`` (indented text) and ``-q -x`` (XML) as the same thing: one flat dictionary per GPU.

A key is the path of names, in lower case with underscores: ``bar1_memory_usage/total``. XML is read tag by tag and not
as a document: a report that is cut short, or has a prompt before it, still says what it says, and entities do nothing.
Written against the texts of drivers 470 to 595."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Dict, List, Optional, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["SmiTree", "address", "is_flat", "tree"]

_GPU = regex(r"^GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_LOST = regex(r"Unable to determine the device handle for (?:gpu|GPU) ?(?:\d{1,3}: ?)?([0-9A-Fa-f:.]{7,16}): "
              r"([^.\n]{1,80})")
_TAG = regex(r"<(/?)([A-Za-z_]\w{0,60})(?:\s[^<>]{0,200})?(/?)>|<gpu id=\"([^\"<>]{1,40})\">")
_ID = regex(r"<gpu id=\"([^\"<>]{1,40})\">")
_ADDRESS = regex(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$")
_LABEL = 80
_LARGEST = 16 << 20         # 200 GPUs make three MiB
_FLAT = 2000                # of one GPU; a report has 8,000 characters of each
_WRAPPED = 0.3              # at 80 columns a twentieth of the lines goes on in a second one
_DEEP = 12                  # real reports nest five deep
_LEAVES = 2000              # a real GPU has three hundred
_GPUS = 512


@dataclass
class SmiTree:
    """The texts of one report. ``head`` holds what stands before the first GPU. ``gpus`` are (address, leaves) in
    order; a list of processes is (pid, used memory as written) pairs, None where the report says nothing (complete)
    about them."""

    head: Dict[str, str] = field(default_factory=dict)
    gpus: List[Tuple[str, Dict[str, str]]] = field(default_factory=list)
    processes: Dict[str, Optional[List[Tuple[str, str]]]] = field(default_factory=dict)
    lost: List[Tuple[str, str]] = field(default_factory=list)

    def open(self, written: str) -> bool:
        """Begin a GPU. Return False where ``written`` is no address, that GPU was there before, or there are too
        many."""
        bdf = address(written)
        if bdf is None or len(self.gpus) >= _GPUS or bdf in self.processes:
            return False
        self.gpus.append((bdf, {}))
        self.processes[bdf] = None
        return True

    def leaf(self, path: str, value: str) -> None:
        target = self.gpus[-1][1] if self.gpus else self.head
        if len(target) < _LEAVES:
            target.setdefault(path, value)

    def process(self, field_name: str, value: str) -> None:
        """Take in one field of a process. An empty ``field_name`` only begins the list."""
        bdf = self.gpus[-1][0]
        known = self.processes[bdf] or []
        if field_name == "pid" and len(known) < _LEAVES:
            known.append((value, "N/A"))
        elif field_name == "used" and known:
            known[-1] = (known[-1][0], value)
        self.processes[bdf] = known


def tree(text: str) -> SmiTree:
    """Read as much as there is. A text that holds nothing of it gives an empty answer."""
    result, text = SmiTree(), text[:_LARGEST]
    for written, why in _LOST.findall(text):
        bdf = address(written.lower())
        if bdf is not None and len(result.lost) < _GPUS:
            result.lost.append((bdf, why.strip()))
    if "<nvidia_smi_log>" in text:
        _xml(result, text)
    else:
        _text(result, text)
    return result


def is_flat(text: str) -> bool:
    """Return whether the text lost what is in front of its lines, which says what belongs to what."""
    head = text[:_LARGEST].partition("\nGPU ")[2][:_FLAT]
    return len(head) == _FLAT and "\n " not in head and "\n\t" not in head and "<gpu " not in text


def address(written: str) -> Optional[str]:
    """Return an address as the kernel writes it: ``0000:06:00.0`` for ``00000000:06:00.0``. None for anything else."""
    found = _ADDRESS.match(written.lower())
    return "%04x:%s" % (int(found.group(1) or "0", 16), found.group(2)) if found else None


def _name(written: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", written.lower()).strip("_")


def _text(result: SmiTree, text: str) -> None:
    lines = text.split("\n")
    # A text that ends inside a line may end inside a number. "Processes : None" is the end of older reports.
    if lines and not re.match(r"^ +Processes +: None\s*$", lines[-1]):
        lines.pop()
    stack: List[Tuple[int, str]] = []
    inside = False
    for line in _unwrapped(lines):
        line = line[:400].rstrip().expandtabs(4)
        if not line:
            continue
        if line.startswith("GPU "):
            start = _GPU.match(line)
            inside = bool(start and result.open(start.group(1)))
            stack = []
            continue
        plain = line.lstrip(" ")
        label, colon, value = (plain + " ").partition(" : ")
        indent = len(line) - len(plain)
        if len(label) > _LABEL or (result.gpus and not inside):
            continue
        while stack and stack[-1][0] >= indent:
            stack.pop()
        name = _name(label)
        if result.gpus and _processes(result, stack, name, value.strip() if colon else None):
            stack.append((indent, name))
            continue
        if colon:
            result.leaf("/".join([part for _, part in stack] + [name]), value.strip())
        if len(stack) < _DEEP:
            stack.append((indent, name))


def _unwrapped(lines: List[str]) -> List[str]:
    """Return the lines with those joined again that a terminal broke at its width. In the part about a GPU every line
    is indented by fours; a rest that is not stands behind a line that is as long as any."""
    first = next((number for number, line in enumerate(lines) if line.startswith("GPU ")), len(lines))
    part = lines[first:]
    rests = [number for number, line in enumerate(part)
             if line.strip() and not line.startswith("GPU ") and (_indent(line) % 4 or not _indent(line))]
    width = max(map(len, part), default=0)
    if len(rests) > _WRAPPED * len(part) or any(len(part[number - 1]) != width for number in rests):
        return lines
    joined, known = lines[:first], set(rests)
    for number, line in enumerate(part):
        if number in known:
            joined[-1] += line
        else:
            joined.append(line)
    return joined


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _processes(result: SmiTree, stack: List[Tuple[int, str]], name: str, value: Optional[str]) -> bool:
    """Return whether the line belongs to the list of processes, and keep it then."""
    if not stack and name == "processes":
        # An empty section is one that the report is cut in; "None" and a first process are answers.
        if value == "None":
            result.process("", "")
        return value is None or value == "None"
    if not stack or stack[0][1] != "processes":
        return False
    if name in ("process_id", "used_gpu_memory") and value is not None:
        result.process({"process_id": "pid", "used_gpu_memory": "used"}[name], value)
    return True


def _xml(result: SmiTree, text: str) -> None:
    stack: List[str] = []
    inside, last = False, 0
    text = text[text.index("<nvidia_smi_log>") + len("<nvidia_smi_log>"):]
    for tag in _TAG.finditer(text):
        closing, name, empty = tag.group(1), tag.group(2), tag.group(3)
        value, last = text[last:tag.start()].strip()[:400], tag.end()
        if name == "gpu":
            start = _ID.match(tag.group())
            inside = bool(not closing and start and result.open(start.group(1)))
            stack = []
        elif name is None or (result.gpus and not inside):
            continue
        elif not closing:
            if not empty and len(stack) < _DEEP:
                stack.append(name.lower())
        elif stack and stack[-1] == name.lower():
            _closed(result, stack, value)
            stack.pop()
        elif name.lower() in stack:
            del stack[stack.index(name.lower()):]


def _closed(result: SmiTree, stack: List[str], value: str) -> None:
    if stack[0] == "processes" and result.gpus:
        if len(stack) == 1 and not value.startswith("N/A"):
            result.process("", "")      # closed: the list is whole, be it empty
        elif stack[-1] in ("pid", "used_memory"):
            result.process({"pid": "pid", "used_memory": "used"}[stack[-1]], value)
            return
    if value:
        result.leaf("/".join(stack), value)
