"""The types that the planner of driver packages takes and gives: plain data, no behaviour."""

from __future__ import annotations

from dataclasses import field
from typing import Mapping, NamedTuple, Optional, Tuple

from ...util.at_first_use import dataclass

__all__ = ["Box", "Exact", "Pin", "Plan", "Repository", "Want"]


class Exact(NamedTuple):
    """A package at one version as the package manager writes it: ``595.71.05-1``, EL ``3:595.71.05-1.el9``. An empty
    version: any (compilers, headers)."""

    name: str
    version: str

    @property
    def apt(self) -> str:
        """Return the package as apt-get install takes it."""
        return "%s=%s" % self if self.version else self.name

    @property
    def dnf(self) -> str:
        """Return the package as dnf install takes it."""
        return "%s-%s" % self if self.version else self.name


class Pin(NamedTuple):
    """A stanza of apt_preferences(5): globs of package names, a version pattern, a priority."""

    packages: Tuple[str, ...]
    version: str
    priority: int


@dataclass(frozen=True)
class Repository:
    """Where packages come from. ``kind``: apt or dnf. ``suites`` and ``components`` are apt's (a suite that ends in
    ``/`` is a flat repository, without components). ``fingerprint``: 40 hex digits of the key that must sign it; None
    where it is not known (then ``note`` says what is missing). ``key_url``: where the key lies. ``module_stream``:
    dnf's, to be enabled before, None for none."""

    kind: str
    url: str
    suites: Tuple[str, ...] = ()
    components: Tuple[str, ...] = ()
    arch: str = ""
    fingerprint: Optional[str] = None
    key_url: Optional[str] = None
    keyring_package: Optional[str] = None
    module_stream: Optional[str] = None
    note: str = ""


@dataclass(frozen=True)
class Box:
    """What was read on the box. ``distribution`` and ``release``: ID and VERSION_ID of os-release; ``arch``: uname -m.
    ``headers``: kernel releases whose ``/lib/modules/<release>/build`` is there. ``secure_boot``: None where it could
    not be read; ``key``: the key that DKMS signs with is enrolled, waits (for its confirmation on the console),
    not_enrolled, missing, or untested where DKMS or mokutil gave no answer; ``makes_key``: the command that makes a
    missing one. ``installed``: {name: version}, of ``INSTALLED_GLOBS``; ``available``: {name: versions} for ``names``,
    both as the package manager writes versions, EL with the epoch;
    ``gpu_users``: processes that hold a GPU, as sentences; ``held``: apt-mark showhold, or dnf versionlock's names."""

    distribution: str
    release: str
    arch: str
    kernel: str
    next_kernel: str
    secure_boot: Optional[bool] = None
    key: str = "untested"
    makes_key: str = "dkms generate_mok"
    nvswitch: bool = False
    headers: Tuple[str, ...] = ()
    installed: Mapping[str, str] = field(default_factory=dict)
    available: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)
    gpu_users: Tuple[str, ...] = ()
    held: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Want:
    """The wanted driver, as in ``box_spec.driver``: ``source`` nvidia, distribution or mirror; ``modules`` dkms or
    precompiled. ``drain``: GPUs in use are no refusal, the caller stops the inference unit first."""

    version: Optional[str]
    source: str
    modules: str = "dkms"
    hold: bool = True
    mirror: Optional[str] = None
    mirror_fingerprint: Optional[str] = None
    drain: bool = False


@dataclass(frozen=True)
class Plan:
    """What is to be done on a box. ``problems``: refusals, each what, expected, how to fix; where there is any, nothing
    may be written. ``prerequisites`` go in first (compiler, dkms, headers of both kernels), then ``install`` and
    ``remove`` as one transaction, then ``hold``. ``missing``: those of ``install`` not there at that version.
    ``dkms_package``: the one of ``install`` to try to build before; None if precompiled. ``kernel_hold``: kernel
    packages that stay together with precompiled modules. ``blacklist``: regular expressions for unattended-upgrades.
    ``versionlock``: lines of dnf's versionlock.list. ``repository``: None for the distribution's own, which is
    configured already (``components`` are what it must offer). ``notes``: said, but no refusal."""

    version: str = ""
    prerequisites: Tuple[Exact, ...] = ()
    install: Tuple[Exact, ...] = ()
    missing: Tuple[Exact, ...] = ()
    remove: Tuple[str, ...] = ()
    dkms_package: Optional[Exact] = None
    hold: Tuple[str, ...] = ()
    kernel_hold: Tuple[str, ...] = ()
    pins: Tuple[Pin, ...] = ()
    blacklist: Tuple[str, ...] = ()
    versionlock: Tuple[str, ...] = ()
    repository: Optional[Repository] = None
    components: Tuple[str, ...] = ()
    problems: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the set is there and nothing is to be removed or refused. Prerequisites, holds and pins are the
        caller's to compare."""
        return not self.problems and not self.missing and not self.remove
