"""A BMC to test against: sushy-tools' emulator over TLS, in a process of its own, before a QEMU."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bcrypt

from lab import process

ROOT = Path(__file__).resolve().parents[2]
USER, PASSWORD = "operator", "s3cret-Word-9"
EVENTS = "events.sock"


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate for 127.0.0.1."""

    file: Path
    key: Path

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.file.read_text())).hexdigest()


def certificate(folder: Path) -> Certificate:
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc",
                    "-keyout", made.key, "-out", made.file, "-days", "2", "-subj", "/CN=bmc", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, timeout=60)
    return made


@contextmanager
def emulator(folder: Path, machine: Path, uuid: str, shown: Certificate, serial: str = "") -> Iterator[str]:
    """Serve the QEMU whose sockets are in ``machine``; yields the address."""
    users = folder / "users"
    users.write_text(f"{USER}:{bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}\n")
    argv = [sys.executable, "-m", "tests.bmc.qmp_bmc", machine, uuid, "--certificate", shown.file, "--key", shown.key,
            "--users", users, "--serial", serial]
    with open(folder / "emulator.log", "wb") as log:
        child = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True,
                                 preexec_fn=process.tie_to_parent(),
                                 env={**os.environ, "PYTHONPATH": f"{ROOT / 'checks'}{os.pathsep}{ROOT}"})
    try:
        assert child.stdout is not None
        port = child.stdout.readline().strip()
        assert port.isdecimal(), (folder / "emulator.log").read_text()
        yield f"https://127.0.0.1:{port}"
    finally:
        child.kill()
        child.communicate()


#: A boot sector that switches interrupts off and halts: the machine is on, and hangs.
HANGS = (bytes.fromhex("faf4ebfd").ljust(510, b"\0") + b"\x55\xaa").ljust(1 << 20, b"\0")


class Guest:
    """A QEMU that hangs as soon as its firmware has booted. Its events are heard from the start."""

    def __init__(self, folder: Path, uuid: str) -> None:
        self.folder, self.uuid = folder, uuid
        (folder / "hangs.img").write_bytes(HANGS)
        argv = ["qemu-system-x86_64", "-display", "none", "-nodefaults", "-M", "q35", "-m", "64", "-uuid", uuid,
                "-drive", "file=hangs.img,format=raw",
                *("-qmp", "unix:qmp.sock,server=on,wait=off"), *("-qmp", f"unix:{EVENTS},server=on,wait=on")]
        self._child = subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL,
                                       preexec_fn=process.tie_to_parent())
        try:
            self._listener = self._listen()
        except BaseException:
            self.end()
            raise

    def _listen(self) -> socket.socket:
        # A socket's address is at most 107 bytes.
        at = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        try:
            for _ in range(600):
                listener = socket.socket(socket.AF_UNIX)
                try:
                    listener.connect(f"/proc/self/fd/{at}/{EVENTS}")
                except OSError:
                    listener.close()
                    assert self._child.poll() is None, "QEMU ended"
                    subprocess.run(["sleep", "0.1"], check=True)
                    continue
                listener.sendall(b'{"execute": "qmp_capabilities"}\n')
                return listener
        finally:
            os.close(at)
        raise AssertionError("QEMU opened no socket")

    def events(self) -> list[str]:
        """The names of the events since the last call, a reset's with its cause; without those of the firmware, which
        resets itself once more behind every reset."""
        self._listener.setblocking(False)
        text = b""
        try:
            while part := self._listener.recv(65536):
                text += part
        except BlockingIOError:
            pass
        said = [json.loads(line) for line in text.splitlines()]
        names = [" ".join([each["event"], *filter(None, [each.get("data", {}).get("reason")])])
                 for each in said if "event" in each]
        return [name for name in names if name != "RESET guest-reset"]

    def end(self) -> None:
        self._child.kill()
        self._child.wait()
        if hasattr(self, "_listener"):
            self._listener.close()
