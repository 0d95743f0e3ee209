"""Resolve an image's name: the digest of its manifest for this platform, and its image id.

Asked through skopeo, or of the container engine's own storage; logins and certificates are theirs."""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import ProbeError, UsageError
from ..host import Host, Unreadable
from ..model.absence import Absence
from ..parsers.text.secrets import mask
from ..util.text import ending
from .lock import LockedImage
from .unpinned import Unpinned

__all__ = ["resolve"]

_SECONDS = 120.0
#: So much of a program's error is quoted.
_SHOWN = 300
#: As skopeo and podman log their last words: ``time="..." level=fatal msg="..."``.
_LOGGED = re.compile(r'time="[^"]*" level=\w+ msg="(.*)"')
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LISTS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
# Traffic that never leaves the machine needs no certificate; docker judges likewise (daemon documentation, 2026-11).
_LOOPBACK = re.compile(r"^(localhost|127\.[0-9.]+)(:[0-9]+)?/")
#: Built on this machine: no registry has it.
_LOCAL = "localhost/"


def resolve(host: Host, ref: str, engine: str = "podman") -> LockedImage:
    """Return the image that ``ref`` names now. ProbeError where nobody answers, UsageError where there is no such
    image."""
    if ref.startswith(_LOCAL):
        return _stored(host, ref, engine)
    digest = _text(host, ref, "--format", "{{.Digest}}").strip()
    if not _DIGEST.fullmatch(digest):
        raise ProbeError(f"{ref}: skopeo gave no digest but {digest[:60]!r}", Unpinned.NO_DIGEST)
    repository = _repository(ref)
    manifest = _manifest(host, f"{repository}@{digest}")
    if manifest.get("mediaType") in _LISTS or "manifests" in manifest:
        digest = _of_platform(ref, manifest)
        manifest = _manifest(host, f"{repository}@{digest}")
    found = manifest.get("config", {}).get("digest") if isinstance(manifest.get("config"), dict) else None
    if not isinstance(found, str) or not _DIGEST.fullmatch(found):
        raise ProbeError(f"{ref}: its manifest {digest[:19]} names no configuration; expected schema 2 or OCI",
                         Unpinned.NO_MANIFEST)
    return LockedImage(ref, digest, found)


def _repository(ref: str) -> str:
    """Return the name of an image without tag and digest; a port is no tag."""
    name = ref.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def _of_platform(ref: str, manifest: dict[str, Any]) -> str:
    seen = []
    for each in manifest.get("manifests", []):
        platform = each.get("platform") or {} if isinstance(each, dict) else {}
        seen.append(f"{platform.get('os')}/{platform.get('architecture')}")
        if seen[-1] == "linux/amd64" and _DIGEST.fullmatch(str(each.get("digest"))):
            return str(each["digest"])
    raise UsageError(f"{ref}: has no image for linux/amd64, only for {', '.join(seen) or 'nothing'}",
                     Unpinned.OTHER_PLATFORM)


def _manifest(host: Host, ref: str) -> dict[str, Any]:
    try:
        found = json.loads(_text(host, ref, "--raw"))
    except (ValueError, RecursionError):
        raise ProbeError(f"{ref}: its manifest is not JSON", Unpinned.NOT_JSON) from None
    if not isinstance(found, dict):
        raise ProbeError(f"{ref}: its manifest is no object", Unpinned.NO_MANIFEST)
    return found


def _text(host: Host, ref: str, *what: str) -> str:
    tls = ["--tls-verify=false"] if _LOOPBACK.match(ref) else []
    argv = ("skopeo", "--override-os=linux", "--override-arch=amd64", "inspect", *tls, "--no-tags", *what,
            f"docker://{ref}")
    return _run(host, argv, ref, "skopeo")


def _stored(host: Host, ref: str, engine: str) -> LockedImage:
    fields = "{{.Id}} {{.Digest}}" if engine == "podman" else "{{.Id}} {{json .RepoDigests}}"
    said = _run(host, (engine, "image", "inspect", "--format", fields, ref), ref, engine)
    image_id, _, rest = said.strip().partition(" ")
    image_id = f"sha256:{image_id.removeprefix('sha256:')}"
    digest = _DIGEST.search(rest)
    if not _DIGEST.fullmatch(image_id):
        raise ProbeError(f"{ref}: {engine} gave no image id but {said[:60]!r}", Unpinned.NO_IMAGE_ID)
    if digest is None:
        raise UsageError(f"{ref}: {engine} has it without a digest; push it to a registry and pin that name",
                         Unpinned.NO_DIGEST)
    return LockedImage(ref, digest[0], image_id)


def _run(host: Host, argv: tuple[str, ...], ref: str, tool: str) -> str:
    try:
        done = host.run(argv, _SECONDS)
    except Unreadable as error:
        missing = error.absence is Absence.NOT_PRESENT
        raise ProbeError(f"{ref}: {tool} is not installed; run: apt-get install {tool}" if missing
                         else f"{ref}: {tool}: {error.reason}",
                         Unpinned.NO_TOOL if missing else Unpinned.UNREAD) from None
    if done.returncode:
        said = _cause(done.stderr)
        shown = ending(said, _SHOWN)
        if re.search(r"manifest unknown|not known|no such image|name unknown|repository name not known", said, re.I):
            raise UsageError(f"{ref}: there is no such image ({shown}); correct image.ref", Unpinned.NO_IMAGE)
        raise ProbeError(f"{ref}: {tool} could not ask ({shown}); log in, or check the name and the network",
                         Unpinned.FAILED)
    return done.stdout


def _cause(stderr: str) -> str:
    """Return the last line of a program's error, without its time and level, and with secrets masked: they are masked
    before anything is cut, as what is left of a secret would not be known as one."""
    last = (stderr.strip().splitlines() or ["no answer"])[-1]
    logged = _LOGGED.fullmatch(last)
    return mask(logged[1].replace('\\"', '"') if logged else last)
