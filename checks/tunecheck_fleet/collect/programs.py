"""The environment that Ansible gets."""

from __future__ import annotations

import os
from pathlib import Path

from tunecheck.spec.programs import beside

__all__ = ["environment"]

#: Of the operator's environment only this goes on: tokens in the rest would land in ansible-runner's `command` file.
_KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSH_AUTH_SOCK",
         "KRB5CCNAME", "VIRTUAL_ENV", "PYTHONPATH", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "HTTPS_PROXY", "HTTP_PROXY",
         "NO_PROXY")
#: These settings of Ansible break ansible-runner (a callback without options ends it with a traceback) or the play.
_BREAK = ("ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_CALLBACK", "ANSIBLE_STRATEGY", "ANSIBLE_BECOME", "ANSIBLE_LOAD_CALLBACK",
          "ANSIBLE_LOG_PATH", "ANSIBLE_DEBUG", "ANSIBLE_VERBOSITY", "ANSIBLE_JSON", "ANSIBLE_DISPLAY", "ANSIBLE_FORKS",
          "ANSIBLE_CHECK_MODE", "ANSIBLE_STEP")
_QUIET = {
    # None of an ansible.cfg; the list may not be empty, and one that writes to standard output is left alone.
    "ANSIBLE_CALLBACKS_ENABLED": "minimal", "ANSIBLE_NOCOLOR": "true", "ANSIBLE_RETRY_FILES_ENABLED": "false",
    "ANSIBLE_DEPRECATION_WARNINGS": "false", "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
    "ANSIBLE_DEVEL_WARNING": "false", "ANSIBLE_SYSTEM_WARNINGS": "false",
}
#: ansible-core 2.21 listens there on a socket, at "pymp-12345678/listener-12345678"; its whole path has 107 bytes.
_SHORT = 70


def environment(run: str, extra: dict[str, str]) -> dict[str, str]:
    """For Ansible, in the folder ``run``. An ansible.cfg of this directory counts as it does for ansible-playbook."""
    kept = {name: value for name, value in os.environ.items()
            if name in _KEPT or (name.startswith("ANSIBLE_") and not name.startswith(_BREAK))}
    if "ANSIBLE_CONFIG" in kept:
        kept["ANSIBLE_CONFIG"] = str(Path(kept["ANSIBLE_CONFIG"]).expanduser().absolute())
    elif Path("ansible.cfg").is_file():
        kept["ANSIBLE_CONFIG"] = str(Path("ansible.cfg").absolute())
    if len(run) <= _SHORT:
        kept["TMPDIR"] = run        # what a killed Ansible leaves goes with its folder
    path = os.pathsep.join((str(Path(beside("ansible-playbook")).parent), os.environ.get("PATH", os.defpath)))
    return {**kept, "PATH": path, "ANSIBLE_LOCAL_TEMP": f"{run}/tmp", **_QUIET, **extra}
