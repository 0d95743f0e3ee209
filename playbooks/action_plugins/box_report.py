"""Action plugin: copy a JSON report of a box to the control node.

As ansible.builtin.fetch, which has the box run two modules for it: this reads the file in one command. The copy is
whole or is not made."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import tempfile

from ansible.plugins.action import ActionBase

#: A report of eight GPUs with measurements has 0.3 MB. A box may be anybody's.
_MOST_BYTES = 16 << 20


def keep(text, path):
    """Write the text to a file that is there whole or not at all. Return whether it was another one before."""
    data = text.encode("utf-8", "surrogateescape")
    with contextlib.suppress(OSError), open(path, "rb") as handle:
        if handle.read(len(data) + 1) == data:
            return False
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".report-")
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fchmod(handle.fileno(), 0o644)
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


class ActionModule(ActionBase):
    """``src``: on the box; ``dest``: on the control node."""

    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(("src", "dest"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        del tmp
        source, path = self._task.args["src"], os.path.abspath(os.path.expanduser(self._task.args["dest"]))
        if self._task.check_mode:
            return {**result, "skipped": True}
        read = self._low_level_execute_command("head -c %d %s" % (_MOST_BYTES + 1, shlex.quote(source)))
        wrong = read["stderr"].strip() or "exit code %d" % read["rc"] if read["rc"] else self._wrong(read["stdout"])
        if wrong:
            return {**result, "failed": True, "msg": "the report %s cannot be read: %s" % (source, wrong)}
        try:
            return {**result, "changed": keep(read["stdout"], path)}
        except OSError as error:
            return {**result, "failed": True, "msg": (
                "the report cannot be kept: %s. Expected a folder on the control node that you can write; "
                "to have it elsewhere: -e preflight_reports_dir=FOLDER" % error)}

    @staticmethod
    def _wrong(text):
        if len(text) > _MOST_BYTES:
            return "it is larger than %d MiB" % (_MOST_BYTES >> 20)
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "it is no whole JSON document"
        return ""
