"""What an audit came to, for people and machines: every output is written from a FleetReport alone."""

from __future__ import annotations

from collections.abc import Mapping

from tunecheck.report.exporters import KINDS
from tunecheck.util.whole_file import PRIVATE, write_file

from ..fleet_report import FleetReport

__all__ = ["KINDS", "rendered", "write_outputs"]


def rendered(kind: str, report: FleetReport) -> str:
    """One document as text, ending in a newline. ``kind``: json, junit, prometheus or html."""
    if kind == "json":
        from tunecheck.report.plain import to_text

        from .document import document

        return to_text(document(report))
    if kind == "junit":
        from .junit import junit

        return junit(report)
    if kind == "prometheus":
        from .prometheus import prometheus

        return prometheus(report)
    from .html import html

    return html(report)


def write_outputs(wanted: Mapping[str, str | None], report: FleetReport) -> list[str]:
    """Write every document that goes to a file (kind -> place, "-" and None are not written), once all of them are
    ready; returns a note about each. What names hosts and their faults is readable for its owner alone; node_exporter
    runs as a user of its own and must be able to read its file. The places are those that
    exporters.check_outputs() let pass."""
    places = [(kind, place) for kind in KINDS if (place := wanted.get(kind)) is not None and place != "-"]
    ready = [(kind, place, rendered(kind, report).encode("utf-8", "replace")) for kind, place in places]
    for kind, place, content in ready:
        write_file(place, content, 0o644 if kind == "prometheus" else PRIVATE, f"{KINDS[kind]} report")
    return [f"{KINDS[kind]}: {place}" for kind, place, _ in ready]
