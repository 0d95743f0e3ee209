"""Finds texts of two machines or boots by their NVIDIA boards: a board's address and model stay from the start of a
boot on, so the kernel log, lspci and nvidia-smi of one boot tell the same of a board that they all name. Some that one
text lacks may have been lost; where two texts have none in common, they are not of one boot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from ....util.at_first_use import dataclass, regex
from ....util.text import some

if TYPE_CHECKING:
    from ....parsers.nvidia.smi import Smi
    from ....parsers.pci.lspci import LspciDevice
    from ..texts import Texts

__all__ = ["boards_elsewhere", "other_models", "other_places"]

_DMESG = ("dmesg",)
#: The first line of a boot: behind it the log has every device that was there.
_BOOT = "Linux version "
#: drivers/pci/probe.c, pci_setup_device(), of a display or 3D controller.
_BOARD = regex(r"\bpci ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): \[(10de:[0-9a-f]{4})\] type 00 class 0x03")
_NAMED = 3
#: One GPU may have been exchanged, or put into another slot, since the other text was made.
_FEW = 2
_LISTED = 8
_BENCHES = ("p2pBandwidthLatencyTest", "nvbandwidth")


def boards_elsewhere(texts: Texts, devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where the log of a whole boot found boards, and lspci shows none of them but others, or other
    models in their places; else None. Where they have one in common, the others may have been lost, or come later."""
    found = _in_log(texts)
    shown = {bdf: f"{each.vendor}:{each.device}" for bdf, each in devices.items()
             if each.vendor == "10de" and each.device is not None and (each.class_code or "").startswith("03")}
    common = [bdf for bdf in found if bdf in shown]
    # One board may be another since its firmware was written, or have been exchanged since the boot of the log.
    if len(common) > 1 and all(found[bdf] != shown[bdf] for bdf in common):
        return f"the kernel log found {found[common[0]]} at {common[0]}, and lspci shows {shown[common[0]]} there"
    if found and shown and not common:
        return (f"the kernel log found boards of NVIDIA's at {some(sorted(found), _NAMED)}, and lspci shows them at "
                f"{some(sorted(shown), _NAMED)}")
    return None


def _in_log(texts: Texts) -> dict[str, str]:
    """Return the boards that the log of a whole boot found: address -> "10de:2bb5". {} of a log without its start."""
    _, begins, boot = texts.runs.get(_DMESG, "").rpartition(_BOOT)
    return dict(_BOARD.findall(boot)) if begins else {}


def other_models(parts: Iterable[Smi], devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where nvidia-smi tells another model of a board than lspci, else None."""
    for gpu in (gpu for part in parts for gpu in part.gpus):
        shown = devices.get(gpu.bdf)
        if shown is None or shown.device is None or not gpu.ids:
            continue
        if shown.vendor == "10de" and f"{shown.vendor}:{shown.device}" != gpu.ids.lower():
            return f"nvidia-smi tells {gpu.ids} at {gpu.bdf}, and lspci shows {shown.vendor}:{shown.device} there"
    return None


@dataclass(frozen=True)
class _Source:
    """The addresses of GPUs that one source names. ``whole``: it names every GPU that the driver has; a benchmark may
    run on some, and a text may be cut."""

    source: str
    gpus: Collection[str]
    whole: bool


def other_places(texts: Texts, devices: Mapping[str, LspciDevice]) -> str | None:
    """Return a sentence where two sources name GPUs, and none of them at the same address, or lspci shows another
    maker's device in the place of a GPU; else None. A GPU that lspci does not show may have left the bus; what is there
    in its place did not come by itself. Two parts of lists may be parts of one. To be asked when it is known whether
    lspci is whole (``texts.missing``)."""
    lists = [each for each in _lists(texts, devices) if each.gpus]
    named = [*lists, *(each for each in _runs(texts) if each.gpus)] if lists else []
    for one, other in combinations(named, 2):
        if min(len(one.gpus), len(other.gpus)) >= _FEW and (one.whole or other.whole) \
                and not set(one.gpus) & set(other.gpus):
            return (f"{one.source} has GPUs at {some(sorted(one.gpus), _LISTED)}, and {other.source} at "
                    f"{some(sorted(other.gpus), _LISTED)}: none of them is in both")
    for each in named if devices else ():
        for bdf in sorted(each.gpus):
            shown = devices.get(bdf)
            if shown is not None and shown.vendor not in (None, "10de") and not shown.all_ones:
                return (f"{bdf} is a GPU in {each.source}, and a device of another maker in lspci ({shown.vendor}:"
                        f"{shown.device or '?'})")
    return None


def _lists(texts: Texts, devices: Mapping[str, LspciDevice]) -> Iterator[_Source]:
    """Yield what lists the GPUs of the machine."""
    from ..nvidia_smi import places  # start-up time

    # One that another driver has, or a guest, is in no text of NVIDIA's driver.
    tree = [bdf for bdf, each in devices.items() if each.vendor == "10de" and (each.class_code or "").startswith("03")
            and each.driver in (None, "nvidia")]
    yield _Source("lspci", tree, not (texts.cut_at or texts.unread_header_at or texts.missing or texts.only_list))
    gpus, whole = places(texts)
    yield _Source("nvidia-smi", gpus, whole)
    yield _Source("the kernel log", _in_log(texts), True)
    for post in texts.posts.get("lspci -t", ()):
        from ....parsers.pci.lspci_tree import parse_tree  # start-up time

        try:
            drawing = parse_tree(post.text)
        except ValueError:
            continue
        yield _Source("lspci -tv", [device.bdf for device in drawing.devices if device.gpu], not drawing.cut)


def _runs(texts: Texts) -> Iterator[_Source]:
    """Yield the GPUs of each run of a benchmark."""
    for kind in _BENCHES:
        for post in texts.posts.get(kind, ()):
            yield _Source(kind, _of_grids(post.text), False)
    for post in texts.posts.get("nccl-tests", ()):
        yield _Source("nccl-tests", _of_ranks(post.text), False)


def _of_grids(text: str) -> list[str]:
    from ....parsers.nvidia.bench_grids import parse_grids  # start-up time

    try:
        return [bdf for bdf, _ in parse_grids(text).devices.values() if bdf]
    except ValueError:
        return []


def _of_ranks(text: str) -> list[str]:
    """Return the addresses of a run's GPUs; none of a run on several machines, of which this may be any one."""
    from ....parsers.nvidia.nccl_tests import parse_nccl_tests  # start-up time

    try:
        ranks = parse_nccl_tests(text).ranks
    except ValueError:
        return []
    return [rank.bdf for rank in ranks if rank.bdf] if len({rank.host for rank in ranks}) == 1 else []
