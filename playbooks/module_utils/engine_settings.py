"""The settings of podman or docker on this box, and all reasons not to write them. Reads only; the module writes."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import tempfile
from enum import Enum

from ansible.module_utils import engine_files, image_store
from ansible.module_utils.box_io import read_text
from ansible.module_utils.refusal import CodedError

__all__ = ["DAEMON_JSON", "STATE", "EngineError", "NoEngine", "absent", "present"]

CONTAINERS_CONF = "/etc/containers/containers.conf.d/zz-tunecheck.conf"
STORAGE_CONF = "/etc/containers/storage.conf"
VENDOR_STORAGE_CONF = "/usr/share/containers/storage.conf"
DAEMON_JSON = "/etc/docker/daemon.json"
#: What stood there before us, so that it can come back.
STATE = "/var/lib/tunecheck/container_engine.json"
PROGRAM = {"podman": "podman", "docker": "dockerd"}
STORE = {"podman": "/var/lib/containers/storage", "docker": "/var/lib/docker"}


class NoEngine(Enum):
    """Why an engine cannot be set up."""

    NO_USER = "no-user"
    #: A user was asked for, and docker's daemon runs as root.
    DOCKER_IS_ROOT = "docker-is-root"
    #: It cannot pass GPUs by CDI.
    TOO_OLD = "too-old"
    NO_ROOM = "no-room"
    #: The store would move away from images.
    HAS_IMAGES = "has-images"
    #: The user's own storage.conf is read in place of the system's.
    OWN_SETTINGS = "own-settings"
    NOT_JSON = "not-json"
    #: Its images are with containerd, which has a setting of its own.
    CONTAINERD_STORE = "containerd-store"
    #: The daemon would not start with the file.
    REFUSED = "refused"


class EngineError(CodedError):
    """The engine cannot be set up. ``why`` is a NoEngine; the message says what is wrong, what was expected, how to fix
    it."""


def state():
    """Return what an earlier run remembered: {"daemon_json": {"existed", "before", "wrote"}}; empty where there is
    none."""
    try:
        found = json.loads(read_text(STATE, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def account(name):
    """Return the user's entry in the password database; EngineError where there is none."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise EngineError(
            NoEngine.NO_USER,
            "box_spec.runtime.user: there is no user %s on this box. Create it (useradd "
            "--create-home %s) or leave runtime.user out" % (name, name)) from None


def present(module, params):
    """Return ({path: text}, folders to make as (path, uid, gid, mode), notes, memory). EngineError where it cannot
    work."""
    engine, storage = params["engine"], params["storage"]
    entry = account(params["user"]) if params["user"] else None
    if entry is not None and engine == "docker":
        raise EngineError(
            NoEngine.DOCKER_IS_ROOT,
            "box_spec.runtime.user: docker's daemon runs as root, whoever asks it. Expected engine: "
            "podman with a user, or docker without one")
    program = shutil.which(PROGRAM[engine], path=os.environ.get("PATH", "") + ":/usr/bin:/usr/sbin:/usr/local/bin")
    version = module.run_command([program, "--version"])[1] if program else ""
    old = engine_files.too_old(engine, version)
    if old:
        raise EngineError(NoEngine.TOO_OLD, old)
    files, notes, memory = podman(params, entry) if engine == "podman" else docker(module, params, version)
    folders = []
    if storage:
        folders.append((storage, 0, 0, 0o711))
        if entry is not None:
            folders.append(("%s/%d" % (storage, entry.pw_uid), entry.pw_uid, entry.pw_gid, 0o700))
    room(params, folders[-1][0] if folders else home_store(engine, entry))
    return files, folders, notes, memory


def home_store(engine, entry):
    """Return the engine's usual folder for images; with ``entry``, that of the user."""
    return STORE[engine] if entry is None else entry.pw_dir + "/.local/share/containers/storage"


def room(params, folder):
    """Raise EngineError where an empty store has too little room; one with images in it has used the room it was
    given."""
    need = params["storage_free_gib"]
    have = image_store.free_gib(folder)
    if have < need and not image_store.holds(params["engine"], folder):
        raise EngineError(
            NoEngine.NO_ROOM,
            "box_spec.runtime.storage_free_gib: %s has %.1f GiB free; expected %d GiB for what will be "
            "pulled. Mount the disk that is meant for it, make room, or name another folder (runtime.storage)"
            % (image_store.existing(folder), have, need))


def stay(engine, now, then):
    """Raise EngineError where the store would move away from images."""
    inside = image_store.holds(engine, now) if now != then else ""
    if inside:
        raise EngineError(
            NoEngine.HAS_IMAGES,
            "box_spec.runtime.storage: %s keeps %s in %s, and with its store in %s it would no longer "
            "see them. Save what you need (%s save), remove it there (%s system prune --all), and run "
            "the play again; or set runtime.storage to %s"
            % (engine, inside, now, then, engine, engine, now))


def podman(params, entry):
    """Return ({path: text}, notes, memory) for podman."""
    files = {CONTAINERS_CONF: engine_files.containers_conf(params["log_max_mib"])}
    key = "graphroot" if entry is None else "rootless_storage_path"
    text, vendor = read_text(STORAGE_CONF), read_text(VENDOR_STORAGE_CONF)
    now = engine_files.storage_value(text or vendor, key) or home_store("podman", entry)
    if entry is not None:
        now = now.replace("$HOME", entry.pw_dir).replace("$UID", str(entry.pw_uid)).replace("$USER", entry.pw_name)
        own = entry.pw_dir + "/.config/containers/storage.conf"
        if params["storage"] and os.path.exists(own):
            raise EngineError(
                NoEngine.OWN_SETTINGS,
                "box_spec.runtime.storage: %s is what podman reads for %s, in place of the system's "
                "file. Move it away, or leave runtime.storage out" % (own, entry.pw_name))
    if params["storage"]:
        then = params["storage"] if entry is None else "%s/%d" % (params["storage"], entry.pw_uid)
        stay("podman", now, then)
        value = params["storage"] if entry is None else params["storage"] + "/$UID"
        other = "rootless_storage_path" if entry is None else "graphroot"
        text = engine_files.unset_storage(text, other) if text else text
        files[STORAGE_CONF] = engine_files.set_storage(text, key, value, vendor)
    elif engine_files.unset_storage(text) != text:
        stay("podman", now, engine_files.storage_value(engine_files.unset_storage(text) or vendor, key)
             or home_store("podman", entry))
        files[STORAGE_CONF] = engine_files.unset_storage(text)
    return files, [], state()


def docker(module, params, version):
    """Return ({path: text}, notes, memory) for docker."""
    text, memory, notes = read_text(DAEMON_JSON), state(), []
    try:
        have = engine_files.parse(text)
        wanted = engine_files.docker_settings(params["log_max_mib"], params["storage"], have)
        merged, before = engine_files.merge(text, wanted)
    except ValueError as error:
        raise EngineError(
            NoEngine.NOT_JSON,
            "%s is no JSON that docker reads (%s), so nothing can be merged into it. Mend or remove it"
            % (DAEMON_JSON, error)) from error
    if params["storage"]:
        stay("docker", str(have.get("data-root") or STORE["docker"]), params["storage"])
        snapshotter = engine_files.get(have, ("features", "containerd-snapshotter"))[1]
        major = version.partition("version ")[2].partition(".")[0]
        if snapshotter is True or (major.isdigit() and int(major) >= 29 and snapshotter is not False):
            raise EngineError(
                NoEngine.CONTAINERD_STORE,
                "box_spec.runtime.storage: this docker keeps images with containerd, and data-root does "
                "not move them. Expected root = \"...\" in /etc/containerd/config.toml by your own hand "
                "and runtime.storage left out, or engine: podman")
    if "nvidia" in str(have.get("default-runtime", "")):
        notes.append("%s: default-runtime is %s, so containers may get GPUs by NVIDIA's hook and lose them at a "
                     "daemon-reload; remove it and pass --device nvidia.com/gpu=all"
                     % (DAEMON_JSON, have["default-runtime"]))
    if have.get("log-driver", "json-file") not in ("json-file", "local"):
        notes.append("%s: log-driver is %s, which has a rotation of its own; runtime.log_max_mib is not applied"
                     % (DAEMON_JSON, have["log-driver"]))
    if before:
        validate(module, merged)
        kept = memory.setdefault("daemon_json", {"existed": os.path.exists(DAEMON_JSON), "before": [], "wrote": []})
        known = [path for path, _there, _old in kept["before"]]
        kept["before"] += [row for row in before if row[0] not in known]
        new = engine_files.parse(merged)
        kept["wrote"] = [[path, engine_files.get(new, path)[1]] for path, _there, _old in kept["before"]]
    return {DAEMON_JSON: merged}, notes, memory


def validate(module, text):
    """Raise EngineError where the daemon itself would not start with the file."""
    program = shutil.which("dockerd", path="/usr/bin:/usr/sbin:/usr/local/bin")
    if program is None:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        code, out, err = module.run_command([program, "--validate", "--config-file", file.name])
    if code != 0:
        raise EngineError(
            NoEngine.REFUSED,
            "dockerd refuses what %s would be: %s. Mend the file"
             % (DAEMON_JSON, (err or out).strip()[-300:]))


def absent():
    """Return ({path: text}, notes): our settings are out, and what stood there before is back in."""
    files, notes, memory = {CONTAINERS_CONF: ""}, [], state().get("daemon_json")
    text = read_text(STORAGE_CONF)
    if engine_files.unset_storage(text) != text:
        files[STORAGE_CONF] = engine_files.unset_storage(text)
        notes.append("podman looks for images in its former folder again; those in the folder of runtime.storage stay "
                     "there and take room")
    if memory:
        text = read_text(DAEMON_JSON)
        try:
            back = engine_files.unmerge(text, memory["before"], memory["wrote"])
            files[DAEMON_JSON] = "" if not memory["existed"] and engine_files.parse(back) == {} else back
        except (ValueError, KeyError, TypeError):
            notes.append("%s is no longer JSON; it was left as it is" % DAEMON_JSON)
    return files, notes
