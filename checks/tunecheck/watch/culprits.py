"""Who holds the others up, in words and in documents: the watch writes them, the journal of incidents keeps them."""

from __future__ import annotations

from typing import Any

from .model import Culprit, Kind, Witness

__all__ = ["KINDS", "document", "named", "of_document", "plain"]

#: What is said of the culprit.
KINDS: dict[Kind, str] = {
    Kind.STOPPED: "was stopped by a signal",
    Kind.ENDED: "has ended",
    Kind.HANGS: "hangs in the kernel",
    Kind.SILENT: "does not answer NCCL",
    Kind.DEAD: "was given up by NCCL",
    Kind.FAILED: "has an error in NCCL",
    Kind.BEHIND: "is behind",
    Kind.IDLE: "its GPU does nothing",
    Kind.COMPUTES: "its GPU does something else than wait",
}
_MOST_NAME = 200


def named(culprit: Culprit) -> str:
    """Who, and what is said of him: "rank 1, process 77 (python3), GPU 0000:04:00.0 was stopped by a signal"."""
    who = [f"rank {culprit.rank}"] if culprit.rank is not None else []
    who += [f"process {culprit.pid} ({plain(culprit.name)})"] if culprit.pid else []
    who += [f"GPU {plain(culprit.gpu)}"] if culprit.gpu else []
    told = [f"{KINDS[each]} in {plain(culprit.collective)}" if each is Kind.BEHIND and culprit.collective else
            KINDS[each] for each in culprit.kinds]
    return f"{', '.join(who) or 'a process'} {' and '.join(told)}"


def document(culprit: Culprit) -> dict[str, Any]:
    """As in tunecheck/watch/1."""
    return {"pid": culprit.pid or None, "name": culprit.name, "process_state": culprit.letter or None,
            "rank": culprit.rank, "gpu": culprit.gpu or None, "uuid": culprit.uuid or None,
            "collective": culprit.collective or None, "witnesses": [each.value for each in culprit.witnesses],
            "kinds": [each.value for each in culprit.kinds], "message": named(culprit)}


def of_document(said: object) -> Culprit | None:
    """What ``document`` made; None for anything else."""
    if not isinstance(said, dict):
        return None
    words = {name: plain(str(said.get(name) or ""))[:_MOST_NAME] for name in ("name", "gpu", "uuid", "collective")}
    numbers = {name: said.get(name) for name in ("pid", "rank")}
    witnesses, kinds, letter = said.get("witnesses"), said.get("kinds"), said.get("process_state")
    if not all(each is None or (type(each) is int and each >= 0) for each in numbers.values()) or not (
            isinstance(witnesses, list) and isinstance(kinds, list) and kinds):
        return None
    try:
        return Culprit(numbers["pid"] or 0, words["name"], letter if letter in ("T", "D", "Z") else "", numbers["rank"],
                       words["gpu"], words["uuid"], words["collective"], tuple(map(Witness, witnesses)),
                       tuple(map(Kind, kinds)))
    except ValueError:      # of a later release
        return None


def plain(name: str) -> str:
    """A process may call itself anything."""
    return "".join(char if char.isprintable() else "?" for char in name)
