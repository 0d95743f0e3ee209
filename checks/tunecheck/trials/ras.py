"""What NCCL itself says about its communicators: `python -m tunecheck.trials.ras` prints the answer of its RAS thread.

Since NCCL 2.24 every process listens on localhost:28028 and answers a line protocol (src/ras/client.cc of NCCL). Run as
a command with a deadline, as everything that may hang: the answer is evidence, and is in the bundle.
"""

from __future__ import annotations

import os
import socket
import sys

__all__ = ["COMMAND", "main", "status"]

COMMAND = (sys.executable, "-m", "tunecheck.trials.ras")
_ADDRESS = "localhost:28028"
_SECONDS = 2.0
_MOST = 1 << 20


def status(address: str) -> str:
    """Return the verbose status of NCCL's RAS at this address. OSError where nobody listens, or answers in time."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=_SECONDS) as connection:
        connection.sendall(b"CLIENT PROTOCOL 2\n")
        answer = connection.makefile("rb")
        if not answer.readline(100).startswith(b"SERVER PROTOCOL"):
            return "no RAS answers there"
        connection.sendall(b"TIMEOUT 1\n")
        answer.readline(100)
        connection.sendall(b"VERBOSE STATUS\n")
        return answer.read(_MOST).decode("utf-8", "replace")


def main() -> int:
    """Print the status. Exit code 1 where there is none."""
    try:
        print(status(os.environ.get("NCCL_RAS_ADDR", _ADDRESS)))
    except (OSError, ValueError) as error:
        print(f"no answer of NCCL's RAS: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
