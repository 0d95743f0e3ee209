"""A real registry on loopback (Debian's docker-registry), and images that skopeo pushes to it."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

__all__ = ["image", "pushed", "registry"]

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@contextlib.contextmanager
def registry(folder: Path) -> Iterator[str]:
    """``127.0.0.1:<port>``; skips where the programs cannot be had."""
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed (Debian package skopeo)")
    program = shutil.which("docker-registry") or _unpacked(folder)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    config = folder / "registry.yml"
    config.write_text(json.dumps({    # JSON is YAML
        "version": "0.1", "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "registry")}}, "http": {"addr": f"127.0.0.1:{port}"}}))
    served = subprocess.Popen([program, "serve", str(config)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        _answers(f"http://127.0.0.1:{port}/v2/", served)
        yield f"127.0.0.1:{port}"
    finally:
        served.kill()
        served.wait()


def _unpacked(folder: Path) -> str:
    """Debian's package taken apart and not installed: installed, it would serve on every address from then on."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(["apt-get", "-qq", "download", "docker-registry"], cwd=folder, capture_output=True, timeout=120)
        for package in folder.glob("docker-registry_*.deb"):
            subprocess.run(["dpkg-deb", "-x", package.name, "debian"], cwd=folder, check=True, timeout=60)
            return str(folder / "debian/usr/bin/docker-registry")
    pytest.skip("no docker-registry here, and apt-get download brings none")


def _answers(url: str, served: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            assert served.poll() is None and time.monotonic() < until, "the registry did not start"
            time.sleep(0.05)


def image(folder: Path, text: str, architecture: str = "amd64") -> tuple[str, str, int]:
    """An image of one file as an OCI layout in ``folder``; its manifest's digest, its id, the manifest's size."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True, exist_ok=True)

    def blob(content: bytes) -> dict[str, Any]:
        name = hashlib.sha256(content).hexdigest()
        (blobs / name).write_bytes(content)
        return {"digest": f"sha256:{name}", "size": len(content)}

    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        about = tarfile.TarInfo("file")
        about.size = len(text)
        tar.addfile(about, BytesIO(text.encode()))
    layer = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **blob(gzip.compress(packed.getvalue()))}
    config = {"architecture": architecture, "os": "linux", "config": {}, "rootfs": {
        "type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(packed.getvalue()).hexdigest()}"]}}
    settings = {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(json.dumps(config).encode())}
    manifest = blob(json.dumps({"schemaVersion": 2, "mediaType": _MANIFEST, "config": settings,
                                "layers": [layer]}).encode())
    index(folder, [{"mediaType": _MANIFEST, **manifest}])
    return manifest["digest"], settings["digest"], manifest["size"]


def index(folder: Path, manifests: list[dict[str, Any]]) -> None:
    """Make the layout hold these."""
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": manifests}))


def pushed(folder: Path, ref: str, every: bool = False) -> None:
    """Copy the layout's image to the registry as it is; ``every``: with all its platforms."""
    policy = folder / "policy.json"
    policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    subprocess.run(["skopeo", f"--policy={policy}", "copy", "--quiet", "--dest-tls-verify=false", "--preserve-digests",
                    *(["--all"] if every else []), f"oci:{folder}", f"docker://{ref}"], check=True, timeout=60,
                   env={**os.environ, "TMPDIR": str(folder)})
