"""The plays of one box's report that need its reboot are one play: who runs it reboots once. An audit of a fleet joins
them host by host itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.command import retagged, tags_of
from ..model.finding import Finding, Remedy

__all__ = ["in_one_play"]


def in_one_play(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with the tags of all such plays in each of them."""
    tags = sorted({tag for each in findings if each.outcome != "pass" and each.remedy and _reboots(each.remedy)
                   for tag in _tags(each.remedy)})
    return [replace(each, remedy=_with(each.remedy, tags)) if each.remedy and _reboots(each.remedy) else each
            for each in findings] if tags else list(findings)


def _reboots(remedy: Remedy) -> bool:
    return remedy.needs_reboot and bool(_tags(remedy))


def _tags(remedy: Remedy) -> tuple[str, ...]:
    return tags_of(remedy.play) if remedy.play else ()


def _with(remedy: Remedy, tags: Sequence[str]) -> Remedy:
    text, commands = retagged(remedy.text, remedy.commands, tags)
    plays = [each for each in remedy.commands if each.where == "control"]
    return replace(remedy, text=text, commands=commands, play_text=retagged(remedy.play_text, plays, tags)[0])
