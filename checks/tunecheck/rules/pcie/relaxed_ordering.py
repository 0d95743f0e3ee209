"""relaxed-ordering: where the spec has the driver use PCIe relaxed ordering, the GPUs may set it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import NO_GPU, NOT_DECLARED, UNREAD
from ..context import Case

CHECK = Check(
    "relaxed-ordering", "declared relaxed ordering is allowed to the GPUs",
    Heading.DRIVER, 120, Family.PCIE, DRIVER,
)
_ID = CHECK.id
CODES = {
    "not-allowed": "The specification asks for relaxed ordering, and the GPU's DevCtl register does not allow it.",
}
_WORD = "NVreg_EnablePCIERelaxedOrderingMode"
_BIT = "RlxdOrd+ in DevCtl"
_FIX = Remedy.typed("look why DevCtl says RlxdOrd- (`sudo lspci -vv`): a port's quirk or pci=... on the command line "
                    "takes it away")


def judge(case: Case) -> Iterator[Finding]:
    wanted = str(case.spec.modules.get("nvidia", {}).get(_WORD, "")) == "1"
    gpus = [device for device in case.snapshot.topology.devices if device.ids.startswith("10de:")]
    off = [gpu.bdf for gpu in gpus if gpu.express.value and not gpu.express.value.relaxed_ordering]
    unread = next((gpu.express for gpu in gpus if gpu.express.value is None), None)
    if not wanted or not gpus:
        allowed = "" if unread or not gpus else f"; RlxdOrd+ at {len(gpus) - len(off)} of {len(gpus)} GPUs"
        yield Finding(_ID, NOT_DECLARED if gpus else NO_GPU, "GPUs", "skip", "declared",
                      f"the spec does not ask for it{allowed}" if gpus else "no GPU")
    elif off:
        yield Finding(_ID, "not-allowed", ", ".join(off), "fail", "effective",
                      f"RlxdOrd- at {', '.join(off)}: the driver asks for "
                      "relaxed ordering, and these GPUs may not use it", "RlxdOrd-", _BIT, ("config",), _FIX)
    elif unread is not None:
        yield Finding(_ID, UNREAD, "GPUs", "unknown", "effective", f"DevCtl cannot be read: {unread.why()}", "?", _BIT,
                      absence=unread.absence)
    else:
        yield Finding(_ID, "ok", "GPUs", "pass", "effective", f"RlxdOrd+ at all {len(gpus)} GPUs", "RlxdOrd+", _BIT)
