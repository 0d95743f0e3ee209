"""What one host's answer says: unpacked, flattened, judged. The answer is a stranger's, and spoils only its own row."""

from __future__ import annotations

import calendar
import hmac
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal, cast

from tunecheck.errors import UsageError
from tunecheck.facts.registry import ENTRIES, Flat, entry_of, flatten, hardware, key
from tunecheck.facts.snapshot_file import Stored, unpack
from tunecheck.model.absence import Absence, Reason
from tunecheck.model.command import Command, limited
from tunecheck.model.finding import Finding, Remedy
from tunecheck.parsers.text import secrets
from tunecheck.parsers.text.incidents import MOST as MOST_INCIDENTS
from tunecheck.report.not_given import tells_most
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.errors.from_log import only_log_incomplete
from tunecheck.rules.index import CHECKS
from tunecheck.rules.told import skipped, unasked, untold, why_untold
from tunecheck.spec.frozen import Frozen

from .families import outcomes
from .judge.authority import judging
from .model import Answer, Change, Incident, Problem, Seen

__all__ = ["seen"]

_NO_KEY = "no fleet key: a plain digest of it could be guessed"
#: Reasons for which nobody failed: the snapshot is older or of a recording, or there is no such thing to read.
_RECORD, _SNAPSHOT = "sudo tunecheck record", "sudo tunecheck snapshot --json HOST.json"
_NO_FAILURE = (Absence.OLDER, Absence.NOT_RECORDED, Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST, Absence.LEFT_OUT,
               Absence.NO_VERSION, Absence.ELSEWHERE, Absence.LOG_TOO_SHORT, Absence.NO_SYSTEMD)
_OWN = ("judged by the spec that the box itself sent, which proves nothing: the receiver holds none for it; declare "
        "box_spec for it in an inventory, and start tunecheck ingest with -i INVENTORY")
_WHOLE_LOG = "kernel-log-complete"
_NO_REMEDY = Remedy("")
_BAD = ("fail", "warn", "unknown")
_PATH = re.compile(r"[\w ./:=*-]+")
_LINE, _MANY, _REASON = 2000, 500, 500
#: The snapshot of eight GPUs behind 40 ports is 270 KB. What is larger than _LARGE is looked at twice.
_MOST, _LARGE, _FACTS = 4 << 20, 1 << 20, 1 << 20
#: The vendor of the boards of which a snapshot tells that was made without a specification (facts/pci/devices.py).
_NVIDIA = "10de:"
#: A kernel takes 4096 characters at most; rules look each word up among a thousand others.
_WORDS = 16384
#: A clock before the project, or far ahead of any, tells no time.
_EARLIEST, _LATEST = 1.5e9, 4.0e9


def seen(answer: Answer, spec: Frozen | None = None, fleet_key: bytes | None = None, pushed: bool = False) -> Seen:
    """The answer, ready for the store. ``spec``: judge by this one, not by the box's own. ``fleet_key``: secrets are
    kept as HMACs with it, without one they are unknown. ``pushed``: without ``spec`` the box is judged by a spec that
    it sent itself, which is never clean. Never raises: what is no snapshot is "garbled" with a reason,
    and an answer that is not ok keeps its status."""
    if answer.status not in ("ok", "partial"):
        return Seen(answer.host, answer.group, answer.status, _line(answer.reason))
    try:
        if len(answer.content) > _MOST:
            raise ValueError(f"larger than {_MOST >> 20} MiB; no box's is")
        stored = unpack(answer.content)
    except Exception as error:      # ValueError with a sentence; whatever else a hostile document provokes
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} while reading it"
        return Seen(answer.host, answer.group, "garbled", _line(f"not a usable snapshot: {why}"))
    try:
        return _seen(answer, stored, spec, fleet_key, pushed)
    except Exception as error:
        return Seen(answer.host, answer.group, "garbled",
                    f"not a usable snapshot: {type(error).__name__} while judging it")


def _seen(answer: Answer, stored: Stored, spec: Frozen | None, fleet_key: bytes | None, pushed: bool) -> Seen:
    host = stored.snapshot.host
    if host is not None and sum(len(word) + 1 for word in host.kernel.cmdline.value or ()) > _WORDS:
        return Seen(answer.host, answer.group, "garbled", "not a usable snapshot: its kernel command line is longer "
                    "than any kernel takes")
    flat = flatten(stored)
    if len(answer.content) > _LARGE and len(json.dumps([flat.known, flat.unknown])) > _FACTS:
        return Seen(answer.host, answer.group, "garbled", f"not a usable snapshot: more than {_FACTS >> 20} MiB of "
                    "facts; no box has so many")
    known, volatile, unknown, hidden = _by_class(flat, fleet_key)
    case, other = _case(stored, spec)
    findings = judge(case, "preflight")
    if pushed and spec is None:
        other = "sent-spec", "unknown", _OWN
    worst = outcomes(findings)
    bad = [finding for finding in _once(findings) if finding.outcome in _BAD]
    # All ports of a box have the same one.
    remedy_texts = cache(lambda remedy: _for_control_node(remedy, answer.host))
    problems = tuple(_problem(finding, hidden, remedy_texts(finding.remedy or _missing(case, finding)))
                     for finding in bad[:_MANY])
    dark = untold(findings) | {finding.id for finding in bad[_MANY:]}
    reasons = {check: (_line(secrets.mask(each.text) if hidden else each.text, _REASON),
                       _line(remedy_texts(each.remedy or _NO_REMEDY)[1], _REASON))
               for check, each in why_untold(findings, sorted(dark)).items()}
    if other is not None:
        code, outcome, why = other
        problems = (Problem("spec-present", "spec", outcome, why, code=code), *problems)
        worst = {**worst, "spec": outcome}
    failed = {name: reason for name, reason in unknown.items() if reason.absence not in _NO_FAILURE}
    status, reason = answer.status, answer.reason
    if failed and status == "ok":
        first, because = min(failed.items())
        words = "1 fact could not be read:" if len(failed) == 1 else f"{len(failed)} facts could not be read, such as"
        status, reason = "partial", f"{words} {first}: {because}"
    boot = stored.snapshot.boot_id.value
    return Seen(
        answer.host, answer.group, status, _line(reason), key(stored), hardware(stored), _line(stored.tunecheck, 40),
        case.frozen.digest if case.frozen else None, _line(boot, 64) if boot else None, known, volatile, unknown,
        problems, worst, tuple(sorted(dark)), reasons, tuple(sorted(unasked(findings) - dark)),
        {check: code for check, code in skipped(findings).items() if check not in dark}, tuple(_changes(stored)),
        tuple(_incidents(stored)), _masked(answer.content) if hidden else answer.content)


def _by_class(flat: Flat, fleet_key: bytes | None
              ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Reason], bool]:
    """Facts to keep as history; of which only the newest is kept; the unknown ones; whether there is a secret."""
    known: dict[str, Any] = {}
    volatile: dict[str, Any] = {}
    unknown = {name: _for_audit(reason) for name, reason in flat.unknown.items()}
    hidden = False
    for name, value in flat.known.items():
        entry = entry_of(name)
        kind = entry.kind if entry else "config"
        if kind in ("config", "identity", "figure"):
            known[name] = value
        elif kind != "secret":
            volatile[name] = value
        elif value is None:
            known[name] = None
        else:
            hidden = True
            if fleet_key:
                known[name] = "hmac:" + hmac.digest(fleet_key, f"{name}\0{value}".encode("utf-8", "replace"),
                                                    "sha256")[:16].hex()
            else:
                unknown[name] = Absence.LEFT_OUT.because(_NO_KEY)
    return known, volatile, unknown, hidden


def _for_audit(reason: Reason) -> Reason:
    """An audit reads snapshots, and no recording: where only the box itself can tell a fact, a snapshot made there
    does."""
    if reason.absence is Absence.ONLY_ON_HOST and reason.endswith(_RECORD):
        return Absence.ONLY_ON_HOST.because(f"{reason.removesuffix(_RECORD)}{_SNAPSHOT}")
    return reason


def _case(stored: Stored, spec: Frozen | None
          ) -> tuple[Case, tuple[str, Literal["fail", "unknown"], str] | None]:
    """What is judged; and where it is not by the spec that was asked for, the code, the outcome and why."""
    try:
        return Case(stored.snapshot, stored.judged_with(spec)), None
    except UsageError:
        frozen = stored.frozen
    wanted, boards = spec.spec.accelerators.pci_ids if spec else (), _boards(stored)
    own = frozen.spec.accelerators.pci_ids if frozen else ()
    how = "by the box's own specification" if frozen else "without a specification"
    if frozen is None and (others := [each for each in wanted if not each.startswith(_NVIDIA)]):
        # Made without ids it has NVIDIA's boards, and tells nothing of any other.
        return Case(stored.snapshot, None), (
            "other-spec", "unknown", f"judged {how}: the snapshot was made without one, so it holds nothing of boards "
            f"of {', '.join(others)}, which the inventory's specification asks for; provision the box, or make its "
            "snapshot with --spec FILE")
    if frozen is None and not set(boards) & set(wanted):
        # What nobody can misread: none of what it has is what it should have.
        return Case(stored.snapshot, None), (
            "other-boards", "fail", f"the accelerators are {', '.join(boards)}, and the inventory's specification asks "
            f"for {', '.join(wanted)}: is the host in the right group of the inventory? Until then it is judged {how}")
    if own and set(own) < set(wanted):
        return Case(stored.snapshot, frozen), (
            "other-spec", "unknown", f"judged {how}: the snapshot holds facts about boards of {', '.join(sorted(own))} "
            f"alone, and whether there are any of {', '.join(sorted(set(wanted) - set(own)))}, which the inventory's "
            "specification asks for too, cannot be told; provision the box with that, or list there under "
            "accelerators.pci_ids and count what the box has")
    return Case(stored.snapshot, frozen), (
        "other-spec", "unknown", f"judged {how}: the inventory's names other accelerators than this snapshot is about; "
        "is the host in the right group? If it is, correct accelerators.pci_ids there, or provision the box with it")


def _boards(stored: Stored) -> list[str]:
    """The kinds of accelerators that the snapshot tells of."""
    return sorted({_line(device.ids, 20) for device in stored.snapshot.topology.devices})


def _missing(case: Case, finding: Finding) -> Remedy:
    """What to add where a check found its text missing and has no other way. The source stands in the answer, which is
    a stranger's: with more in it than a path has, it becomes no command."""
    command = tells_most(case, [finding]) if finding.evidence and _PATH.fullmatch(finding.evidence[0]) else ""
    return Remedy(f"add: {command}") if command else _NO_REMEDY


def _once(findings: list[Finding]) -> list[Finding]:
    """A kernel log that has lost its beginning is one finding, not one of each check that looks into it."""
    cut = [finding.id for finding in findings if only_log_incomplete(finding)]
    if not cut or not any(finding.id == _WHOLE_LOG and finding.outcome in _BAD for finding in findings):
        return findings
    left_out = f"; cannot be told: {', '.join(sorted(set(cut)))}"
    return [replace(finding, text=finding.text + left_out) if finding.id == _WHOLE_LOG else finding
            for finding in findings if not only_log_incomplete(finding)]


def _for_control_node(remedy: Remedy, host: str) -> tuple[Remedy, str, tuple[Command, ...]]:
    """The remedy, its text and its commands, for who has the inventory."""
    remedy = remedy.by_play
    # The control node knows the box by the inventory's name, whatever the box calls itself.
    return remedy, *limited(remedy.text, remedy.commands, (host,))


@cache
def _by_hand() -> frozenset[str]:
    """The checks among whose facts one takes hands or a firmware to put back: of their findings the remedy knows."""
    names = [entry.name for entry in ENTRIES if entry.fix in ("hands-on", "firmware")]
    return frozenset(check.id for check in CHECKS if judging(check.id, names))


def _problem(finding: Finding, hidden: bool, remedy_texts: tuple[Remedy, str, tuple[Command, ...]]) -> Problem:
    def text(value: str) -> str:
        return _line(secrets.mask(value) if hidden else value)

    remedy, remedy_text, commands = remedy_texts
    return Problem(finding.id, text(finding.subject)[:200], cast(Any, finding.outcome), text(finding.text),
                   text(finding.expected), text(remedy_text), remedy.ansible_tags, remedy.needs_reboot, commands,
                   finding.code, text(finding.observed), finding.absence.value if finding.absence else "",
                   text(finding.evidence[0])[:_REASON] if finding.absence and finding.evidence else "",
                   tuple(map(text, remedy.puts)), tuple(map(text, remedy.takes)),
                   remedy.place.value if remedy_text and finding.id in _by_hand() else "")


def _changes(stored: Stored) -> Iterator[Change]:
    """Runs of our roles, out of the receipt."""
    receipt = stored.snapshot.receipt.value
    for run in receipt.runs if receipt else ():
        at = _seconds(run.at)
        if at is not None:
            yield Change(_line(run.note, 200), at, _line(run.state, 20))


def _incidents(stored: Stored) -> Iterator[Incident]:
    """What the watch and the recovery of the box noted."""
    told = stored.snapshot.host.incidents.value if stored.snapshot.host else None
    for each in told.found[-MOST_INCIDENTS:] if told else ():
        begun, ended = (at if at is not None and _EARLIEST < at < _LATEST else None for at in (each.begun, each.ended))
        # Of a boot that is over nobody goes on with it.
        step, why = (each.step, each.why) if each.done or each.this_boot else ("interrupted", "booted")
        yield Incident(_line(each.id, 60), begun, ended, _line(step, 40), _line(why, 40), _line(each.unit, 200),
                       tuple(_line(code, 60) for code in each.codes[:20]), each.xids[:20], each.rank,
                       _line(each.gpu, 60))


def _seconds(text: str) -> float | None:
    try:
        at = float(calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")))
    except (ValueError, OverflowError):
        return None
    return at if _EARLIEST < at < _LATEST else None


def _line(text: str, most: int = _LINE) -> str:
    """One line of printable characters."""
    text = text[:most]
    if text.isprintable() and "  " not in text:     # a space is the only printable white space
        return text
    text = re.sub(r"\s+", " ", text)
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def _masked(content: bytes) -> bytes:
    """The snapshot without its secrets: it is kept. Nothing of a huge one, which would take too long."""
    if len(content) > _LARGE:
        return b""

    def walked(value: Any) -> Any:
        if isinstance(value, str):
            return secrets.mask(value)
        if isinstance(value, Mapping):
            return {name: walked(part) for name, part in value.items()}
        if isinstance(value, Iterable):
            return [walked(part) for part in value]
        return value

    return json.dumps(walked(json.loads(content))).encode()
