"""How the driver describes the relations: the table of `nvidia-smi topo -m`, and which GPUs have a row in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...host import Host, Unreadable
from ...host.prefetch import TOPO
from ...model.fact import Absence, Fact, absent, known, not_understood
from ...parsers.nvidia.topo_matrix import parse_matrix
from ...util.at_first_use import dataclass
from . import devices as pci

__all__ = ["TopoText", "driver_rows", "parsed_table", "topo_text"]

#: In seconds. Behind a dead GSP nvidia-smi waits far longer.
_DEADLINE = 10.0

T = TypeVar("T")


@dataclass(frozen=True)
class TopoText:
    """The table of `nvidia-smi topo -m`. ``relations`` maps two addresses in address order to PIX, PXB, PHB, NODE, SYS
    or NV#."""

    relations: dict[tuple[str, str], str]


def topo_text(host: Host, found: Fact[tuple[pci.Device, ...]], wanted: bool) -> Fact[TopoText]:
    """Read the table of `nvidia-smi topo -m`. ``found`` are the accelerators. nvidia-smi is not run with fewer than two
    of them, nor without the driver, which it would load.

    nvidia-smi numbers the GPUs of its driver by address, whatever the spec calls accelerators."""
    if not wanted or len(found.value or ()) < 2:
        return absent(" ".join(TOPO), Absence.NOT_ASKED)
    return parsed_table(host, TOPO, "topo -m", lambda pairs: TopoText(
        {(a, b): word for (a, b), word in pairs.items() if pci.bdf_key(a) < pci.bdf_key(b)}))


def parsed_table(host: Host, command: tuple[str, ...], kind: str,
                 use: Callable[[dict[tuple[str, str], str]], T]) -> Fact[T]:
    """Run the ``nvidia-smi topo`` of ``command``, whose table is of the given ``kind``. ``use`` gets the words by
    ordered pairs of addresses and makes the value of them. Nothing is run where NVIDIA's driver has no board."""
    source = " ".join(command)
    rows = driver_rows(host)
    if not rows:
        return absent(source, Absence.NO_BOARDS.because("not asked: NVIDIA's driver has none of the boards"))
    try:
        done = host.run(command, _DEADLINE)
    except Unreadable as error:
        return absent(source, error.reason)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip() or f"exit status {done.returncode}"
        return absent(source, Absence.FAILED.because(f"failed: {said.splitlines()[0][:160]}"))
    try:
        matrix = parse_matrix(done.stdout)
        if matrix.kind != kind:
            raise ValueError(f"it is the table of {matrix.kind}")
    except ValueError as error:
        return not_understood(source, error)
    if len(rows) != matrix.gpus:
        return not_understood(source, f"{matrix.gpus} GPUs, not {len(rows)} as the PCI tree: "
                      "which row is which cannot be told")
    return known(use({(rows[a], rows[b]): word for (a, b), word in matrix.pairs.items()}), source)


def driver_rows(host: Host) -> list[str]:
    """Return NVIDIA's display controllers that its driver has, or may have, in address order: by the driver that each
    is bound to, or as the driver lists them itself where these are more."""
    bound = {bdf: pci.driver(host, bdf) for bdf in pci.addresses(host, ()).value or ()}
    held = [bdf for bdf, driver in bound.items() if driver.value == "nvidia" or not (driver.known or driver.missing)]
    return max(held, list(pci.of_the_driver(host)), key=len)
