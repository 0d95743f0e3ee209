"""Where the packages of a plan come from: NVIDIA's repositories, their keys, a mirror. Pure."""

from __future__ import annotations

from typing import List, Optional, Tuple

from .driver_packages import CUDA_REPOSITORY, KEYS, TOOLKIT_KEY, TOOLKIT_REPOSITORY, Release
from .driver_types import Box, Repository, Want

__all__ = ["mirror", "repository", "toolkit"]


def repository(release: Release, box: Box, want: Want) -> Tuple[Optional[Repository], List[str]]:
    """Return NVIDIA's repository or the mirror, and sentences on why it must not be used. The repository is None where
    the distribution's own is wanted."""
    if want.source == "distribution":
        return None, []
    if want.source == "mirror":
        return mirror(release, box, want), []
    key = KEYS[release.key]
    machine = "sbsa" if box.arch == "aarch64" else box.arch
    url = CUDA_REPOSITORY.format(path=release.path, machine=machine)
    apt = release.manager == "apt"
    stream = release.stream.format(branch=(want.version or "").partition(".")[0]) or None
    found = Repository(
        kind=release.manager, url=url, suites=("/",) if apt else (), arch=_deb_arch(box) if apt else "",
        fingerprint=key.fingerprint, key_url=url + key.file, keyring_package="cuda-keyring" if apt else None,
        module_stream=stream, note="" if key.fingerprint else "the full fingerprint of %s is not known" % key.file)
    if key.fingerprint is None:
        return found, ["the fingerprint of the key %s that signs NVIDIA's repository %s is not known here, and an "
                       "unknown key is not trusted; expected 40 hex digits; check the key yourself, then set "
                       "driver.source to mirror, driver.mirror to %s and driver.mirror_fingerprint to its fingerprint"
                       % (key.file, release.path, url)]
    return found, []


def mirror(release: Release, box: Box, want: Want) -> Repository:
    """Return the mirror. It is laid out as NVIDIA's own: flat, the key beside the index as ``key.asc``, or as NVIDIA
    names it where the mirror is NVIDIA's repository itself. The fingerprint decides, not the place."""
    url = (want.mirror or "").rstrip("/") + "/"
    key = KEYS[release.key].file if url.startswith(CUDA_REPOSITORY.partition("{")[0]) else "key.asc"
    apt = release.manager == "apt"
    stream = release.stream.format(branch=(want.version or "").partition(".")[0]) or None
    return Repository(kind=release.manager, url=url, suites=("/",) if apt else (),
                      arch=_deb_arch(box) if apt else "", fingerprint=want.mirror_fingerprint, key_url=url + key,
                      module_stream=stream)


def toolkit(release: Release, box: Box) -> Repository:
    """Return the container toolkit's own repository."""
    apt = release.manager == "apt"
    url = TOOLKIT_REPOSITORY.format(kind="deb" if apt else "rpm", machine=_deb_arch(box) if apt else box.arch)
    return Repository(kind=release.manager, url=url, suites=("/",) if apt else (), arch=_deb_arch(box) if apt else "",
                      fingerprint=TOOLKIT_KEY.fingerprint, key_url=TOOLKIT_KEY.file)


def _deb_arch(box: Box) -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(box.arch, box.arch)
