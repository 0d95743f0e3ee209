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
"""

import glob
import hashlib
import os
import shutil
import tarfile

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import read_text, write_text

ROOT = "/opt/tunecheck"
COMMAND = "/usr/local/sbin/tunecheck"
#: Works without, only starts slower: pip would compile 1,300 files, and these are a third of them.
NOT_COMPILED = "/(pygments/(lexers|styles)|tunecheck/fleet/(store|judge|outputs|ingest))/"


def link(target, path):
    """Point the symbolic link ``path`` at ``target`` in one step."""
    temporary = path + ".new"
    if os.path.lexists(temporary):
        os.unlink(temporary)
    os.symlink(target, temporary)
    os.rename(temporary, path)


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
    name = digest.split(":")[-1][:12]
    home = "%s/versions/%s" % (ROOT, name)
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home + "/wheels", mode=0o755)
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():     # flat by construction; anything else is not ours
            if not member.isfile() or "/" in member.name or member.name.startswith("."):
                module.fail_json(msg="the wheelhouse holds %r; expected plain files only" % member.name)
            with open(os.path.join(home, "wheels", member.name), "wb") as out:
                shutil.copyfileobj(tar.extractfile(member), out)
    run = module.run_command
    run([module.params["python"], "-m", "venv", "--without-pip", home + "/venv"], check_rc=True)
    pip = glob.glob(home + "/wheels/pip-*.whl")[0] + "/pip"     # a wheel is a zip: pip runs from inside it
    # Compiling is left to compileall: it uses every core and leaves out what only a control node or an editor loads,
    # together 4 s of work instead of 6.5 where pip compiles all (2 cores).
    run([home + "/venv/bin/python", pip, "--no-input", "--disable-pip-version-check", "install", "--no-index",
         "--no-warn-script-location", "--root-user-action=ignore", "--no-compile", "--find-links", home + "/wheels",
         "--require-hashes", "--only-binary", ":all:", "-r", home + "/wheels/box.lock"], check_rc=True)
    run([home + "/venv/bin/python", "-m", "compileall", "-q", "-j", "0", "-x", NOT_COMPILED, home + "/venv/lib"])
    code, out, err = run([home + "/venv/bin/tunecheck", "--version"])
    if code != 0:
        module.fail_json(msg="the new tunecheck does not start (exit %d): %s. The old one stays in use."
                         % (code, (err or out).strip()[-400:]))
    shutil.rmtree(home + "/wheels")
    # Python looks for pyvenv.cfg above the path it was started by: units name current/bin/python, never bin/python.
    link("versions/%s/venv" % name, ROOT + "/current")
    link("current/bin", ROOT + "/bin")
    os.makedirs(os.path.dirname(COMMAND), exist_ok=True)
    link(ROOT + "/bin/tunecheck", COMMAND)
    write_text(ROOT + "/.digest", digest + "\n")
    for old in os.listdir(ROOT + "/versions"):
        if old != name:
            shutil.rmtree(os.path.join(ROOT, "versions", old), ignore_errors=True)
    module.exit_json(changed=True, version=out.strip())


if __name__ == "__main__":
    main()
