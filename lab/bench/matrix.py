"""Boxes that boot in every way that the lab has, under every fault of a trial boot: does each come back by itself?

    PYTHONPATH=checks:. python3 -m lab.bench.matrix [--cells bios-grub,uefi-grub,...] [--columns good-trial,panic,...]
                                                    [--resume] [--until HH:MM] [--json FILE]

One VM for each cell, one at a time, with QEMU's hardware watchdog. In each column a play makes a trial boot fail in
another way, and the box must be reachable again on a configuration that a boot has proven, with nobody's hand: ssh
answers, the command line is a proven one, and what the default entry boots has the digests that it had. The seconds are
from the play's request to reboot until then. Where a trial cannot be had, every play is refused before it writes.
--json is written after every column; --resume leaves out what FILE has. --until (the next HH:MM, UTC): no column begins
later. A line for each column, then the table of docs/boot-matrix.md. Needs root. Exit code 1 where a column missed its
promise."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import needs
from lab.errors import LabError
from lab.matrix import cells, columns, page
from lab.matrix.seen import Bench, stamp

Document = dict[str, Any]


def _chosen(text: str, known: dict[str, Any], option: str, parser: argparse.ArgumentParser) -> list[str]:
    """The chosen names, in the matrix's own order for columns and in the given one for cells."""
    names = text.split(",")
    if unknown := [name for name in names if name not in known]:
        parser.error(f"{option}: {', '.join(unknown)}; expected some of {', '.join(known)}")
    return names


def _go_through(name: str, wanted: list[str], kept: Callable[[str, dict[str, Any]], None],
                late: Callable[[], bool]) -> list[str]:  # fmt: skip
    """One cell's columns on one VM. Returns those behind one that left a box on which none can follow."""
    with tempfile.TemporaryDirectory(prefix="tunecheck-matrix") as folder, cells.box(name, Path(folder)) as box:
        bench = Bench(box, cells.CELLS[name])
        bench.begin()
        for number, column in enumerate(wanted, 1):
            if late():
                break
            if (before := columns.COLUMNS[column].needs) and before not in bench.done:
                continue    # it looks at what that column did on this box, and is said as not run
            found = columns.run(bench, column)
            kept(column, found | stamp())
            if found["missed"] and not bench.on_proven():
                return wanted[number:]
    return []


def _with_needs(wanted: list[str]) -> list[str]:
    """Columns in their order, each with the one that it looks at."""
    more = {columns.COLUMNS[name].needs for name in wanted}
    return [name for name in columns.COLUMNS if name in wanted or name in more]


def _next(moment: datetime.time) -> datetime.datetime:
    """When the clock shows this next, also where that is behind midnight."""
    now = datetime.datetime.now(datetime.UTC)
    then = datetime.datetime.combine(now.date(), moment, datetime.UTC)
    return then if then > now else then + datetime.timedelta(days=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default=",".join(cells.CELLS))
    parser.add_argument("--columns", default=",".join(columns.COLUMNS))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--until", type=lambda text: datetime.time.fromisoformat(text), metavar="HH:MM")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    chosen = _chosen(given.cells, cells.CELLS, "--cells", parser)
    wanted = _chosen(given.columns, columns.COLUMNS, "--columns", parser)
    if given.resume and not given.json:
        parser.error("--resume needs --json FILE")
    # So that the VM ends with us, and what was seen is said.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    document: Document = {"machine": f"QEMU, {needs.accelerator()}, 2 of {os.cpu_count()} CPUs", "cells": {}}
    if given.resume and given.json.exists():
        document = json.loads(given.json.read_text())
    missed = False
    end = _next(given.until) if given.until else None

    def late() -> bool:
        return end is not None and datetime.datetime.now(datetime.UTC) >= end

    try:
        for name in chosen:
            seen = document["cells"].setdefault(name, {})

            def kept(column: str, found: dict[str, Any], name: str = name, seen: Document = seen) -> None:
                nonlocal missed
                seen[column] = found
                missed = missed or bool(found["missed"])
                print(f"{found['at']} {name} {column}: {page.cell(found)}{', ' if found['missed'] else ''}"
                      f"{found['missed']}", flush=True)
                if given.json:
                    given.json.write_text(json.dumps(document, indent=1) + "\n")

            left = [column for column in wanted if not given.resume or seen.get(column, {"missed": "?"})["missed"]]
            try:
                while left and not late():
                    left = _go_through(name, _with_needs(left), kept, late)
            except LabError as error:
                missed = True
                print(f"{name}: {error}", flush=True)
    except KeyboardInterrupt:
        pass
    print(page.table(document))
    return int(missed or not any(document["cells"].values()))


if __name__ == "__main__":
    sys.exit(main())
