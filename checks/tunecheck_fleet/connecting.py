"""Why Ansible could not work on a box, in one sentence with the next step."""

from __future__ import annotations

import re
import shlex

__all__ = ["next_step"]

#: (what ssh, sudo or Ansible says, what to do). OpenSSH's and sudo's own words; ansible-core 2.16 to 2.20 for its own.
_STEPS = (
    (r"could not resolve hostname|name or service not known|nodename nor servname|temporary failure in name resolution",
     "the name {host} cannot be resolved: {to_host}, or write its address"),
    (r"remote host identification has changed",
     "its host key is not the known one: compare it on the box's console (ssh-keygen -lf "
     "/etc/ssh/ssh_host_ed25519_key.pub), then: ssh-keygen -R {known} && ssh {login}"),
    # The last line alone says this for a host that ssh never met, too.
    (r"host key verification failed",
     "ssh does not know its host key yet, or knows another one: run ssh {login} and compare the key that it shows with "
     "the one on the box's console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub). Where it knew another one, "
     "first: ssh-keygen -R {known}"),
    (r"unprotected private key|bad permissions", "ssh ignores a private key that others may read: chmod 600 KEYFILE"),
    (r"too many authentication failures", "ssh offers too many keys: name one with ansible_ssh_private_key_file, and "
     "set IdentitiesOnly yes in ~/.ssh/config"),
    (r"permission denied|authentication failed|invalid/incorrect password|incorrect ssh password",
     "it does not accept {user} with your key: ssh-copy-id {login}; or {to_ssh_password}"),
    (r"connection refused", "the machine answers, but no ssh server on this port: on its console run "
     "systemctl enable --now ssh, or {to_port}"),
    (r"no route to host|network is unreachable", "there is no way to this address: {to_host}, or bring up "
     "the network or the VPN"),
    (r"timed out|timeout", "nothing answers at this address: is the box on? Try: ssh {login}"),
    (r"missing sudo password|a password is required|sudo.*password|incorrect sudo password",
     "sudo asks for a password: {to_password}, or allow {user} to run sudo without one"),
    (r"not in the sudoers|may not run sudo|not allowed to (?:run|execute)",
     "{user} may not use sudo: on the box, as root: usermod -aG sudo {account} (Enterprise Linux: wheel), or "
     "{to_user}"),
    (r"(?:sudo|become).{0,40}not found|sudo: command not found", "sudo is missing on the box: as root: apt install "
     "sudo, or {to_root}"),
    (r"pyenv: ", "the Python that Ansible found there is a wrapper of pyenv: set ansible_python_interpreter to a real "
                 "one, for example /usr/bin/python3"),
    (r"python.{0,60}(?:not found|no such file)|interpreter.{0,60}not found|module interpreter",
     "Python 3.11 or later is missing on the box: apt install python3 (Enterprise Linux: dnf install python3.11)"),
    (r"no space left on device", "a disk of the box is full: df -h, then make room"),
    # Python's tempfile, before a module can begin.
    (r"no usable temporary directory", "the disk of the box with its /tmp is full, or cannot be written: df -h /tmp, "
     "then make room"),
)
#: How the same is said to who has an inventory, and to who typed [USER@]HOST[:PORT].
_IN_INVENTORY = {
    "to_host": "correct ansible_host", "to_port": "correct ansible_port", "to_user": "correct ansible_user",
    "to_root": "log in as root (ansible_user: root)", "to_password": "add -K",
    "to_ssh_password": "to be asked for ssh's password, add -k",
}
_TYPED = {
    "to_host": "correct the address", "to_port": "give the right port, as HOST:PORT",
    "to_user": "give another user, as USER@HOST", "to_root": "log in as root@HOST",
    "to_password": "run tunecheck init on the box itself", "to_ssh_password": "give another user, as USER@HOST",
}


def next_step(said: str, host: str, user: str | None = None, typed: bool = False, port: int | None = None) -> str:
    """Return what to do about ``said``, the words of ssh, sudo or Ansible. ``host`` is the address that was tried,
    ``port`` the port, None for ssh's own. Where the words are not known, it is the command that shows them again.
    ``typed``: there is no inventory yet."""
    address = shlex.quote(f"{user}@{host}" if user else host)
    login = f"{f'-p {port} ' if port else ''}{address}"
    known = shlex.quote(f"[{host}]:{port}" if port and port != 22 else host)
    for pattern, step in _STEPS:
        if re.search(pattern, said, re.IGNORECASE):
            return step.format(host=host, login=login, known=known, user=user or "your user",
                               account=shlex.quote(user) if user else "USER",
                               **(_TYPED if typed else _IN_INVENTORY))
    return f"see for yourself: ssh {login} sudo -n true"
