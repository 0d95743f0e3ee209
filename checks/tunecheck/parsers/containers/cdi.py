"""Specifications of the Container Device Interface: which devices a container can ask for, and what it gets of the
host.

Pure: text in, values out, for any text. ``nvidia-ctk cdi generate`` writes block style YAML (its own writer, two or
four spaces, lists indented or not) or JSON; of YAML only that is read: the checker on the box has no YAML library.
Format: github.com/cncf-tags/container-device-interface SPEC.md 1.1.0 (2026-11)."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["MOST", "Cdi", "parse"]

#: Host paths and devices that are looked at; eight GPUs with every library are about 150.
MOST = 1024
_LINES = 50_000
_LINE = regex(r"^( *)((?:- +)*)([A-Za-z]{1,40}):(?: +(.*))?$")
_DRIVER = regex(r"\.so\.(\d{3}\.\d{1,4}(?:\.\d{1,4})?)$|/firmware/nvidia/(\d{3}\.\d{1,4}(?:\.\d{1,4})?)/")


@dataclass(frozen=True)
class Cdi:
    """One specification. ``kind`` is ``nvidia.com/gpu``; ``paths`` are what the host must have, each once; ``drivers``
    are the versions in the names of its libraries and firmware."""

    kind: str
    devices: Tuple[str, ...]
    paths: Tuple[str, ...]
    drivers: Tuple[str, ...]


def parse(text: str) -> Cdi:
    """Parse the text of a specification, YAML or JSON. ValueError where it is no such specification."""
    found = _json(text) if text.lstrip()[:1] == "{" else _yaml(text)
    kind, devices, paths = found
    if "/" not in kind:
        raise ValueError("no kind, so no CDI specification")
    paths = [path for path in dict.fromkeys(paths) if path.startswith("/")][:MOST]
    drivers = {match.group(1) or match.group(2) for match in map(_DRIVER.search, paths) if match}
    return Cdi(kind[:120], tuple(name[:120] for name in devices[:MOST]), tuple(path[:400] for path in paths),
               tuple(sorted(drivers)))


def _json(text: str) -> Tuple[str, List[str], List[str]]:
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not an object")
    devices = [each for each in _list(data.get("devices")) if isinstance(each, dict)]
    edits = [each.get("containerEdits") for each in (data, *devices)]
    paths = [str(item.get("hostPath") or (item.get("path") if part == "deviceNodes" else "") or "")
             for edit in edits if isinstance(edit, dict) for part in ("deviceNodes", "mounts")
             for item in _list(edit.get(part)) if isinstance(item, dict)]
    return str(data.get("kind") or ""), [str(each.get("name", "")) for each in devices], paths


def _list(value: Any) -> List[Any]:
    return value[:MOST * 4] if isinstance(value, list) else []


def _yaml(text: str) -> Tuple[str, List[str], List[str]]:
    kind, devices, paths = "", [], []
    for keys, value in _leaves(text):
        if keys == ("kind",):
            kind = value
        elif keys == ("devices", "name"):
            devices.append(value)
        elif keys[-1] == "hostPath" or keys[-2:] == ("deviceNodes", "path"):
            paths.append(value)
    return kind, devices, paths


def _leaves(text: str) -> Iterator[Tuple[Tuple[str, ...], str]]:
    """Yield each ``key: value`` with the keys above it. A key stands above those in columns further right; the dash of
    a list is a column of its own, and may stand under the key that it belongs to. ValueError for text that is nested
    too deeply."""
    above: Dict[int, str] = {}
    for line in text[:1 << 22].splitlines()[:_LINES]:
        match = _LINE.match(line[:1000])
        if match is None:
            continue
        spaces, dashes, key, value = match.groups()
        column = len(spaces) + len(dashes)
        first = len(spaces) + (1 if dashes else 0)
        # "- name:" in the column of "devices:" is below it, as in every block sequence.
        above = {at: name for at, name in above.items() if at < first}
        above[column] = key
        if len(above) > 20:
            raise ValueError("nested too deeply")
        text_of = _scalar(value or "")
        if text_of:
            yield tuple(above[at] for at in sorted(above)), text_of


def _scalar(value: str) -> str:
    value = value.strip()
    quoted = re.match(r"""^(["'])(.*?)\1""", value)
    return quoted.group(2) if quoted else re.sub(r"\s+#.*$", "", value)
