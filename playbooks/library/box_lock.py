#!/usr/bin/python
"""Ansible module: one play at a time on a box. The action plugin of the same name decides whose play has ended."""

from __future__ import annotations

DOCUMENTATION = r"""
module: box_lock
short_description: Hold or release this box's provisioning lock
description:
  - The lock is a file made in one step; it survives the reboot in the middle of a play. It is looked at and changed
    under a guard of the kernel's (flock), so that of two plays that take over the same dead one's lock one gets it.
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

import contextlib
import fcntl
import json
import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError, read_text, remove, write_text

LOCK = "/var/lib/tunecheck/provision.lock"
#: Gone after a boot, as who held it; a rollback takes the lock's own folder away.
GUARD = "/run/tunecheck-provision.guard"
#: Nobody holds the guard for longer than a few writes take.
GUARD_SECONDS = 20


def holder():
    """Return the lock's owner, {} where it is free; an unreadable lock is held by somebody unknown."""
    text = read_text(LOCK)
    if not text:
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.get("token"):
        return found
    return {"token": "unreadable", "who": "unknown (the lock file is damaged)", "since": "unknown"}


@contextlib.contextmanager
def guarded():
    """Keep everybody else from reading and changing the lock meanwhile; the kernel opens the guard when its holder
    ends. OSError after GUARD_SECONDS."""
    descriptor = os.open(GUARD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        until = time.monotonic() + GUARD_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def replaced(owner, expected):
    """Compare and swap, under the guard: the lock becomes ``owner``'s (None: free) where its holder's token is
    ``expected`` (None: free). Return who holds it instead, {} where it was changed."""
    have = holder()
    if have.get("token") != expected:
        return have
    if owner is None:
        remove(LOCK)
        # Made for the lock, on a box where a play is refused before its first write.
        with contextlib.suppress(OSError):      # what else is in there stays
            os.rmdir(os.path.dirname(LOCK))
    else:
        write_text(LOCK, json.dumps(owner, indent=2, sort_keys=True) + "\n")     # by rename: never half, never gone
    return {}


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
    try:
        with contextlib.nullcontext() if module.check_mode else guarded():
            have = holder()
            if module.params["state"] == "released":
                if not module.check_mode:
                    replaced(None, owner["token"])
                module.exit_json(changed=False)
            free = not have or have["token"] in {owner["token"], steal}
            if not free:
                module.exit_json(changed=False, holder=have)
            taken_over = have if have and have.get("token") != owner["token"] else {}
            if not module.check_mode and (other := replaced(owner, have.get("token"))):
                module.exit_json(changed=False, holder=other)
    except (BoxIOError, OSError) as error:
        module.fail_json(msg="the provisioning lock %s could not be taken: %s" % (LOCK, error))
    # Holding the lock is not a change of the box: a second run must be able to say changed=0.
    module.exit_json(changed=False, taken_over=taken_over)


if __name__ == "__main__":
    main()
