"""Prints docs/benchmarks/waiting.md: what people wait for, before and now, out of what lab.waiting.both measured.

    PYTHONPATH=checks:. python -m lab.waiting.table > docs/benchmarks/waiting.md

The rows are docs/benchmarks/waiting-rows.json: each names lines of a measured run beside it (file, part, what), or,
where another page or an earlier session measured, says the figures and where they come from. A row whose goal is not
reached says why under "missed"; what there is to say of a goal that is reached stands under "note".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["page"]

_FOLDER = Path(__file__).parents[2] / "docs/benchmarks"
_HEAD = """# Where people wait: before and now

The table of goals, printed by `python -m lab.waiting.table` (`waiting-rows.json` names the lines of each row).
Before and now of a row were measured in turns in one run by `python -m lab.waiting.both --before TREE --json FILE`;
before is the code of e2d45bf1 (2026-11-23). Milliseconds of another machine say little: the figures with which the
goals were set stand behind them in brackets. A row that names a run was measured by it; the others say where their
figures come from.

"""
_COLUMNS = "| row | before (when the goal was set) | goal | now | reached | how measured |\n|---|---|---|---|---|---|\n"


def page() -> str:
    """The whole page."""
    rows = json.loads((_FOLDER / "waiting-rows.json").read_text())
    runs = {name: json.loads((_FOLDER / name).read_text()) for name in rows["runs"]}
    return (_HEAD + _COLUMNS + "".join(_row(row, runs) for row in rows["rows"])
            + "\n## What is missed, and what its profile says\n\n" + _said(rows, "missed")
            + "\n## Notes\n\n" + _said(rows, "note")
            + "\n## The runs\n\n" + "".join(_run(name, runs[name], note) for name, note in rows["runs"].items()))


def _said(rows: dict[str, Any], key: str) -> str:
    """What rows say under a key: "missed" why a goal is not reached, "note" how it was reached."""
    return "".join(f"- **{row['what']}**: {row[key]}\n" for row in rows["rows"] if key in row)


def _row(row: dict[str, Any], runs: dict[str, Any]) -> str:
    lines = [_line(runs, *place) for place in row.get("figures", ())]
    before = row.get("before") or "; ".join(_figure(each["theirs"], each["unit"]) for each in lines if each["theirs"])
    now = row.get("now") or "; ".join(_figure(each["ours"], each["unit"]) for each in lines)
    how = row.get("how") or ", ".join(dict.fromkeys(place[0] for place in row["figures"]))
    reported = f" ({row['reported']})" if row["reported"] else ""
    cells = (row["what"], (before + reported).strip(), row["goal"], now, _verdict(row, lines), how)
    return "| " + " | ".join(cells) + " |\n"


def _verdict(row: dict[str, Any], lines: list[dict[str, Any]]) -> str:
    """By the goals that were judged when it was measured, or as the row says of figures from elsewhere."""
    if "most" in row and "reached" not in row:
        good = [each["ours"] <= row["most"] for each in lines]
    else:
        good = [row["reached"]] if "reached" in row else [each["good"] for each in lines if each["good"] is not None]
    return "" if not good else "yes" if all(good) else "in part" if any(good) else "no"


def _line(runs: dict[str, Any], file: str, part: str, what: str) -> dict[str, Any]:
    (found,) = [each for each in runs[file]["lines"] if (each["part"], each["what"]) == (part, what)]
    line: dict[str, Any] = found
    return line


def _figure(value: float, unit: str) -> str:
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}".replace(" /s", "")


def _run(name: str, run: dict[str, Any], note: str) -> str:
    machine = run["machine"]
    gpus = f"{len(machine['gpus'])} x {machine['gpus'][0]}" if machine["gpus"] else machine["processor"]
    cores = f"{len(machine['pinned'])} of {machine['cores']} processors" if machine["pinned"] else (
        f"{machine['cores']} processors")
    return f"- [{name}]({name}): {machine['date']}, {gpus}, {cores}, Python {machine['python']}; {note}\n"


if __name__ == "__main__":
    sys.stdout.write(page())
