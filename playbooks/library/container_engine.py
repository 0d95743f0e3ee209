#!/usr/bin/python
"""Ansible module: settings of podman or docker: log size, CDI, and the folder of the images."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_engine
short_description: Configure podman or docker, refusing before the first write what cannot work
description:
  - podman gets a drop-in for containers.conf, and one key in storage.conf where the images have a folder of their own.
  - docker's daemon.json is merged; foreign keys stay. A file that is no JSON is refused.
  - A store with images in it is never moved. Free space is looked for as long as the store is empty.
  - With I(state=absent), what this module wrote is taken back, and what stood there before comes back.
options:
  engine: {description: Which one., type: str, choices: [podman, docker]}
  storage: {description: Folder of images and layers; left out to keep the engine's own., type: path}
  storage_free_gib: {description: Free space that an empty store must have., type: int, default: 0}
  log_max_mib: {description: Of one container's log., type: int, default: 100}
  user: {description: Who runs containers without root; left out for root., type: str}
  state: {description: Whether our settings should be there., type: str, choices: [present, absent], default: present}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
notes: {description: "What an operator should know, as sentences.", type: list, returned: always}
restart: {description: Whether docker's daemon runs with older settings., type: bool, returned: always}
restart_refused: {description: "Why it must not be restarted now, or empty.", type: str, returned: always}
code: {description: "Of a failure, its reason; C(other) for an error of the system.", type: str, returned: failure}
"""

import json
import os

from ansible.module_utils import engine_files, gpu_containers
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError, read_text, remove, write_text
from ansible.module_utils.engine_settings import DAEMON_JSON, STATE, EngineError, absent, present
from ansible.module_utils.refusal import code_of


def daemon_start(module):
    """Return when docker's daemon started, in seconds since the epoch; None where systemd does not run it."""
    _code, out, _err = module.run_command(["systemctl", "show", "docker.service", "--property=MainPID,ActiveState"])
    told = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    if told.get("ActiveState") != "active" or told.get("MainPID", "0") == "0":
        return None
    try:
        ticks = int(read_text("/proc/%s/stat" % told["MainPID"]).rpartition(")")[2].split()[19])
        boot = next(int(line.split()[1]) for line in read_text("/proc/stat").splitlines() if line.startswith("btime"))
    except (IndexError, ValueError, StopIteration):
        return None
    return boot + ticks / float(os.sysconf("SC_CLK_TCK"))


def live_restore():
    """Return whether containers go on to run while docker's daemon is restarted."""
    try:
        return engine_files.parse(read_text(DAEMON_JSON)).get("live-restore") is True
    except ValueError:
        return False


def restart(module, files, changes):
    """Return (whether docker's daemon runs with older settings, why it must not be restarted now)."""
    start = daemon_start(module) if DAEMON_JSON in files else None
    if start is None:
        return False, ""
    if DAEMON_JSON not in changes and not (os.path.exists(DAEMON_JSON) and os.stat(DAEMON_JSON).st_mtime > start):
        return False, ""
    code, out, _err = module.run_command(["docker", "ps", "--quiet", "--no-trunc"])
    ids = out.split() if code == 0 else [each.identity for each in gpu_containers.running()]
    if not ids or live_restore():
        return True, ""
    return True, ("docker still runs with its former settings: a restart of its daemon would end %d container%s (%s). "
                  "When they have ended: systemctl restart docker"
                  % (len(ids), "" if len(ids) == 1 else "s", ", ".join(each[:12] for each in ids[:4])))


def main():
    module = AnsibleModule(
        argument_spec={
            "engine": {"type": "str", "choices": ["podman", "docker"]},
            "storage": {"type": "path"},
            "storage_free_gib": {"type": "int", "default": 0},
            "log_max_mib": {"type": "int", "default": 100},
            "user": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["engine"])],
        supports_check_mode=True,
    )
    folders, memory = [], None
    try:
        if module.params["state"] == "present":
            files, folders, notes, memory = present(module, module.params)
        else:
            files, notes = absent()
    except EngineError as error:
        module.fail_json(msg="%s. Nothing was written." % error, code=code_of(error))
    before = {path: read_text(path) for path in files}
    changes = {path: text for path, text in files.items() if before[path] != text}
    made = [each for each in folders if not os.path.isdir(each[0])]
    if not module.check_mode:
        try:
            apply(changes, made, memory)
        except (BoxIOError, OSError) as error:
            module.fail_json(msg=str(error), code=code_of(error))
    again, refused = restart(module, files, changes)
    module.exit_json(
        changed=bool(changes or made), notes=notes, restart=again, restart_refused=refused,
        diff=[{"before_header": path, "after_header": path, "before": before[path], "after": text}
              for path, text in changes.items()],
    )


def apply(changes, folders, memory):
    """Make the folders, write the memory of what was there before, then write the files, or remove those without a
    text."""
    for path, uid, gid, mode in folders:
        os.makedirs(path, exist_ok=True)
        os.chown(path, uid, gid)
        os.chmod(path, mode)
    if memory and DAEMON_JSON in changes:
        write_text(STATE, json.dumps(memory, indent=2, sort_keys=True) + "\n", 0o600)
    for path, text in changes.items():
        if text:
            write_text(path, text)
        else:
            remove(path)


if __name__ == "__main__":
    main()
