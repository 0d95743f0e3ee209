#!/usr/bin/python
"""Ansible module: one play at a time on a box. The action plugin of the same name decides who is dead."""

from __future__ import annotations

DOCUMENTATION = r"""
module: box_lock
short_description: Hold or release this box's provisioning lock
description:
  - The lock is a file made in one step; it survives the reboot in the middle of a play.
  - A lock of a play that died on the same control node is taken over at once (the action plugin looks for its process).
    One of another control node is honoured until I(steal) names its token.
options:
  state: {description: Hold or release., type: str, choices: [held, released], required: true}
  owner: {description: Who holds it; filled in by the action plugin., type: dict}
  steal: {description: Token of a lock to take over., type: str}
attributes:
  check_mode: {support: full, details: Never writes in check mode and reports no change.}
author: [tunecheck]
"""
RETURN = r"""
holder: {description: Who holds the lock when it is not us., type: dict, returned: when refused}
taken_over: {description: The dead owner whose lock was taken over., type: dict, returned: when stolen}
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError, read_text, remove, write_text

LOCK = "/var/lib/tunecheck/provision.lock"


def holder():
    """The lock's owner, {} where it is free; an unreadable lock is held by somebody unknown."""
    text = read_text(LOCK)
    if not text:
        return {}
    try:
        return json.loads(text)
    except ValueError:
        return {"token": "unreadable", "who": "unknown (the lock file is damaged)", "since": "unknown"}


def take(owner):
    """Make the lock file unless it exists; False when somebody was faster."""
    folder = os.path.dirname(LOCK)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    mine = os.path.join(folder, ".lock-" + owner["token"])
    write_text(mine, json.dumps(owner, indent=2, sort_keys=True) + "\n")
    try:
        os.link(mine, LOCK)     # link(2) fails where the name exists, and the file is whole from the start
    except FileExistsError:
        return False
    finally:
        os.unlink(mine)
    return True


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["held", "released"], "required": True},
            "owner": {"type": "dict", "required": True},
            "steal": {"type": "str", "no_log": False},
        },
        supports_check_mode=True,
    )
    owner, steal = module.params["owner"], module.params["steal"]
    have = holder()
    mine = have.get("token") == owner["token"]
    try:
        if module.params["state"] == "released":
            if mine and not module.check_mode:
                remove(LOCK)
            module.exit_json(changed=False)
        taken_over = {}
        if have and not mine and steal and have.get("token") == steal:
            taken_over, have = have, {}
            if not module.check_mode:
                remove(LOCK)
        if have and not mine:
            module.exit_json(changed=False, holder=have)
        if not have and not module.check_mode and not take(owner):
            module.exit_json(changed=False, holder=holder())
    except (BoxIOError, OSError) as error:
        module.fail_json(msg="the provisioning lock %s could not be taken: %s" % (LOCK, error))
    # Holding the lock is not a change of the box: a second run must be able to say changed=0.
    module.exit_json(changed=False, taken_over=taken_over)


if __name__ == "__main__":
    main()
