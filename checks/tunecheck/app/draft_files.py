"""The files of an inventory that ``tunecheck init`` drafted."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .draft import Draft, plain
from .draft_name import GROUP

__all__ = ["Login", "files"]

#: An example for the commented line, where no driver is loaded.
_EXAMPLE = "595.71.05"
#: Characters behind a value that is a guess: the names of all profiles are among them.
_LONGEST = 320


@dataclass(frozen=True)
class Login:
    """How Ansible reaches the box. ``address`` None: not known; ``local``: this machine itself."""

    address: str | None = None
    user: str | None = None
    port: int | None = None
    local: bool = False


def files(draft: Draft, login: Login) -> dict[str, str]:
    """Return the files of the inventory: path below its folder -> content."""
    return {"hosts.yml": _hosts(draft, login), f"group_vars/{GROUP}.yml": _group(draft)}


def _hosts(draft: Draft, login: Login) -> str:
    unnamed = "" if draft.named else "   # CHANGE: the name you want to see in reports"
    lines = [f"        {_scalar(draft.name)}:{unnamed}"]
    if login.local:
        lines.append("          ansible_connection: local   # the machine that tunecheck init ran on")
    else:
        lines.append(f"          ansible_host: {_scalar(login.address)}" if login.address else
                     "          ansible_host: 192.0.2.10   # CHANGE: the address or name that ssh reaches")
        if login.port:
            lines.append(f"          ansible_port: {login.port}")
        if login.user:
            lines.append(f"          ansible_user: {_scalar(login.user)}")
        elif login.address:     # it was reached without a name: any name here could only be a wrong one
            lines.append("          # ssh chose the user. To name one that may use sudo: ansible_user: admin")
        else:
            lines.append("          ansible_user: admin   # CHANGE: a user that may use sudo; add -K if sudo asks for "
                         "a password")
    return "\n".join(["# Written by tunecheck init. Lines marked CHANGE are guesses; the others were read.",
                      "---", "all:", "  children:", f"    {GROUP}:", "      hosts:", *lines, ""])


def _group(draft: Draft) -> str:
    found = [f"#   {line}" for line in draft.observations]
    lines = ["# What this box should be, drafted by tunecheck init from what it is. It said:", *found, "#",
             "# The profile gives every other value, each with its source: tunecheck spec show --sources -i INVENTORY",
             "---", "box_spec:", *_yaml(draft.spec, draft, "", 2), "",
             "  # Nothing below is asked of the box as long as it is commented out.",
             *_driver(draft),
             "  # runtime:", "  #   engine: podman         # or docker: installs it, with NVIDIA's toolkit", ""]
    return "\n".join(lines)


def _driver(draft: Draft) -> list[str]:
    """Return the commented lines about the driver. Beside one that is patched none installs NVIDIA's own."""
    example = "" if draft.driver else "an example, the box does not tell its driver: "
    version = f'version: "{draft.driver or _EXAMPLE}"   # {example}ask for exactly this release'
    if "driver" in draft.spec:
        return [f"  #   {version}: a line of driver, above"]
    return ["  # driver:", f"  #   {version}", "  #   source: nvidia         # installs it"]


def _yaml(values: dict[str, Any], draft: Draft, above: str, indent: int) -> list[str]:
    lines = []
    for key, value in values.items():
        path = f"{above}{key}"
        why = f"   # CHANGE: {plain(draft.change[path], _LONGEST)}" if path in draft.change else \
            f"   # {plain(draft.why[path], _LONGEST)}" if path in draft.why else ""
        if isinstance(value, dict) and key != "groups":
            lines += [f"{' ' * indent}{key}:{why}", *_yaml(value, draft, f"{path}.", indent + 2)]
        else:
            lines.append(f"{' ' * indent}{key}: {_flow(value)}{why}")
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    return "null" if value is None else _scalar(value) if isinstance(value, str) else json.dumps(value)


def _scalar(text: str | None) -> str:
    """Return a text as a YAML scalar: plain where YAML reads it as text, else in quotes; null for None."""
    plain = text is not None and re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]*", text)
    return text if plain and text and text.lower() not in ("on", "off", "yes", "no", "true", "false", "null") \
        else json.dumps(text)
