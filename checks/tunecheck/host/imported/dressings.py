"""Takes away what a tool puts in front of every line of an output: kubectl --prefix and --timestamps, stern, Docker's
and the container runtime's log files, docker compose, pdsh, ansible, mpirun, and the indent of a Markdown code block.
Done once, before anything is recognised: what is read of one kind of line is read of all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from ...util.at_first_use import regex
from .kinds import recognise
from .output_signs import SIGNS
from .posts import kinds
from .window import each_line

__all__ = ["sections"]

#: Of a long text this much decides.
_LOOKED_AT = 400
_MOST_LINES = 0.8
#: Two of them at most stand in front of each other: `kubectl logs --prefix --timestamps`; and an indent.
_LAYERS = 4
#: What nothing but a tool writes. A group names the machine, or what runs on it.
_SURE = (
    regex(r"\[(?:pod|job|deployment|daemonset|statefulset|replicaset)/([^\]\s/]{1,255})[^\]\s]{0,255}\](?:[ \t]|$)"),
    regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP](?: |$)"),
    regex(r"\[\d{1,6},\d{1,6}\]<std(?:out|err)>:"),
    regex(r"(?:/[\w.+-]{1,100})?/var/log/[\w./+-]{1,200}?:(?=[A-Z0-9<\[])"),
)
_TIME = regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)(?: |$)")
_INDENT = regex(r"^([ \t]{0,200})[^ \t\n]", re.MULTILINE)
_SYSLOG = regex(r"(?:[^\s:\[\]]{1,255} )?(?:kernel|[^\s:\[\]]{1,100}\[\d{1,9}\]): ")
_COMPOSE = regex(r"[a-z0-9][\w.-]{0,80} {1,80}\|(?: |$)")
_HOST = regex(r"([A-Za-z0-9](?:[\w.-]{0,252}[A-Za-z0-9])?):(?:[ \t]|$)")
_POD = regex(r"([a-z0-9][a-z0-9.]{0,100}-[a-z0-9.-]{0,150}) [a-z0-9][a-z0-9-]{0,62}(?: |$)")
#: Names with a colon that begin messages.
_NO_HOST = regex(r"(?:kernel|kern|kmsg|nvrm|nvidia.*|nccl|cat|ls|grep|sudo|(?:ba|z)?sh|acpi|pci|systemd"
                 r"|info|warning|error|debug)\Z", re.IGNORECASE)
#: A line of a log with its time: only these are a log behind a name that nobody knows; "gpud: NVRM: Xid" is what a
#: program says.
_TIMED = regex(r"\s{0,20}(?:<\d{1,3}>)?(?:\[[^\]\n]{0,60}\d[.:,]\d|\d{4}-\d\d-\d\d[T ]\d"
               r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:|\d{1,5},\d{1,20},\d{1,20},)")
_ANSIBLE = regex(r"^([\w][\w.:-]{0,253}) \| (?:CHANGED|SUCCESS|FAILED!?|UNREACHABLE!?)(?: \| rc=\d{1,4})? (?:>>|=>)"
                 r"[^\n]{0,300}(?:\n|\Z)", re.MULTILINE)
_MOST = 2000
#: What names a machine in front of lines.
_NAMES = (_SURE[0], _HOST, _POD)
_LOG = "kernel log"
#: Logs that a launcher writes, each line with a name in front that may be a rank's.
_OF_PROGRAMS = ("NCCL log", "engine log")


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield (machine or "", text without what stands in front of its lines) of each machine that a tool names."""
    heads = list(islice(_ANSIBLE.finditer(text), _MOST)) if " | " in text else []
    if heads and text[:heads[0].start()].strip():
        yield "", text[:heads[0].start()]
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        yield head[1], _plain(text[head.end():following.start() if following else len(text)])[1]
    if not heads:
        yield from _by_machine(text)


def _by_machine(text: str) -> Iterator[tuple[str, str]]:
    named, text = _plain(text)
    apart = next(filter(None, (_several(text, sign) for sign in _NAMES)), None)
    if not apart:
        yield named, text
        return
    for machine, part in apart.items():
        yield machine or named, _plain(part)[1]


def _plain(text: str) -> tuple[str, str]:
    """Return the one machine that is named in front of the lines, and the lines."""
    named = ""
    for _ in range(_LAYERS):
        before = text
        text = _docker(_dedented(text))
        lines = _sample(text)
        if not lines or lines[0][:1] in "|+":
            break
        machine, text = _without(text, lines)
        named = named or machine
        if text is before or text == before:
            break
    return named, text


def _sample(text: str) -> list[str]:
    lines = text[:200_000].split("\n", _LOOKED_AT)[:_LOOKED_AT]
    return [line[:600] for line in lines if line.strip()]


def _dedented(text: str) -> str:
    """Return the text without the indent that every line of it has."""
    common = None
    for found in _INDENT.finditer(text):
        if common is not None and found[1].startswith(common):
            continue
        common = found[1] if common is None else _shared(common, found[1])
        if not common:
            return text
    width = len(common or "")
    return "\n".join(line[width:] if line.strip() else "" for line in text.split("\n")) if width else text


def _shared(one: str, other: str) -> str:
    """Return what two indents begin with."""
    most = min(len(one), len(other))
    return one[:next((place for place in range(most) if one[place] != other[place]), most)]


def _docker(text: str) -> str:
    """Return the lines that Docker keeps as JSON: {"log": "...\\n", "stream": "stderr", "time": "..."}."""
    if '"log":' not in text[:600] or '"stream":' not in text[:20_000]:
        return text
    result = list[str]()
    for line in text.split("\n"):
        entry = None
        if line.startswith("{") and line.rstrip().endswith("}"):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
        said = entry.get("log") if isinstance(entry, dict) else None
        result.append(said if isinstance(said, str) else f"{line}\n")
    return "".join(result)


def _without(text: str, lines: list[str]) -> tuple[str, str]:
    """Return the machine, and the text without one thing that stands in front of its lines; the text itself where
    nothing does."""
    for sign in _SURE:
        found = [match for line in lines if (match := sign.match(line))]
        if len(found) >= max(1, _MOST_LINES * len(lines)):
            machines = {match[1] for match in found} if sign.groups else set()
            if len(machines) > 1 or (sign.groups and _several(text, sign)):
                return "", text
            return "".join(machines), "\n".join(sign.sub("", line, count=1) if sign.match(line) else line
                                                for line in text.split("\n"))
    if all(map(_TIME.match, lines)) and not any(_SYSLOG.match(line, match.end()) for line in lines
                                                if (match := _TIME.match(line))):
        return "", "\n".join(_TIME.sub("", line, count=1) if _TIME.match(line) else line for line in text.split("\n"))
    if all(map(_COMPOSE.match, lines)):
        bare = "\n".join(_COMPOSE.sub("", line, count=1) if _COMPOSE.match(line) else line for line in text.split("\n"))
        return ("", bare) if _known(bare) else ("", text)
    for sign in (_HOST, _POD):
        first = sign.match(lines[0])
        if first and (sign is _POD or not _NO_HOST.match(first[1])):
            front = first.group().rstrip()
            every = all(line == front or line.startswith((front + " ", front + "\t")) for line in lines)
            if every and _several(text, sign):
                return "", text
            bare = "\n".join(_behind(line, front) for line in text.split("\n")) if every else ""
            if every and _known(bare):
                return first[1], bare
    return "", text


def _behind(line: str, front: str) -> str:
    """Return what stands behind a name and one blank."""
    return line[len(front) + 1:] if line.startswith(front) else line


def _known(text: str) -> bool:
    """Return whether a text holds an output, and if it is nothing but a log, one with times."""
    return _is_output(text) or (recognise(text) == _LOG and all(map(_TIMED.match, _sample(text))))


def _is_output(text: str, also_logs_of_programs: bool = True) -> bool:
    """Return whether a text holds an output that is no kernel log."""
    return (recognise(text) not in (None, _LOG)
            or any(also_logs_of_programs or kind not in _OF_PROGRAMS for kind in kinds(text))
            or any(sign.search(text) for _, words, sign in SIGNS if any(map(text.__contains__, words))))


def _several(text: str, sign: re.Pattern[str]) -> dict[str, str]:
    """Return the lines of each machine, where several are named in front of the lines, or one in front of some of them
    ("": the others). Nothing for other texts. All of a text is looked at: the first machine may have a long one."""
    sample = _sample(text)
    # Where every line has a name, one without it goes on with the line above.
    every = bool(sample) and all(_name(sign, line) for line in sample)
    if not every and (sign is _POD or not _has_name(text, sign)):
        return {}
    parts: dict[str, list[str]] = {}
    name = ""
    for line in each_line(text):
        match = _name(sign, line)
        name = match[1] if match else name if every else ""
        parts.setdefault(name, []).append(line[match.end():] if match else line)
        if len(parts) > _MOST:
            return {}
    told = {name: "\n".join(some) + "\n" for name, some in parts.items()}
    if every and len(told) < 2:
        return {}
    return (_of_machines(told) if every else {}) or _beside(text, sign, told)


def _of_machines(told: dict[str, str]) -> dict[str, str]:
    """Return the texts, where one is known and another is an output, too, or a log without times: "gpud: NVRM: Xid" is
    what a program says, but not where the same place in front of other lines names a machine."""
    plain = [_plain(part)[1] for part in islice(told.values(), _LOOKED_AT)]
    known = [_known(part) for part in plain]
    return told if any(known) and sum(
        is_known or recognise(part) is not None for is_known, part in zip(known, plain, strict=True)) > 1 else {}


def _beside(text: str, sign: re.Pattern[str], told: dict[str, str]) -> dict[str, str]:
    """Return the texts of the machines that are named in front of some lines, and below "" all other lines, as they
    are. Nothing where no such text is known."""
    names = {name for name, part in islice(told.items(), _LOOKED_AT) if name and _is_text(_plain(part)[1])}
    if not names:
        return {}
    rest = [line for line in each_line(text) if (match := _name(sign, line)) is None or match[1] not in names]
    there = {"": "\n".join(rest)} if any(line.strip() for line in rest) else {}
    return {**there, **{name: told[name] for name in told if name in names}}


def _is_text(text: str) -> bool:
    """Return whether it is an output, or a log with times. What a launcher puts in front of the lines of programs is
    often no machine: such logs are read with it."""
    return _is_output(text, False) or (recognise(text) == _LOG and all(map(_TIMED.match, _sample(text))))


def _name(sign: re.Pattern[str], line: str) -> re.Match[str] | None:
    """Return the name in front of a line, None where there is none."""
    match = sign.match(line)
    return None if match is None or (sign is _HOST and _NO_HOST.match(match[1])) else match


def _has_name(text: str, sign: re.Pattern[str]) -> bool:
    """Return whether a line of a text has a name in front, behind which something stands."""
    return any(_name(sign, line) for line in each_line(text))
