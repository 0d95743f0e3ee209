"""The box's container runtime, and the image: what is there, which one it is, and how it is started for a trial."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import TrialError, UsageError
from ...host import Completed, Host, Unreadable
from ...model.confinement import CONFINEMENT
from .refusals import NoContainer

__all__ = ["PACKAGE", "Image", "Runtime", "find_image", "find_runtime"]

#: Where the container sees this package.
PACKAGE = "/opt/tunecheck/tunecheck"
_NAMES = ("podman", "docker")
#: A login shell's PATH may lack them.
_SBIN = ("/usr/sbin", "/sbin")
_CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
_CDI_KIND = b"nvidia.com/gpu"
_INSPECT_SECONDS = 20.0
_CAP_SYS_RESOURCE = 24
_LIMITS = {"memlock": resource.RLIMIT_MEMLOCK, "nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
#: What podman 4.3 takes itself down to, so that a container without CAP_SYS_RESOURCE can't get more.
_PODMAN_NPROC = 32768
_MAKE_CDI = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml (of the package nvidia-container-toolkit)"
_PINNED = re.compile(r"(?:[a-zA-Z0-9][\w.:/-]*@)?sha256:[0-9a-f]{64}|[0-9a-f]{64}")
_NAMED = re.compile(r"[a-zA-Z0-9][\w.:/@-]*")


@dataclass(frozen=True)
class Image:
    """A container image. ``asked`` as on the command line, ``identity`` 64 hex digits: what `podman image inspect`
    calls Id."""

    asked: str
    identity: str


@dataclass(frozen=True)
class Runtime:
    """A container runtime of the box. ``name`` is podman or docker, ``devices`` the options that pass the GPUs
    through."""

    name: str
    path: str
    devices: tuple[str, ...]

    def start(self, image: Image, name: str, token: str) -> list[str]:
        """Return the command that runs container_main.py in a container, in the foreground, its descriptors ours.

        No network: NCCL finds its ranks over the loopback. Its own /dev/shm, of a size that NCCL's buffers fit in: the
        engine's 64 MiB would be the next error. Not --read-only: crun remounts before it runs the hooks with which CDI
        passes the driver's libraries, and these then fail (crun issue 1924). Nothing of the host is writable in it, and
        what it writes goes with it."""
        package = Path(__file__).resolve().parents[2]
        parts = ("__init__.py", "errors.py", "trials", "util")
        return [
            self.path, "run", "--rm", "--interactive", "--pull=never", f"--name={name}", "--label=io.tunecheck.trial=1",
            "--log-driver=none", "--network=none", "--ipc=private", "--shm-size=1g", *CONFINEMENT,
            "--tmpfs=/tmp:rw,mode=1777", "--workdir=/tmp", *self._limits(), *self.devices,
            *(f"--volume={package / part}:{PACKAGE}/{part}:ro" for part in parts),
            "--env=PYTHONDONTWRITEBYTECODE=1", "--env=CUDA_CACHE_PATH=/tmp/cuda", "--entrypoint=python3",
            image.identity, f"{PACKAGE}/trials/containers/container_main.py", token]

    def _limits(self) -> list[str]:
        """Return the options for the limits of the container. Pinned memory is without limit where this process may
        hand that on: docker's daemon may; podman runs with this process' own limits."""
        if self.name == "docker" or _may_raise_limits():
            return ["--ulimit=memlock=-1:-1"]
        limits = {word: resource.getrlimit(number)[1] for word, number in _LIMITS.items()}
        limits["nproc"] = min(limits["nproc"], _PODMAN_NPROC) if limits["nproc"] > 0 else _PODMAN_NPROC
        return [f"--ulimit={word}={limit}:{limit}" for word, limit in limits.items()]


def find_runtime(host: Host, wanted: str | None = None) -> Runtime:
    """Return the runtime ``wanted``, else podman, else docker. TrialError says what is missing, and how to get it."""
    names = (wanted,) if wanted else _NAMES
    for name in names:
        path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_SBIN]))
        if path is not None:
            return Runtime(name, path, _devices(host, name, path))
    raise TrialError(f"no container runtime here ({' nor '.join(names)} in PATH); install one (apt-get install podman) "
                     "or run the trial without --in-container", NoContainer.NO_RUNTIME)


def _devices(host: Host, name: str, path: str) -> tuple[str, ...]:
    """Return the options that pass the GPUs through, by CDI wherever possible: what docker's older hook passes is lost
    at the next daemon-reload. TrialError where the runtime cannot pass them."""
    spec = _has_cdi(host)
    if name == "podman":
        if spec:
            return ("--device=nvidia.com/gpu=all",)
        raise TrialError("podman passes GPUs by CDI, and there is no CDI spec for nvidia.com/gpu in "
                         f"{' or '.join(_CDI_FOLDERS)}; run: {_MAKE_CDI}", NoContainer.NO_CDI)
    told = _ask(host, path, "info", "--format={{json .}}")
    try:
        about = json.loads(told.stdout)
        if not about.get("ServerVersion"):
            raise ValueError
    except (ValueError, AttributeError):
        raise TrialError(f"docker does not answer: {_last(told.stderr)}", NoContainer.NO_ANSWER) from None
    if spec and about.get("CDISpecDirs"):       # empty where its CDI is switched off
        return ("--device=nvidia.com/gpu=all",)
    if "nvidia" not in (about.get("Runtimes") or ()) and shutil.which("nvidia-container-runtime-hook") is None:
        raise TrialError("docker cannot pass GPUs through: neither CDI nor NVIDIA's container toolkit is set up; "
                         f"run: {_MAKE_CDI}, and switch CDI on in /etc/docker/daemon.json: "
                         '{"features": {"cdi": true}}', NoContainer.NO_TOOLKIT)
    return ("--gpus=all",)


def _has_cdi(host: Host) -> bool:
    for folder in _CDI_FOLDERS:
        try:
            names = host.list(folder)
        except Unreadable:
            continue
        for name in names:
            try:
                if name.endswith((".yaml", ".yml", ".json")) and _CDI_KIND in host.read_bytes(f"{folder}/{name}"):
                    return True
            except Unreadable:
                continue
    return False


def find_image(host: Host, runtime: Runtime, asked: str) -> Image:
    """The image that is ``asked`` for, on this machine. UsageError where the name is one that may move to another."""
    if not _NAMED.fullmatch(asked):
        raise UsageError(f"--in-container {asked}: expected an image, as in name@sha256:... or its 64-digit id",
                         NoContainer.NOT_AN_IMAGE)
    pinned = _PINNED.fullmatch(asked) is not None
    told = _ask(host, runtime.path, "image", "inspect", asked)
    try:
        (found,) = json.loads(told.stdout)
        identity = re.fullmatch("(?:sha256:)?([0-9a-f]{64})", found["Id"])[1]  # type: ignore[index]
        digests = [str(digest) for digest in found.get("RepoDigests") or () if "@sha256:" in str(digest)]
    except (ValueError, KeyError, TypeError, AttributeError):
        why = "" if told.stderr.rstrip().endswith("image not known") else f" ({_last(told.stderr)})"
        get = f"load it: {runtime.name} load" if pinned and "@" not in asked else f"run: {runtime.name} pull {asked}"
        raise TrialError(f"{runtime.name} has no image {asked} here{why}, and a trial never pulls one; {get}",
                         NoContainer.NO_IMAGE) from None
    if not pinned:
        now = digests[0] if digests else identity
        raise UsageError(f"--in-container {asked}: what this names may be another image tomorrow; name the one that it "
                         f"is now: --in-container {now}" + (f" (id {identity})" if now != identity else ""),
                         NoContainer.NOT_PINNED)
    return Image(asked, identity)


def _ask(host: Host, *argv: str) -> Completed:
    try:
        return host.run(argv, _INSPECT_SECONDS)
    except Unreadable as error:
        raise TrialError(f"{Path(argv[0]).name} does not answer: {error.reason}", NoContainer.NO_ANSWER) from None


def _last(text: str) -> str:
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][-300:] if lines else "it said nothing"


def _may_raise_limits() -> bool:
    try:
        status = Path("/proc/self/status").read_text()
        effective = int(re.findall(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)[0], 16)
    except (OSError, IndexError):
        return False
    # In a user namespace of one's own the capability counts for nothing outside it: then podman is not root either.
    return os.geteuid() == 0 and bool(effective >> _CAP_SYS_RESOURCE & 1)
