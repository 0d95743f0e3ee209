"""How the driver's kernel module comes to be, and whether a kernel under Secure Boot takes it: files, and a grep."""

from __future__ import annotations

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known
from ...util.at_first_use import dataclass, regex

__all__ = ["ModuleBuild", "ModuleKeys", "Tree", "module_build", "module_keys"]

_DKMS = "/var/lib/dkms"
_MOK_NEW = "/sys/firmware/efi/efivars/MokNew-605dab50-e046-4300-abb6-3dd810dd8b23"
#: Not the file: it names users' keys, too.
_KEYS = ("grep", "-F", "asymmetri", "/proc/keys")
#: "asymmetri Canonical Ltd. Kernel Module Signing: 88f752e5...: X509.rsa e9f9...": crypto/asymmetric_keys/
#: asymmetric_type.c; the name is "O: CN" where the two differ (x509_fabricate_name()).
_KEY = regex(r"\basymmetri\s+(\S.{0,200}?): [0-9a-f]{8,}: ")


@dataclass(frozen=True)
class Tree:
    """One source tree that DKMS keeps: ``nvidia`` 595.71.05, with the kernels that DKMS has built it for."""

    name: str
    version: str
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class ModuleBuild:
    """What the driver's kernel module can be built from. ``trees`` are those of NVIDIA's driver; ``headers`` are the
    asked kernel releases whose headers are installed."""

    trees: tuple[Tree, ...]
    headers: tuple[str, ...]


@dataclass(frozen=True)
class ModuleKeys:
    """The keys that the running kernel trusts for modules, by name (``trusted``), and whether a new key waits to be
    confirmed at the console at the next boot (``pending``)."""

    trusted: tuple[str, ...]
    pending: bool

    def takes(self, signer: str) -> bool:
        return any(name == signer or name.endswith(f": {signer}") for name in self.trusted)


def module_build(host: Host, wanted: bool, releases: tuple[str, ...]) -> Fact[ModuleBuild]:
    """Read what the module can be built from. ``releases`` are the running kernel's and the next one's. Not ``wanted``:
    nothing is read."""
    if not wanted:
        return absent(_DKMS, Absence.NOT_ASKED)
    trees = []
    try:
        for name in [name for name in _names(host, _DKMS) if name.startswith("nvidia")][:20]:
            # Beside the versions stand links to what is installed: kernel-<release>-<arch>.
            versions = [each for each in _names(host, f"{_DKMS}/{name}") if each[:1].isdigit()]
            for version in versions[:20]:
                kernels = [each for each in _names(host, f"{_DKMS}/{name}/{version}") if each[:1].isdigit()]
                trees.append(Tree(name, version, tuple(kernels[:64])))
        headers = [release for release in dict.fromkeys(releases) if release and _there(
            host, f"/lib/modules/{release}/build")]
    except Unreadable as error:
        return absent(error.path, error.reason)
    return known(ModuleBuild(tuple(trees), tuple(headers)), _DKMS)


def module_keys(host: Host, wanted: bool) -> Fact[ModuleKeys]:
    """Read the keys that the running kernel trusts for modules. ``wanted``: Secure Boot is on; without it nothing is
    read."""
    if not wanted:
        return absent("/proc/keys", Absence.NOT_ASKED)
    try:
        names = _KEY.findall(host.run(_KEYS, 5.0).stdout[:1 << 20])
        pending = _there(host, _MOK_NEW)
    except Unreadable as error:
        return absent(error.path, error.reason)
    if not names:       # /proc/keys shows only what the reader may view, and a kernel that boots so has some
        return absent("/proc/keys", Absence.NO_PERMISSION)
    return known(ModuleKeys(tuple(dict.fromkeys(names))[:200], pending), "/proc/keys")


def _names(host: Host, folder: str) -> list[str]:
    try:
        return host.list(folder)
    except Unreadable as error:
        if error.absence is Absence.NOT_PRESENT:
            return []
        raise


def _there(host: Host, path: str) -> bool:
    try:
        host.realpath(path)
    except Unreadable as error:
        if error.absence is Absence.NOT_PRESENT:
            return False
        raise
    return True
