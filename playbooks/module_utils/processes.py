"""Recognise a process by what its user cannot choose: its executable and who owns that, its user ids, its cgroup.

A process gives itself any name (prctl(2) PR_SET_NAME) and any command line. /proc/<pid>/exe is the file that the
kernel runs, Uid are its real, effective, saved and file system user, and nobody but root moves a process into a cgroup
that was not delegated to that user."""

from __future__ import annotations

import os
import re
import stat

from ansible.module_utils.tunecheck.util import safe_files

__all__ = ["cgroup", "delegated", "in_unit", "of_root", "program", "read"]

#: The largest of these files is a command line of 2 MiB.
_MOST = 4 << 20
#: What systemd hands over to a user, with everything beneath.
_USERS = re.compile(r"/user@(\d+)\.service(?:/|$)")


def read(pid, name, proc="/proc"):
    """Return the text of /proc/<pid>/<name>; "" where the process is gone or the file is not for us."""
    try:
        return safe_files.read("%s/%s/%s" % (proc, pid, name), _MOST).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def program(pid, proc="/proc"):
    """Return the name of the executable, where root owns it and nobody else may write it; else ""."""
    link = "%s/%s/exe" % (proc, pid)
    try:
        name, info = os.path.basename(os.readlink(link)), os.stat(link)
    except OSError:
        return ""
    # An upgrade takes the file away below a running process; the link then says so behind the name.
    ours = info.st_uid == 0 and not info.st_mode & 0o022 and stat.S_ISREG(info.st_mode)
    return re.sub(r" \(deleted\)$", "", name) if ours else ""


def of_root(pid, proc="/proc"):
    """Return whether the process is root's in every respect: all four user ids, and no container's root (which has a
    process id of its own namespace too)."""
    fields = dict(re.findall(r"^(Uid|NSpid):\s*(.*)$", read(pid, "status", proc), re.MULTILINE))
    return fields.get("Uid", "").split() == ["0"] * 4 and len(fields.get("NSpid", "1").split()) == 1


def cgroup(pid, proc="/proc"):
    """Return the path of the process' cgroup: of the unified hierarchy, else of systemd's own."""
    lines = [line.split(":", 2) for line in read(pid, "cgroup", proc).splitlines() if line.count(":") >= 2]
    for kind in ("", "name=systemd"):
        for _, controllers, path in lines:
            if controllers == kind and path != "/":
                return path
    return next((path for _, _, path in lines if path != "/"), "/" if lines else "")


def delegated(path):
    """Return whether an unprivileged user may have made this cgroup, and chosen its name."""
    found = _USERS.search(path)
    return bool(found) and int(found.group(1)) != 0


def in_unit(path, unit):
    """Return whether the cgroup is the system's unit of that name, or lies below it."""
    return not delegated(path) and unit in path.split("/")
