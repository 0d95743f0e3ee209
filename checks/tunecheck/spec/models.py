"""The one model of a box's desired state. Strict: no coercion, no unknown keys.

Imported on the control node only (``build``, ``schema``); the box reads :mod:`tunecheck.spec.frozen`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "Accelerators", "Acs", "Boot", "Cpu", "Driver", "Gate", "Gpu", "Groups", "Kernel", "Runtime", "Spec", "schema",
]  # fmt: skip

PciId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$")]
# modprobe.d separates parameters at white space, and '#', a quote or a backslash would not arrive as written.
ParameterText = Annotated[str, StringConstraints(pattern=r"^[!$-&(-\[\]-~]+$")]
# 595.71.05 and 565.77 are releases; 595, 580.x, >=595 and 595.71-open are not.
DriverVersion = Annotated[str, StringConstraints(pattern=r"^[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?$")]
ToolkitVersion = Annotated[str, StringConstraints(pattern=r"^1\.[0-9]{1,3}\.[0-9]{1,3}$")]
# Goes into a package manager's configuration: no white space, quotes or credentials.
RepositoryUrl = Annotated[str, StringConstraints(pattern=r"^(https://[A-Za-z0-9.-]+(:[0-9]+)?|file://)(/[A-Za-z0-9._~+-]+)*/?$")]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9A-F]{40}$")]
UserName = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")]
FolderPath = Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9._-]+)+$")]
Relation = Literal["PIX", "PXB", "PHB", "NODE", "SYS"]
Clock = Annotated[int, Field(ge=100, le=5000)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Groups(_Part):
    size: Annotated[int, Field(ge=2, le=64)] | None = Field(
        default=None, description="accelerators in each group; null: two or more"
    )
    inside: Relation | None = Field(
        default=None, description="accelerators this close form a group (PIX: one switch); null: no groups"
    )
    across: Relation | None = Field(
        default=None, description="worst relation of two accelerators of different groups; null: not judged"
    )


class Accelerators(_Part):
    pci_ids: list[PciId] = Field(default=[], description="vendor:device, lower-case hex, as lspci -nn prints it")
    count: Annotated[int, Field(ge=1, le=64)] | None = Field(default=None, description="null: at least one")
    relation: Relation | None = Field(
        default=None, description="worst relation any pair may have (PIX best, SYS worst); null: report only"
    )
    groups: Groups = Groups()
    link_width: Literal[1, 2, 4, 8, 12, 16, 32] | None = Field(
        default=None, description="PCIe lanes at the accelerator and at every hop of its path; null: all of its own"
    )
    kernel_driver: Literal["nvidia", "vfio-pci"] = Field(
        default="nvidia", description="who has the accelerators; vfio-pci: virtual machines of this host; judged only"
    )


class Acs(_Part):
    peer_redirect: Literal["off", "leave"] = Field(
        default="leave", description='off: clear ReqRedir, CmpltRedir, EgressCtrl. In YAML write "off" in quotes'
    )
    mechanism: Literal["disable_acs_redir", "config_acs", "setpci"] = Field(
        default="disable_acs_redir",
        description="pci=disable_acs_redir= (>= 4.19), pci=config_acs= (>= 6.11), or setpci",
    )
    scope: Literal["gpu-paths", "all"] = Field(default="gpu-paths", description="which ports")
    at_boot_unit: bool = Field(default=True, description="also a one-shot unit, as fallback and after AER recovery")


class Kernel(_Part):
    cmdline: list[str] = Field(default=[], description="kernel parameters, one per entry")


class Cpu(_Part):
    governor: Literal["performance", "schedutil", "powersave", "ondemand", "leave"] = "leave"
    epp: Literal["default", "performance", "balance_performance", "balance_power", "power"] | None = Field(
        default=None, description="energy_performance_preference where the driver has it; null: leave"
    )
    smt: Literal["on", "off"] | None = Field(
        default=None, description='judged only, no role sets it; null: not judged. In YAML write "on", "off" in quotes'
    )


class Driver(_Part):
    version: DriverVersion | None = Field(default=None, description="exact release, for example 595.71.05; null: any")
    source: Literal["leave", "nvidia", "distribution", "mirror"] = Field(
        default="leave", description="where the packages come from; leave: no role installs a driver"
    )
    mirror: RepositoryUrl | None = Field(default=None, description="of source mirror: https://... or file:///folder")
    mirror_fingerprint: Fingerprint | None = Field(default=None, description="of the key that signs the mirror")
    modules: Literal["dkms", "precompiled"] = Field(default="dkms", description="how the open kernel modules come")
    flavour: Literal["stock", "patched-p2p"] = Field(
        default="stock",
        description="patched-p2p: peer-to-peer was patched in for boards that NVIDIA's own driver refuses; judged only",
    )
    hold: bool = Field(default=True, description="nothing but this project's roles may move a driver package")
    drain: bool = Field(default=False, description="stop the inference unit before a change of the driver")


class Runtime(_Part):
    engine: Literal["leave", "podman", "docker"] = Field(default="leave", description="leave: no role sets one up")
    toolkit: ToolkitVersion | None = Field(
        default=None, description="exact release of nvidia-container-toolkit, for example 1.18.1; null: none"
    )
    toolkit_source: Literal["nvidia", "mirror"] = Field(
        default="nvidia", description="mirror: the one of driver.mirror, signed by the same key"
    )
    user: UserName | None = Field(default=None, description="runs containers without root; null: root does")
    storage: FolderPath | None = Field(default=None, description="folder of images and layers; null: the engine's own")
    storage_free_gib: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=0, description="free space that must be there before anything is pulled"
    )
    log_max_mib: Annotated[int, Field(ge=1, le=10_000)] = Field(default=100, description="of one container's log")


class Gpu(_Part):
    power_limit_watts: Annotated[int, Field(ge=50, le=2000)] | None = Field(
        default=None, description="of every accelerator, in W; null: the board's default"
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
        description="when the GPUs are measured before a container starts: at each start; only where no earlier "
        "measurement of this box as it is holds; or never, which every report warns of",
    )


class Watch(_Part):
    on_stall: Literal["report", "drain", "restart"] = Field(
        default="report",
        description="what happens when the served engine gives no token any more; evidence is kept in each case. "
        "report: nothing else; drain: /ready of the watch says no, and the engine is left for a person to look at; "
        "restart: it is stopped, the box is proven and measured anew, and it starts again",
    )
    restarts_per_day: int = Field(
        default=3, ge=1, le=24, description="so many restarts in 24 h; the next stall stops it and leaves it down"
    )
    # 0.3 is half of what the acceptance at boot refuses below (0.6): policy of this project, 2026-11. Four streams give
    # more than one does, so this is far below a healthy engine, and above a GPU at a tenth of its clock.
    token_floor: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3, description="with four requests at once and more, all together may not be slower for ten minutes "
        "than this share of the accepted speed of one; 0: not judged"
    )
    # 900: 96 short answers a day, each when nobody asks; a dead scheduler behind a healthy /health is found within 17
    # minutes of the last request. Policy of this project, 2026-11.
    canary_every: Annotated[int, Field(ge=0, le=86400)] = Field(
        default=900, description="seconds: so often an engine that nobody asks is asked what it answered right at its "
        "acceptance; 0: never, else at least 60"
    )


class Boot(_Part):
    trial: bool = Field(default=True, description="boot a changed configuration once before it becomes the default")
    # 0 would mean "never reboot after a panic": the trial could not come back by itself.
    panic_seconds: int = Field(default=30, ge=1, le=600, description="panic= of the trial entry")
    timeout_seconds: int = Field(default=900, ge=30, le=7200, description="how long the play waits for the box")
    confirm_seconds: int | None = Field(
        default=None, ge=60, le=14400,
        description="a trial boot that is not committed within this time of its start returns to the old entry by "
        "itself; by default timeout_seconds and 300 more, for the proof",
    )
    reboot: Literal["auto", "never"] = "auto"
    reboot_when_busy: bool = Field(default=False, description="reboot although accelerators are in use")


class Spec(_Part):
    """Variable ``box_spec``: the desired state of one box."""

    profile: str = Field(description="where the values not stated here come from")
    accelerators: Accelerators = Accelerators()
    iommu: Literal["pt", "off", "translated", "leave"] = Field(
        default="leave", description='pt: iommu=pt, off: iommu=off; translated and leave set nothing. Quote "off"'
    )
    acs: Acs = Acs()
    kernel: Kernel = Kernel()
    modules: dict[ModuleName, dict[ParameterName, int | ParameterText]] = Field(
        default={}, description="module: {parameter: number or text}; null in the inventory drops a profile's value"
    )
    cpu: Cpu = Cpu()
    driver: Driver = Driver()
    gpu: Gpu = Gpu()
    runtime: Runtime = Runtime()
    gate: Gate = Gate()
    watch: Watch = Watch()
    boot: Boot = Boot()


def schema(profiles: list[str]) -> dict[str, Any]:
    """JSON Schema of a group_vars or host_vars file, for editors: ``box_spec`` and ``box_spec_host``."""
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
