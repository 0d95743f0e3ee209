"""What ssh's key exchange costs this control node, and what may be done about it without weakening it unasked.

Measured, one connection, CPU time of the client: sntrup761x25519 57 to 71 ms (the default of OpenSSH 9.0 to 9.8),
mlkem768x25519 12 ms (the default from 9.9 on), curve25519 6 to 12 ms. The first two withstand a quantum computer.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

from tunecheck.util.at_first_use import dataclass

__all__ = ["Client", "advice", "client", "offered"]

_MLKEM, _CURVE = "mlkem768x25519-sha256", "curve25519-sha256"


@dataclass(frozen=True)
class Client:
    """This machine's ssh. ``known``: the exchanges that it has; ``first``: the one it offers first, with the operator's
    ssh_config (empty: unknown)."""

    version: str
    known: frozenset[str]
    first: str

    @property
    def costly(self) -> bool:
        """Whether each connection costs about 65 ms of CPU time."""
        return self.first.startswith("sntrup761")


@cache
def client() -> Client:
    """Ask ssh: `-V`, `-Q kex` and what `-G` makes of the configuration."""
    version = re.search(r"OpenSSH_[\w.]+", _ssh_output("-V"))
    first = re.search(r"^kexalgorithms ([^,\s]+)", _ssh_output("-G", "localhost"), re.M)
    known = frozenset(_ssh_output("-Q", "kex").split())
    return Client(version[0] if version else "ssh", known, first[1] if first else "")


def offered(wish: str | None, ssh: Client) -> str:
    """For KexAlgorithms; empty: ssh's own choice. Without a wish nothing weaker than that: ML-KEM before the slow
    exchange, where this ssh has both. The rest of ssh's list stays behind, for boxes that have no other."""
    if wish == "curve25519" and _CURVE in ssh.known:
        return f"^{_CURVE}"
    return f"^{_MLKEM}" if ssh.costly and _MLKEM in ssh.known else ""


def advice(ssh: Client, hosts: int, wish: str | None = None) -> str:
    """What to tell the operator about it; empty where there is nothing to gain."""
    if not ssh.costly or offered(wish, ssh):
        return ""
    return (f"{ssh.version} spends about 65 ms of CPU time per connection on {ssh.first} ({hosts * 0.065:.0f} s for "
            f"{hosts} hosts). OpenSSH 9.9 or newer on this machine and the boxes is as safe and five times cheaper; "
            "--ssh-kex curve25519 is cheap now, but what is recorded today could be read with a later quantum computer")


def _ssh_output(*arguments: str) -> str:
    ssh = shutil.which("ssh")
    if ssh is None:
        return ""
    try:
        done = subprocess.run([ssh, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
