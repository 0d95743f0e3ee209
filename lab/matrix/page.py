"""The tables of docs/boot-matrix.md, out of what lab.bench.matrix kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .cells import CELLS
from .columns import COLUMNS
from .faults import FAULTS

__all__ = ["cell", "missed", "table", "tables"]

Document = dict[str, Any]


def cell(found: dict[str, Any] | None) -> str:
    """What a column showed, in a few words."""
    if found is None:
        return "not run"
    if found["missed"]:
        return "**missed**"
    return f"{found['outcome']}, {found['seconds']} s" if "seconds" in found else str(found["outcome"])


def _run(document: Document) -> list[str]:
    """The cells of which anything was seen."""
    return [name for name in CELLS if document["cells"].get(name)]


def _rows(*rows: tuple[str, ...]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def table(document: Document) -> str:
    """A row for each column, a column for each cell that was run."""
    names = _run(document)
    return _rows(("", *(f"`{name}`" for name in names)), *(
        (declared.what, *(cell(document["cells"][name].get(column)) for name in names))
        for column, declared in COLUMNS.items()))


def missed(document: Document) -> list[tuple[str, str, str]]:
    """(cell, column, what was seen) of what missed its promise."""
    return [(name, column, found["missed"]) for name in _run(document)
            for column, found in document["cells"][name].items() if found["missed"]]


def _said(document: Document) -> Iterator[str]:
    """What plays that were refused said, and in which cells."""
    cells: dict[str, list[str]] = {}
    for name in _run(document):
        for found in document["cells"][name].values():
            if found["outcome"] == "refused" and name not in cells.setdefault(found["said"], []):
                cells[found["said"]].append(name)
    for text, names in cells.items():
        yield f"- {', '.join(f'`{name}`' for name in names)}: \"{text}\""


def _deadline(document: Document, column: str) -> str:
    """In these runs, from the start of the trial's kernel on."""
    cells = (document["cells"][name].get(column, {}) for name in _run(document))
    return " or ".join(f"{seconds} s" for seconds in sorted({
        found["confirm_seconds"] for found in cells if "confirm_seconds" in found})) or "-"


def tables(document: Document) -> str:
    """All of them: when, the cells, the matrix, what ends each fault, refusals, what missed and what was not run."""
    names = _run(document)
    times = sorted(found["at"] for name in names for found in document["cells"][name].values())
    parts = [f"Seen from {times[0]} to {times[-1]}, on {document['machine']}.",
             _rows(("cell", "the box"), *((f"`{name}`", CELLS[name].what) for name in names)),
             table(document),
             _rows(("fault of the trial", "what brings the box back", "the guard's deadline was"),
                   *((fault.what, fault.ends, _deadline(document, name)) for name, fault in FAULTS.items()))]
    if refusals := list(_said(document)):
        parts += ["Refused before the first write, with these words:", "\n".join(refusals)]
    if stood := [f"- `{name}`, {COLUMNS[column].what}: {found['stood_still']}" for name in names
                 for column, found in document["cells"][name].items() if found.get("stood_still")]:
        parts += ["So often an emulated kernel stood still behind a power cut, as the timer of an emulated processor "
                  "never came again, or crashed by the emulator's own fault; the box was started from the same copy, "
                  "or the play behind the cuts was run, once more:", "\n".join(stood)]
    if failed := missed(document):
        parts += ["Missed:", "\n".join(f"- `{name}`, {COLUMNS[column].what}: {' '.join(text.split())[:300]}"
                                       for name, column, text in failed)]
    if absent := [f"`{name}`" for name in CELLS if name not in names]:
        parts.append(f"Cells that the bench has and that were not run: {', '.join(absent)}.")
    return "\n\n".join(parts)
