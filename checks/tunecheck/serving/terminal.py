"""The acceptance report for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.finding import Finding
from ..report.style import Style
from ..report.terminal import plain
from .measured import Measured

__all__ = ["render"]

_SHOWN = ("p50", "p90", "p99")


def render(data: dict[str, Any], seen: Measured, findings: list[Finding], style: Style, verbose: bool = False) -> str:
    """Return the acceptance report as text: head, figures, findings worst first, ending in a newline."""
    recipe = f"recipe {data['recipe']['id']} ({data['recipe']['status']})" if data["recipe"] else "no recipe"
    engine = " ".join(part for part in (seen.engine, seen.version) if part)
    place = data["source"] or f"{data['base']}, {seen.model or 'unnamed model'} on {engine}"
    lines = [f"tunecheck accept ({seen.profile}): {place}; {recipe}", "", *_figures(data["figures"]), *_loads(seen)]
    return plain(lines, findings, style, verbose)


def _figures(figures: dict[str, Any]) -> list[str]:
    lines = []
    if figures["tok_s"] is not None:
        runs = ", ".join(f"{each:.1f}" for each in figures["runs"])
        lines.append(f"{figures['tok_s']:.1f} tok/s by wall time at one stream (runs {runs})")
    if figures["decode_tok_s"] is not None:
        lines.append(f"{figures['decode_tok_s']:.1f} tok/s after the first token")
    for point in figures["ladder"]:
        lines.append(f"{point['prompt']:>8} prompt tokens: first token after {point['ttft_s']:.3f} s")
    for each in figures["streams"]:
        lines.append(f"{each['streams']:>8} streams at once: {each['tok_s']:.1f} tok/s")
    return [*lines, ""] if lines else []


def _loads(seen: Measured) -> list[str]:
    """Return the lines of each step of a load, with the percentiles that people compare."""
    lines = []
    for each in seen.load:
        unit = "streams" if each["mode"] == "closed" else "requests/s"
        lines.append(f"{each['level']:>8g} {unit} for {each['seconds']:g} s: {each['tok_s']:.1f} tok/s, "
                     f"{each['requests_s']:.2f} requests/s, {each['failed']} of {each['requests']} failed")
        lines += [f"         {name.upper():<5}{'  '.join(f'{key} {1000 * each[part][key]:.1f}' for key in _SHOWN)} ms"
                  for name, part in (("ttft", "ttft_s"), ("itl", "itl_s"), ("e2e", "e2e_s")) if each[part]]
        if each["goodput"]:
            good = each["goodput"]
            lines.append(f"         goodput {good['share']:.1%}, {good['requests_s']:.2f} requests/s")
        lines += [f"         GPU {gpu['bdf']}: {_device(gpu)}" for gpu in each["devices"] or ()]
    return [*lines, ""] if lines else []


def _device(gpu: Mapping[str, Any]) -> str:
    """Return the median clock and power of a GPU, its highest temperature, and what slowed it down."""
    clock, power, heat = gpu["sm_mhz"], gpu["power_w"], gpu["temperature_c"]
    slow = ", ".join(f"{name} {share:.0%}" for name, share in gpu["throttled"].items()) or "never slowed down"
    return f"{f'{clock[1]:.0f} MHz' if clock else 'no clock'}, {f'{power[1]:.0f} W' if power else 'no power'}, " \
           f"{f'{heat[2]:.0f} degrees C' if heat else 'no temperature'}, {slow}"
