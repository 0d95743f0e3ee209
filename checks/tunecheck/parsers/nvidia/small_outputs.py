"""Short outputs that people add: ``nvidia-smi nvlink -s``, ``nvidia-smi nvlink -e``, ``lsmod``, ``modinfo nvidia``,
``nvcc --version``, ``ls -l /dev/nvidia*``."""

from __future__ import annotations

import re
from typing import Dict, Iterable, Optional, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["DEVICE", "LSMOD", "MODINFO", "NVCC", "NVLINK", "DeviceNodes", "Loaded", "link_errors", "loaded",
           "modinfo", "nodes", "nvcc", "nvlinks", "symbols"]

#: "	 Link 3: 53.125 GB/s", "	 Link 4: <inactive>"
NVLINK = regex(r"^[ \t]+Link (\d{1,3}): (<inactive>|\d{1,4}(?:\.\d{1,4})? GB/s)[ \t]*$", re.MULTILINE)
_LINK_OR_GPU = regex(NVLINK.pattern + r"|^GPU (\d{1,3}): ", re.MULTILINE)
#: "	 Link 1: CRC Errors: 99281"; the counts of what FEC corrected are large on healthy links.
_COUNTER = regex(r"^[ \t]+Link (\d{1,3}): ([A-Z](?:(?!FEC)[\w ]){1,60}(?:[Ee]rrors|events)): (\d{1,20})[ \t\r]*$"
                 r"|^GPU (\d{1,3}): ", re.MULTILINE)

LSMOD = regex(r"^Module +Size +Used by\b|^(?:nvidia(?:_\w{2,12})?|nouveau|nova_core) +\d{4,9} +\d{1,6}"
              r"(?: +[\w,]+)?[ \t]*$", re.MULTILINE)
MODINFO = regex(r"^filename: +\S*/nvidia(?:-current)?\.ko\S*", re.MULTILINE)
NVCC = regex(r"^Cuda compilation tools, release \d{1,2}\.\d{1,2}, V[\d.]{3,15}", re.MULTILINE)
_HEAD = r"^c([rwxsStT-]{9})[.+@]? +\d{1,4} +\S{1,40} +\S{1,40} +\d{1,4}, *\d{1,7} .{1,60}?(?:/dev/)?"
_NONE = r"^ls: .{0,20}/dev/nvidia.{0,40}: No such file or directory"
DEVICE = regex(rf"{_HEAD}nvidia\S*[ \t]*$|{_NONE}", re.MULTILINE)
_NODE = regex(rf"{_HEAD}(nvidia[\w-]{{0,30}})[ \t]*$", re.MULTILINE)
_MODULE = regex(r"^(\w{2,60}) +(\d{3,10}) +(-?\d{1,6})(?: +([\w,]{1,2000}))?[ \t]*$", re.MULTILINE)
_LINE = regex(r"^(filename|version|license|vermagic|signer|firmware): +(\S[^\n]{0,300}?)[ \t]*$", re.MULTILINE)
_RELEASE = regex(r"^Cuda compilation tools, release (\d{1,2}\.\d{1,2}), V([\d.]{3,15})", re.MULTILINE)
_MOST = 2000


@dataclass(frozen=True)
class Loaded:
    """The modules that lsmod lists, by name. ``whole``: the list seems to be all of lsmod's, with its heading and its
    end, and not what a grep left of it."""

    modules: "Tuple[str, ...]"
    whole: bool


@dataclass(frozen=True)
class DeviceNodes:
    """What ls lists in /dev. ``nodes`` maps names ("nvidia0") to their mode ("rw-rw-rw-"); ``none``: ls says that there
    is none."""

    nodes: "Dict[str, str]"
    none: bool

    @property
    def gpus(self) -> int:
        return sum(1 for name in self.nodes if re.match(r"^nvidia\d{1,3}$", name))


def loaded(text: str) -> Loaded:
    text = text[:1 << 20]
    names = tuple(dict.fromkeys(found.group(1) for found in list(_MODULE.finditer(text))[:_MOST]))
    head = re.search(r"^Module +Size +Used by\b", text, re.MULTILINE)
    # A whole list has its heading, ends with a line's end, and holds more than somebody's selection.
    return Loaded(names, head is not None and text.endswith("\n") and len(names) >= 20)


def modinfo(text: str) -> "Dict[str, str]":
    """Return filename, version, license, vermagic, signer of the nvidia module. {} where the text is about another
    one."""
    if not MODINFO.search(text):
        return {}
    found: Dict[str, str] = {}
    for name, value in _LINE.findall(text[:1 << 18]):
        found.setdefault(name, value)
    return found


def nvlinks(text: str) -> "Dict[int, Dict[int, bool]]":
    """Return whether each NVLink of each GPU is up, by ``nvidia-smi nvlink -s``. A link that is there twice is up where
    both say so."""
    found: Dict[int, Dict[int, bool]] = {}
    gpu = -1
    for match in _LINK_OR_GPU.finditer(text[:1 << 20]):
        if match.group(3):
            gpu = int(match.group(3))
        elif gpu >= 0 and (gpu in found or len(found) < _MOST):
            links, number = found.setdefault(gpu, {}), int(match.group(1))
            links[number] = links.get(number, True) and not match.group(2).startswith("<")
    return found


def link_errors(text: str) -> "Optional[Tuple[str, ...]]":
    """Return what each counter of ``nvidia-smi nvlink -e`` that is not 0 says. None where the text holds no counter."""
    found, gpu, counters = [], "?", 0
    for match in _COUNTER.finditer(text[:1 << 20]):
        if match.group(4):
            gpu = match.group(4)
            continue
        counters += 1
        if match.group(3).strip("0"):
            found.append("GPU%s link %s: %s %s" % (gpu, match.group(1), match.group(3), match.group(2)))
    return tuple(found) if counters else None


def symbols(counted: "Iterable[str]") -> "Tuple[str, ...]":
    """Return those of the counters that count symbols: errors before they are corrected. No source says how many of
    them are normal."""
    return tuple(each for each in counted if each.endswith(" Symbol Errors"))


def nvcc(text: str) -> "Optional[Tuple[str, str]]":
    """Return release ("12.8") and version ("12.8.93") of the toolkit's compiler. None where the text does not say
    them."""
    found = _RELEASE.search(text)
    return (found.group(1), found.group(2).rstrip(".")) if found else None


def nodes(text: str) -> DeviceNodes:
    text = text[:1 << 20]
    found = {match.group(2): match.group(1) for match in list(_NODE.finditer(text))[:_MOST]}
    none = re.search(_NONE, text, re.MULTILINE) is not None
    return DeviceNodes(found, none and not found)
