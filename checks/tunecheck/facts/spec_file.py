"""The frozen specification that the roles left on the host."""

from __future__ import annotations

from ..errors import Flaw, SpecError
from ..host import Host, Unreadable
from ..model.absence import Absence
from ..parsers.pci.topology import RELATIONS
from ..spec.frozen import Frozen, Spec, load_frozen

__all__ = ["PATH", "read_spec", "usable"]

PATH = "/etc/tunecheck/spec.json"
_NONE = (Absence.NOT_PRESENT, Absence.NOT_RECORDED)


def read_spec(host: Host, given: str | None, required: bool) -> Frozen | None:
    """Return the spec at ``given`` on this machine, else the host's own. None where there is none and none is required.
    SpecError where it cannot be read or used."""
    if given is not None:
        return usable(load_frozen(given), given)
    try:
        content = host.read_bytes(PATH)
    except Unreadable as error:
        if error.absence in _NONE and not required:
            return None
        reason = error.reason.partition(";")[0]
        raise SpecError([f"{PATH}: {reason}; this verb judges against a spec: run ansible-playbook site.yml -i "
                         "inventory/NAME, or give one with --spec FILE"],
                        Flaw.MISSING if error.absence in _NONE else Flaw.UNREAD) from None
    try:
        return usable(load_frozen(content), PATH)
    except SpecError as error:
        raise SpecError([f"{PATH}: {problem}" for problem in error.problems], error.flaw) from None


def usable(frozen: Frozen, path: str) -> Frozen:
    """Return the spec if its values are of the kinds that the checks expect, else SpecError. The digest only shows that
    a file was not altered by accident; one from a stranger may hold anything."""
    spec = frozen.spec
    wrong = [name for name, good in _judged_fields(spec) if not good]
    if wrong:
        raise SpecError([f"{path}: {name} holds a value that no spec of tunecheck can hold" for name in wrong])
    return frozen


def _judged_fields(spec: Spec) -> list[tuple[str, bool]]:
    want = spec.accelerators
    return [
        ("accelerators.pci_ids", _texts(want.pci_ids)),
        ("accelerators.count", _optional(want.count, int)),
        ("accelerators.relation", want.relation is None or want.relation in RELATIONS),
        ("accelerators.groups.size", _optional(want.groups.size, int)),
        ("accelerators.groups.inside", want.groups.inside is None or want.groups.inside in RELATIONS),
        ("accelerators.groups.across", want.groups.across is None or want.groups.across in RELATIONS),
        ("accelerators.link_width", _optional(want.link_width, int)),
        ("accelerators.kernel_driver", want.kernel_driver in ("nvidia", "vfio-pci")),
        ("watch.on_stall", spec.watch.on_stall in ("report", "drain", "restart")),
        ("watch.restarts_per_day", type(spec.watch.restarts_per_day) is int and spec.watch.restarts_per_day >= 1),
        ("watch.token_floor", type(spec.watch.token_floor) in (int, float) and 0 <= spec.watch.token_floor <= 1),
        ("watch.canary_every", type(spec.watch.canary_every) is int and spec.watch.canary_every >= 0),
        ("watch.gpu_reset", type(spec.watch.gpu_reset) is bool),
        ("iommu", spec.iommu in ("pt", "off", "translated", "leave")),
        ("acs.peer_redirect", spec.acs.peer_redirect in ("off", "leave")),
        ("acs.mechanism", isinstance(spec.acs.mechanism, str)),
        ("kernel.cmdline", _texts(spec.kernel.cmdline)),
        ("modules", isinstance(spec.modules, dict) and all(
            isinstance(name, str) and isinstance(values, dict) and all(
                isinstance(value, (int, str)) for value in values.values()) for name, values in spec.modules.items())),
        ("cpu.governor", isinstance(spec.cpu.governor, str)),
        ("cpu.epp", _optional(spec.cpu.epp, str)),
        ("cpu.smt", spec.cpu.smt in (None, "on", "off")),
        ("driver.version", _optional(spec.driver.version, str)),
        ("driver.source", spec.driver.source in ("leave", "nvidia", "distribution", "mirror")),
        ("driver.flavour", spec.driver.flavour in ("stock", "patched-p2p")),
        ("driver.hold", isinstance(spec.driver.hold, bool)),
        ("runtime.engine", spec.runtime.engine in ("leave", "podman", "docker")),
        ("runtime.toolkit", _optional(spec.runtime.toolkit, str)),
        ("runtime.user", _optional(spec.runtime.user, str)),
        ("runtime.storage", _optional(spec.runtime.storage, str)),
        ("runtime.storage_free_gib", _optional(spec.runtime.storage_free_gib, int)),
        ("gate.measured", spec.gate.measured in ("each-boot", "on-change", "never")),
        ("gpu.clocks_mhz", spec.gpu.clocks_mhz is None or (
            len(spec.gpu.clocks_mhz) == 2 and all(_optional(clock, int) for clock in spec.gpu.clocks_mhz))),
        ("gpu.power_limit_watts", _optional(spec.gpu.power_limit_watts, int)),
        ("gpu.persistence", spec.gpu.persistence in (None, True, False)),
        ("gpu.ecc", spec.gpu.ecc in (None, "enabled", "disabled")),
        ("gpu.mig", spec.gpu.mig in (None, "enabled", "disabled")),
    ]


def _texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


def _optional(value: object, kind: type) -> bool:
    return value is None or (isinstance(value, kind) and not isinstance(value, bool))
