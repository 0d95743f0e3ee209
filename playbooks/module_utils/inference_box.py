"""The served model's files and unit on the box: what is there, what was accepted, and the way back."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat

from ansible.module_utils import gpu_containers
from ansible.module_utils.box_io import read_text, remove, write_text

__all__ = ["RECIPE", "UNIT", "Service", "accept", "accepted", "differing", "files", "keep", "key_of", "mark", "name",
           "reason_of", "remove_all", "shown", "write"]

UNIT = "tunecheck-inference.service"
_UNITS = "/etc/systemd/system"
_ETC = "/etc/tunecheck"
_SECRETS = _ETC + "/secrets"
RECIPE = _ETC + "/recipe.json"
_KEY = _SECRETS + "/api-key"
_SERVICE = "%s/%s" % (_UNITS, UNIT)
#: What the accepted one is kept as, while a new one is tried and until the next.
_PREVIOUS = {RECIPE: _ETC + "/recipe.previous.json", _SERVICE: _ETC + "/inference.previous.service"}
_STATE = "/var/lib/tunecheck/inference.json"
#: Of this boot: a trial boot starts the unit only once this is there (the unit's conditions).
_HANDED_OVER = "/run/tunecheck/handed-over"
_RECOVER = "tunecheck-recover.service"
_OTHERS = ("tunecheck-preflight.service", "tunecheck-alarm@.service", "tunecheck-watch.service", _RECOVER)
_PROPERTIES = ("LoadState", "ActiveState", "SubState", "UnitFileState", "StatusText", "StatusErrno", "Result",
               "NRestarts")
_NAME = "tunecheck-inference"
#: What podman and docker print of a container that they stop or remove: its id or its name.
_CONTAINER = re.compile(r"[0-9a-f]{12,64}|tunecheck-inference")
#: What systemd itself says of the unit: that it failed, but not why.
_SYSTEMD = re.compile(r"(Starting|Started|Stopping|Stopped|Failed to start|Scheduled restart|tunecheck-\S+\.service: )")


def key_of(given):
    """Return the API key: as given, as it is on the box, or a new one. ValueError for one that files cannot carry."""
    key = (given or "").strip() or read_text(_KEY).strip() or "tc-" + secrets.token_urlsafe(32)
    if not re.fullmatch(r"[A-Za-z0-9._~+/=-]{16,512}", key):
        raise ValueError("inference_api_key_file: expected one key of 16 to 512 letters, digits and ._~+/=- without "
                         "blanks. Make one: openssl rand -hex 32")
    return key


def files(recipe, unit, units, secret, key):
    """Return {path: (text, mode)} of all that is written. Pure."""
    found = {RECIPE: (recipe, 0o644), _SERVICE: (unit, 0o644)}
    found.update({"%s/%s" % (_UNITS, each): (text, 0o644) for each, text in units.items()})
    found[_KEY] = (key + "\n", 0o600)
    found["%s/%s" % (_SECRETS, os.path.basename(secret["file"]))] = (secret["line"].replace("{key}", key), 0o600)
    return found


def mark(want):
    """Return one digest of all wanted files. Pure."""
    text = json.dumps({path: list(body) for path, body in want.items()}, sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _mode(path):
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except FileNotFoundError:
        return None


def differing(want):
    """Return the paths whose file is not as wanted."""
    return [path for path, (text, mode) in want.items() if _mode(path) != mode or read_text(path) != text]


def write(want, paths):
    """Write those of the wanted files that ``paths`` names; secrets lie in a folder of root's."""
    os.makedirs(_ETC, mode=0o755, exist_ok=True)
    os.makedirs(_SECRETS, mode=0o700, exist_ok=True)
    os.chmod(_SECRETS, 0o700)
    for path in paths:
        write_text(path, *want[path])


def shown(recipe, unit, units):
    """Return the differences for --diff, without any key."""
    pairs = [(RECIPE, recipe), (_SERVICE, unit), *(("%s/%s" % (_UNITS, each), text) for each, text in units.items())]
    return [{"before_header": path, "after_header": path, "before": read_text(path), "after": text}
            for path, text in pairs if read_text(path) != text]


def accepted():
    """Return the mark of what was last accepted on this box, or ""."""
    try:
        found = json.loads(read_text(_STATE, "{}"))
    except ValueError:
        return ""
    return str(found.get("accepted", "")) if isinstance(found, dict) else ""


def accept(digest):
    """Remember the digest of what was accepted, with the texts' own digests, by which the next run knows what is on
    disk."""
    on_disk = {path: _sum(read_text(path)) for path in _PREVIOUS}
    # The mark covers the API key: nobody else's business.
    write_text(_STATE, json.dumps({"schema": "tunecheck/inference/1", "accepted": digest, "files": on_disk}, indent=1)
               + "\n", 0o600)


def _sum(text):
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def keep(digest, wanted):
    """Set the accepted recipe and unit aside before another is tried; return what to bring back, or None.

    What is on disk counts only as it was accepted: a play that was interrupted left a newer one there."""
    if not digest or digest == wanted:
        return None     # nothing was accepted, or the very same is tried again
    try:
        known = json.loads(read_text(_STATE, "{}")).get("files", {})
    except (ValueError, AttributeError):
        return None
    if all(known.get(path) == _sum(read_text(path)) for path in _PREVIOUS):
        for path, place in _PREVIOUS.items():
            write_text(place, read_text(path))
    if any(known.get(path) != _sum(read_text(place)) for path, place in _PREVIOUS.items()):
        return None
    return {path: (read_text(place), 0o644) for path, place in _PREVIOUS.items()}


def name(recipe):
    """Return the recipe's id and the start of its digest, for a message. Pure."""
    try:
        found = json.loads(recipe)
        return "recipe %s (%s)" % (found["recipe"]["id"], str(found["digest"])[:19])
    except (ValueError, KeyError, TypeError):
        return "the recipe"


def reason_of(state, journal):
    """Return why the unit did not start, in one line. ``state``: its properties; ``journal``: its last lines. Pure."""
    if state["StatusErrno"].strip("0"):     # the gate or the acceptance refused, and its status says why
        return state["StatusText"]
    lines = [line.strip() for line in journal.splitlines() if line.strip()]
    told = [line for line in lines if not _SYSTEMD.match(line) and not _CONTAINER.fullmatch(line)]
    last = told[-1] if told else (lines[-1] if lines else "the journal says nothing")
    return "%s (journalctl -u %s)" % (last[-400:], UNIT)


def remove_all(service, check):
    """Stop the unit and take everything away but models, images and caches; return sentences of what was done."""
    paths = [RECIPE, _SERVICE, *_PREVIOUS.values(), _STATE, _HANDED_OVER,
             *("%s/%s" % (_UNITS, each) for each in _OTHERS)]
    if os.path.isdir(_SECRETS):
        paths += sorted(os.path.join(_SECRETS, each) for each in os.listdir(_SECRETS))
    there = [path for path in paths if os.path.lexists(path)]
    state = service.state()
    done = ["%s: stopped" % UNIT] if state["ActiveState"] in ("active", "activating", "deactivating") else []
    done += ["%s: removed" % path for path in there]
    if check or not done:
        return done
    service.guard()
    service.stop()
    service.enable(False, state["UnitFileState"] == "enabled")
    for path in there:
        remove(path)
    if os.path.isdir(_SECRETS):
        os.rmdir(_SECRETS)
    service.reload()
    return done


class Service:
    """The inference unit, by systemctl. On a system that systemd does not run (an image being built) nothing is
    started."""

    def __init__(self, module):
        self.module = module
        self.booted = os.path.isdir("/run/systemd/system")

    def _ctl(self, *words):
        return self.module.run_command(["systemctl", *words])

    def state(self):
        found = dict.fromkeys(_PROPERTIES, "")
        if not self.booted:
            found["UnitFileState"] = self._ctl("is-enabled", UNIT)[1].strip()
            return found
        _code, out, _err = self._ctl("show", UNIT, "--property=" + ",".join(_PROPERTIES))
        found.update(line.split("=", 1) for line in out.splitlines() if "=" in line)
        return found

    def guard(self):
        """Raise ValueError where a daemon-reload would take GPUs away from a container other than ours."""
        others = [each for each in gpu_containers.running() if each.name != _NAME]
        if refused := gpu_containers.refusal(others, []):
            raise ValueError("Nothing was changed: systemd would have to read its units again. " + refused)

    def stop(self):
        if self.booted:
            # A recovery that is under way would start it again.
            code, _out, err = self._ctl("stop", UNIT, _RECOVER)
            if code not in (0, 5):      # 5: no such unit yet
                raise ValueError("systemctl stop %s failed: %s" % (UNIT, err.strip()[-300:]))

    def reload(self):
        if self.booted:
            if refused := gpu_containers.reload(self.module, stopped=_NAME):
                raise ValueError("%s is stopped, and systemd may not read it again: %s" % (UNIT, refused))
            self._ctl("reset-failed", UNIT)

    def start(self):
        """Start the unit. Return None when it serves, else why not."""
        self.reload()
        return self.wait()

    def wait(self):
        """Start the unit, or wait for a start that is under way. Return None when it serves, else why not."""
        write_text(_HANDED_OVER, "")
        code, _out, err = self._ctl("start", UNIT)
        # A condition that does not hold (a drop-in's) ends a start without an error. Not asked by "show", after which
        # systemd 252 would go on to call the unit disabled once it is enabled with --no-reload (seen).
        if code == 0 and self._ctl("is-active", UNIT)[1].strip() != "inactive":
            return None
        state = self.state()
        _code, journal, _err = self.module.run_command(
            ["journalctl", "--unit", UNIT, "--lines", "30", "--output", "cat", "--no-pager", "--quiet"])
        return reason_of(state, journal or err)

    def enable(self, wanted, needed):
        if needed:
            self._ctl("enable" if wanted else "disable", "--no-reload", UNIT)
            # Until systemd reads its units again it says of each that its file was changed on disk (seen with 257).
            # Where that would take GPUs away it stays so.
            if self.booted:
                gpu_containers.reload(self.module)
