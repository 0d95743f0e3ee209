"""A board that is lost is one entry, whichever checks cannot be told because of it: it takes every answer about itself
with it. It may not answer any more where it is listed, or not be listed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import Machine, driver
from tests.unit.fleet.lost_boards import goes_away, goes_silent
from tests.unit.fleet.reports import cause
from tests.unit.fleet.store.stores import Clock
from tests.unit.imports.samples import samples

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.imported.machine import load_import
from tunecheck.rules.index import CHECKS
from tunecheck.spec.frozen import Frozen
from tunecheck_fleet.entries import Entry, entries
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Answer
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import open_store

_POSTED = "f5:00.0"


def _live(change: Callable[[Machine], None] | None, spec: Frozen | None) -> bytes:
    machine = driver(eight_gpus(0x0011))
    if change is not None:
        change(machine)
    return packed(Stored(gather(machine.host(), spec.spec if spec else None, True), spec))


def _posted(folder: Path, way: str) -> bytes:
    """The same of the texts of a box that its owner posted."""
    folder.mkdir()
    for name in ("lspci_full", "nvidia_smi_full", "dmesg", "cmdline", "lscpu", "numa"):
        text = samples("host", f"asus-esc8000a-{name}.log").read_text(errors="replace")
        (folder / f"{name}.log").write_text(_without(name, text, way) if way else text)
    return packed(Stored(gather(load_import(str(folder)), None, True), None))


def _without(name: str, text: str, way: str) -> str:
    if name == "lspci_full":
        parts = text.split("\n\n")
        (place,) = (number for number, part in enumerate(parts) if part.startswith(f"{_POSTED} "))
        parts[place:place + 1] = [f"{_POSTED} 3D controller: NVIDIA Corporation Device 2bb5 (rev ff) (prog-if ff)\n"
                                  "\t!!! Unknown header type 7f\n\tKernel driver in use: nvidia"] * (way == "silent")
        return "\n\n".join(parts)
    if name == "nvidia_smi_full":
        text = re.sub(r"(Attached GPUs\s*: )8", r"\g<1>7", text)
        return "".join(part for part in re.split(r"(?m)^(?=GPU 0000)", text)
                       if not part.upper().startswith(f"GPU 00000000:{_POSTED.upper()}"))
    if name == "dmesg" and way == "silent":
        return f"{text.rstrip()}\n[   75.500000] NVRM: Xid (PCI:0000:f5:00): 79, GPU has fallen off the bus.\n"
    return re.sub(rf"(?m)^.*0000:{_POSTED}.*\n", "", text) if name == "dmesg" else text


def _news(folder: Path, before: bytes, after: bytes, spec: Frozen | None = None) -> list[Entry]:
    """What counts on the second of two nights and did not on the first."""
    with open_store(str(folder / "fleet.db"), clock=Clock()) as store:
        for content in (before, after):
            assert isinstance(store.clock, Clock)
            store.clock.hours(24)
            head = store.begin("inventory", [("a", "g")])
            store.put(head.id, seen(Answer("a", "g", "ok", content), spec))
            store.finish(head.id)
        return [each for each in entries(report(store, head.id).causes)
                if each.lead.counts and each.lead.state != "known"]


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("change", [goes_silent, goes_away])
def test_a_lost_board_is_one_entry(tmp_path: Path, change: Callable[[Machine], None], declared: bool) -> None:
    spec = big_spec() if declared else None
    (lost,) = _news(tmp_path, _live(None, spec), _live(change, spec), spec)
    assert lost.what == "GPU lost" and lost.more


@pytest.mark.parametrize("way", ["silent", "gone"])
def test_a_board_that_texts_lack_is_one_entry(tmp_path: Path, way: str) -> None:
    (lost,) = _news(tmp_path, _posted(tmp_path / "a", ""), _posted(tmp_path / "b", way))
    assert lost.what == "GPU lost" and lost.more


_LEADS = (cause(fact="accelerator-count", code="does-not-answer", outcome="fail", hosts=("a",)),
          cause(fact="gpu.count", authority="previous", before=8, value=7, hosts=("a",)))


@pytest.mark.parametrize("lead", _LEADS, ids=lambda each: each.fact)
@pytest.mark.parametrize("why", [{"code": "gpu-not-listed"}, {"code": "devices-incomplete"}, {"absence": "lost"}],
                         ids=str)
def test_whichever_check_cannot_be_told_because_of_it(lead: Cause, why: dict[str, str]) -> None:
    found = [lead, *(cause(**{"fact": check.id, "outcome": "unknown", "code": "unread", "severity": "medium",
                              "hosts": ("a",), "value": None, "before": None, **why}) for check in CHECKS)]
    (one,) = entries(found)
    assert one.lead is lead and len(one.more) == len(CHECKS)
    other = [replace(each, code="unread", absence="no-permission", fact="cmdline-token") for each in found[1:2]]
    assert len(entries([lead, *other])) == 2, "what has another reason is a thing of its own"
