"""The one model of a box's desired state. Strict: no coercion, no unknown keys.

Imported on the control node only (``build``, ``schema``); the box reads :mod:`tunecheck.spec.frozen`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = ["Accelerators", "Acs", "Boot", "Cpu", "Driver", "Gpu", "Kernel", "Spec", "schema"]

PciId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$")]
# modprobe.d separates parameters at white space, and '#', a quote or a backslash would not arrive as written.
ParameterText = Annotated[str, StringConstraints(pattern=r"^[!$-&(-\[\]-~]+$")]
# 595.71.05 and 565.77 are releases; 595, 580.x, >=595 and 595.71-open are not.
DriverVersion = Annotated[str, StringConstraints(pattern=r"^[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?$")]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Accelerators(_Part):
    pci_ids: list[PciId] = Field(default=[], description="vendor:device, lower-case hex, as lspci -nn prints it")
    count: Annotated[int, Field(ge=1, le=64)] | None = Field(default=None, description="null: at least one")
    relation: Literal["PIX", "PXB", "PHB", "NODE", "SYS"] | None = Field(
        default=None, description="worst relation any pair may have (PIX best, SYS worst); null: report only"
    )
    link_width: Literal[1, 2, 4, 8, 12, 16, 32] | None = Field(
        default=None, description="PCIe lanes at the accelerator and at every hop of its path; null: all of its own"
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


class Gpu(_Part):
    power_limit_watts: Annotated[int, Field(ge=50, le=2000)] | None = Field(
        default=None, description="of every accelerator, in W; null: the board's default"
    )
    persistence: bool | None = Field(default=None, description="persistence mode; null: off is worth a warning")
    ecc: Literal["enabled", "disabled"] | None = Field(default=None, description="null: off is worth a warning")
    mig: Literal["enabled", "disabled"] | None = Field(
        default=None, description="null: disabled where there are several accelerators"
    )


class Boot(_Part):
    trial: bool = Field(default=True, description="boot a changed configuration once before it becomes the default")
    # 0 would mean "never reboot after a panic": the trial could not come back by itself.
    panic_seconds: int = Field(default=30, ge=1, le=600, description="panic= of the trial entry")
    timeout_seconds: int = Field(default=900, ge=30, le=7200, description="how long the play waits for the box")
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
