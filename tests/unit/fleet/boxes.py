"""Real sshd processes on loopback, each a box of its own: address, host key, environment and manners.

They are all this machine, so what makes them differ is their folder: the stand-in `tunecheck` prints the snapshot that
lies there."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from lab.process import tie_to_parent
from tests.ssh_server import SSHD, make_room

STAND_IN = """#!/bin/sh
[ "$1" = snapshot ] || exit 2
exec cat "$BOX/snapshot.json"
"""


@dataclass
class Box:
    """One sshd. ``manner`` is a shell script that runs in place of what the control node asks for, which it finds in
    $SSH_ORIGINAL_COMMAND."""

    name: str
    address: str
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    manner: str = ""
    extra: list[str] = field(default_factory=list)
    known_as: Path | None = None    # another public key than its own stands in known_hosts


class Boxes:
    """Starts and ends them. ``folder`` must be short-lived and private."""

    def __init__(self, folder: Path, first: int = 1) -> None:
        self.folder = folder
        self.boxes: dict[str, Box] = {}
        self._next = first
        self.port = _free_port()
        self.tool = folder / "bin/tunecheck"
        self.tool.parent.mkdir(parents=True)
        self.tool.write_text(STAND_IN)
        self.tool.chmod(0o755)
        self.key, self.host_key, self.stranger = (self._key(name) for name in ("client", "host", "stranger"))
        self.authorized = folder / "authorized_keys"
        shutil.copyfile(self.key.with_suffix(".pub"), self.authorized)
        self.known = folder / "known_hosts"
        make_room()

    def _key(self, name: str) -> Path:
        path = self.folder / f"{name}_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path], check=True)
        return path

    def add(self, name: str, snapshot: bytes | None = None, manner: str = "", extra: Iterable[str] = ()) -> Box:
        number, self._next = self._next, self._next + 1
        box = Box(name, f"127.0.{1 + number // 250}.{1 + number % 250}", self.folder / f"box{number}", None, manner,
                  list(extra))
        box.folder.mkdir()
        if snapshot is not None:
            (box.folder / "snapshot.json").write_bytes(snapshot)
        self.boxes[name] = box
        return box

    def start(self) -> None:
        """All that do not run yet, and wait until each answers."""
        fresh = [box for box in self.boxes.values() if box.process is None]
        with self.known.open("a") as known:
            known.writelines(f"[{box.address}]:{self.port} {_public(box.known_as or self.host_key)}\n" for box in fresh)
        for box in fresh:
            self._start(box)
        until = time.monotonic() + 30
        for box in fresh:
            while True:
                try:
                    socket.create_connection((box.address, self.port), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < until, (box.folder / "log").read_text()
                    time.sleep(0.02)

    def _start(self, box: Box) -> None:
        # A home of its own: what the shell of whoever runs the tests does at its start is none of theirs.
        # sshd takes the first value of each keyword.
        lines = [*box.extra, f"ListenAddress {box.address}:{self.port}", "Subsystem sftp internal-sftp",
                 f"HostKey {self.host_key}", "PidFile none", "UsePAM no",
                 f"AuthorizedKeysFile {self.authorized}", "StrictModes no", "PasswordAuthentication no",
                 "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password", "PrintMotd no",
                 "MaxStartups 200", "LogLevel ERROR", f"SetEnv BOX={box.folder} HOME={box.folder}"]
        if box.manner:
            script = box.folder / "manner"
            script.write_text(f"#!/bin/sh\n{box.manner}\n")
            script.chmod(0o755)
            lines.append(f"ForceCommand {script}")
        config = box.folder / "sshd_config"
        config.write_text("\n".join(lines) + "\n")
        with (box.folder / "log").open("wb") as log:
            assert SSHD is not None
            # Tied to us: a pytest that is killed ends no fixture.
            box.process = subprocess.Popen([SSHD, "-D", "-e", "-f", config], stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=log, start_new_session=True, preexec_fn=tie_to_parent())

    def inventory(self, groups: dict[str, list[str]] | None = None, **variables: Any) -> Path:
        """YAML that is JSON. ``groups``: more than the one that holds them all; a name may stand for a sub-group."""
        hosts = {box.name: {"ansible_host": box.address} for box in self.boxes.values()}
        shared = {"ansible_port": self.port, "ansible_user": _user(), "ansible_ssh_private_key_file": str(self.key),
                  "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={self.known} -o IdentitiesOnly=yes "
                                             "-o GlobalKnownHostsFile=none", **variables}
        children = {name: {"hosts": {member: {} for member in members}} for name, members in (groups or {}).items()}
        path = self.folder / "inventory.yml"
        path.write_text(json.dumps({"all": {"hosts": hosts, "vars": shared, "children": children}}))
        return path

    def stop(self) -> None:
        """By pid; sessions of theirs too, which a SIGKILLed sshd would leave behind."""
        started = [box for box in self.boxes.values() if box.process is not None]
        for box in started:
            assert box.process is not None
            for pid in [*_below(box.process.pid), box.process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for box in started:
            assert box.process is not None
            box.process.wait()
            box.process = None
        # What a session ran and its sshd, ended before it, no longer has among its children: its environment tells it.
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.environ().get("BOX", "").startswith(f"{self.folder}/"):
                    process.kill()


def _public(key: Path) -> str:
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


def _below(pid: int) -> list[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _free_port() -> int:
    for _ in range(100):
        port = random.randint(20000, 29999)     # below the ports that the kernel hands out
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))
                return port
            except OSError:
                continue
    raise AssertionError("no free port")
