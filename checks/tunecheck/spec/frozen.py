"""The frozen specification: what lands on the box as ``/etc/tunecheck/spec.json``.

Plain dataclasses and the standard library only: the checker on the box starts with this file, and
pydantic alone would cost more start-up time than everything else together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, field, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeGuard

from tunecheck.errors import Flaw, SpecError

from ..util.at_first_use import dataclass
from ..util.text import some

__all__ = [
    "SCHEMA", "Accelerators", "Acs", "Boot", "Cpu", "Driver", "Frozen", "Gate", "Gpu", "Groups", "Kernel", "Runtime",
    "Spec", "declared_tokens", "digest_of", "from_plain", "load_frozen",
]  # fmt: skip

SCHEMA = "tunecheck/spec/1"
_JSON = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
_DEEP = "is nested more deeply than any spec"
_HOW = ("tunecheck spec show -i INVENTORY --host HOST --json > FILE, or on the box with ansible-playbook site.yml -i "
        "inventory/NAME -l HOST")
_AGAIN = f"write it again: {_HOW}"


@dataclass(frozen=True)
class Groups:
    size: int | None = None
    inside: str | None = None
    across: str | None = None


@dataclass(frozen=True)
class Accelerators:
    pci_ids: tuple[str, ...] = ()
    count: int | None = None
    relation: str | None = None
    groups: Groups = field(default_factory=Groups)
    link_width: int | None = None
    kernel_driver: str = "nvidia"

    @property
    def how_close(self) -> bool:
        """Whether the spec says how close the accelerators are: every pair, or group by group."""
        return self.relation is not None or self.groups.inside is not None


@dataclass(frozen=True)
class Acs:
    peer_redirect: str = "leave"
    mechanism: str = "disable_acs_redir"
    scope: str = "gpu-paths"
    at_boot_unit: bool = True


@dataclass(frozen=True)
class Kernel:
    cmdline: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cpu:
    governor: str = "leave"
    epp: str | None = None
    smt: str | None = None


@dataclass(frozen=True)
class Driver:
    version: str | None = None
    source: str = "leave"
    mirror: str | None = None
    mirror_fingerprint: str | None = None
    modules: str = "dkms"
    flavour: str = "stock"
    hold: bool = True
    drain: bool = False


@dataclass(frozen=True)
class Runtime:
    engine: str = "leave"
    toolkit: str | None = None
    toolkit_source: str = "nvidia"
    user: str | None = None
    storage: str | None = None
    storage_free_gib: int = 0
    log_max_mib: int = 100


@dataclass(frozen=True)
class Gpu:
    power_limit_watts: int | None = None
    clocks_mhz: tuple[int, ...] | None = None
    persistence: bool | None = None
    ecc: str | None = None
    mig: str | None = None


@dataclass(frozen=True)
class Gate:
    measured: str = "each-boot"


@dataclass(frozen=True)
class Watch:
    on_stall: str = "report"
    restarts_per_day: int = 3
    token_floor: float = 0.3
    canary_every: int = 900
    gpu_reset: bool = False


@dataclass(frozen=True)
class Boot:
    trial: bool = True
    panic_seconds: int = 30
    timeout_seconds: int = 900
    confirm_seconds: int | None = None
    reboot: str = "auto"
    reboot_when_busy: bool = False


@dataclass(frozen=True)
class Spec:
    """The desired state of one box. Defaults are neutral: nothing is changed, little is judged."""

    accelerators: Accelerators = field(default_factory=Accelerators)
    iommu: str = "leave"
    acs: Acs = field(default_factory=Acs)
    kernel: Kernel = field(default_factory=Kernel)
    modules: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    cpu: Cpu = field(default_factory=Cpu)
    driver: Driver = field(default_factory=Driver)
    gpu: Gpu = field(default_factory=Gpu)
    runtime: Runtime = field(default_factory=Runtime)
    gate: Gate = field(default_factory=Gate)
    watch: Watch = field(default_factory=Watch)
    boot: Boot = field(default_factory=Boot)


@dataclass(frozen=True)
class Frozen:
    """One host's specification with its digest and, per dotted path, where each value comes from."""

    host: str
    profile: str
    spec: Spec
    sources: Mapping[str, str]
    schema: str = SCHEMA

    @cached_property
    def digest(self) -> str:
        return digest_of(self.profile, self.spec)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON document as Python data."""
        return {
            "schema": self.schema,
            "host": self.host,
            "profile": self.profile,
            "digest": self.digest,
            "spec": asdict(self.spec),
            "sources": dict(self.sources),
            # Derived, for the roles; never read back.
            "declared_tokens": list(declared_tokens(self.spec)),
        }

    def to_json(self) -> str:
        """Return the document's text: sorted, indented, ending in a newline, so that equal specs are equal files."""
        return json.dumps(self.to_plain(), indent=2, sort_keys=True) + "\n"


def digest_of(profile: str, spec: Spec) -> str:
    """Return ``sha256:<hex>`` over the profile's name and the fields that differ from the neutral defaults.

    Defaults stay out, so that a release that adds a field does not make every box look changed.
    """
    stated = {"profile": profile, "spec": _beyond_defaults(asdict(spec), _neutral())}
    canonical = json.dumps(stated, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


@cache
def _neutral() -> dict[str, Any]:
    return asdict(Spec())


def _beyond_defaults(value: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, item in value.items():
        neutral = default.get(key)
        if isinstance(item, dict) and isinstance(neutral, dict):
            item = _beyond_defaults(item, neutral)
            if item:
                kept[key] = item
        elif item != neutral or type(item) is not type(neutral):  # 1 is not true
            kept[key] = item
    return kept


def from_plain(data: Mapping[str, Any]) -> Spec:
    """Return a :class:`Spec` from plain data. A field that is not there is neutral. SpecError names what does not
    fit."""
    return _fill(Spec, data, "spec")  # type: ignore[no-any-return]


def _fill(kind: type, data: object, path: str) -> Any:
    if not isinstance(data, Mapping):
        raise SpecError([f"{path}: expected an object, found {type(data).__name__}"], Flaw.WRONG_TYPE)
    known = {item.name: item for item in fields(kind)}
    wrong = sorted({str(key) for key in data} - set(known))
    if wrong:
        raise SpecError([f"{path}: {', '.join(wrong)} is not part of {SCHEMA}: written by a newer tunecheck, or "
                         "altered"], Flaw.UNKNOWN_FIELD)
    neutral = kind()
    values: dict[str, Any] = {}
    for name in known:
        default = getattr(neutral, name)
        # Written before this field existed: neutral. One that was taken away does not fit the digest.
        value = data.get(name, asdict(default) if is_dataclass(default) and not isinstance(default, type) else default)
        if is_dataclass(default):
            value = _fill(type(default), value, f"{path}.{name}")
        elif isinstance(value, list):       # also where the neutral value is None: gpu.clocks_mhz
            value = tuple(value)
        values[name] = value
    return kind(**values)


def _texts(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def load_frozen(source: str | Path | bytes) -> Frozen:
    """Read a frozen spec from a path or its bytes; raise SpecError when it is not one or was altered."""
    where = "the given spec" if isinstance(source, bytes) else str(source)
    try:
        raw = source if isinstance(source, bytes) else Path(source).read_bytes()
        data = json.loads(raw)
    except (FileNotFoundError, NotADirectoryError):
        raise SpecError([f"{where}: does not exist; write it: {_HOW}"], Flaw.MISSING) from None
    except OSError as error:
        raise SpecError([f"{where}: cannot be read ({error.strerror}); {_AGAIN}"], Flaw.UNREAD) from error
    except ValueError as error:
        raise SpecError([f"{where}: is not JSON ({error}); {_AGAIN}"], Flaw.NOT_JSON) from error
    except RecursionError:
        raise SpecError([f"{where}: {_DEEP}; {_AGAIN}"], Flaw.TOO_DEEP) from None
    if len(by_host := _by_host(data)) == 1:
        [data] = by_host.values()
    if not isinstance(data, dict) or "schema" not in data:
        raise SpecError([f"{where}: is JSON, and no spec of tunecheck ({_lacks(data)}); {_AGAIN}"], Flaw.OTHER_KIND)
    if data["schema"] != SCHEMA:
        raise SpecError([f"{where}: states the schema {str(data['schema'])[:60]!r}, this tunecheck reads {SCHEMA!r}; "
                         f"{_AGAIN}"], Flaw.OTHER_SCHEMA)
    host, profile, sources = data.get("host"), data.get("profile"), data.get("sources")
    if not isinstance(host, str) or not isinstance(profile, str) or not _texts(sources):
        raise SpecError([f"{where}: host, profile or sources is missing or of a wrong type; {_AGAIN}"], Flaw.WRONG_TYPE)
    try:
        frozen = Frozen(host=host, profile=profile, spec=from_plain(data.get("spec") or {}), sources=sources)
        digest = frozen.digest
    except SpecError as error:
        raise SpecError([f"{where}: {problem}; {_AGAIN}" for problem in error.problems], error.flaw) from error
    except TypeError as error:
        raise SpecError([f"{where}: is not a spec ({error}); {_AGAIN}"], Flaw.WRONG_TYPE) from error
    except RecursionError:
        raise SpecError([f"{where}: {_DEEP}; {_AGAIN}"], Flaw.TOO_DEEP) from None
    if data.get("digest") != digest:
        raise SpecError([f"{where}: was altered: it states digest {data.get('digest')}, its content has {digest}; "
                         f"{_AGAIN}"], Flaw.ALTERED)
    return frozen


def _by_host(data: object) -> dict[str, dict[str, Any]]:
    """Return the specs that `spec show --json` without --host printed, by host."""
    fits = isinstance(data, dict) and all(isinstance(each, dict) and "schema" in each for each in data.values())
    return data if fits and isinstance(data, dict) else {}


def _lacks(data: object) -> str:
    if hosts := _by_host(data):
        return f"it has those of {len(hosts)} hosts, {some(list(hosts), 3)}, where one is needed"
    if isinstance(data, dict):
        return f'it has no "schema": "{SCHEMA}"'
    return f"expected an object in braces, found {_JSON.get(type(data), 'a number')}"


def declared_tokens(spec: Spec) -> tuple[str, ...]:
    """Return the kernel parameters that the spec asks for, in order, each once. Those for ACS depend on the box and are
    not here."""
    policy = {"pt": ("iommu=pt",), "off": ("iommu=off",)}.get(spec.iommu, ())
    return tuple(dict.fromkeys((*policy, *spec.kernel.cmdline)))
