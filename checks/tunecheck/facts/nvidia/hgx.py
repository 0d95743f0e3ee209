"""What a box with NVSwitch needs around its driver: NVIDIA's own operating system, modules of the fabric."""

from __future__ import annotations

from dataclasses import field

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known, not_understood
from ...util.at_first_use import dataclass

__all__ = ["FABRIC_MODULES", "Hgx", "hgx"]

_RELEASE = "/etc/dgx-release"
#: Only these lines: the file holds the machine's serial number, too.
_VERSIONS = ("grep", "-sE", "^DGX_(SWBUILD|OTA)_VERSION=", _RELEASE)
#: Of the fabric of Blackwell: its manager talks to the switches through InfiniBand's management datagrams.
FABRIC_MODULES = ("ib_umad", "mlx5_ib")
_UNREAD: Fact[str] = absent(_RELEASE, Absence.NOT_RECORDED)


@dataclass(frozen=True)
class Hgx:
    """Facts about a box with NVSwitch. ``dgx_os`` is the version of DGX OS, "not present" on any other system.
    ``loaded`` says of each of FABRIC_MODULES whether it is loaded."""

    dgx_os: Fact[str] = _UNREAD
    loaded: dict[str, Fact[bool]] = field(default_factory=dict)


def hgx(host: Host, fabric: bool) -> Hgx:
    """Read the facts. The modules are looked for only with ``fabric``: there are boards that may need them."""
    return Hgx(_dgx_os(host), {name: _loaded(host, name) for name in FABRIC_MODULES} if fabric else {})


def _dgx_os(host: Host) -> Fact[str]:
    try:
        host.realpath(_RELEASE)
        done = host.run(_VERSIONS, 5.0)
    except Unreadable as error:
        return absent(_RELEASE, error.reason)
    # An update over the air appends its version; the last one counts.
    versions = [line.partition("=")[2].strip().strip('"')[:40] for line in done.stdout.splitlines()[:100]]
    return known(versions[-1], _RELEASE) if versions else not_understood(_RELEASE, "it names no version")


def _loaded(host: Host, name: str) -> Fact[bool]:
    folder = f"/sys/module/{name}"
    try:
        host.list(folder)
    except Unreadable as error:
        return known(False, folder) if error.absence is Absence.NOT_PRESENT else absent(folder, error.reason)
    return known(True, folder)
