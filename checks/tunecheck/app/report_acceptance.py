"""Judge what was measured of a served model, and report it: terminal, documents, the golden candidate."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..recipes.frozen import Recipe
    from ..serving.measured import Measured

__all__ = ["here", "report"]


def report(seen: Measured, recipe: Recipe | None, digest: str | None, base: str, source: str | None, verbose: bool,
            wanted: Mapping[str, str | None]) -> None:
    """Write report and documents. ``wanted``: json, junit, html and golden to their places. Leaves through SystemExit
    with the verdict's code."""
    import datetime

    from ..host.notify import refused, tell
    from ..report.document import Run
    from ..report.exporters import rendered, to_standard_output
    from ..report.plain import to_text
    from ..report.style import style_for
    from ..serving.document import document
    from ..serving.reach import own_machine
    from ..serving.terminal import render
    from ..serving.verdict import Want, judge
    from .write_reports import emit_report

    findings = judge(seen, Want.of(recipe))
    when = datetime.datetime.now(datetime.UTC)
    # The box's facts explain a figure only where the server runs on it.
    facts = _facts(recipe) if wanted["golden"] or (wanted["html"] and source is None and own_machine(base)) else None
    data = document(seen, findings, recipe, created=when.strftime("%Y-%m-%dT%H:%M:%SZ"), base=base, digest=digest,
                    source=source, provenance=facts,
                    **(here() if source is None else {"host": None, "boot_id": None}))
    alone = to_standard_output(wanted)

    def html() -> str:
        from ..serving.page.acceptance import acceptance

        return acceptance(data, seen, findings, when)

    texts: dict[str, Callable[[], str]] = {
        "json": lambda: to_text(data), "html": html,
        "junit": lambda: rendered("junit", Run(data, findings, when, source or "")),
    }
    text = texts[alone]() if alone else render(data, seen, findings, style_for(sys.stdout), verbose)

    def write() -> list[str]:
        places = {kind: place for kind, place in wanted.items() if place is not None and place != "-"}
        ready = [(kind, places[kind], texts[kind]()) for kind in texts if kind in places]
        return [*_write(ready), *(_golden(data, facts, places["golden"]) if "golden" in places else ())]

    emit_report(text, write, alone is not None)
    worst = "fail" if data["exit_code"] == 1 else "unknown"
    bad = next((each.message for each in findings if each.outcome == worst), "")
    if data["exit_code"]:
        refused(f"not accepted: {bad}")
    else:
        tell("accepted, serving")
    raise SystemExit(data["exit_code"])


def _write(ready: Sequence[tuple[str, str, str]]) -> list[str]:
    """Write documents (kind, place, text), and return a note about each."""
    from ..report.exporters import KINDS
    from ..util.whole_file import write_file

    notes = []
    for kind, place, text in ready:
        write_file(place, text.encode("utf-8", "replace"), None, "acceptance")
        notes.append(f"{KINDS[kind]}: {place}")
    return notes


def _golden(data: dict[str, Any], facts: dict[str, Any] | None, place: str) -> list[str]:
    from ..report.plain import to_text
    from ..serving.golden import candidate, why_not_golden
    from ..util.whole_file import PRIVATE, write_file

    why = "no facts of the box" if facts is None else why_not_golden(data)
    if facts is None or why:
        return [f"golden candidate: not written, {why}"]
    write_file(place, to_text(candidate(data, facts)).encode(), PRIVATE, "golden candidate")
    return [f"golden candidate: {place}"]


def _facts(recipe: Recipe | None) -> dict[str, Any]:
    from ..serving.golden import provenance
    from .read_host import look

    frozen, snapshot = look("preflight", None, None)
    return provenance(snapshot, frozen, recipe)


def here() -> dict[str, Any]:
    """Return host name and boot id of this machine, whose acceptance it is."""
    from ..facts.kernel.kernel import identity
    from ..host.live import LiveHost

    door = LiveHost()
    try:
        name, _, boot = identity(door)
        return {"host": name.value, "boot_id": boot.value}
    finally:
        door.close()
