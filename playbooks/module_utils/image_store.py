"""Where engines keep images: what is in a folder already, and how much room its file system has. Reads files only:
asking an engine would start it, and on a big store it takes seconds."""

from __future__ import annotations

import glob
import json
import os

from ansible.module_utils.box_io import read_text

__all__ = ["existing", "free_gib", "holds"]


def holds(engine, folder):
    """Return what a store has, as "2 images and 1 container"; "" for an empty or missing one."""
    if engine == "docker":
        images = len(glob.glob(folder + "/image/*/imagedb/content/sha256/*"))
        containers = len(glob.glob(folder + "/containers/*"))
    else:
        images = _entries(folder + "/*-images/images.json")
        containers = _entries(folder + "/*-containers/containers.json")
    parts = ["%d %s%s" % (number, word, "" if number == 1 else "s")
             for number, word in ((images, "image"), (containers, "container")) if number]
    return " and ".join(parts)


def _entries(pattern):
    found = 0
    for path in glob.glob(pattern):
        try:
            found += len(json.loads(read_text(path, "[]")) or ())
        except (ValueError, TypeError):
            found += 1      # something is there; what, nobody can tell
    return found


def existing(folder):
    """Return the folder, or the nearest one above it that is there."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def free_gib(folder):
    """Return the room for users without privileges on the file system that the folder is or will be on, in GiB."""
    told = os.statvfs(existing(folder))
    return told.f_bavail * told.f_frsize / float(1 << 30)
