"""QEMU's control socket: just enough to ask one question."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

SOCKET = "qmp.sock"


def ask(folder: Path, command: str, **arguments: object) -> Any:
    """Run one QMP command on the machine in `folder`; raises OSError when it does not answer."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            # A socket's address is at most 107 bytes; a checkout may lie deeper than that.
            sock.connect(f"/proc/self/fd/{fd}/{SOCKET}")
            stream = sock.makefile("rw", encoding="utf-8")
            stream.readline()
            _exchange(stream, {"execute": "qmp_capabilities"})
            return _exchange(stream, {"execute": command, "arguments": arguments})
    finally:
        os.close(fd)


def _exchange(stream: Any, request: dict[str, object]) -> Any:
    stream.write(json.dumps(request) + "\n")
    stream.flush()
    while line := stream.readline():
        answer = json.loads(line)
        if "error" in answer:
            raise OSError(answer["error"].get("desc", str(answer["error"])))
        if "return" in answer:
            return answer["return"]
    raise ConnectionResetError("QEMU closed its control socket")
