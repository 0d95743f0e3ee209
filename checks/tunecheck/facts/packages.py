"""The driver's packages, what holds them at their version, and whether upgrades run by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from ..formats import packages as formats
from ..formats.packages import Package
from ..host import Host, Unreadable
from ..host.early import DPKG
from .fact import Fact, absent, known, text

__all__ = ["Packages", "packages"]

_GLOBS = ("*nvidia*", "cuda-drivers*", "libcuda*")
_RPM = ("rpm", "-qa", "--qf", r"%{NAME}\t%{VERSION}-%{RELEASE}\n", *_GLOBS)
_LOCKS = ("/etc/dnf/plugins/versionlock.list", "/etc/dnf/versionlock.toml", "/etc/yum/pluginconf.d/versionlock.list")
_NONE: Fact[tuple[Package, ...]] = absent("dpkg-query, rpm", "not present")


@dataclass(frozen=True)
class Packages:
    """``manager``: dpkg or rpm, empty where neither lists any. ``pins`` are of apt's preferences: (packages, pin,
    priority). ``unattended``: whether upgrades run by themselves, None where nothing says so; ``spared``: what those
    leave alone."""

    manager: str
    installed: Fact[tuple[Package, ...]]
    pins: tuple[tuple[str, str, int], ...]
    unattended: bool | None
    spared: tuple[str, ...]

    @property
    def driver(self) -> list[Package]:
        """Parts of the driver, whose versions are the driver's."""
        return [package for package in self.installed.value or () if package.driver]


def packages(host: Host, wanted: bool) -> Packages:
    """Ask dpkg, and rpm where dpkg is absent or lists none."""
    if not wanted:
        return Packages("", absent("packages", "not asked for"), (), None, ())
    found = _listed(host, DPKG)
    if found.value is not None and (listed := formats.dpkg(found.value)):
        return _apt(host, known(listed, "dpkg-query"))
    listing = _listed(host, _RPM)
    if listing.value is not None:
        settings = [word for path in ("/etc/dnf/dnf.conf", "/etc/yum.conf")
                    for word in formats.settings(text(host, path).value or "")]
        locks = "\n".join([*(text(host, path).value or "" for path in _LOCKS), *settings])
        return Packages("rpm", known(formats.rpm(listing.value, locks), "rpm -qa"), (), None, ())
    unread = next((fact for fact in (found, listing) if fact.reason not in (None, "not present")), None)
    if unread is not None:
        return Packages("", absent(unread.source, unread.reason or ""), (), None, ())
    return Packages("dpkg" if found.known else "", known((), "dpkg-query") if found.known else _NONE, (), None, ())


def _listed(host: Host, argv: tuple[str, ...]) -> Fact[str]:
    """What a package manager lists; it exits with 1 where one of the patterns fits nothing."""
    try:
        done = host.run(argv, 10.0)
    except Unreadable as error:
        return absent(argv[0], error.reason)
    if done.returncode not in (0, 1):
        return absent(argv[0], (done.stderr.strip().splitlines() or ["failed"])[0][:200])
    return known(done.stdout, argv[0])


def _apt(host: Host, listed: Fact[tuple[Package, ...]]) -> Packages:
    pins = tuple(pin for content in _texts(host, "/etc/apt/preferences.d", "", ".pref") for pin in
                 formats.apt_pins(content))
    unattended, spared = formats.apt_settings("\n".join(_texts(host, "/etc/apt/apt.conf.d")))
    return Packages("dpkg", listed, pins, unattended, tuple(spared))


def _texts(host: Host, folder: str, *endings: str) -> list[str]:
    """The files of a folder of apt's; it reads those without an ending, or with its own (apt_preferences(5))."""
    try:
        names = host.list(folder)[:200]
    except Unreadable:
        return []
    wanted = [name for name in names if not endings or "." not in name or name.endswith(".pref")]
    return [text(host, f"{folder}/{name}").value or "" for name in wanted]
