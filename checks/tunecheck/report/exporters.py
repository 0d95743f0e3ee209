"""The documents that one run can write beside the report: JSON, JUnit, Prometheus and HTML, each to a file or one of
them to standard output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Misuse, UsageError
from ..util.whole_file import check_replaceable, write_file

if TYPE_CHECKING:
    from .document import Run

__all__ = ["KINDS", "check_outputs", "ready", "rendered", "to_standard_output", "write_outputs", "write_ready"]

#: Option -> what the note about the written file calls it.
KINDS = {"json": "JSON", "junit": "JUnit", "prometheus": "Prometheus", "html": "HTML"}


def check_outputs(wanted: Mapping[str, str | None], record: str | None = None) -> None:
    """Refuse, before the probing starts, what could not be written afterwards: UsageError says what. ``wanted``: option
    -> place."""
    if record == "-":
        raise UsageError("--record -: standard output has the report; give a file, or run: tunecheck record -o -",
                         Misuse.DOES_NOT_BELONG)
    places = {f"--{kind}": place for kind, place in {**wanted, "record": record}.items() if place is not None}
    seen: dict[str, str] = {}
    for option, place in places.items():
        if option == "--record":
            from ..host.bundle import is_recording  # start-up time

            check_replaceable(place, is_recording)
        elif place != "-":
            check_replaceable(place)
        same = place if place == "-" else str(Path(place).resolve())
        if same in seen and not place.startswith("/dev/"):
            where = "standard output" if place == "-" else place
            raise UsageError(f"{seen[same]} and {option} both write to {where}; give each a place of its own",
                             Misuse.DOES_NOT_BELONG)
        seen[same] = option
    metrics = places.get("--prometheus", "-")
    if metrics != "-" and not metrics.startswith("/dev/") and not metrics.endswith(".prom"):
        raise UsageError(f"{metrics}: node_exporter reads only files called *.prom; call it {metrics}.prom",
                         Misuse.MALFORMED)


def to_standard_output(wanted: Mapping[str, str | None]) -> str | None:
    """Return the kind of document that goes to standard output in place of the report; None where none does."""
    return next((kind for kind, place in wanted.items() if place == "-"), None)


def rendered(kind: str, run: Run) -> str:
    """Return the document of this kind as text, ending in a newline."""
    if kind == "json":
        from .plain import to_text

        return to_text(run.document)
    if kind == "junit":
        from .junit import junit

        return junit(run)
    if kind == "prometheus":
        from .prometheus import prometheus

        return prometheus(run)
    from .html import html

    return html(run)


def write_outputs(wanted: Mapping[str, str | None], run: Run, record: tuple[str, bytes] | None = None) -> list[str]:
    """Write every document that goes to a file, and the recording (place, content), once all of them are ready;
    returns a note about each."""
    return write_ready(ready(wanted, run), record)


def ready(wanted: Mapping[str, str | None], run: Run) -> list[tuple[str, str, str]]:
    """Return (kind, place, text) of every document that goes to a file."""
    places = [(kind, place) for kind in KINDS if (place := wanted.get(kind)) is not None and place != "-"]
    return [(kind, place, rendered(kind, run)) for kind, place in places]


def write_ready(documents: Iterable[Sequence[str]], record: tuple[str, bytes] | None = None) -> list[str]:
    """Write documents that ``ready`` returned, and the recording (place, content). Return a note about each."""
    notes = []
    for kind, place, text in documents:
        # node_exporter runs as a user of its own and must be able to read what root wrote.
        write_file(place, text.encode("utf-8", "replace"), 0o644 if kind == "prometheus" else None,
                   f"{KINDS[kind]} report")
        notes.append(f"{KINDS[kind]}: {place}")
    if record:
        write_file(*record, what="recording")
        notes.append(f"recording: {record[0]}")
    return notes
