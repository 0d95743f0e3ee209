"""Reads an Ansible inventory the way Ansible does, through ``ansible-inventory``. Control node only."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tunecheck.errors import CONTROL_NODE, Misuse, UsageError

from ..util.suggestions import did_you_mean, nearest
from .doubled_keys import doubled_keys, files_of
from .programs import beside

__all__ = ["broken_files", "hosts_in", "hosts_of", "listed_of", "listing", "variables_of"]

# A dynamic inventory may ask a slow API; a hung one must not hang the operator.
_DEADLINE = 300
_YAML = (".yml", ".yaml", ".json")
_VARIABLES = ("group_vars", "host_vars")


def hosts_of(inventory: str, only: str | None = None) -> dict[str, dict[str, Any]]:
    """Return each host's variables, merged by Ansible, by name; with ``only`` those of that host. UsageError says how
    to mend what is wrong."""
    return hosts_in(listed_of(inventory), inventory, only)


def listed_of(inventory: str) -> dict[str, Any]:
    """Return what Ansible reads in ``inventory``, as listing(). UsageError where nothing of that name is there."""
    if "," not in inventory and not Path(inventory).exists():
        raise UsageError(
            f"inventory {inventory!r} does not exist; expected a folder or file, for example inventory/box1",
            Misuse.NOT_THERE
        )
    return listing(inventory)


def hosts_in(listed: dict[str, Any], inventory: str, only: str | None = None) -> dict[str, dict[str, Any]]:
    """Return what hosts_of() does, from what was listed before."""
    hosts = variables_of(listed)
    if not hosts:
        raise UsageError(f"inventory {inventory} has no hosts; add one to its hosts.yml", Misuse.EMPTY)
    if only is None:
        return dict(sorted(hosts.items()))
    if only not in hosts:
        guess = did_you_mean(nearest(only, hosts))
        names = ", ".join(sorted(hosts)[:20])
        raise UsageError(f"inventory {inventory} has no host {only!r}; {guess}{' ' * bool(guess)}its hosts: {names}",
                         Misuse.NO_SUCH)
    return {only: hosts[only]}


def listing(inventory: str, limit: str | None = None) -> dict[str, Any]:
    """Return what ``ansible-inventory --list`` says: groups, and ``_meta`` with every host's variables. Empty where
    ``limit`` matches no host. UsageError where Ansible cannot read it, and where a key stands twice in a mapping:
    Ansible only warns of that, and goes on without the first."""
    if doubled := doubled_keys([inventory]):
        raise UsageError("\n".join(doubled), Misuse.MALFORMED)
    command = beside("ansible-inventory")
    # Ansible would only warn about a file that it cannot parse, and go on without its hosts.
    strict = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "ANSIBLE_DUPLICATE_YAML_DICT_KEY": "error",
              "ANSIBLE_NOCOLOR": "true"}
    try:
        done = subprocess.run(
            [command, "-i", inventory, "--list", *(["--limit", limit] if limit else [])],
            env=os.environ | strict, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DEADLINE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"ansible-inventory gave no answer on {inventory} in {_DEADLINE} s",
                         Misuse.TIMED_OUT) from error
    except OSError as error:
        raise UsageError(f"{command} cannot be run ({error.strerror}); {CONTROL_NODE}", Misuse.NOT_HERE) from None
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip()
        if limit and "do not match any hosts" in told:
            return {}
        locked = ["something in it is encrypted; name the file with its password: export "
                  "ANSIBLE_VAULT_PASSWORD_FILE=FILE"] if "vault secrets" in told else []
        raise UsageError("\n".join([f"Ansible cannot read inventory {inventory}; it says:", *broken_files(inventory),
                                    told, *locked]), Misuse.UNREADABLE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def variables_of(listed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every host's variables. Hosts without any are missing from ``hostvars`` and only stand in their group."""
    hosts: dict[str, dict[str, Any]] = {}
    for name, group in listed.items():
        if name != "_meta":
            hosts.update({host: {} for host in group.get("hosts", [])})
    hosts.update(listed.get("_meta", {}).get("hostvars", {}))
    return hosts


def broken_files(inventory: str) -> list[str]:
    """Return the places where YAML breaks off, of the files that Ansible reads for this inventory. ansible-core 2.19
    tells what is wrong, but not in which file."""
    import yaml

    root, found = Path(inventory), []
    for path in files_of(inventory):
        first = path.relative_to(root if root.is_dir() else root.parent).parts[0]
        folder = first if first in _VARIABLES else ""
        if path.suffix not in _YAML and not (folder and not path.suffix):
            continue        # what is written in another way, Ansible names itself
        try:
            text = path.read_text(encoding="utf-8")
            node = None if text.startswith("$ANSIBLE_VAULT;") else yaml.compose(text)
            if folder and node is not None and not isinstance(node, yaml.MappingNode) and yaml.safe_load(text):
                found.append(f"{path}:{node.start_mark.line + 1}: here stands no name of a variable; expected a "
                             "mapping, as `box_spec:` with its keys indented below")
        except (yaml.YAMLError, OSError, UnicodeDecodeError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            why = f" (read because {folder} is beside {inventory})" if folder and not root.is_dir() else ""
            problem = getattr(error, "problem", None) or error
            if "single document" in (getattr(error, "context", None) or ""):
                problem = "a second document begins here: what stands above --- belongs below it"
            found.append(f"{path}{f':{mark.line + 1}' if mark else ''}: {problem}{why}")
    return found
