"""How a value is put back that no check judges and a reboot alone does not bring back: where the specification states
it, and the play that sets it."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

from tunecheck.model.command import host, run
from tunecheck.model.finding import OR_PLAY, Remedy

from ..events.gpu_moves import other_number_alone
from ..scope import inventory_of
from .rows import Row
from .view import View

__all__ = ["PLAYED", "with_play"]

#: Facts, as shell patterns -> where the specification states them, and the tag of the play.
PLAYED: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("driver.loaded", "driver.flavour", "driver.module.*"), "box_spec.driver.source and box_spec.driver.version",
     "driver"),
    (("kernel.cmdline.*", "kernel.secret.*", "boot.configured"), "box_spec.kernel.cmdline", "cmdline"),
    (("iommu.mode",), "box_spec.iommu", "cmdline"),
    (("module.parameter.*", "driver.registry_dwords"), "box_spec.modules", "modules"),
    (("gpu.ecc", "gpu.ecc_pending"), "box_spec.gpu.ecc", "gpu"),
    (("gpu.mig", "gpu.mig_pending"), "box_spec.gpu.mig", "gpu"),
)
_BY_HAND = {"driver": "install modules and libraries of exactly the earlier release together, hold their packages, "
                      "reboot"}


def with_play(view: View, rows: Iterable[Row]) -> list[Row]:
    """The rows, with the play where their values are to be put back and a play can do that. A box of which no inventory
    is known gets the way by hand alone."""
    given = bool(inventory_of(view.audit.scope))
    specified = {each.host for each in view.hosts if each.spec is not None}
    return [row._replace(remedy=fix.text, commands=fix.commands)
            if (fix := _fix(row, given or row.host in specified, row.host in specified)) is not None else row
            for row in rows]


def _fix(row: Row, played: bool, specified: bool) -> Remedy | None:
    # What is asked for, approved, our own or over is not to be put back; and of whether it is a word of a check's fix
    # the check speaks.
    if row.authority not in ("previous", "majority", "reference") or row.state == "resolved" or row.remedy \
            or row.asked or row.intended or row.approved is not None or row.fix != "reboot":
        return None
    # A play sets how boards are, and not how many there are.
    if other_number_alone(row.before, row.value):
        return None
    found = _played(row.fact)
    return _remedy(*found, row.host, played, specified) if found is not None else None


@lru_cache(4096)
def _played(fact: str) -> tuple[str, str] | None:
    return next(((keys, tag) for facts, keys, tag in PLAYED if any(fnmatchcase(fact, each) for each in facts)), None)


@lru_cache(4096)
def _remedy(keys: str, tag: str, name: str, played: bool, specified: bool) -> Remedy | None:
    by_hand = "" if specified else _BY_HAND.get(tag, "")
    if not played:
        return Remedy(by_hand, needs_reboot=True) if by_hand else None
    play = run("ansible-playbook site.yml -i inventory/NAME --tags", tag, "-l", host(name), where="control")
    return Remedy.of(*((by_hand, OR_PLAY) if by_hand else ()), f"state what it should be in {keys}, then run: ", play,
                     needs_reboot=True)
