"""The one model of a box's desired state. Strict: no coercion, no unknown keys.

Imported on the control node only (``build``, ``schema``); the box reads :mod:`tunecheck.spec.frozen`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "Accelerators", "Acs", "Boot", "Cpu", "Driver", "Gate", "Gpu", "Groups", "Kernel", "Runtime", "Spec", "schema",
]  # fmt: skip

# A title says in words which texts a pattern takes; the table in roles/box_spec/README.md is made of these fields.
PciId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$"),
                  Field(title="vendor:device in lower-case hex")]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$")]
# modprobe.d separates parameters at white space, and '#', a quote or a backslash would not arrive as written.
ParameterText = Annotated[str, StringConstraints(pattern=r"^[!$-&(-\[\]-~]+$")]
# 595.71.05 and 565.77 are releases; 595, 580.x, >=595 and 595.71-open are not.
DriverVersion = Annotated[str, StringConstraints(pattern=r"^[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?$"),
                          Field(title='one exact release such as "595.71.05"')]
ToolkitVersion = Annotated[str, StringConstraints(pattern=r"^1\.[0-9]{1,3}\.[0-9]{1,3}$"),
                           Field(title='one exact release such as "1.18.1"')]
# Goes into a package manager's configuration: no white space, quotes or credentials.
RepositoryUrl = Annotated[
    str, StringConstraints(pattern=r"^(https://[A-Za-z0-9.-]+(:[0-9]+)?|file://)(/[A-Za-z0-9._~+-]+)*/?$"),
    Field(title="https://..., or file:///folder on the box")]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9A-F]{40}$"), Field(title="40 hex digits in capitals")]
UserName = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$"), Field(title="name of a user")]
FolderPath = Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9._-]+)+$"), Field(title="path of a folder")]
Relation = Literal["PIX", "PXB", "PHB", "NODE", "SYS"]
Clock = Annotated[int, Field(ge=100, le=5000)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Groups(_Part):
    size: Annotated[int, Field(ge=2, le=64)] | None = Field(
        default=None, description="accelerators in each group; null: two or more"
    )
    inside: Relation | None = Field(
        default=None, description="accelerators this close form a group. PIX: those below one switch; NODE: those of "
        "one socket; null: no groups"
    )
    across: Relation | None = Field(
        default=None, description="the worst relation that two accelerators of different groups may have; null: not "
        "judged"
    )


class Accelerators(_Part):
    pci_ids: list[PciId] = Field(default=[], description="as `lspci -nn` prints them; a profile gives them")
    count: Annotated[int, Field(ge=1, le=64)] | None = Field(default=None, description="null: at least one")
    relation: Relation | None = Field(
        default=None, description="the worst relation that any pair may have (PIX best, SYS worst); null: report only. "
        "Not together with `groups.inside`"
    )
    groups: Groups = Groups()
    link_width: Literal[1, 2, 4, 8, 12, 16, 32] | None = Field(
        default=None, description="PCIe lanes at the accelerator and at every hop of its path; null: all that the "
        "board has"
    )
    kernel_driver: Literal["nvidia", "vfio-pci"] = Field(
        default="nvidia", description="who has the accelerators. vfio-pci: they are handed to virtual machines of this "
        "host; judged only, no role binds them"
    )


class Acs(_Part):
    peer_redirect: Literal["off", "leave"] = Field(
        default="leave", description="off: ReqRedir, CmpltRedir and EgressCtrl are cleared. The checks report the true "
        "state with either"
    )
    mechanism: Literal["disable_acs_redir", "config_acs", "setpci"] = Field(
        default="disable_acs_redir", description="`pci=disable_acs_redir=` (since Linux 4.19), `pci=config_acs=` "
        "(since 6.11), or setpci"
    )
    scope: Literal["gpu-paths", "all"] = Field(default="gpu-paths", description="which ports")
    at_boot_unit: bool = Field(
        default=True, description="a one-shot unit too, as fallback and after AER recovery"
    )


class Kernel(_Part):
    cmdline: list[str] = Field(default=[], description="kernel parameters, one per entry")


class Cpu(_Part):
    governor: Literal["performance", "schedutil", "powersave", "ondemand", "leave"] = Field(
        default="leave", description="cpufreq's governor of every CPU"
    )
    epp: Literal["default", "performance", "balance_performance", "balance_power", "power"] | None = Field(
        default=None, description="energy_performance_preference where the driver has it; null: leave"
    )
    smt: Literal["on", "off"] | None = Field(default=None, description="judged only, no role sets it; null: not judged")


class Driver(_Part):
    version: DriverVersion | None = Field(default=None, description="null: any")
    source: Literal["leave", "nvidia", "distribution", "mirror"] = Field(
        default="leave", description="where the packages come from; leave: no role installs a driver"
    )
    mirror: RepositoryUrl | None = Field(default=None, description="of source mirror")
    mirror_fingerprint: Fingerprint | None = Field(default=None, description="of the key that signs the mirror")
    modules: Literal["dkms", "precompiled"] = Field(
        default="dkms", description="how the open kernel modules come; precompiled: of source distribution only"
    )
    flavour: Literal["stock", "patched-p2p"] = Field(
        default="stock", description="patched-p2p: the open kernel modules are patched so that boards of GeForce reach "
        "each other; judged only, no role installs them"
    )
    hold: bool = Field(default=True, description="nothing but these roles may move a driver package")
    drain: bool = Field(default=False, description="stop the inference unit before a change of the driver")


class Runtime(_Part):
    engine: Literal["leave", "podman", "docker"] = Field(default="leave", description="leave: no role sets one up")
    toolkit: ToolkitVersion | None = Field(
        default=None, description="nvidia-container-toolkit; null: none is installed"
    )
    toolkit_source: Literal["nvidia", "mirror"] = Field(
        default="nvidia", description="mirror: the one of `driver.mirror`, signed by the same key"
    )
    user: UserName | None = Field(default=None, description="runs containers without root; null: root does")
    storage: FolderPath | None = Field(default=None, description="of images and layers; null: the engine's own")
    storage_free_gib: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=0, description="free space that must be there before anything is pulled"
    )
    log_max_mib: Annotated[int, Field(ge=1, le=10_000)] = Field(default=100, description="of one container's log")


class Gpu(_Part):
    power_limit_watts: Annotated[int, Field(ge=50, le=2000)] | None = Field(
        default=None, description="of every accelerator; null: below the board's default is worth a warning"
    )
    clocks_mhz: Annotated[list[Clock], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="lowest and highest graphics clock, locked at boot; null: the driver's own"
    )
    persistence: bool | None = Field(default=None, description="persistence mode; null: off is worth a warning")
    ecc: Literal["enabled", "disabled"] | None = Field(default=None, description="null: off is worth a warning")
    mig: Literal["enabled", "disabled"] | None = Field(
        default=None, description="null: disabled where there are several accelerators"
    )


class Gate(_Part):
    measured: Literal["each-boot", "on-change", "never"] = Field(
        default="each-boot",
        description="when the GPUs are measured before a container starts. each-boot: once in each boot; on-change: "
        "only where no earlier measurement of this box as it is holds; never: every report warns of it "
        "(`docs/gate.md`)",
    )


class Watch(_Part):
    on_stall: Literal["report", "drain", "restart"] = Field(
        default="report",
        description="what is done when the served engine gives no token any more; evidence is kept in each case. "
        "report: nothing else; drain: /ready of the watch says no, and the engine is left for a person to look at; "
        "restart: it is stopped, the box is proven and measured anew, and it starts again (`docs/watch.md`)",
    )
    restarts_per_day: int = Field(
        default=3, ge=1, le=24, description="so many restarts in 24 h; the next stall stops it and leaves it down"
    )
    # 0.3 is half of what the acceptance at boot refuses below (0.6): policy of this project, 2026-11. Four streams give
    # more than one does, so this is far below a healthy engine, and above a GPU at a tenth of its clock.
    token_floor: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3, description="share of the accepted speed of one stream that four requests and more at once may "
        "not fall below, all together, for ten minutes; 0: not judged"
    )
    # 900: 96 short answers a day, each when nobody asks; a dead scheduler behind a healthy /health is found within 17
    # minutes of the last request. Policy of this project, 2026-11.
    canary_every: Annotated[int, Field(ge=0, le=86400)] = Field(
        default=900, description="seconds: so often an engine that nobody asks is asked a short question with a known "
        "answer; 0: never, else at least 60"
    )
    gpu_reset: bool = Field(
        default=False, description="with restart: whether the GPUs are reset, once an incident, where the proof after "
        "a stall says that they hang or the driver asks for it; never with NVSwitches (`docs/watch.md`)"
    )


class Boot(_Part):
    trial: bool = Field(default=True, description="boot a changed configuration once before it becomes the default")
    # 0 would mean "never reboot after a panic": the trial could not come back by itself.
    panic_seconds: int = Field(default=30, ge=1, le=600, description="`panic=` of the trial boot")
    timeout_seconds: int = Field(
        default=900, ge=30, le=7200, description="how long the play waits for the box; more than `panic_seconds`"
    )
    confirm_seconds: int | None = Field(
        default=None, ge=60, le=14400,
        description="a trial boot that is not committed within this time of its start returns to the old entry by "
        "itself; more than `timeout_seconds`; null: `timeout_seconds` and 300 more, for the proof",
    )
    reboot: Literal["auto", "never"] = Field(default="auto", description="never: a person reboots the box")
    reboot_when_busy: bool = Field(default=False, description="reboot although accelerators are in use")


class Spec(_Part):
    """Variable ``box_spec``: the desired state of one box."""

    profile: str = Field(description="where the values not stated here come from")
    accelerators: Accelerators = Accelerators()
    iommu: Literal["pt", "off", "translated", "leave"] = Field(
        default="leave", description="pt: `iommu=pt`; off: `iommu=off`; translated and leave set nothing"
    )
    acs: Acs = Acs()
    kernel: Kernel = Kernel()
    modules: dict[ModuleName, dict[ParameterName, int | ParameterText]] = Field(
        default={}, description="`module: {parameter: value}`; null in the inventory drops a profile's value"
    )
    cpu: Cpu = Cpu()
    driver: Driver = Driver()
    gpu: Gpu = Gpu()
    runtime: Runtime = Runtime()
    gate: Gate = Gate()
    watch: Watch = Watch()
    boot: Boot = Boot()


def schema(profiles: list[str]) -> dict[str, Any]:
    """Return the JSON Schema of a group_vars or host_vars file, for editors: ``box_spec`` and ``box_spec_host``."""
    whole = Spec.model_json_schema()
    parts = whole.pop("$defs")
    whole["properties"]["profile"]["enum"] = profiles
    _allow_null(whole["properties"]["modules"])
    overlay = {key: value for key, value in whole.items() if key != "required"}
    overlay |= {"title": "Overlay", "description": "Variable box_spec_host: merged over box_spec."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tunecheck inventory variables",
        "type": "object",
        "properties": {"box_spec": {"$ref": "#/$defs/Spec"}, "box_spec_host": {"$ref": "#/$defs/Overlay"}},
        "$defs": parts | {"Spec": whole, "Overlay": overlay},
    }


def _allow_null(modules: dict[str, Any]) -> None:
    """The inventory may drop a profile's module or parameter with null; the merged model never holds one."""
    for mapping in (modules, next(iter(modules["patternProperties"].values()))):
        for key, value in mapping["patternProperties"].items():
            mapping["patternProperties"][key] = {"anyOf": [value, {"type": "null"}]}
            break
