"""The settings files of container engines, as texts: docker's daemon.json, podman's storage.conf and containers.conf.
Pure."""

from __future__ import annotations

import json
import re

__all__ = [
    "CDI_SINCE", "containers_conf", "docker_settings", "get", "merge", "next_ids", "set_storage", "storage_value",
    "too_old", "unmerge", "unset_storage",
]

#: First releases that pass CDI devices: podman by NVIDIA's documentation of the toolkit, docker by moby 45134 and its
#: release notes (on by default since 28.2, moby 45192; before that features.cdi). Read 2026-11-21.
CDI_SINCE = {"podman": (4, 1), "docker": (25, 0)}
_MARK = "  # tunecheck; before: "
_HEADER = "# Written by tunecheck (role container_runtime) from the distribution's own; box_spec.runtime.storage.\n"
_BARE = ('[storage]\ndriver = "overlay"\nrunroot = "/run/containers/storage"\n'
         'graphroot = "/var/lib/containers/storage"\n')
#: What useradd gives (SUB_UID_COUNT of login.defs), and the least that an image with ids up to 65535 unpacks with.
_IDS = 65536


def too_old(engine, version):
    """Return a sentence where the engine's ``--version`` text names a release that cannot pass CDI devices, else ""."""
    found = re.search(r"\b(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) >= CDI_SINCE[engine]:
        return ""
    return ("%s %s.%s cannot pass GPUs by CDI; expected %d.%d or later. Take the other engine (box_spec.runtime."
            "engine), or a newer release of the distribution" % (engine, found[1], found[2], *CDI_SINCE[engine]))


# -- docker: daemon.json -----------------------------------------------------------------------------------------------

def docker_settings(log_max_mib, storage, have):
    """Return [(path of keys, value)] that we want in daemon.json, which now holds ``have``."""
    wanted = [(("features", "cdi"), True)]
    if have.get("log-driver", "json-file") in ("json-file", "local"):
        # Two files, so that what was just said is still there after a rotation.
        wanted += [(("log-driver",), have.get("log-driver", "json-file")),
                   (("log-opts", "max-size"), "%dk" % (log_max_mib * 512)), (("log-opts", "max-file"), "2")]
    if storage:
        wanted.append((("data-root",), storage))
    return wanted


def parse(text):
    """Return daemon.json as data; ValueError where it is no JSON object. An empty text stands for no file, or an empty
    one."""
    data = json.loads(text) if text.strip() else {}
    if not isinstance(data, dict):
        raise ValueError("it holds no object")
    return data


def get(data, path):
    """Return (whether there is a value at this path of keys, the value)."""
    for key in path:
        if not isinstance(data, dict) or key not in data:
            return False, None
        data = data[key]
    return True, data


def merge(text, wanted):
    """Return (text with ``wanted`` in it, [[path, was there, old value]] of what changed). Other keys and their order
    stay.

    ValueError where the text is no JSON object, or holds something else where an object must be."""
    data, before = parse(text), []
    for path, value in wanted:
        there, old = get(data, path)
        if there and old == value:
            continue
        before.append([list(path), there, old])
        inner = data
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise ValueError("%s is no object" % key)
        inner[path[-1]] = value
    return (_dump(data), before) if before else (text, [])


def unmerge(text, before, wrote):
    """Return the text without what we wrote. A value that somebody changed since stays."""
    data, changed = parse(text), False
    written = {tuple(path): value for path, value in wrote}
    for path, there, old in before:
        found, now = get(data, path)
        if not found or now != written.get(tuple(path)):
            continue
        changed = True
        inner = get(data, path[:-1])[1]
        if there:
            inner[path[-1]] = old
        else:
            del inner[path[-1]]
            if not inner and len(path) > 1:
                del get(data, path[:-2])[1][path[-2]]
    return _dump(data) if changed else text


def _dump(data):
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


# -- podman: containers.conf and storage.conf --------------------------------------------------------------------------

def containers_conf(log_max_mib):
    """Return the drop-in's text. With the journal as log driver, podman's default under systemd, log_size_max would do
    nothing."""
    return ("# Written by tunecheck (role container_runtime); box_spec.runtime.log_max_mib.\n[containers]\n"
            'log_driver = "k8s-file"\nlog_size_max = %d\n' % (log_max_mib << 20))


def storage_value(text, key):
    """Return a text value of the table [storage]; "" where it is not set."""
    line = _line(text, key)
    found = re.match(r"""[^=]*=\s*(?:"([^"]*)"|'([^']*)')""", line[1]) if line else None
    return (found[1] or found[2] or "") if found else ""


def set_storage(text, key, value, vendor=""):
    """Return storage.conf with ``key`` set in its table [storage], all else as it was. Without a text, ``vendor`` is
    the start, the distribution's own file: podman reads one of the two and none of the other's values."""
    if not text:
        text = _HEADER + (vendor or _BARE)
    line = _line(text, key)
    if line is not None and storage_value(text, key) == value:
        return text
    lines = text.splitlines()
    if line is not None:
        at, old = line
        original = old.partition(_MARK)[2] if _MARK in old else old
        lines[at] = '%s = "%s"%s%s' % (key, value, _MARK, original)
    else:
        heads = [at for at, each in enumerate(lines) if re.match(r"\s*\[\s*storage\s*\]", each)]
        if not heads:
            lines, heads = ["[storage]", *lines], [0]
        lines.insert(heads[0] + 1, '%s = "%s"%snone' % (key, value, _MARK))
    return "\n".join(lines) + "\n"


def unset_storage(text, key=""):
    """Return the text without what set_storage did, for one key or all; "" where the whole file is ours."""
    if not key and text.startswith(_HEADER):
        return ""
    kept = []
    for line in text.splitlines(keepends=True):
        ours = _MARK in line and (not key or line.partition("=")[0].strip() == key)
        original = line.partition(_MARK)[2] if ours else line
        if not ours or original.strip() != "none":
            kept.append(original)
    return "".join(kept)


def _line(text, key):
    table = ""
    for at, line in enumerate(text.splitlines()):
        head = re.match(r"\s*\[\s*([^\]]*?)\s*\]", line)
        if head:
            table = head[1]
        elif table == "storage" and re.match(r"\s*%s\s*=" % re.escape(key), line):
            return at, line
    return None


# -- a user without root: /etc/subuid, /etc/subgid --------------------------------------------------------------------

def next_ids(user, uid, texts):
    """Return the first id of a range that is free in all texts (/etc/subuid, /etc/subgid); None where the user has
    enough in each.

    A range counts by the user's name or number."""
    taken, enough = 100000, []
    for text in texts:
        most = 0
        for line in text.splitlines():
            cells = line.split(":")
            if len(cells) == 3 and cells[1].isdigit() and cells[2].isdigit():
                taken = max(taken, int(cells[1]) + int(cells[2]))
                if cells[0] in (user, str(uid)):
                    most = max(most, int(cells[2]))
        enough.append(most >= _IDS)
    return None if all(enough) else taken
