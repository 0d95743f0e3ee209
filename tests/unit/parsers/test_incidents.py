"""The journal of incidents, as the recovery writes it, and whatever else may stand in it."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunecheck.parsers.text import incidents
from tunecheck.parsers.text.incidents import MOST, Incident, Journal, read
from tunecheck.recovery import journal as written
from tunecheck.recovery import model
from tunecheck.recovery.model import Record, Step, Why
from tunecheck.watch.model import Culprit, Kind, Witness

NOW = 1_795_151_040.0
BOOTED = NOW - 100_000
CULPRIT = Culprit(77, "VLLM::Worker_TP1", "T", 1, "0000:04:00.0", "GPU-1", "AllReduce", (Witness.PROCESS,),
                  (Kind.STOPPED, Kind.SILENT))


def record(step: Step, at: float, incident: str = "a", why: Why = Why.NONE, boot: str = "boot") -> Record:
    return Record(incident, at, boot, step, why, "x.service", "run", ("tokens-frozen", "xid"), "for people")


def text(*records: Record) -> str:
    return "".join(f"{json.dumps(written._document(each), sort_keys=True)}\n" for each in records)


def line(**changes: Any) -> str:
    return json.dumps({**json.loads(text(record(Step.NOTICED, NOW - 60))), **changes}, sort_keys=True)


def found(*texts: str) -> Journal:
    return read(texts, NOW, BOOTED, "boot")


def test_the_words_are_those_of_the_recovery() -> None:
    assert tuple(step.value for step in Step) == incidents.STEPS
    assert tuple(step.value for step in model.DONE) == incidents.DONE
    assert tuple(why.value for why in Why) == incidents._WHYS and incidents._SCHEMA == written.SCHEMA


def test_what_the_recovery_wrote(tmp_path: Path) -> None:
    """Through its own journal, on a disk."""
    path = tmp_path / "journal.jsonl"
    kept = written.Journal((str(path),))
    first = replace(record(Step.NOTICED, NOW - 60), culprit=CULPRIT, xids=(79, 119))
    for each in (first, record(Step.STOPPED, NOW - 50), record(Step.SERVING, NOW - 5)):
        kept.append(each)
    assert kept.read()[0] == first
    assert found(path.read_text()) == Journal((Incident(
        "a", NOW - 60, NOW - 5, "serving", "", "x.service", "run", True, ("tokens-frozen", "xid"), (79, 119), 1,
        "0000:04:00.0", ("stopped", "silent")),))


def test_the_steps_say_the_order_and_a_line_may_come_twice() -> None:
    """The clock was set back after the stop, and the disk was full meanwhile: the other file has the end."""
    told = found(text(record(Step.NOTICED, NOW - 60), record(Step.STOPPED, NOW - 90_000)),
                 text(record(Step.STARTING, NOW - 80_000), record(Step.SERVING, NOW - 70_000),
                      record(Step.STARTING, NOW - 80_000)))
    (one,) = told.found
    assert (one.step, one.begun, one.ended) == ("serving", NOW - 60, NOW - 60), "it does not end before it begins"


@pytest.mark.parametrize(("step", "why", "end"), [
    ("healed", "", ("interrupted", "newer-release")), ("stopping", "by-magic", ("interrupted", "newer-release")),
    ("stays-down", "by-magic", ("stays-down", "newer-release"))])
def test_a_newer_release(step: str, why: str, end: tuple[str, str]) -> None:
    """As recovery/journal.py takes it: nobody knows what comes after it."""
    told = found(line(), line(step=step, why=why))
    assert [(each.step, each.why) for each in told.found] == [end] and told.damaged == 0
    parsed = written._parsed(line(step=step, why=why).encode())
    assert parsed is not None and (parsed.step, parsed.why) == end


@pytest.mark.parametrize("other", [
    "null", "[]", "7", "{}", "[" * 5000, '{"schema": "tunecheck/incident/1"}', line(schema="tunecheck/incident/2"),
    line(incident=""), line(incident=7), line(at="now"), line(at=True), line(at=-1), line(at=None), line(codes="xid"),
    line(step=None), "\0" * 400, "x" * 100_000, line(text="x" * 70_000), line(at=1e300),
    '{"at": NaN, "schema": "tunecheck/incident/1"}', line()[:-1], line()[5:], "\x1b[2J"])
def test_a_damaged_line_is_counted_and_spoils_no_other(other: str) -> None:
    good = text(record(Step.NOTICED, NOW - 60), record(Step.SERVING, NOW - 5))
    for place in (f"{other}\n{good}", f"{good}{other}", good.replace("\n", f"\n{other}\n", 1)):
        told = found(place)
        assert [each.step for each in told.found] == ["serving"] and told.damaged == 1


@pytest.mark.parametrize("empty", ["", "\n", " \r\n\n"])
def test_a_file_without_a_line_has_lost_one(empty: str) -> None:
    """The first line makes it. Without any file there was no incident."""
    assert (found(empty).damaged, found(empty).damaged_at) == (1, None) and found() == Journal()
    told = found(text(record(Step.SERVING, NOW - 5)), empty)
    assert (told.damaged, told.damaged_in) == (1, (1,)) and found(empty, empty).damaged_in == (0, 1)


def test_when_a_damaged_line_was_written() -> None:
    """The time in it, where it is left; else not after the line behind it. The last one may be of now."""
    old, torn = text(record(Step.SERVING, NOW - 9e6, boot="b")), '{"at": 1790000000.123, "boot_id": "12'
    assert found(f"{torn}\n").damaged_at == 1_790_000_000.123
    assert found(f"???\n{old}").damaged_at == NOW - 9e6
    assert found(f"{torn}\n???\n{old}").damaged_at == 1_790_000_000.123, "the newest of them"
    assert found(f"{old}???\n").damaged_at is None and found(f"{torn}\n???").damaged_at is None


@pytest.mark.parametrize(("at", "boot", "begun"), [
    (NOW + 9e6, "boot", NOW),                   # its clock was ahead, and was put right in this boot
    (5.0, "boot", BOOTED), (5.0, "b", None),     # there was no clock yet
    (NOW + 9e6, "b", None), (NOW - 9e6, "b", NOW - 9e6), (NOW - 9e6, "boot", BOOTED)])
def test_a_clock_that_was_wrong(at: float, boot: str, begun: float | None) -> None:
    told = found(text(record(Step.NOTICED, at, boot=boot)))
    assert [(each.begun, each.this_boot) for each in told.found] == [(begun, boot == "boot")]
    later = found(text(record(Step.NOTICED, at, boot=boot), record(Step.SERVING, NOW - 1, "b")))
    one = next(each for each in later.found if each.id == "a")
    assert one.begun == (NOW - 1 if begun is None else begun), "it was not after the line behind it"


def test_without_a_clock_and_without_an_id_of_the_boot() -> None:
    told = read((text(record(Step.NOTICED, NOW - 60, boot="other")),), None, None, "")
    assert [(each.begun, each.this_boot) for each in told.found] == [(NOW - 60, True)], "it may be of this boot"


def test_only_the_newest_are_kept_and_nothing_of_them_is_endless() -> None:
    many = text(*(record(Step.SERVING, NOW - 10_000 + number, f"i{number}") for number in range(3 * MOST)))
    told = found(many)
    assert told.cut and [each.id for each in told.found] == [f"i{number}" for number in range(2 * MOST, 3 * MOST)]
    one = found(line(incident="i" * 5000, unit="u" * 5000, codes=["c\x1b[31m" * 50] * 50 + [7],
                     xids=[True, -1, 1e9, 79], culprit={"rank": -1, "gpu": "\x1b[2J" * 99, "kinds": [7, "x" * 999]})
                ).found[0]
    assert len(one.id) == 60 and len(one.unit) == 200 and len(one.codes) <= 20 and one.xids == (79,)
    words = (*one.codes, one.gpu, *one.kinds)
    assert one.rank is None and all(word.isprintable() and len(word) <= 60 for word in words)


@given(st.lists(st.one_of(st.text(max_size=200), st.sampled_from([line(), line(step="serving"), line(boot_id="b")]),
                          st.builds(lambda name, value: line(**{name: value}), st.sampled_from([
                              "at", "step", "why", "culprit", "codes", "xids", "incident", "unit"]),
                              st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=9)
                                           | st.integers(), lambda inner: st.lists(inner, max_size=4)
                                           | st.dictionaries(st.sampled_from(["rank", "gpu", "kinds", "x"]), inner,
                                                             max_size=4), max_leaves=6))), max_size=12))
def test_whatever_stands_in_it_is_read(lines: list[str]) -> None:
    content = "\n".join(lines)
    for told in (found(content), read((content, content), None, None, "")):
        assert len(told.found) <= MOST and told.damaged <= 2 * (content.count("\n") + 2)
        assert all(each.step in incidents.STEPS and each.why in incidents._WHYS for each in told.found)


def test_it_costs_little() -> None:
    rng, begun = random.Random(22), time.process_time()
    whole = text(*(record(Step.NOTICED, NOW - number, f"i{number}") for number in range(400)))
    for _ in range(200):
        at = rng.randrange(len(whole))
        odd = rng.choice(["", "\0", "{", '"', "\n", "\x1b[2J", "[" * 3000])
        found(whole[:at] + odd + whole[at + rng.randrange(300):])
    assert time.process_time() - begun < 30
