"""Action plugin: asks nothing of the box where all files are known to be as they should be.

``seen`` is what box_info read of them in this play, under the box's lock. A list in which one file differs, or is not
known, goes to the module as a whole, which compares it anew before it writes."""

from __future__ import annotations

import fnmatch
import hashlib
import os

from ansible.plugins.action import ActionBase


def there(path, seen):
    """Return what is known to be at ``path``, as [kind, target or SHA-256 of the text, mode]; None where nothing is."""
    if not isinstance(path, str) or os.path.normpath(path) != path:
        return None
    if path in seen["files"]:
        return seen["files"][path]
    folder = os.path.dirname(path)
    looked_at = any(fnmatch.fnmatchcase(folder, pattern) and folder.count("/") == pattern.count("/")
                    for pattern in seen["folders"])
    return ["absent", "", 0] if looked_at and "tunecheck" in path else None


def wanted(entry):
    """Return what should be there, as ``there`` does; None where the module has to say what is wrong with the entry."""
    if entry.get("state") == "absent":
        return ["absent", "", 0]
    link, text, mode = entry.get("link_to"), entry.get("content"), entry.get("mode", "0644")
    if isinstance(link, str):
        return ["link", link, 0]
    if not isinstance(text, str) or not isinstance(mode, str):
        return None
    try:
        return ["file", hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(), int(mode, 8)]
    except ValueError:
        return None


def settled(files, seen):
    """Return whether every file is known to be as it should be."""
    if not seen or not isinstance(files, list):
        return False
    pairs = [(wanted(entry), there(entry.get("path"), seen)) if isinstance(entry, dict) else (None, None)
             for entry in files]
    return all(want is not None and want == have for want, have in pairs)


class ActionModule(ActionBase):
    """``files``: as the module takes them; ``seen``: what box_info read, empty where nothing was."""

    _VALID_ARGS = frozenset(("files", "seen"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        del tmp
        files, seen = self._task.args.get("files"), self._task.args.get("seen") or {}
        if settled(files, seen):
            return {**result, "changed": False, "written": [], "diff": []}
        result.update(self._execute_module(module_name="box_files", module_args={"files": files}, task_vars=task_vars))
        return result
