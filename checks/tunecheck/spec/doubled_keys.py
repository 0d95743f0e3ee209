"""Finds keys that stand twice in one mapping of an inventory's YAML files. YAML's readers keep the last one, so that a
whole block vanishes without a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["doubled_keys", "files_of"]

#: Of the files in a folder, Ansible reads these as YAML.
_SUFFIXES = ("", ".yml", ".yaml", ".json")
#: No inventory file of people is larger.
_LONGEST = 16 << 20


def doubled_keys(inventories: Iterable[str], host: str = "") -> list[str]:
    """Return one sentence for each, with the file and both lines. ``inventories``: each a folder or a file; a list of
    hosts has no file. ``host``: leave out the host_vars of all others, which say nothing about this one. What is no
    YAML, is encrypted or is a program is left to Ansible."""
    seen = dict.fromkeys(file for inventory in inventories for file in files_of(inventory, host))
    return [sentence for file in seen for sentence in _of_file(file)]


def files_of(inventory: str, host: str = "") -> list[Path]:
    """Return the files that Ansible reads for this inventory: itself, or what is in the folder, and the variables of
    groups and hosts beside it. ``host``: as for doubled_keys()."""
    root = Path(inventory)
    if "," in inventory or not root.exists():
        return []
    folder = root if root.is_dir() else root.parent
    places = (root, folder / "group_vars", folder / "host_vars")
    return list(dict.fromkeys(file for place in places for file in _files(place, host, set())))


def _files(place: Path, host: str, known: set[Path]) -> Iterator[Path]:
    """Yield the files that Ansible reads there. ``known``: folders that were looked into; a link may lead back."""
    if place.is_file():
        yield place
        return
    try:
        folder, inside = place.resolve(), sorted(place.iterdir())
    except OSError:
        return
    if folder in known:
        return
    known.add(folder)
    for each in inside:
        others = host and place.name == "host_vars" and host not in (each.name, each.stem)
        if not others and not each.name.startswith(".") and not each.name.endswith("~") and (
                each.is_dir() or each.name == host or each.suffix in _SUFFIXES):
            yield from _files(each, host, known)


def _of_file(file: Path) -> list[str]:
    import yaml

    try:
        text = file.read_text(encoding="utf-8") if file.stat().st_size <= _LONGEST else ""
        if text.startswith(("#!", "$ANSIBLE_VAULT;")):
            return []
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        found = [(key, first, again) for node in yaml.compose_all(text, loader) for key, first, again in _twice(node)]
    except (yaml.YAMLError, OSError, UnicodeDecodeError, RecursionError):
        return []       # as an INI file; Ansible says what is wrong with it
    return [f"{file}:{again}: {key} stands here again, and in line {first}; the first one would be lost with all below "
            "it: make one of the two, or take one away" for key, first, again in found]


def _twice(root: Any) -> Iterator[tuple[str, int, int]]:
    """Yield (key, first line, line) of every key that stands in its mapping before."""
    import yaml

    waiting, known = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in known:       # an alias
            continue
        known.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
        if not isinstance(node, yaml.MappingNode):
            continue
        lines: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            waiting.append(value)
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                line = key.start_mark.line + 1
                if (key.tag, key.value) in lines:
                    yield key.value, lines[key.tag, key.value], line
                lines.setdefault((key.tag, key.value), line)
