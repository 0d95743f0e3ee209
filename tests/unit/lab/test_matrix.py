"""The bench of the boot matrix judges what it sees; the columns themselves need a box."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lab.bench.matrix import _with_needs
from lab.matrix import columns, page, power_cuts
from lab.matrix.seen import Bench, MissedError, configuration, sentence
from tests.lab.boots import EMULATORS_OWN

GOOD = {"outcome": "returned", "seconds": 210, "missed": "", "at": "2026-11-27T08:00:00Z"}


def test_a_command_line_says_whose_configuration_it_is() -> None:
    assert configuration("BOOT_IMAGE=/vmlinuz ro lab.matrix=panic quiet") == "panic"
    assert configuration("BOOT_IMAGE=/vmlinuz ro quiet") == ""


class _Box:
    def __init__(self, line: str) -> None:
        self._line = line

    def line(self) -> str:
        return self._line


@pytest.mark.parametrize(("line", "good"), [
    ("ro quiet", True), ("ro lab.matrix=good-trial", True), ("ro lab.matrix=panic", False), ("", False),
    ("ro lab.matrix=good-trial tunecheck.trial=1a2b", False)])
def test_only_a_proven_configuration_counts_and_no_trial_does(line: str, good: bool) -> None:
    bench = Bench(_Box(line), cell=None, proven={"", "good-trial"})  # type: ignore[arg-type]
    assert bench.on_proven() is good


@pytest.mark.parametrize(("after", "changed"), [
    ("1  boot/vmlinuz\n3  boot/grub/grubenv", []),
    ("2  boot/vmlinuz\n2  boot/grub/grubenv", ["1  boot/vmlinuz", "2  boot/vmlinuz"]),
    ("1  boot/vmlinuz\n3  boot/grub/grubenv\nnext_entry=trial", ["next_entry=trial"])])
def test_of_grubs_environment_what_it_says_counts(
    monkeypatch: pytest.MonkeyPatch, after: str, changed: list[str],
) -> None:  # fmt: skip
    bench = Bench(_Box(""), cell=None, settled="1  boot/vmlinuz\n2  boot/grub/grubenv")  # type: ignore[arg-type]
    monkeypatch.setattr(bench, "all", lambda: after)
    assert bench.changed() == changed


@pytest.mark.parametrize(("output", "words", "said"), [
    ("fatal: [lab]: FAILED! =>\n  msg: |-\n    trial boot failed: the box came back on its old boot entry (boot 1),\n"
     "    because it did not. Nothing was committed.", "trial boot failed",
     "trial boot failed: the box came back on its old boot entry (boot 1), because it did not"),
    ("  msg: 'a trial boot is not possible here: /boot/grub is on LVM (/dev/x.y), which GRUB reads. Put it'",
     "a trial boot is not possible here",
     "a trial boot is not possible here: /boot/grub is on LVM (/dev/x.y), which GRUB reads"),
    ("  msg: |-\n    update-grub failed: write error: No space left on device\n  rc: 1", "No space left on device",
     "update-grub failed: write error: No space left on device"),
    ("nothing", "trial boot failed", "")])
def test_the_sentence_of_a_play_is_found(output: str, words: str, said: str) -> None:
    assert sentence(output, words) == said


@pytest.mark.parametrize(("error", "said"), [(MissedError("the box is not back"), "the box is not back"),
                                            (AssertionError("no answer"), "AssertionError: no answer")])
def test_a_column_that_fails_in_any_way_missed_its_promise(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str,
) -> None:  # fmt: skip
    def fails(bench: Bench) -> dict[str, Any]:
        raise error

    bench = Bench(_Box(""), cell=None)  # type: ignore[arg-type]
    monkeypatch.setitem(columns.COLUMNS, "panic", columns.Column("kernel panic", fails))
    found = columns.run(bench, "panic")
    assert found == {"outcome": "missed", "missed": said} and not bench.done


class _Stalls:
    """A box whose emulated kernel stands still the first so many times that it starts from a copy, or whose emulator
    crashes."""

    def __init__(self, times: int, crashes: bool = False) -> None:
        self.starts, self._times, self._crashes = 0, times, crashes
        self.machine = SimpleNamespace(folder=None, state=lambda: None if crashes and not self.line() else "running")

    def back_to(self, name: str) -> None:
        self.starts += 1

    def line(self) -> str:
        return "ro quiet" if self.starts > self._times else ""

    def console(self) -> str:
        stands = self.starts <= self._times and not self._crashes
        return "rcu: Possible timer handling issue on cpu=1 timer-softirq=4" if stands else ""


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize(("times", "starts"), [(0, 1), (1, 2), (2, 3)])
def test_a_box_whose_emulator_stands_still_starts_from_the_same_copy_again(
    monkeypatch: pytest.MonkeyPatch, times: int, starts: int, crashes: bool,
) -> None:  # fmt: skip
    dropped: list[int] = []
    box = _Stalls(times, crashes)
    bench = Bench(box, cell=None)  # type: ignore[arg-type]
    monkeypatch.setattr(power_cuts.photo, "drop", lambda folder, name: dropped.append(box.starts))
    for name in ("may_log_in", "default"):
        monkeypatch.setattr(bench, name, lambda: "")
    power_cuts.returns(bench, "power-cut-staging-0", power_cuts.Point("Install tunecheck", 6))
    assert (box.starts, dropped, bench.stood_still) == (starts, [starts], times)


class _Plays:
    """Plays of which the first ones end badly, each with what the console shows meanwhile."""

    def __init__(self, *consoles: str) -> None:
        self.left, self.begun = list(consoles), 0

    def __call__(self, bench: Bench, argv: tuple[str, ...]) -> _Plays:
        self.begun += 1
        self.shown = SimpleNamespace(text=lambda: "changed=0 ")
        return self

    def __enter__(self) -> _Plays:
        self._console = self.left.pop(0) if self.left else ""
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def end(self) -> int:
        return 2 if self._console else 0

    def new_console(self) -> str:
        return self._console

    def tail(self) -> str:
        return "trial boot failed"

    def receipt(self) -> str:
        return "committed"


@pytest.mark.parametrize(("consoles", "begun"), [
    ((), 2), ((EMULATORS_OWN,), 3), ((EMULATORS_OWN, EMULATORS_OWN), 4), (("Kernel panic - not syncing",), None),
    ((EMULATORS_OWN,) * 3, None)])
def test_a_play_whose_trial_the_emulator_ended_is_run_once_more(
    monkeypatch: pytest.MonkeyPatch, consoles: tuple[str, ...], begun: int | None,
) -> None:  # fmt: skip
    """Nothing else that ends a trial is forgiven."""
    plays = _Plays(*consoles)
    bench = Bench(_Box("ro lab.matrix=power-cut"), cell=None)  # type: ignore[arg-type]
    monkeypatch.setattr(power_cuts, "Play", plays)
    for name in ("ask_for", "all"):
        monkeypatch.setattr(bench, name, lambda *_: "")
    if begun is None:
        with pytest.raises(MissedError, match="trial boot failed"):
            power_cuts.goes_on(bench)
        return
    power_cuts.goes_on(bench)
    assert (plays.begun, bench.stood_still) == (begun, len(consoles))


@pytest.mark.parametrize("crashes", [False, True])
def test_a_box_that_stands_still_each_time_is_not_back(monkeypatch: pytest.MonkeyPatch, crashes: bool) -> None:
    bench = Bench(_Stalls(9, crashes), cell=None)  # type: ignore[arg-type]
    monkeypatch.setattr(power_cuts, "SECONDS", 0.3)
    with pytest.raises(AssertionError, match="the box is not back"):
        power_cuts.returns(bench, "power-cut-staging-0", power_cuts.Point("Install tunecheck", 6))


def test_what_looks_at_another_column_brings_it_along_in_order() -> None:
    assert _with_needs(["rollback", "panic"]) == ["good-trial", "panic", "rollback"]
    assert _with_needs(["panic"]) == ["panic"]


def test_the_table_says_what_was_seen_missed_and_not_run() -> None:
    document = {"machine": "QEMU", "cells": {
        "uefi-grub": {"panic": GOOD, "sshd-dead": {"outcome": "missed", "missed": "no", "at": GOOD["at"]}},
        "bios-lvm": {"panic": {"outcome": "refused", "said": "not possible here", "missed": "", "at": GOOD["at"]}},
        "bios-grub": {}}}
    rows = page.table(document).splitlines()
    assert rows[0] == "| | `uefi-grub` | `bios-lvm` |".replace("| |", "|  |")
    assert "| kernel panic | returned, 210 s | refused |" in rows
    assert "| sshd dead | **missed** | not run |" in rows
    assert page.missed(document) == [("uefi-grub", "sshd-dead", "no")]
    text = page.tables(document)
    assert "stood still" not in text
    document["cells"]["uefi-grub"]["panic"] = {**GOOD, "stood_still": 1}     # type: ignore[index]
    assert "stood still" in page.tables(document) and "- `uefi-grub`, kernel panic: 1" in page.tables(document)
    assert '- `bios-lvm`: "not possible here"' in text and "`bios-grub`" in text.splitlines()[-1]
