"""What stands at the paths of this project's small files: units, links, scripts and settings.

One look at all of them, when a play begins to work on a box, answers what each role would ask by a module run of its
own, which costs a second or more on a box far away."""

from __future__ import annotations

import glob
import hashlib
import os
import stat

from ansible.module_utils.box_io import read_text

__all__ = ["FOLDERS", "SECRETS", "current", "look"]

#: Ansible shows what a module returns with -v: of a file here no sum is told, so that its text cannot be guessed by it.
SECRETS = "/etc/tunecheck/secrets"
#: Where files of this project may stand, as patterns. One in a folder of others has "tunecheck" in its name.
FOLDERS = ("/etc/tunecheck", SECRETS, "/usr/local/lib/tunecheck", "/etc/udev/rules.d",
           "/etc/systemd/system", "/etc/systemd/system/*.wants")
#: More than all roles together write. What is beyond is not looked at, and is asked of the box as before.
MOST = 256


def current(path):
    """Return what is at ``path`` as (kind, text or target, mode); kind is absent, link, file or other."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return "absent", "", 0
    if stat.S_ISLNK(info.st_mode):
        return "link", os.readlink(path), 0
    if stat.S_ISREG(info.st_mode):
        return "file", read_text(path), stat.S_IMODE(info.st_mode)
    return "other", "", 0


def look(folders=FOLDERS, secrets=SECRETS):
    """Return what stands there, as {"folders": patterns, "files": {path: [kind, target or SHA-256 of the text, mode]}}.
    A path with "tunecheck" in one of the folders that is not named is absent. The kind is unknown where a file cannot
    be read, and for each file in the folder ``secrets``. {} where there are more than MOST files or a folder cannot be
    read: nothing is known then."""
    files = {}
    for pattern in folders:
        for folder in sorted(glob.glob(pattern)):
            try:
                names = sorted(os.listdir(folder))
            except NotADirectoryError:
                continue
            except OSError:
                return {}
            for path in (os.path.join(folder, name) for name in names):
                if "tunecheck" not in path:
                    continue
                if len(files) == MOST:
                    return {}
                try:
                    kind, body, mode = current(path) if folder != secrets else ("unknown", "", 0)
                except OSError:
                    kind, body, mode = "unknown", "", 0
                if kind == "file":
                    body = hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest()
                files[path] = [kind, body, mode]
    return {"folders": list(folders), "files": files}
