"""What an inventory declares to no effect: variables of no host or group, a box_spec that hides another, a host without
the login user that its neighbours have. Ansible says nothing about any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..util.suggestions import nearest

__all__ = ["warnings_of"]

_SUFFIXES = ("", ".yml", ".yaml", ".json")


def warnings_of(inventory: str, listed: dict[str, Any]) -> list[str]:
    """One sentence each, with the way out. ``listed``: what ``ansible-inventory --list`` said of ``inventory``."""
    root = Path(inventory)
    if "," in inventory or not root.exists():
        return []
    root = root if root.is_dir() else root.parent
    groups = {name: group for name, group in listed.items() if name != "_meta"}
    hosts = sorted({host for group in groups.values() for host in group.get("hosts", ())})
    # A group without a host is left out of the list; its parent names it still.
    named = {*groups, "all", "ungrouped", *(child for group in groups.values() for child in group.get("children", ()))}
    return [*_orphans(root / "host_vars", "host", hosts), *_orphans(root / "group_vars", "group", sorted(named)),
            *_hidden(root, groups, hosts), *_without_user(listed, hosts)]


def _orphans(folder: Path, kind: str, names: list[str]) -> list[str]:
    found = []
    for path in _entries(folder):
        name = _name(path)
        if name not in names:
            near = nearest(name, names) or (names if len(names) == 1 else [])
            there = folder / f"{near[0]}{path.suffix}" if near else None
            move = f"; if it is meant for {near[0]}: mv {path} {there}" if there and not there.exists() else ""
            found.append(f"{path}: no {kind} of this inventory is called {name}, so its variables have no effect{move}")
    return found


def _hidden(root: Path, groups: dict[str, Any], hosts: list[str]) -> list[str]:
    above = [path for path in _entries(root / "group_vars") if _name(path) in {*groups, "all"} and _declares(path)]
    found = []
    for path in _entries(root / "host_vars"):
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


def _below(groups: dict[str, Any], name: str, seen: frozenset[str] = frozenset()) -> set[str]:
    group = groups.get(name, {})
    deeper = (_below(groups, child, seen | {name}) for child in group.get("children", ()) if child not in seen)
    return set(group.get("hosts", ())).union(*deeper)


def _declares(path: Path) -> bool:
    """Whether ``box_spec`` is a key of the file, or of a file in the directory."""
    import yaml

    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else None
        except (yaml.YAMLError, OSError, UnicodeDecodeError):
            continue        # Ansible itself complains about it, or decrypts it
        if isinstance(content, dict) and "box_spec" in content:
            return True
    return False


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_"))
                      and not path.name.endswith("~") and (path.is_dir() or path.suffix in _SUFFIXES))
    except OSError:
        return []


def _name(path: Path) -> str:
    return path.name if path.is_dir() or path.suffix not in _SUFFIXES[1:] else path.stem
