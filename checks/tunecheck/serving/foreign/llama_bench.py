"""llama-bench: its JSON, and its table in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..measured import Measured
from .row import Row, nothing, weighed
from .values import number, numbers

__all__ = ["llama_bench", "measured_of_table"]

ENGINE = "the engine's own loop over random tokens: no server, no sampling and no text, so no request gets it"


def llama_bench(data: Mapping[str, Any]) -> Iterator[Row]:
    made, rate, stated_ns = number(data["n_gen"]), number(data["avg_ts"]), number(data.get("avg_ns"))
    if made:
        both = made + number(data.get("n_prompt"))
        # avg_ts is the mean of the samples' rates, which is not the rate of their mean time.
        spans = [each for each in numbers(data.get("samples_ns")) if each]
        mean = sum(both / each for each in spans) * 1e9 / len(spans) if spans else (
            both * 1e9 / stated_ns if stated_ns else 0.0)
        yield Row(both, both / mean if mean else 0, rate, "engine", f"llama-bench: {ENGINE}")


def measured_of_table(text: str) -> Measured | None:
    """Return the figures of llama-bench's Markdown; None where the text is none. ``| model | ... | test | t/s |``, one
    row a test, and as many tables, each with a head of its own, as were run or pasted into a page."""
    head: list[str] | None = None
    found, model, rows = False, "", []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            head = None
            continue
        cells = [cell.strip(" *`\t") for cell in line.strip().strip("|").split("|")]
        if {"model", "test", "t/s"} <= set(cells):
            head, found = cells, True
        elif head is not None and len(cells) == len(head) and not set("".join(cells)) <= set("-: "):
            held = dict(zip(head, cells, strict=True))
            model = model or held["model"]
            rate = re.match(r"([0-9.]{1,12})(?![0-9.])", held["t/s"])
            made = re.match(r"(?:pp(\d{1,7})\+)?tg(\d{1,7})(?!\d)", held["test"])
            if rate and made:
                tokens = float(made[1] or 0) + float(made[2])
                rows.append(Row(tokens, tokens / positive(rate[1]), float(positive(rate[1])), "engine", ENGINE))
    if not found:
        return None
    return Measured(tuple(map(weighed, rows)) or (nothing("llama-bench"),), "published", engine="llama.cpp",
                    no_counter="a published file has none", model=model[:200])


def positive(text: str) -> float:
    try:
        return max(1e-9, float(text))
    except ValueError:
        return 1e-9
