#!/usr/bin/python
"""Ansible module: state of systemd units; systemd reads them again only where that takes no GPU from a container."""

from __future__ import annotations

DOCUMENTATION = r"""
module: guarded_units
short_description: Reload, enable and start units, but never take GPUs away from running containers
description:
  - A daemon-reload happens only where systemd says that a unit's file on disk is newer than what it holds. It is
    refused while a container runs that would lose its GPUs by it (NVIDIA's hook instead of CDI).
  - Enabling does not reload (C(--no-reload)); systemd finds a new unit by itself when it is started.
  - On a system that systemd does not run (an image being built), units are enabled and nothing else happens.
options:
  units:
    description: The units.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {description: Unit with its suffix., type: str, required: true}
      enabled: {description: Whether to enable it; left out to keep., type: bool}
      state: {description: left out to keep., type: str, choices: [started, stopped, restarted]}
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
author: [tunecheck]
"""
RETURN = r"""
done: {description: "What changed, or would change, as sentences.", type: list, returned: always}
"""

import os

from ansible.module_utils import gpu_containers
from ansible.module_utils.basic import AnsibleModule

PROPERTIES = ("LoadState", "NeedDaemonReload", "UnitFileState", "ActiveState")
UP = ("active", "activating", "reloading")
UNIT = {
    "name": {"type": "str", "required": True},
    "enabled": {"type": "bool"},
    "state": {"type": "str", "choices": ["started", "stopped", "restarted"]},
}


def parse_show(text):
    """Return the output of ``systemctl show`` as {property: value}. Pure."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def steps(unit, have, booted):
    """Return (arguments for systemctl, sentence) of each change that one unit needs. Pure."""
    name, found = unit["name"], []
    on = have.get("UnitFileState") in ("enabled", "enabled-runtime", "static", "alias", "indirect", "generated")
    if unit["enabled"] is not None and unit["enabled"] != on:
        verb = "enable" if unit["enabled"] else "disable"
        found.append(([verb, "--no-reload", name], "%s: %sd" % (name, verb)))
    up = have.get("ActiveState") in UP
    if not booted:
        return found
    if unit["state"] == "restarted":
        found.append((["restart", name], name + ": restarted"))
    elif unit["state"] == "started" and not up:
        found.append((["start", name], name + ": started"))
    elif unit["state"] == "stopped" and up:
        found.append((["stop", name], name + ": stopped"))
    return found


def state_of(module, name, booted):
    """Return what systemd says of a unit; where systemd does not run, whether its links are there."""
    if not booted:
        _code, out, _err = module.run_command(["systemctl", "is-enabled", name])
        return {"UnitFileState": out.strip()}
    _code, out, _err = module.run_command(["systemctl", "show", name, "--property=" + ",".join(PROPERTIES)])
    return parse_show(out)


def main():
    module = AnsibleModule(
        argument_spec={"units": {"type": "list", "elements": "dict", "required": True, "options": UNIT}},
        supports_check_mode=True,
    )
    booted = os.path.isdir("/run/systemd/system")
    have, done = {}, []
    for unit in module.params["units"]:
        have[unit["name"]] = state_of(module, unit["name"], booted)
    # Of a unit that is not there systemd says so too, while it has not read its units since another was enabled (257).
    old = [name for name, state in have.items()
           if state.get("NeedDaemonReload") == "yes" and state.get("LoadState") != "not-found"]
    if booted and old:
        refused = gpu_containers.reload(module)
        if refused:
            module.fail_json(msg="systemd still holds the old %s, and reading it again is refused: %s"
                             % (", ".join(old), refused))
        done.append("systemd read its units again for " + ", ".join(old))
    for unit in module.params["units"]:
        for words, sentence in steps(unit, have[unit["name"]], booted):
            done.append(sentence)
            if not module.check_mode:
                code, _out, err = module.run_command(["systemctl", *words])
                if code != 0:
                    module.fail_json(msg="systemctl %s failed: %s. Look at: journalctl -u %s -n 30"
                                     % (" ".join(words), err.strip()[-300:] or code, unit["name"]), done=done[:-1])
    module.exit_json(changed=bool(done), done=done)


if __name__ == "__main__":
    main()
