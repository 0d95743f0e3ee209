"""What to do about a GPU that is lost, or that the driver could not start. A kernel log tells one such event in several
lines, of which gpu-fallen-off and gpu-start judge one each: all of them get the fix of the line that says most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.finding import Place, Remedy
from ...parsers.nvidia.driver_failures import Failure
from ...util.at_first_use import regex
from . import xid_remedies

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import Fallen, KernelEvents, Xid

__all__ = ["remedy"]

_LOST = Remedy("reboot the host, power-cycle it if the GPU stays away; again: look at power, seating, riser", (), True,
               Place.MACHINE)
_WPR2 = Remedy("power-cycle the host, a reboot keeps the region; then look for what failed first", (), True,
               Place.MACHINE)
_GSP = Remedy("compare the firmware package with the driver (driver-coherence); where they fit: power-cycle the host",
              (), True)
_RESET = Remedy("stop what runs on the GPU and reset it; reboot the host where that does not help", (), True,
                words_open_driver=True)
_LOOK = Remedy.typed("look at what the kernel log says just before (`sudo journalctl -k -b -g nvrm`); reset the GPU, "
                     "or power-cycle the host where that does not help", (), True, words_open_driver=True)
#: By the kinds of driver_failures.py, what says most first: a firmware package does not bring back a GPU that is off
#: the bus, and a reset does not free the region WPR2.
_FIXES = {"gone": _LOST, "wpr2": _WPR2, "gsp": _GSP, "reset": _RESET, "locked": _RESET, "adapter": _LOOK,
          "probe": _LOOK}
_ORDER = tuple(_FIXES)
_ADDRESS = regex(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}")


def remedy(log: KernelEvents, line: Fallen | Failure) -> Remedy:
    """Return the fix for what this line of the log tells of."""
    lost = [gpu for gpu in log.fallen if gpu.load == line.load]
    failed = [each for each in log.failures if each.load == line.load and each.kind in _FIXES]
    same = _same(line.gpu, {gpu.gpu for gpu in lost} | {each.gpu for each in failed})
    asked = next((xid for xid in log.xids if xid.load == line.load and xid.gpu in same and _leads(log, xid)), None)
    if asked is not None:
        return xid_remedies.remedy(log, asked)
    if any(gpu.gpu in same for gpu in lost):
        return _LOST
    return _FIXES[min((each.kind for each in failed if each.gpu in same), key=_ORDER.index)]


def _same(gpu: str, named: set[str]) -> set[str]:
    """Return how lines of one load of the driver name this GPU. The driver names a GPU by its address, by its own
    number ("GPU0") or not at all. Lines with no more than one address and one number are of one GPU, and a line without
    a name may be of any."""
    addresses = {name for name in named if _ADDRESS.fullmatch(name)}
    one = len(addresses) <= 1 and len(named - addresses - {""}) <= 1
    return named if one or not gpu else {gpu}


def _leads(log: KernelEvents, xid: Xid) -> bool:
    """Whether it says that the GPU is gone, or what the driver asks for: what xid recommends for it is the fix then, so
    that all of it is one entry."""
    return xid.code == 79 or (xid.code == 154 and xid_remedies.recommended(log, xid).severity == "fail")
