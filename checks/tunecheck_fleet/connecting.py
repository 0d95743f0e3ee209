"""Why Ansible could not work on a box, in one sentence with the next step."""

from __future__ import annotations

import re

__all__ = ["next_step"]

#: (what ssh, sudo or Ansible says, what to do). OpenSSH's and sudo's own words; ansible-core 2.16 to 2.20 for its own.
_STEPS = (
    (r"could not resolve hostname|name or service not known|nodename nor servname|temporary failure in name resolution",
     "the name {host} cannot be resolved: correct ansible_host, or write the address there"),
    (r"host key verification failed|remote host identification has changed",
     "its host key is not the known one: compare it on the box's console (ssh-keygen -lf "
     "/etc/ssh/ssh_host_ed25519_key.pub), then: ssh-keygen -R {host} && ssh {login}"),
    (r"unprotected private key|bad permissions", "ssh ignores a private key that others may read: chmod 600 KEYFILE"),
    (r"too many authentication failures", "ssh offers too many keys: name one with ansible_ssh_private_key_file, and "
     "set IdentitiesOnly yes in ~/.ssh/config"),
    (r"permission denied|authentication failed|invalid/incorrect password|incorrect ssh password",
     "it does not accept {user} with your key: ssh-copy-id {login}; to be asked for ssh's password add -k"),
    (r"connection refused", "the machine answers, but no ssh server on this port: on its console run "
     "systemctl enable --now ssh, or correct ansible_port"),
    (r"no route to host|network is unreachable", "there is no way to this address: correct ansible_host, or bring up "
     "the network or the VPN"),
    (r"timed out|timeout", "nothing answers at this address: is the box on? Try: ssh {login}"),
    (r"missing sudo password|a password is required|sudo.*password|incorrect sudo password",
     "sudo asks for a password: add -K, or allow {user} to run sudo without one"),
    (r"not in the sudoers|may not run sudo|not allowed to (?:run|execute)",
     "{user} may not use sudo: on the box, as root: usermod -aG sudo {user} (Enterprise Linux: wheel), or correct "
     "ansible_user"),
    (r"(?:sudo|become).{0,40}not found|sudo: command not found", "sudo is missing on the box: as root: apt install "
     "sudo, or log in as root (ansible_user: root)"),
    (r"pyenv: ", "the Python that Ansible found there is a wrapper of pyenv: set ansible_python_interpreter to a real "
                 "one, for example /usr/bin/python3"),
    (r"python.{0,60}(?:not found|no such file)|interpreter.{0,60}not found|module interpreter",
     "Python 3.11 or later is missing on the box: apt install python3 (Enterprise Linux: dnf install python3.11)"),
    (r"no space left on device", "a disk of the box is full: df -h, then make room"),
)


def next_step(said: str, host: str, user: str | None = None) -> str:
    """What to do about ``said``, the words of ssh, sudo or Ansible; ``host`` is the address that was tried. Where the
    words are not known, the command that shows them again."""
    login = f"{user}@{host}" if user else host
    for pattern, step in _STEPS:
        if re.search(pattern, said, re.IGNORECASE):
            return step.format(host=host, login=login, user=user or "your user")
    return f"see for yourself: ssh {login} sudo -n true"
