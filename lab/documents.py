"""Every JSON document over every piece of evidence, recorded before a change and compared after it.

    python -m lab.documents record FILE [--samples FOLDER] [--reword]
    python -m lab.documents reworded [--samples FOLDER]
    python -m lab.documents compare BEFORE AFTER

The evidence: the fixtures of the tests, the cases of every check, recordings of machines, and other people's files
where FOLDER has some. Of each: the document and exit code of every verb, the facts that drift compares, and what a
fleet audit makes of it. ``--reword`` says every reason and message in other words as it is made: outcomes, exit codes,
facts and fleet states must not change by that, which ``reworded`` shows at once (what an audit makes of the cases of
single checks is left out there: it takes half of the time). ``compare`` counts what differs: a value; a text only; a
field that was added. Exit code 1 where a value differs or is gone.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from tests.unit.checks.machines import build, spec_of
from tests.unit.checks.measurements import measured
from tests.unit.checks.test_cases import CASES
from tests.unit.imports.deletion_bases import own, real

from tunecheck.errors import TunecheckError
from tunecheck.facts.registry.flatten import flatten
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import OUTCOMES, Finding, exit_code, worst
from tunecheck.report.document import document
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Frozen
from tunecheck_fleet.model import Answer
from tunecheck_fleet.read import seen

#: What is for people: it may be worded anew.
TEXTS = frozenset({"message", "text", "reason", "why", "note", "words"})
_ANEW = " said anew: "
_VERBS = ("topo", "host", "preflight", "driver", "runtime")


def reword() -> None:
    """From here on every reason and every finding's text is in other words."""
    from tunecheck.host import base
    from tunecheck.model import fact as facts

    def other(text: str) -> str:
        mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:6]
        return text if _ANEW in text else f"<{mark}{_ANEW}{text.swapcase()[:60]}>"

    try:
        from tunecheck.model import absence
    except ImportError:     # before there were codes
        plain = base.Unreadable.__init__

        def unreadable(self: Any, path: str, reason: str) -> None:
            plain(self, path, other(reason))

        base.Unreadable.__init__ = unreadable  # type: ignore[method-assign]
        facts.absent("", "")  # type: ignore[arg-type]
        made = facts.Fact.__init__

        def fact(self: Any, value: Any, source: str, reason: str | None = None) -> None:
            made(self, value, source, None if reason is None else other(reason))

        facts.Fact.__init__ = fact  # type: ignore[method-assign, assignment]
    else:
        new = absence.Reason.__new__

        def reason_(cls: Any, code: Any, text: str = "") -> Any:
            return new(cls, code, other(str(new(cls, code, text))))

        absence.Reason.__new__ = reason_  # type: ignore[method-assign]
    Finding("", "ok", "", "pass", "", "")
    whole = Finding.__init__

    def finding(self: Any, *parts: Any, **fields: Any) -> None:
        names = ("id", "code", "subject", "outcome", "layer", "text")
        first = (*parts, *(fields.pop(name) for name in names[len(parts):]))[:len(names)]
        whole(self, *first[:-1], other(first[-1]), *parts[len(names):], **fields)

    Finding.__init__ = finding  # type: ignore[method-assign, assignment]


def record(samples: Path | None, fleet_of_cases: bool = True) -> dict[str, Any]:
    """Everything, by the name of the evidence."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="tunecheck-documents-") as folder:
        for name, case, verbs in _cases(Path(folder), samples):
            found[name] = {verb: _document(verb, case) for verb in verbs}
            if fleet_of_cases or verbs is _VERBS:
                found[name] |= _of_fleet(case)
    return found


def _cases(folder: Path, samples: Path | None) -> Iterator[tuple[str, Case, tuple[str, ...]]]:
    for base in own() + (real(samples) if samples else []):
        spec = base.spec.spec if base.spec else None
        if base.answers is not None:
            yield base.name, Case(gather(base.answers.host(), spec, True), base.spec), _VERBS
            continue
        for old in folder.iterdir():
            old.unlink()
        for name, text in base.texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        yield base.name, Case(gather(load_import(str(folder)), spec, True), base.spec), _VERBS
    for path in CASES:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "measured" in data:
            data = {"machine": "clear", "verb": "allreduce" if path.stem.startswith("allreduce") else "p2p", **data}
        frozen = spec_of(data)
        snapshot = _gathered(build(data), frozen)
        before = _gathered(build({**data, **data["before"]}), frozen) if "before" in data else None
        trial = measured(data["measured"], len(snapshot.topology.devices)) if data.get("measured") is not None else None
        yield path.stem, Case(snapshot, frozen, False, before, trial), (data.get("verb", "preflight"),)


def _gathered(host: Any, frozen: Frozen | None) -> Snapshot:
    return gather(host, frozen.spec if frozen else None, True)


def _document(verb: str, case: Case) -> Any:
    try:
        findings = judge(case, verb)
        outcome = worst(findings)
        return {"exit": exit_code(outcome), "document": document(verb, case, findings)}
    except (TunecheckError, RuntimeError, ValueError, LookupError) as error:
        return {"error": type(error).__name__}


def _of_fleet(case: Case) -> dict[str, Any]:
    flat = flatten(Stored(case.snapshot, case.frozen))
    try:
        content = packed(Stored(case.snapshot, case.frozen), 1.8e9)
    except (TunecheckError, ValueError, TypeError) as error:
        return {"facts": {"known": flat.known, "unknown": sorted(flat.unknown)}, "fleet": type(error).__name__}
    host = seen(Answer("box", "boxes", "ok", content))
    return {"facts": {"known": flat.known, "unknown": sorted(flat.unknown)}, "fleet": {
        "status": host.status, "outcomes": dict(host.outcomes), "unknown": sorted(host.unknown),
        "problems": sorted([problem.check, problem.subject, problem.outcome] for problem in host.problems)}}


def compare(before: Any, after: Any, path: str, counts: collections.Counter[str], shown: list[str]) -> None:
    """Counts "equal", "reworded", "coded", "added" and "differs"; the first differences go to ``shown``."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key not in before:
                counts["added"] += 1
            elif key not in after:
                counts["differs"] += 1
                shown.append(f"{path}/{key}: is gone")
            else:
                compare(before[key], after[key], f"{path}/{key}", counts, shown)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            compare(one, other, f"{path}[{number}]", counts, shown)
    elif before == after:
        counts["equal"] += 1
    elif _field(path) == "code" and before in OUTCOMES and isinstance(after, str):
        counts["coded"] += 1        # the outcome stood for the code, before every finding had one
    elif isinstance(before, str) and isinstance(after, str) and (_field(path) in TEXTS or (
            _field(path) in ("observed", "evidence") and _ANEW in after)):   # where nothing was observed it says why
        counts["reworded"] += 1
    else:
        counts["differs"] += 1
        shown.append(f"{path}: {str(before)[:120]} -> {str(after)[:120]}")


def _field(path: str) -> str:
    return path.rpartition("/")[2].partition("[")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare", "reworded"))
    parser.add_argument("files", nargs="*")
    parser.add_argument("--samples", default=os.environ.get("TUNECHECK_SAMPLES", ""))
    parser.add_argument("--reword", action="store_true")
    parser.add_argument("--show", type=int, default=40, help="how many differences are printed")
    given = parser.parse_args()
    samples = Path(given.samples) if given.samples else None
    if given.what == "record":
        if given.reword:
            reword()
        found = record(samples)
        Path(given.files[0]).write_text(json.dumps(found, indent=1, sort_keys=True, default=str), encoding="utf-8")
        print(f"{len(found)} pieces of evidence")
        return 0
    if given.what == "reworded":
        one = json.loads(json.dumps(record(samples, False), default=str))
        reword()
        other = json.loads(json.dumps(record(samples, False), default=str))
    else:
        one, other = (json.loads(Path(file).read_text(encoding="utf-8")) for file in given.files[:2])
    counts: collections.Counter[str] = collections.Counter()
    shown: list[str] = []
    compare(one, other, "", counts, shown)
    print("\n".join(shown[:given.show]))
    print(f"{len(one)} and {len(other)} pieces of evidence; " + ", ".join(
        f"{counts[word]} {word}" for word in ("equal", "reworded", "coded", "added", "differs")))
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
