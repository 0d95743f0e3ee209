"""The driver's packages, what holds them at their version, and whether upgrades run by themselves."""

from __future__ import annotations

from functools import cached_property

from ...host import Host, Unreadable
from ...host.prefetch import DPKG, DPKG_BOX
from ...model.fact import Absence, Fact, absent, absent_as, known, not_understood, parsed
from ...parsers.packages import packages as formats
from ...parsers.packages.packages import Package
from ...parsers.text.bounds import MOST_GLOBS, few
from ...util.at_first_use import dataclass
from ..file_text import text

__all__ = ["ENGINES", "TOOLKIT", "Packages", "packages"]

#: github.com/NVIDIA/nvidia-container-toolkit, packages of 1.18 for Debian and Enterprise Linux (2026-11).
TOOLKIT = frozenset({"nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools",
                     "libnvidia-container1"})
ENGINES = {"podman": ("podman",), "docker": ("docker-ce", "docker.io", "moby-engine")}

_GLOBS = ("*nvidia*", "cuda-drivers*", "libcuda*")
_RPM = ("rpm", "-qa", "--qf", r"%{NAME}\t%{VERSION}-%{RELEASE}\n", *_GLOBS)
_RPM_BOX = (*_RPM[:4], "podman", "docker-ce", "moby-engine", "containerd.io", "crun", "runc", "dkms", "kernel",
            "kernel-core", "kernel-devel", "kernel-headers")
_LOCKS = ("/etc/dnf/plugins/versionlock.list", "/etc/dnf/versionlock.toml", "/etc/yum/pluginconf.d/versionlock.list")
_NONE: Fact[tuple[Package, ...]] = absent("dpkg-query, rpm", Absence.NOT_PRESENT)


@dataclass(frozen=True)
class Packages:
    """The installed packages. ``manager``: dpkg or rpm, empty where neither lists any. ``pins`` are of apt's
    preferences: (packages, pin, priority). ``unattended``: whether upgrades run by themselves, None where nothing says
    so; ``spared``: what those leave alone. ``others``: container engines, kernels and their headers, dkms."""

    manager: str
    installed: Fact[tuple[Package, ...]]
    pins: tuple[tuple[str, str, int], ...]
    unattended: bool | None
    spared: tuple[str, ...]
    others: Fact[tuple[Package, ...]]

    @property
    def driver(self) -> list[Package]:
        """Return the packages that are parts of the driver. Their versions are the driver's."""
        return [package for package in self.installed.value or () if package.driver]

    @property
    def toolkit(self) -> list[Package]:
        """Return the container toolkit's packages, which are all of one version."""
        return [package for package in self.installed.value or () if package.name in TOOLKIT]

    def engine(self, name: str) -> Package | None:
        """Return the package of the engine ``name`` (podman or docker), whichever name the package has. None where
        there is none."""
        return next((package for package in self.others.value or () if package.name in ENGINES[name]), None)

    def pinned(self, package: Package) -> bool:
        """Return whether the package is held, or pinned in apt's preferences with a priority above 500. 500 is what any
        version of a source has: a pin above it wins."""
        return package.held or self._pinned.match(package.name)

    def left_alone(self, package: Package) -> bool:
        """Return whether unattended-upgrades leaves the package alone."""
        return self._spared.mean(package.name)

    @cached_property
    def _pinned(self) -> formats.Globs:
        return formats.Globs(glob for names, _, priority in self.pins if priority > 500 for glob in names.split())

    @cached_property
    def _spared(self) -> formats.Spared:
        return formats.Spared(self.spared)


def packages(host: Host, wanted: bool) -> Packages:
    """Ask dpkg, and rpm where dpkg is absent or lists none. Not ``wanted``: NVIDIA's packages are not asked for."""
    others = _others(host)
    if not wanted:
        return Packages("", absent("packages", Absence.NOT_ASKED), (), None, (), others)
    found = parsed(_listed(host, DPKG), formats.dpkg)
    if found.value:
        return _apt(host, found, others)
    listing = parsed(_listed(host, _RPM), lambda text: formats.rpm(text, _locks(host)))
    if listing.known:
        return Packages("rpm", known(listing.value or (), "rpm -qa"), (), None, (), others)
    unread = next((fact for fact in (found, listing) if fact.absence not in (None, Absence.NOT_PRESENT)), None)
    if unread is not None:
        return Packages("", absent_as(unread), (), None, (), others)
    return Packages("dpkg" if found.known else "", known((), "dpkg-query") if found.known else _NONE, (), None, (),
                    others)


def _others(host: Host) -> Fact[tuple[Package, ...]]:
    found = parsed(_listed(host, DPKG_BOX, " of engines and kernels"), formats.dpkg)
    if found.value:
        return found
    listing = parsed(_listed(host, _RPM_BOX), lambda text: formats.rpm(text, _locks(host)))
    if listing.known:
        return known(listing.value or (), "rpm -qa")
    if found.known:
        return known((), found.source)
    unread = next((fact for fact in (found, listing) if not fact.missing), None)
    return absent_as(unread) if unread else _NONE


def _locks(host: Host) -> str:
    words = [word for path in ("/etc/dnf/dnf.conf", "/etc/yum.conf")
             for word in formats.settings(text(host, path).value or "")]
    return "\n".join([*(text(host, path).value or "" for path in _LOCKS), *words])


def _listed(host: Host, argv: tuple[str, ...], what: str = "") -> Fact[str]:
    """Return what a package manager lists. It exits with 1 where one of the patterns fits nothing. ``what`` names one
    of its listings, for the reason where there is none."""
    try:
        done = host.run(argv, 10.0)
    except Unreadable as error:
        return absent(argv[0] + what, error.reason)
    if done.returncode not in (0, 1):
        return absent(argv[0] + what, Absence.FAILED.because((done.stderr.strip().splitlines() or ["failed"])[0][:200]))
    return known(done.stdout, argv[0])


def _apt(host: Host, listed: Fact[tuple[Package, ...]], others: Fact[tuple[Package, ...]]) -> Packages:
    pins = tuple(pin for content in _texts(host, "/etc/apt/preferences.d", "", ".pref") for pin in
                 formats.apt_pins(content))
    try:
        few("globs in apt's pins", sum(len(globs.split()) for globs, _, _ in pins), MOST_GLOBS)
        unattended, spared = formats.apt_settings("\n".join(_texts(host, "/etc/apt/apt.conf.d")))
    except ValueError as error:
        return Packages("dpkg", not_understood("/etc/apt", error), (), None, (), others)
    return Packages("dpkg", listed, pins, unattended, tuple(spared), others)


def _texts(host: Host, folder: str, *endings: str) -> list[str]:
    """Return the texts of the files in a folder of apt. With ``endings`` only the files that apt reads count: those
    without an ending, and those that end in .pref (apt_preferences(5))."""
    try:
        names = host.list(folder)[:200]
    except Unreadable:
        return []
    wanted = [name for name in names if not endings or "." not in name or name.endswith(".pref")]
    return [text(host, f"{folder}/{name}").value or "" for name in wanted]
