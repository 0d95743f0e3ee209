"""Action plugin: the control node's note of a rollout that has not ended, so that the next run need not look again at
the boxes that it has proven. Nothing is asked of a box.

``begun`` reads the note of an earlier run and starts its own; ``proven`` adds boxes; ``ended`` removes it, so only a
rollout that was stopped or killed leaves one. A box counts as proven only with the same inputs: everything that its
inventory says, and every file of this project. A note that is damaged, or that others can write, is not used."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
import uuid

from ansible import __version__ as _ansible
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

_PROJECT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))
_SOURCES = ("ansible.cfg", "site.yml", "checks", "playbooks", "roles")
_MOST_BYTES = 16 << 20
#: What a run sets anew, and what is about the rollout and no box.
_NO_INPUT = frozenset((
    "ansible_check_mode", "ansible_config_file", "ansible_diff_mode", "ansible_facts", "ansible_forks", "ansible_limit",
    "ansible_inventory_sources", "ansible_playbook_python", "ansible_run_tags", "ansible_skip_tags",
    "ansible_verbosity", "ansible_version", "box_lock_steal", "environment", "groups", "hostvars", "inventory_dir",
    "inventory_file", "omit", "playbook_dir", "vars"))
_NO_INPUTS = ("ansible_play_", "provision_")


def project_digest():
    """Over the names and bytes of the files that do and judge the work."""
    whole = hashlib.sha256(_ansible.encode())
    for source in _SOURCES:
        place = os.path.join(_PROJECT, source)
        files = [place] if os.path.isfile(place) else sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names
            if not name.endswith(".pyc"))
        for path in files:
            with open(path, "rb") as handle:
                whole.update(("%s\0%s\0" % (os.path.relpath(path, _PROJECT),
                                            hashlib.sha256(handle.read()).hexdigest())).encode())
    return whole.hexdigest()


def box_digest(project, variables):
    """``variables``: name -> value, resolved when it is read."""
    said = json.dumps([(name, _resolved(variables, name)) for name in sorted(variables)
                       if name not in _NO_INPUT and not name.startswith(_NO_INPUTS)], sort_keys=True, default=str)
    return hashlib.sha256((project + said).encode()).hexdigest()


def _resolved(variables, name):
    try:
        return variables[name]
    except AnsibleError as error:       # what needs a variable that only a role sets
        return str(error)


def batch_sizes(serial, done, boxes):
    """Return the sizes of the batches that are left, cut as before: ``serial`` as in the inventory, counted over all
    ``boxes``, from the first batch that is not done."""
    entries = serial if isinstance(serial, list) else [serial]
    sizes = [max(1, int(float(str(each).rstrip("%")) / 100 * len(boxes)) if str(each).endswith("%") else int(each))
             for each in entries]
    position = 0
    while len(sizes) > 1 and position < len(boxes) and done.issuperset(boxes[position:position + sizes[0]]):
        position += sizes.pop(0)
    return sizes


class ActionModule(ActionBase):
    """``state``: begun (boxes, serial, hours), proven (id, boxes), ended (id)."""

    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(("state", "boxes", "serial", "hours", "id"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        del tmp
        arguments = self._task.args
        sources = sorted(os.path.abspath(each) for each in task_vars.get("ansible_inventory_sources") or ())
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        self._path = os.path.join(state, "tunecheck", "rollouts", "%s.json" % hashlib.sha256(
            "\0".join(sources).encode()).hexdigest()[:16])
        try:
            if arguments["state"] == "begun":
                return {**result, **self._begin(task_vars["hostvars"])}
            note = self._read()
            # Another run of the same inventory has begun since: the note is its own.
            if note and note["id"] == arguments["id"]:
                if arguments["state"] == "ended":
                    os.unlink(self._path)
                else:
                    for name in arguments["boxes"]:
                        note["boxes"][name]["proven"] = time.time()
                    self._write(note)
        except (OSError, ValueError) as error:
            result["warnings"] = ["no note is kept of what this rollout has proven, and a run after it looks at every "
                                  "box again: %s" % error]
        return result

    def _begin(self, hostvars):
        boxes, hours = list(self._task.args["boxes"]), float(self._task.args["hours"])
        now, ignored, before = time.time(), "", None
        try:
            before = self._read()
        except (OSError, ValueError) as error:
            ignored = "the note %s is not used: %s" % (self._path, error)
        project, entries = project_digest(), {}
        for name in boxes:
            entries[name] = {"digest": box_digest(project, hostvars[name]), "proven": 0}
            known = (before or {"boxes": {}})["boxes"].get(name, entries[name])
            fresh = known["proven"] and 0 <= now - known["proven"] < hours * 3600
            if fresh and known["digest"] == entries[name]["digest"]:
                entries[name] = known
        done = [name for name in boxes if entries[name]["proven"]]
        began = before["began"] if done else now
        note = {"version": 1, "id": uuid.uuid4().hex, "began": began, "boxes": entries}
        answer = {"id": note["id"], "done": done, "began": _utc(began), "ignored": ignored, "canary": boxes[:1],
                  "since": _utc(min(entries[name]["proven"] for name in done)) if done else "",
                  "serial": batch_sizes(self._task.args["serial"], set(done), boxes) if done else
                  self._task.args["serial"]}
        try:
            self._write(note)
        except OSError as error:
            answer["ignored"] = "no note can be kept of what this rollout proves: %s" % error
        return answer

    def _read(self):
        """Return the note, None where there is none. ValueError where it is not to be trusted."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as handle:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise ValueError("it is not a file that only this user can write")
            text = handle.read(_MOST_BYTES + 1)
        try:
            note = json.loads(text) if len(text) <= _MOST_BYTES else None
            sound = (note["version"] == 1 and isinstance(note["id"], str) and isinstance(note["began"], (int, float))
                     and all(isinstance(each["digest"], str) and isinstance(each["proven"], (int, float))
                             for each in note["boxes"].values()))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            sound = False
        if not sound:
            raise ValueError("it is damaged, or from another version")
        return note

    def _write(self, note):
        folder = os.path.dirname(self._path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".note-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
                json.dump(note, handle)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, self._path)
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(place)
            finally:
                os.close(place)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def _utc(seconds):
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
