"""What several checks cannot judge because one file or text is missing is one entry, which names them all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import driver
from tests.unit.fleet.reports import cause

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.imported.machine import load_import
from tunecheck_fleet.entries import Entry, entries
from tunecheck_fleet.events.folds import MISSING
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Answer, Seen
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import Store

_TEXTS = {"cmdline.txt": "BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/sda1 ro iommu=pt\n",
          "uname.txt": "Linux box 6.8.0-60-generic #63-Ubuntu SMP x86_64 GNU/Linux\n",
          "swaps.txt": "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 8388604 0 -2\n"}


def _texts(folder: Path, without: str) -> Seen:
    for name, text in _TEXTS.items():
        if name != without:
            (folder / name).write_text(text)
    return seen(Answer("h0", "g", "ok", packed(Stored(gather(load_import(str(folder)), None, True), None), created=0)))


def _machine(path: str, reason: str) -> Seen:
    machine, spec = driver(eight_gpus(0x0011)).gone("read", path, reason=reason), big_spec()
    machine.reads.pop(path, None)
    return seen(Answer("h0", "g", "ok", packed(Stored(gather(machine.host(), spec.spec, True), spec))))


def _told(tmp_path: Path, *answers: Seen) -> list[Entry]:
    with Store(str(tmp_path / "fleet.db")) as store:
        for answer in answers:
            head = store.begin("all", [("h0", "g")])
            store.put(head.id, replace(answer, key="key"))
            store.finish(head.id)
        return [each for each in entries(report(store).causes) if each.lead.counts and each.lead.outcome == "unknown"]


def _told_once(found: list[Entry]) -> None:
    """No two entries wait for the same."""
    missing = Counter((each.lead.unjudged, each.lead.absence, each.lead.source) for each in found if each.lead.source)
    assert max(missing.values()) == 1, missing
    fixes = Counter(each.lead.remedy for each in found if each.lead.absence == "not-in-import" and each.lead.remedy)
    assert max(fixes.values(), default=1) == 1, fixes


@pytest.mark.parametrize("without", ["", *_TEXTS])
def test_a_text_that_is_missing_is_one_entry(tmp_path: Path, without: str) -> None:
    (tmp_path / "box").mkdir()
    _told_once(_told(tmp_path, _texts(tmp_path / "box", without)))


@pytest.mark.parametrize("night", [1, 2])
@pytest.mark.parametrize("reason", ["Input/output error", "no permission"])
def test_a_file_that_cannot_be_read_is_one_entry(tmp_path: Path, reason: str, night: int) -> None:
    well = [_machine("/nothing", reason)] * (night - 1)
    found = _told(tmp_path, *well, _machine("/proc/cmdline", reason))
    _told_once(found)
    (entry,) = (each for each in found if each.lead.source == "/proc/cmdline")
    names = {entry.lead.fact, *(each.fact for each in entry.more)}
    assert entry.what == MISSING and names >= {"cmdline-token", "cmdline-unknown", "iommu-trap"}


def test_what_fails_for_another_reason_or_failed_before_is_no_part_of_it() -> None:
    one = cause(fact="a", outcome="unknown", code="unread", absence="failed", source="/x", severity="low", value=None,
                before=None, hosts=("h",), id="a")
    others = [replace(one, fact="b", id="b", absence="timed-out"), replace(one, fact="c", id="c", source="/y"),
              replace(one, fact="d", id="d", was="fail", severity="high"), replace(one, fact="e", id="e", source=""),
              replace(one, fact="f", id="f", source=""), replace(one, fact="g", id="g", severity="medium")]
    assert not [each.more for each in entries([one, *others]) if each.more]
    (found,) = entries([one, replace(one, fact="b", id="b")])
    assert (found.lead.fact, [each.fact for each in found.more], found.what) == ("a", ["b"], MISSING)
