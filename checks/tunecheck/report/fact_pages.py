"""What `explain` says of a fact: what it is, what it takes to put it back, and which check judges it."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ..rules.index import CHECKS

__all__ = ["fact_page"]

#: Of each fix of the registry, as docs/facts.md has it.
_TAKES = {"none": "nothing", "reload": "a reload of what holds it: a service, a module, a setting or a GPU reset",
          "reboot": "a reboot", "firmware": "a change in the firmware's setup, or other firmware",
          "hands-on": "work at the box itself"}
_FLEETS_OWN = ("host.key: a fact of the fleet, no check. What a box is, whatever it is called: a digest of its machine "
               "id and board serial.\nTwo hosts with one key are a cloned image, or one box under two names. Give "
               "the clone an id of its own; of one box, take one of its names out of the inventory.\n"
               "Hosts that have exchanged their machines have each other's key: a name leads to another box than "
               "before. Give each\nname back to its machine (DNS, DHCP, the inventory, the name of a carried file), "
               "and the finding is over; where it is\nmeant, approve it (tunecheck approve ID). The history of values "
               "goes with the machine, not with the name.\nA host with a key that nobody had was replaced: its values "
               "are compared from there on.\nMore: docs/fleet.md\n")


def fact_page(name: str) -> str:
    """Return what the registry says of a fact, for a reader who asks for it as for a check; "" where there is no such
    fact."""
    from ..facts.registry import entry_of  # start-up time: it names every fact of a box

    entry = entry_of(name)
    if name == "host.key":
        return _FLEETS_OWN
    if entry is None:
        return ""
    unit = f", {entry.unit}" if entry.unit else ""
    return (f"{name}: a fact, no check ({entry.kind}, {entry.severity}{unit}).\n{entry.summary}\n"
            f"To put it back takes {_TAKES[entry.fix]}.\n{_judged_by(name)}"
            "All facts: docs/facts.md; its values on a host: tunecheck blame FACT --host HOST\n")


def _judged_by(name: str) -> str:
    """Return the lines that name the checks whose pages say how the value is set. A family (``package.``) is asked for
    without the rest of its names."""
    found = [check.id for check in CHECKS if any(
        fnmatchcase(name, each := pattern.replace("{subject}", "*")) or (name.endswith(".") and each.startswith(name))
        for pattern in check.judges)]
    if not found:
        return ""
    judge = "check {} judges it, and its page says" if len(found) == 1 else "checks {} judge it, and their pages say"
    return f"The {judge.format(', '.join(found))} how it is set: tunecheck explain {' '.join(found)}\n"
