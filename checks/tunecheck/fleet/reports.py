"""A fleet report as the documents that a run can write beside it."""

from __future__ import annotations

from collections.abc import Mapping

from ..report.output import PRIVATE, write_file
from ..report.outputs import KINDS
from .verdict import FleetReport

__all__ = ["rendered", "write_all"]


def rendered(kind: str, report: FleetReport) -> str:
    """One document as text, ending in a newline."""
    if kind == "json":
        from ..report.document import to_text
        from .outputs.document import document

        return to_text(document(report))
    if kind == "junit":
        from .outputs.junit import junit

        return junit(report)
    if kind == "prometheus":
        from .outputs.prometheus import prometheus

        return prometheus(report)
    from .outputs.html import html

    return html(report)


def write_all(wanted: Mapping[str, str | None], report: FleetReport) -> list[str]:
    """Write every document that goes to a file, once all of them are ready; a note about each."""
    places = [(kind, place) for kind in KINDS if (place := wanted.get(kind)) is not None and place != "-"]
    ready = [(kind, place, rendered(kind, report).encode("utf-8", "replace")) for kind, place in places]
    for kind, place, content in ready:
        # They name machines and their faults; but node_exporter, a user of its own, must read its file.
        write_file(place, content, 0o644 if kind == "prometheus" else PRIVATE, f"{KINDS[kind]} report")
    return [f"{KINDS[kind]}: {place}" for kind, place, _ in ready]
