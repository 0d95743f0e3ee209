#!/usr/bin/python
"""Ansible module: put the checker into /opt/tunecheck from a wheelhouse, without any network."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tunecheck_install
short_description: Install tunecheck from a wheelhouse archive that the control node built
description:
  - Makes a fresh virtual environment beside the old one, installs from the archive alone (hashes checked), tries it,
    and only then switches a symbolic link. A failed install leaves the old one in use.
options:
  archive: {description: The wheelhouse archive on this box., type: path, required: true}
  digest: {description: Its digest; names the installation., type: str, required: true}
  python: {description: Interpreter to use., type: path, required: true}
attributes:
  check_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
version: {description: What the installed tunecheck says of itself., type: str, returned: success}
code: {description: "Of a wheelhouse that cannot be installed, the reason.", type: str, returned: failure}
"""

import glob
import hashlib
import io
import os
import re
import shutil
import tarfile
import zipfile
from enum import Enum

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import link, read_text, write_text
from ansible.module_utils.refusal import CodedError, code_of

ROOT = "/opt/tunecheck"
#: For root and its units; and for users, whose PATH has no sbin on Debian.
COMMANDS = ("/usr/local/sbin/tunecheck", "/usr/local/bin/tunecheck")
SHARE = "/usr/local/share"
#: Works without, only starts slower: nothing that a box runs loads them, and they are a third of all files.
NOT_COMPILED = "/(pygments|markdown_it|tunecheck_fleet/(store|judge|outputs|ingest))/"


class Unfit(Enum):
    """Why an archive of wheels cannot be installed."""

    NO_PLAIN_FILE = "no-plain-file"
    NO_LOCK = "no-lock"
    #: A file that its lock does not name, or of another content.
    NOT_NAMED = "not-named"
    #: A wheel that would write beside site-packages.
    OUTSIDE = "outside"
    #: The lock names a wheel that is not there.
    NO_WHEEL = "no-wheel"
    NO_COMMAND = "no-command"


class WheelhouseError(CodedError):
    """The archive holds something other than the wheels that its lock names. ``why`` is an Unfit."""


def locked(lock):
    """Return {(name, version): hashes} of a requirements lock."""
    found, key = {}, None
    for line in lock.splitlines():
        pin = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", line)
        if pin:
            key = (re.sub(r"[-_.]+", "_", pin.group(1)).lower(), pin.group(2))
            found[key] = set()
        if key:
            found[key].update(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
    return found


def unpack(archive, site):
    """Unpack every wheel of the archive into ``site``: each one is in the lock, its hash is checked, and none is
    missing. WheelhouseError where that is not so.

    The control node's pip has chosen the wheels for this Python. A wheel is a zip of what belongs into site-packages,
    so nothing is left for a pip here but to unpack it: 83 s with pip beside 14 s (one busy lab box, same minute)."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():     # flat by construction; anything else is not ours
            if not member.isfile() or "/" in member.name or member.name.startswith("."):
                raise WheelhouseError(Unfit.NO_PLAIN_FILE, "it holds %r; expected plain files only" % member.name)
        if "box.lock" not in tar.getnames():
            raise WheelhouseError(Unfit.NO_LOCK, "it holds no box.lock")
        wanted = locked(tar.extractfile("box.lock").read().decode())
        for member in tar.getmembers():
            if member.name == "box.lock":
                continue
            words = member.name.split("-")
            key = (re.sub(r"[-_.]+", "_", words[0]).lower(), words[1] if len(words) > 1 else "")
            data = tar.extractfile(member).read()
            if hashlib.sha256(data).hexdigest() not in wanted.pop(key, ()):
                raise WheelhouseError(Unfit.NOT_NAMED, "%s is not the file that box.lock names" % member.name)
            with zipfile.ZipFile(io.BytesIO(data)) as wheel:
                for path in wheel.namelist():
                    parts = path.split("/")
                    # What lies under NAME.data belongs elsewhere (PEP 427); no wheel of the lock has it.
                    if path.startswith("/") or ".." in parts or parts[0].endswith(".data"):
                        raise WheelhouseError(
                            Unfit.OUTSIDE,
                            "%s holds %r, which does not belong into site-packages" % (member.name, path))
                wheel.extractall(site)
    if wanted:
        raise WheelhouseError(Unfit.NO_WHEEL, "no wheel for " + ", ".join(sorted("==".join(key) for key in wanted)))


def write_command(site, folder):
    """Write the command ``tunecheck`` as its wheel's entry point names it. WheelhouseError where the wheel names
    none."""
    words = ""
    for path in glob.glob(site + "/tunecheck-*.dist-info/entry_points.txt"):
        words = read_text(path)
    found = re.search(r"^tunecheck\s*=\s*([\w.]+):(\w+)\s*$", words, re.MULTILINE)
    if found is None:
        raise WheelhouseError(Unfit.NO_COMMAND, "tunecheck's wheel names no command")
    path = folder + "/tunecheck"
    write_text(path, "#!%s/python\nimport sys\nfrom %s import %s\nsys.exit(%s())\n" % (
        folder, found.group(1), found.group(2), found.group(2)), 0o755)


def main():
    module = AnsibleModule(
        argument_spec={
            "archive": {"type": "path", "required": True},
            "digest": {"type": "str", "required": True},
            "python": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    archive, digest = module.params["archive"], module.params["digest"]
    if read_text(ROOT + "/.digest").strip() == digest:
        module.exit_json(changed=False, version="")
    if module.check_mode:
        module.exit_json(changed=True, version="")
    with open(archive, "rb") as handle:
        actual = "sha256:" + hashlib.sha256(handle.read()).hexdigest()
    if actual != digest:
        module.fail_json(msg="the wheelhouse %s has the digest %s; expected %s. It was damaged on the way: run the "
                             "play again." % (archive, actual, digest))
    os.umask(0o022)     # a box with a stricter one: the timer's user runs the checker, too
    name = digest.split(":")[-1][:12]
    home = "%s/versions/%s" % (ROOT, name)
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    run = module.run_command
    run([module.params["python"], "-m", "venv", "--without-pip", home + "/venv"], check_rc=True)
    site = glob.glob(home + "/venv/lib/python3*/site-packages")[0]
    try:
        unpack(archive, site)
        write_command(site, home + "/venv/bin")
    except (WheelhouseError, tarfile.TarError, zipfile.BadZipFile) as error:
        module.fail_json(
            code=code_of(error),
            msg="the wheelhouse %s cannot be installed: %s. The old tunecheck stays in use." % (archive, error))
    run([home + "/venv/bin/python", "-m", "compileall", "-q", "-j", "0", "-x", NOT_COMPILED, home + "/venv/lib"])
    code, out, err = run([home + "/venv/bin/tunecheck", "--version"])
    if code != 0:
        module.fail_json(msg="the new tunecheck does not start (exit %d): %s. The old one stays in use."
                         % (code, (err or out).strip()[-400:]))
    # What was unpacked is on the disk before anything names it: after a power cut it would be there and empty, and the
    # next play would find it installed.
    os.sync()
    # Python looks for pyvenv.cfg above the path it was started by: units name current/bin/python, never bin/python.
    link("versions/%s/venv" % name, ROOT + "/current")
    link("current/bin", ROOT + "/bin")
    for command in COMMANDS:
        os.makedirs(os.path.dirname(command), exist_ok=True)
        link(ROOT + "/bin/tunecheck", command)
    code, out_, err = run([ROOT + "/bin/tunecheck", "completion", "--install", SHARE])
    if code != 0:
        module.warn("the shell completion and the man page could not be written below %s (exit %d): %s. The checker "
                    "works without them." % (SHARE, code, (err or out_).strip()[-400:]))
    write_text(ROOT + "/.digest", digest + "\n")
    for old in os.listdir(ROOT + "/versions"):
        if old != name:
            shutil.rmtree(os.path.join(ROOT, "versions", old), ignore_errors=True)
    module.exit_json(changed=True, version=out.strip())


if __name__ == "__main__":
    main()
