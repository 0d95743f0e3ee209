"""The clocks that the role gpu_settings locked in this boot: NVML takes a lock and has no call that tells it again."""

from __future__ import annotations

import json

from ...host import Host
from ...model.fact import Absence, Fact, absent, parsed
from ...parsers.pci.bdf import BDF
from ...util.at_first_use import dataclass
from ..file_text import text

__all__ = ["PATH", "Locks", "gpu_locks"]

PATH = "/run/tunecheck/gpu.json"


@dataclass(frozen=True)
class Locks:
    """The locked clocks. ``clocks_mhz`` maps addresses to (lowest, highest) as NVML accepted them in the boot
    ``boot_id``."""

    boot_id: str
    clocks_mhz: dict[str, tuple[int, ...]]


def gpu_locks(host: Host, wanted: bool) -> Fact[Locks]:
    return parsed(text(host, PATH), _parse) if wanted else absent(PATH, Absence.NOT_ASKED)


def _parse(content: str) -> Locks:
    try:
        data = json.loads(content)
        if data["schema"] != "tunecheck/gpu/1":
            raise ValueError("another schema")
        clocks: dict[str, tuple[int, ...]] = {
            bdf: (int(low), int(high)) for bdf, (low, high) in data["clocks_mhz"].items() if BDF.match(bdf)}
        return Locks(str(data["boot_id"])[:40], clocks)
    except (TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        raise ValueError("not a tunecheck/gpu/1") from None
