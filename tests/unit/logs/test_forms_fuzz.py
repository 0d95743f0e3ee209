"""Any text as a kernel log: never a crash. Longer: python -m tests.unit.logs.test_forms_fuzz SECONDS SEED"""

from __future__ import annotations

import random
import sys
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.logs.test_forms import FORMS

from tunecheck.facts.past import _read
from tunecheck.host.imported.kinds import recognise
from tunecheck.host.imported.logs.log import add
from tunecheck.host.imported.texts import Texts
from tunecheck.parsers.kernel.kernel_log import KernelEvents, parse
from tunecheck.parsers.kernel.log_boots import boots, dated
from tunecheck.parsers.kernel.log_forms import is_log, plain

_SEEDS = sorted(FORMS.values())
_INSERTS = (
    "\n", "\x00", "\x1e", "é", "[", "]", "{", "}", '"', ";", ",", "=", "-- Boot x --\n", "Linux version 6",
    "\x1b[1m", "kernel: ", "NVRM: Xid (PCI:0000:01:00): ", "9" * 30, "\\x0a", "Panic#1 Part1\n",
    "  journalctl -b -1:\n")
_EDITS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1 << 12), st.sampled_from((1, 5, 60, 500)),
                            st.one_of(st.sampled_from(_INSERTS), st.text(max_size=5))), max_size=4)


def damaged(text: str, edits: list[tuple[int, int, int, str]]) -> str:
    for kind, place, length, insert in edits:
        begin = place % (len(text) + 1)
        part = text[begin:begin + length]
        text = text[:begin] + ("", part * 2, insert + part, part[::-1])[kind] + text[begin + length:]
    return text


def check(text: str) -> None:
    """Every new parser over one text."""
    recognise(text)
    is_log(text)
    log = plain(text)
    parts = boots(log)
    assert sum(len(part.text) for part in parts) <= len(log)
    for part in parts:
        events = parse(part.text)
        assert isinstance(events, KernelEvents) and all(xid.count > 0 for xid in events.xids)
        assert all(each.count > 0 and len(each.text) <= 300 for each in events.failures)
        dated(part.text)
    texts = Texts()
    title = "Scanning kernel log files" if "journalctl" in text else "journalctl -b -1" if "Part" in text else "x"
    add(texts, text, title)
    assert all(event.count > 0 for event in _read(text, "6f" * 16).events)


_RUNS = settings(max_examples=200, deadline=None, derandomize=True, database=None,
                 suppress_health_check=[HealthCheck.too_slow])


@_RUNS
@given(seed=st.sampled_from(_SEEDS), other=st.sampled_from(["", *_SEEDS]), edits=_EDITS)
def test_damage(seed: str, other: str, edits: list[tuple[int, int, int, str]]) -> None:
    check(damaged(seed + other, edits))


@_RUNS
@given(text=st.text())
def test_any_text(text: str) -> None:
    check(text)


def main(seconds: float, seed: int) -> None:
    """Until the time is over; prints how many texts, and the longest one took."""
    dice, until, count, longest = random.Random(seed), time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < until:
        text = "".join(dice.choices(_SEEDS, k=dice.randint(1, 2)))
        text = damaged(text, [(dice.randrange(4), dice.randrange(1 << 12), dice.choice((1, 5, 60, 500)),
                               dice.choice(_INSERTS)) for _ in range(dice.randint(1, 6))])
        begun = time.process_time()
        check(text)
        longest = max(longest, time.process_time() - begun)
        count += 1
    print(f"{count} texts, seed {seed}, the longest took {longest:.3f} s")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
