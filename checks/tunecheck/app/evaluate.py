"""The use case of topo, host, driver, runtime and preflight: read a host, judge it, report."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from .read_host import facts_before, facts_of, is_import, made_by_others, note_on_stderr, recorder
from .write_reports import emit_report

if TYPE_CHECKING:
    from ..facts.snapshot import Snapshot
    from ..spec.frozen import Frozen

__all__ = ["check"]


def check(verb: str, spec_file: str | None, source: str | None, record: str | None, since: str | None,
          verbose: bool = False, trial: bool = False, history: bool = False, **outputs: str | None) -> None:
    """Open the host, read, judge, report; leaves through SystemExit with the verdict's code. ``history``: also list
    what happened before this boot. ``outputs``: json_to, junit_to, prometheus_to, html_to, each a file or "-"."""
    from ..report.exporters import check_outputs, to_standard_output, write_ready

    wanted = {kind.removesuffix("_to"): place for kind, place in outputs.items()}
    check_outputs(wanted, record)
    recording = recorder(source) if record is not None else None
    alone = to_standard_output(wanted)
    seen = facts_of(
        verb, spec_file, None, note_on_stderr, recording, trial, history, judges=True) if source is None else None

    def judged(note: Callable[[str], None]) -> _Verdict:
        frozen, snapshot = seen or facts_of(verb, spec_file, source, note, None, trial, history)
        return _judged(verb, frozen, snapshot, trial, verbose, source, since, note, wanted, alone, history)

    foreign = source if source is not None else since
    if foreign is None:
        done = judged(note_on_stderr)
    else:
        from .confined import apart

        # The machine itself was read before: only what somebody else wrote is under the limits.
        done = json.loads(apart(foreign, lambda note: json.dumps(judged(note)).encode()))
    packed = None
    if recording is not None and record is not None:
        packed = (record, recording.packed(redact=True, root=os.geteuid() == 0, verb=verb))
    emit_report(done["text"], lambda: write_ready(done["files"], packed), alone is not None)
    raise SystemExit(done["code"])


class _Verdict(TypedDict):
    """A verdict as text: ``files`` are (kind, place, content)."""

    text: str
    files: list[tuple[str, str, str]]
    code: int


def _judged(verb: str, frozen: Frozen | None, snapshot: Snapshot, trial: bool, verbose: bool, source: str | None,
            since: str | None, note: Callable[[str], None], wanted: dict[str, str | None],
            alone: str | None, history: bool) -> _Verdict:
    import datetime

    from ..report.document import Run, document
    from ..report.exporters import ready, rendered
    from ..rules import judge
    from ..rules.context import Case
    from ..rules.one_reboot import in_one_play

    case = Case(snapshot, frozen, trial, facts_before(since, frozen, verb, snapshot, note) if since else None)
    with made_by_others(source, since):
        findings = in_one_play(judge(case, verb))
        run = Run(document(verb, case, findings), findings, datetime.datetime.now(datetime.UTC), source or "",
                  is_import(source))
        if alone:
            text = rendered(alone, run)
        else:
            from ..report.style import style_for
            from ..report.terminal import render

            text = render(verb, case, findings, style_for(sys.stdout), verbose, is_import(source), history,
                          source is not None)
        return {"text": text, "files": ready(wanted, run), "code": run.document["exit_code"]}
