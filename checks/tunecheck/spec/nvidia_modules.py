"""Finds what is wrong with the NVIDIA modules' parameters in a specification, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tunecheck.parsers.nvidia import registry_dwords
from tunecheck.parsers.nvidia.nvidia_params import GONE, LAST, PARAMETERS, UVM, Parameter, c_number
from tunecheck.spec.contradiction import Contradiction
from tunecheck.spec.frozen import Spec

from ..util.suggestions import did_you_mean, nearest

__all__ = ["problems"]

_WORDS = ("RegistryDwords", "RegistryDwordsPerDevice")
#: nvidia.ko's own parameters without the prefix (linux_nvswitch.c, nv.c of 595.45.04).
_OTHERS = {"NvSwitchRegDwords", "NvSwitchBlacklist", "rm_firmware_active"}


def problems(spec: Spec) -> Iterator[Contradiction]:
    """Yield what is wrong with each parameter that nvidia.ko or nvidia-uvm.ko would refuse, or take without
    effect."""
    branch = int(spec.driver.version.partition(".")[0]) if spec.driver.version else LAST
    stated = spec.modules.get("nvidia", {})
    for name, value in stated.items():
        known = PARAMETERS.get(name.removeprefix("NVreg_"))
        others = ("driver.version",) if known and branch < known.since else ()
        yield from (Contradiction(f"modules.nvidia.{name}", text, others)
                    for text in _of_nvidia(name, str(value), branch))
    yield from _twice(stated)
    for name, value in spec.modules.get("nvidia-uvm", {}).items():
        yield from (Contradiction(f"modules.nvidia-uvm.{name}", text) for text in _of_uvm(name, str(value), branch))


def _of_nvidia(name: str, value: str, branch: int) -> Iterator[str]:
    own = name.removeprefix("NVreg_")
    if name in _OTHERS:
        return
    if own in GONE:
        yield f"{name} {GONE[own]}"
    elif name == own or own not in PARAMETERS:
        yield from _unknown(name, own, branch)
    elif branch < (since := PARAMETERS[own].since):
        yield (f"{name} came with driver branch {since}, and driver.version is of {branch}: the kernel would pass it "
               f"over; remove it, or state a driver of {since} or later")
    elif own in _WORDS:
        yield from _dwords(own, value)
    else:
        yield from _value(name, own, value, PARAMETERS[own])


def _unknown(name: str, own: str, branch: int) -> Iterator[str]:
    known = {each.lower(): each for each in PARAMETERS}
    near = nearest(own.lower(), known, alike=0.8)
    if near:
        yield (f"nvidia.ko has no parameter {name}, and the kernel would pass it over; "
               f"{did_you_mean([f'NVreg_{known[each]}' for each in near])}")
    elif registry_dwords.nearest(own, 0.9):
        yield (f"{name} is no parameter of nvidia.ko but a registry key; write NVreg_RegistryDwords: "
               f'"{registry_dwords.nearest(own, 0.9)}=..."')
    elif branch <= LAST:
        yield (f"nvidia.ko has no parameter {name} (open kernel modules 515 to {LAST}), and the kernel would pass it "
               "over; modinfo -F parm nvidia lists those of the installed driver")


def _value(name: str, own: str, value: str, known: Parameter) -> Iterator[str]:
    if not known.values:
        return
    lowest, highest = known.values[0], known.values[-1]
    if not (isinstance(lowest, int) and isinstance(highest, int)):
        if value not in known.values:
            yield f"got {value!r}; expected one of {', '.join(map(str, known.values))}"
        return
    number = c_number(value)
    if number is None or not -1 << 31 <= number < 1 << 31:
        yield (f"got {value!r}; expected a whole number of 32 bits with sign: with anything else the kernel refuses to "
               "load nvidia.ko")
    elif own == "EnableGpuFirmware" and not number & 15:
        yield f"got {value}; the open kernel modules need the GPU's firmware (GSP): remove it, or state 18, the default"
    elif not lowest <= number <= highest:
        span = " or ".join(map(str, known.values)) if highest - lowest == 1 else f"{lowest} to {highest}"
        yield f"got {value}; {name} is {span}"


def _dwords(own: str, value: str) -> Iterator[str]:
    find = registry_dwords.problems_per_device if own.endswith("PerDevice") else registry_dwords.problems
    # The check warns on the box about what is not sure.
    yield from (f"the word {each.word} {each.text}; {each.remedy}" for each in find(value) if each.sure)


def _twice(stated: Mapping[str, int | str]) -> Iterator[Contradiction]:
    """Yield each parameter that a word of NVreg_RegistryDwords sets to another value. The word overwrites the
    parameter."""
    for name, value in registry_dwords.words(str(stated.get("NVreg_RegistryDwords", ""))):
        other = stated.get(f"NVreg_{name}")
        if other is not None and c_number(str(other)) != c_number(value):
            yield Contradiction(f"modules.nvidia.NVreg_{name}", (
                f"is {other}, but the word {name}={value} of NVreg_RegistryDwords overwrites it; keep one of them"),
                ("modules.nvidia.NVreg_RegistryDwords",))


def _of_uvm(name: str, value: str, branch: int) -> Iterator[str]:
    if name in UVM:
        if name == "uvm_disable_hmm" and value not in ("0", "1", "y", "Y", "n", "N"):
            yield f"got {value!r}; expected 0 or 1: with anything else the kernel refuses to load nvidia-uvm.ko"
        return
    near = nearest(name.lower(), UVM, alike=0.8)
    if near:
        yield f"nvidia-uvm.ko has no parameter {name}, and the kernel would pass it over; {did_you_mean(near)}"
    elif branch <= LAST:
        yield (f"nvidia-uvm.ko has no parameter {name} (open kernel modules 515 to {LAST}), and the kernel would pass "
               "it over; modinfo -F parm nvidia-uvm lists those of the installed driver")
