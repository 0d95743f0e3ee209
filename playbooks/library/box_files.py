#!/usr/bin/python
"""Ansible module: several small files of one role, written atomically in one step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: box_files
short_description: Write, link or remove several small files atomically
description:
  - Compares every file first and writes only what differs. Each write is a temporary file, fsync, rename.
  - One module run for all files of a role, because a run costs seconds on a slow connection.
options:
  files:
    description: The files, each with I(path) and one of I(content), I(link_to) or I(state=absent).
    type: list
    elements: dict
    required: true
    suboptions:
      path: {description: Absolute path., type: path, required: true}
      content: {description: The whole text., type: str}
      mode: {description: Octal mode of a written file., type: str, default: "0644"}
      link_to: {description: Target of a symbolic link., type: str}
      state: {description: Whether it should be there., type: str, choices: [present, absent], default: present}
  seen:
    description:
      - What M(box_info) read of the files in this play, under the box's lock. Where all of them are as they should be,
        the box is not asked again. Only the action plugin of the same name uses it.
    type: dict
    default: {}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
written:
  description: Paths that changed, or would change in check mode.
  type: list
  returned: always
"""

import contextlib
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError, link, remove, write_text
from ansible.module_utils.own_files import current

FILE = {
    "path": {"type": "path", "required": True},
    "content": {"type": "str"},
    "mode": {"type": "str", "default": "0644"},
    "link_to": {"type": "str"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def wanted(entry):
    """Return what should be at the path of ``entry``, as (kind, text or target, mode)."""
    if entry["state"] == "absent":
        return "absent", "", 0
    if entry["link_to"] is not None:
        return "link", entry["link_to"], 0
    return "file", entry["content"], int(entry["mode"], 8)


def apply(entry, want):
    """Write, link or remove what the entry says."""
    kind, body, mode = want
    if kind == "absent":
        remove(entry["path"])
        folder = os.path.dirname(entry["path"])
        if folder.endswith(".wants"):       # the last link takes its folder along, as systemctl disable does
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    elif kind == "link":
        link(body, entry["path"])
    else:
        write_text(entry["path"], body, mode)


def shown(state):
    """Return the text of one side of a diff."""
    kind, body, _mode = state
    if kind == "link":
        return "link to %s\n" % body
    return body if kind == "file" else ""


def main():
    module = AnsibleModule(
        argument_spec={"files": {"type": "list", "elements": "dict", "required": True, "options": FILE},
                       "seen": {"type": "dict", "default": {}}},
        supports_check_mode=True,
    )
    changes, diffs = [], []
    for entry in module.params["files"]:
        path, have, want = entry["path"], current(entry["path"]), wanted(entry)
        if want[0] == "file" and want[1] is None:
            module.fail_json(msg="%s: expected one of content, link_to or state: absent" % path)
        if have[0] == "other":
            module.fail_json(msg="%s is neither a file nor a link; expected a file. Move it away and run again." % path)
        if have == want:
            continue
        changes.append((entry, want))
        diffs.append({"before_header": path, "after_header": path, "before": shown(have), "after": shown(want)})
    if not module.check_mode:
        for entry, want in changes:
            try:
                apply(entry, want)
            except BoxIOError as error:
                module.fail_json(msg=str(error))
    module.exit_json(changed=bool(changes), written=[entry["path"] for entry, _ in changes], diff=diffs)


if __name__ == "__main__":
    main()
