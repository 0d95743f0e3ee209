"""The loaded NVIDIA kernel driver, from files that never block. NVML blocks when the GSP (the GPU's own processor) is
dead."""

from __future__ import annotations

import re

from ...host import Host
from ...model.fact import Fact, parsed
from ...util.at_first_use import dataclass, regex
from ..file_text import text

__all__ = ["Driver", "driver"]

_BANNER = regex(r"^NVRM version:[ \t]*(.*?)[ \t]+(\d+\.\d+(?:\.\d+)?)\b", re.MULTILINE)


@dataclass(frozen=True)
class Driver:
    """The loaded driver. ``version`` is as the module states it; ``flavour`` is "open" or "proprietary"."""

    version: Fact[str]
    flavour: Fact[str]


def driver(host: Host) -> Driver:
    banner = text(host, "/proc/driver/nvidia/version")
    version = text(host, "/sys/module/nvidia/version")
    second = parsed(banner, lambda line: _match(line).group(2))
    if not version.known and (second.known or version.missing):
        # No module is loaded only where both are known to be missing.
        version = second
    return Driver(version, parsed(banner, _flavour))


def _flavour(banner: str) -> str:
    return "open" if "Open Kernel Module" in _match(banner).group(1) else "proprietary"


def _match(banner: str) -> re.Match[str]:
    found = _BANNER.search(banner)
    if not found:
        raise ValueError("no NVRM version line")
    return found
