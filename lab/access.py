"""ssh into a lab box: a key pair and a host key per machine, handed to the guest as systemd credentials.

systemd reads credentials from SMBIOS at every boot (`tmpfiles.extra`, systemd >= 252), so the image itself
holds no key, and the host key in known_hosts is the real one from the first connection on.
"""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

USERS = {"root": "/root", "lab": "/home/lab", "nosudo": "/home/nosudo"}
KEY, HOST_KEY, KNOWN_HOSTS, CONFIG, CREDENTIALS = "id", "host_key", "known_hosts", "ssh_config", "credentials"


def make_keys(folder: Path, name: str) -> None:
    """Write user key, host key, known_hosts and the SMBIOS string with the credentials into `folder`."""
    for file in (KEY, HOST_KEY):
        (folder / file).unlink(missing_ok=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"lab-{name}", "-f", str(folder / file)],
            check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    host_public = (folder / f"{HOST_KEY}.pub").read_text()
    (folder / KNOWN_HOSTS).write_text(f"{name} {host_public}")
    lines = [
        _file("/etc/ssh/ssh_host_ed25519_key", "0600", "root", (folder / HOST_KEY).read_bytes()),
        _file("/etc/ssh/ssh_host_ed25519_key.pub", "0644", "root", host_public.encode()),
    ]
    for user, home in USERS.items():
        lines.append(f"d {home}/.ssh 0700 {user} {user} -")
        lines.append(_file(f"{home}/.ssh/authorized_keys", "0600", user, (folder / f"{KEY}.pub").read_bytes()))
    rules = base64.b64encode("\n".join([*lines, ""]).encode()).decode()
    credentials = folder / CREDENTIALS
    credentials.touch(mode=0o600)
    credentials.write_text(f"io.systemd.credential.binary:tmpfiles.extra={rules}")


def _file(path: str, mode: str, user: str, content: bytes) -> str:
    # By the first boot alone: on a btrfs that is full to its last byte, writing a file anew would leave it empty.
    return f"f~ {path} {mode} {user} {user} - {base64.b64encode(content).decode()}"


def write_config(folder: Path, name: str, port: int) -> None:
    """Write the ssh_config through which people, tests and Ansible reach the machine (`ssh -F`)."""

    def quoted(file: str) -> str:
        return '"' + str(folder / file).replace("%", "%%") + '"'

    (folder / CONFIG).write_text(
        f"""# Written by lab/access.py; gone with `python3 -m lab down {name}`.
Host {name}
  HostName 127.0.0.1
  Port {port}
  HostKeyAlias {name}
  User lab
  IdentityFile {quoted(KEY)}
  IdentitiesOnly yes
  BatchMode yes
  UserKnownHostsFile {quoted(KNOWN_HOSTS)}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  # The post-quantum exchange costs half a second of emulated CPU and protects nothing on 127.0.0.1.
  KexAlgorithms curve25519-sha256
  ConnectTimeout 20
  ServerAliveInterval 5
  ServerAliveCountMax 6
  LogLevel ERROR
"""
    )


def command(folder: Path, name: str, *argv: str, user: str = "root", options: tuple[str, ...] = ()) -> list[str]:
    """Return the ssh argv that runs `argv` on the machine as `user`."""
    return ["ssh", "-F", str(folder / CONFIG), *options, "-l", user, name, *argv]
