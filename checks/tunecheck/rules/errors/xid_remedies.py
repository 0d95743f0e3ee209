"""What to do about an Xid: NVIDIA's catalogue, or what a later Xid 154 asked for. One advice wherever it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.command import addresses
from ...model.finding import Place, Remedy
from ...parsers.nvidia.xid_catalog import Advice, advice

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import KernelEvents, Xid

__all__ = ["recommended", "remedy"]


def recommended(log: KernelEvents, xid: Xid) -> Advice:
    """Return what is recommended for this Xid. Xid 154 counts where it came later, on the same GPU, since the driver
    was loaded last."""
    asked = {each.gpu: each for each in log.xids if each.recovery and each.load == log.loads}.get(xid.gpu)
    later = asked is not None and xid.load == log.loads and asked.order >= xid.order
    return advice(xid.code, xid.text, asked.recovery if asked and later else None)


def remedy(log: KernelEvents, xid: Xid) -> Remedy:
    """Return it as a remedy. The address comes from the log: it goes into a command only where it is an address."""
    found, gpu = recommended(log, xid), f"{xid.gpu}.0"
    action = f"recommended: {found.action} ({found.source})"
    if found.read_on != "xid":
        action += f"; read on: `tunecheck explain {found.read_on}`"
    place = Place.MACHINE if found.physical else Place.BOX
    return replace(Remedy.typed(action, (), found.reboot, place, gpu=gpu) if addresses([gpu]) else
                   Remedy(action.replace("`", "").replace("{gpu}", "ADDRESS"), (), found.reboot, place),
                   words_open_driver=found.opens_driver)
