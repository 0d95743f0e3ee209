"""What an import shows, what it leaves open because the text for it was not given, and which outputs to add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..host.imported.outputs import output_for
from ..model.absence import Absence
from ..model.command import opens_driver
from ..model.finding import Finding
from ..rules.context import Case
from ..util.at_first_use import regex
from ..util.text import some
from .text_parts import counted, nothing_wrong

__all__ = ["NotGiven", "calm_of_texts", "is_missing", "kept", "not_given", "tells_most", "that_tell_most"]

#: How many commands are named of those that would tell more.
_NAMED = 3
#: How many checks are named of those that were not judged.
_CHECKS = 8
_RECORD = "sudo tunecheck record"
_PCI, _BYTES = "/sys/bus/pci/devices/", "sudo lspci -xxxx"


#: The file that a command writes its output to by itself.
_WRITES = regex(r">+ ?([^\s;&|]+)")
#: What makes a chain: behind it a redirect would hold for the last command alone.
_CHAIN = regex(r"&&|[|;>]")
#: What a file for an output is not named by.
_NO_NAME = regex(r"^(?:sudo|cat) +|[^A-Za-z0-9]+")


class NotGiven(NamedTuple):
    """``text``: what is left open; ``fix``: which outputs to add, and ``briefly`` the one that tells most;
    ``commands``: those of both."""

    text: str
    fix: str
    briefly: str
    commands: tuple[str, ...]


def is_missing(finding: Finding) -> bool:
    """Whether the finding is unknown only because the text for it was not given."""
    return finding.outcome == "unknown" and finding.absence is Absence.NOT_IN_IMPORT


def not_given(case: Case, findings: list[Finding], stuck: bool = False) -> NotGiven:
    """Return what these findings leave open, and what to add: first the one command that tells most, up to two more
    behind it; the rest is in a recording. ``stuck``: a process is stuck in the driver, so nothing is asked for that
    opens it."""
    names = counted(findings).split(", ")
    open_ = (f"{len(findings)} could not be judged from these texts (-v says why, and what to add): "
             f"{some(names, _CHECKS)}")
    asked = Counter(command for finding in findings if (command := _command(case, finding))
                    and not (stuck and opens_driver(command.split())))
    ranked = [command for command, _ in asked.most_common()]
    whole = "" if stuck else f"all of it is in a recording: {_RECORD}"
    if not ranked:
        return NotGiven(open_, whole, whole, (_RECORD,))
    # How many it settles, nobody can say before it is there: some need another text, too, and a log that lacks its
    # start does not tell that nothing went wrong.
    many, others = asked[ranked[0]], [f"{command} ({asked[command]})" for command in ranked[1:]]
    rest = sum(asked.values()) - many
    needed = f" ({many} of them need{'s' * (many == 1)} it)" if len(findings) > 1 else ""
    first = f"add the output of: {ranked[0]}{needed}"
    more = f"; then: {some(others, _NAMED - 1)}" if others else ""
    count = (f"; then: {len(others)} more output{'s' * (len(others) > 1)} for {rest} other{'s' * (rest > 1)} "
             "(-v names them)") if others else ""
    return NotGiven(open_, f"{first}{more}{'; ' * bool(whole)}{whole}", f"{first}{count}{'; ' * bool(whole)}{whole}",
                    (*ranked[:_NAMED], _RECORD))


def tells_most(case: Case, findings: Iterable[Finding]) -> str:
    """Return the one command whose output would tell most of what these findings leave open; "" where no text tells
    any of it."""
    return that_tell_most(case, findings)[0]


def that_tell_most(case: Case, findings: Iterable[Finding]) -> tuple[str, list[Finding]]:
    """Return that command, and the findings that lack its output."""
    lack: dict[str, list[Finding]] = {}
    for finding in findings:
        if is_missing(finding) and (command := _command(case, finding)):
            lack.setdefault(command, []).append(finding)
    return max(lack.items(), key=lambda each: len(each[1]), default=("", []))


def _named(command: str) -> str:
    """Return a name for a file with the output of a command: "lspci-nnvvv.txt"."""
    return f"{_NO_NAME.sub('-', command).strip('-')}.txt"


def kept(command: str) -> tuple[str, str]:
    """Return the command as it is typed to keep its output in files, and those files: "it", "both files". One that
    writes its own files, and a chain, stays as it is: a redirect at its end would leave the files before it empty."""
    own = len(_WRITES.findall(command))
    if own > 1:
        return command, "both files" if own == 2 else f"all {own} files"
    if own:
        return command, "its file"
    return (command, "its output") if _CHAIN.search(command) else (f"{command} > {_named(command)}", "it")


def _command(case: Case, finding: Finding) -> str:
    """Return the command whose output tells the fact that the finding lacks; its source stands first in the evidence.
    "" where no text does."""
    source = finding.evidence[0] if finding.evidence else ""
    bdf, _, leaf = source.removeprefix(_PCI).partition("/")
    if source.startswith(_PCI) and leaf == "config" and _registers_shown(case, bdf):
        return _BYTES       # lspci -vvv was given, and only the bytes prove that a capability is not there
    return output_for(source)


def _registers_shown(case: Case, bdf: str) -> bool:
    topology = case.snapshot.topology
    device = topology.bridges.get(bdf) or next((each for each in topology.devices if each.bdf == bdf), None)
    return device is not None and device.express.known


def calm_of_texts(case: Case, findings: Sequence[Finding], add: str = "") -> str:
    """Return the sentence of a report that is unknown, and nothing worse: what the texts show, and that it holds no
    fault. ``add``: the command whose output would tell most. "" for any other report."""
    from .posted import seen  # start-up time

    return nothing_wrong(findings, True, add, seen(case))
