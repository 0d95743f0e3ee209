"""Finds what an inventory declares to no effect: variables that nobody reads or of no host or group, a box_spec that
hides another, a host without the login user that its neighbours have, guesses that nobody completed. Ansible says
nothing about any of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..util.suggestions import nearest
from ..util.text import some
from .unfinished import SUFFIXES, entries, places_of, sentence, unfinished
from .variables import without_effect

__all__ = ["unread_files", "warnings_of"]


def warnings_of(inventory: str, listed: dict[str, Any]) -> list[str]:
    """Return one sentence for each such declaration, with the way out. ``listed`` is what ``ansible-inventory --list``
    said of ``inventory``."""
    root, places = places_of(inventory)
    if "," in inventory or not root.exists():
        return _misnamed([], listed)
    groups = {name: group for name, group in listed.items() if name != "_meta"}
    hosts = sorted({host for group in groups.values() for host in group.get("hosts", ())})
    # A group without a host is left out of the list; its parent names it still.
    named = {*groups, "all", "ungrouped", *(child for group in groups.values() for child in group.get("children", ()))}
    return [*_misnamed(places, listed), *unread_files(inventory, hosts, sorted(named)),
            *_hidden(root, groups, hosts), *_without_user(listed, hosts), *_unfinished(inventory, root)]


def unread_files(inventory: str, hosts: list[str], groups: list[str]) -> list[str]:
    """Return a sentence for each file of variables beside the inventory that belongs to none of its hosts and
    groups."""
    root, _ = places_of(inventory)
    if "," in inventory or not root.exists():
        return []
    return [*_orphans(root / "host_vars", "host", hosts), *_orphans(root / "group_vars", "group", groups)]


def _misnamed(places: list[Path], listed: dict[str, Any]) -> list[str]:
    """Return a sentence for each variable that no role reads and that looks as if one did. The variables are those that
    Ansible merged, so every way to declare one counts."""
    declared = listed.get("_meta", {}).get("hostvars", {})
    found = without_effect({name for variables in declared.values() for name in variables})
    return [f"{_place(places, name) or ', '.join(host for host in sorted(declared) if name in declared[host])}: "
            f"{name} has no effect; {meant}" for name, meant in found.items()]


def _place(places: list[Path], name: str) -> Path | None:
    """Return the file in which the variable stands. None where a script or a plugin said it."""
    key = re.compile(rf"(?<![\w.-]){re.escape(name)}[\"']?\s*[:=]")
    for file in (file for place in places for file in (sorted(place.rglob("*")) if place.is_dir() else [place])):
        try:
            if file.is_file() and any(key.search(line.partition("#")[0]) for line in
                                      file.read_text(encoding="utf-8").splitlines()):
                return file
        except (OSError, UnicodeDecodeError):
            continue
    return None


def _orphans(folder: Path, kind: str, names: list[str]) -> list[str]:
    found = []
    for path in entries(folder):
        name = _name(path)
        if name not in names:
            near = nearest(name, names) or (names if len(names) == 1 else [])
            there = folder / f"{near[0]}{path.suffix}" if near else None
            move = f"; if it is meant for {near[0]}: mv {path} {there}" if there and not there.exists() else ""
            found.append(f"{path}: no {kind} of this inventory is called {name}, so its variables have no effect{move}")
    return found


def _hidden(root: Path, groups: dict[str, Any], hosts: list[str]) -> list[str]:
    above = [path for path in entries(root / "group_vars") if _name(path) in {*groups, "all"} and _declares(path)]
    found = []
    for path in entries(root / "host_vars"):
        name = _name(path)
        whole = next((each for each in above if _name(each) == "all" or name in _below(groups, _name(each))), None)
        if name in hosts and whole is not None and _declares(path):
            found.append(f"{path}: its box_spec replaces the one of {whole} as a whole; to change single values of it "
                         "write box_spec_host: there instead")
    return found


def _without_user(listed: dict[str, Any], hosts: list[str]) -> list[str]:
    variables = listed.get("_meta", {}).get("hostvars", {})
    remote = [host for host in hosts if variables.get(host, {}).get("ansible_connection", "ssh") == "ssh"]
    have = [host for host in remote if "ansible_user" in variables.get(host, {})]
    return [f"{host}: has no ansible_user, while {have[0]} has one; ssh logs in under your own name then, or under the "
            "one in your ssh_config" for host in remote if have and host not in have]


def _unfinished(inventory: str, root: Path) -> list[str]:
    """Return a sentence about the lines that were left to a person. The list is empty where there are none."""
    marked = unfinished(inventory)
    return [f"{root}: {sentence(len(marked), some(marked, 6))}"] if marked else []


def _below(groups: dict[str, Any], name: str, seen: frozenset[str] = frozenset()) -> set[str]:
    group = groups.get(name, {})
    deeper = (_below(groups, child, seen | {name}) for child in group.get("children", ()) if child not in seen)
    return set(group.get("hosts", ())).union(*deeper)


def _declares(path: Path) -> bool:
    """Return whether ``box_spec`` is a key of the file, or of a file in the directory."""
    import yaml

    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else None
        except (yaml.YAMLError, OSError, UnicodeDecodeError):
            continue        # Ansible itself complains about it, or decrypts it
        if isinstance(content, dict) and "box_spec" in content:
            return True
    return False


def _name(path: Path) -> str:
    return path.name if path.is_dir() or path.suffix not in SUFFIXES[1:] else path.stem
