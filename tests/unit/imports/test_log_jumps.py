"""Lines of many machines in one file are no boot of one machine; what one machine's clock does is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.refusing import refused

from tunecheck.errors import UsageError
from tunecheck.host.imported.logs.jumps import jumps
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage

_XID = "NVRM: Xid (PCI:0000:{:02x}:00): 79, pid=1, name=x, GPU has fallen off the bus."
_FORMS = {"dmesg -T": "[{when:%a %b %e %H:%M:%S %Y}] {text}\n",
          "dmesg -x": "kern  :warn  : {when:%Y-%m-%dT%H:%M:%S},283302+00:00 {text}\n",
          "short-iso": "{when:%Y-%m-%dT%H:%M:%S}+0000 kernel: {text}\n"}
_HOSTED = "{when:%Y-%m-%dT%H:%M:%S}+00:00 box kernel: {text}\n"
_START = datetime(2025, 2, 23, 16, 24, 18, tzinfo=UTC)


def _log(form: str, *days: float) -> str:
    return "".join(form.format(when=_START + timedelta(days=day), text=_XID.format(number + 1))
                   for number, day in enumerate(days))


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("days", [(0, -720, -130), (0, -720, -130, -30), (0, 400, 100, 900), (0, 200, 420, 700)])
def test_dates_that_go_forth_and_back_by_months_are_of_several_machines(tmp_path: Path, form: str,
                                                                       days: tuple[float, ...]) -> None:
    (tmp_path / "pasted.txt").write_text(_log(_FORMS[form], *days))
    with refused(Damage.CONTRADICTS, "pasted.txt", "2025-02-23"):
        load_import(str(tmp_path / "pasted.txt"))


_NOT_SET = (datetime(1970, 1, 1, tzinfo=UTC) - _START).days
_HONEST = {
    "one boot": (0, 0.1, 3), "a clock set from 1970": (_NOT_SET, _NOT_SET, 0, 0.1, 9),
    "set from 1970, then from the build's date": (_NOT_SET, -300, 0, 1),
    "a battery's clock that was years ahead": (1500, 1500, 0, 0.1), "one in local time": (0.3, 0, 0.1, 5),
    "asleep for weeks": (0, 30, 31, 65, 90), "asleep for months, once": (0, 200, 201, 203),
    "newest first": (400, 200, 199, 0, -90), "two boots, the later first": (100, 101, 0, 1)}


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("name", _HONEST)
def test_what_one_machine_writes_is_read(tmp_path: Path, name: str, form: str) -> None:
    (tmp_path / "dmesg.txt").write_text(_log(_FORMS[form], *_HONEST[name]))
    assert "kernel log" in load_import(str(tmp_path / "dmesg.txt")).origins


@pytest.mark.parametrize("mark", ["-- Boot {:032x} --\n", "-- Reboot --\n", "[    0.000000] Linux version 6.12.{}\n"])
def test_boots_of_a_journal_may_be_years_apart(tmp_path: Path, mark: str) -> None:
    """In any order: each is a boot of its own."""
    text = "".join(mark.format(number + 1) + _log(_FORMS["short-iso"], day, day + 1)
                   for number, day in enumerate((0, -720, -130, -30)))
    (tmp_path / "journal.txt").write_text(text)
    assert "kernel log" in load_import(str(tmp_path / "journal.txt")).origins


def test_files_of_a_systems_log_may_stand_in_any_order(tmp_path: Path) -> None:
    """kern.log, kern.log.1, kern.log.2: their lines name the machine. Two names are two machines."""
    text = _log(_HOSTED, 0, 6, -400, -390, -20, -10)
    (tmp_path / "kern.log").write_text(text)
    assert "kernel log" in load_import(str(tmp_path / "kern.log")).origins
    (tmp_path / "kern.log").write_text(text + _log(_HOSTED.replace("box", "gpu7"), 1))
    with refused(Damage.CONTRADICTS, "box", "gpu7"):
        load_import(str(tmp_path / "kern.log"))


@given(days=st.lists(st.floats(0, 60), max_size=30), early=st.booleans())
def test_a_machine_that_was_never_off_for_half_a_year_is_one(days: list[float], early: bool) -> None:
    assert jumps(_log(_FORMS["dmesg -T"], *([_NOT_SET] if early else []), *sorted(days))) == ""


@given(st.text(alphabet="[]0123456789-T:., ZabFSundec\n<>", max_size=300))
def test_any_text_is_looked_at(text: str) -> None:
    assert isinstance(jumps(text), str)


def test_the_sample_of_many_machines_is_refused() -> None:
    from tests.unit.imports.samples import samples

    with pytest.raises(UsageError) as error:
        load_import(str(samples("dmesg", "dmesg-samples.txt")))
    assert error.value.flaw is Damage.CONTRADICTS
