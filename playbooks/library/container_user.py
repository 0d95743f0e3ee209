#!/usr/bin/python
"""Ansible module: what a user needs to run containers without root."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_user
short_description: Ranges of subordinate ids and lingering for a user who runs containers without root
description:
  - Gives the user a free range of 65536 ids in /etc/subuid and /etc/subgid where there is none of that size.
  - Lets the user's services run without a login (lingering), or containers would end with the session.
  - Never takes anything away; files in images belong to those ids.
options:
  name: {description: The user. It must be there., type: str, required: true}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
done: {description: "What changed, or would change, as sentences.", type: list, returned: always}
"""

import os
import pwd

from ansible.module_utils import engine_files
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import read_text

SUBUID, SUBGID = "/etc/subuid", "/etc/subgid"
LINGER = "/var/lib/systemd/linger/"


def main():
    module = AnsibleModule(argument_spec={"name": {"type": "str", "required": True}}, supports_check_mode=True)
    name, done, commands = module.params["name"], [], []
    try:
        uid = pwd.getpwnam(name).pw_uid
    except KeyError:
        module.fail_json(msg="box_spec.runtime.user: there is no user %s on this box. Create it (useradd --create-home "
                         "%s) or leave runtime.user out. Nothing was written." % (name, name))
    if uid == 0:
        module.fail_json(msg="box_spec.runtime.user: root needs no rootless containers; leave runtime.user out. "
                         "Nothing was written.")
    texts = [read_text(SUBUID), read_text(SUBGID)]
    first = engine_files.next_ids(name, uid, texts)
    if first is not None:
        ids = "%d-%d" % (first, first + 65535)
        done.append("%s: subordinate ids %s" % (name, ids))
        options = [option for path, text, option in ((SUBUID, texts[0], "--add-subuids"), (SUBGID, texts[1],
                   "--add-subgids")) if engine_files.next_ids(name, uid, [text]) is not None]
        commands.append(["usermod", *(word for option in options for word in (option, ids)), name])
    if not os.path.exists(LINGER + name):
        done.append("%s: lingering" % name)
        # What logind does; where it does not run (an image being built), its file is all there is.
        commands.append(["loginctl", "enable-linger", name] if os.path.isdir("/run/systemd/system")
                        else ["install", "-D", "-m", "0644", "/dev/null", LINGER + name])
    for argv in commands if not module.check_mode else ():
        code, out, err = module.run_command(argv)
        if code != 0:
            module.fail_json(msg="%s failed (exit %d): %s. Mend the cause and run the play again."
                             % (" ".join(argv), code, (err or out).strip()[-300:]))
    module.exit_json(changed=bool(done), done=done, diff={"before": "", "after": "".join(each + "\n" for each in done)})


if __name__ == "__main__":
    main()
