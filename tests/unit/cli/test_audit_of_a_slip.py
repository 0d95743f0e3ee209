"""A wrong input of audit is found before anything is made: no history, no key, no folder; nor is one announced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.fleet.snapshots import snapshot_of

from tunecheck.cli.main import cli
from tunecheck.errors import TunecheckError

_GOOD = "all:\n  hosts:\n    box1: {}\n"


def _inventory(text: str) -> Callable[[Path], list[str]]:
    def write(place: Path) -> list[str]:
        (place / "hosts.yml").write_text(text)
        return ["-i", str(place / "hosts.yml")]
    return write


def _folder(**files: bytes) -> Callable[[Path], list[str]]:
    def write(place: Path) -> list[str]:
        (place / "carried").mkdir()
        for name, content in files.items():
            (place / "carried" / f"{name}.json").write_bytes(content)
        return ["--from", str(place / "carried")]
    return write


def _more(first: Callable[[Path], list[str]], *more: str) -> Callable[[Path], list[str]]:
    return lambda place: [*first(place), *(each.replace("PLACE", str(place)) for each in more)]


_SLIPS: dict[str, Callable[[Path], list[str]]] = {
    "no such inventory": lambda place: ["-i", str(place / "prdo")],
    "no such folder": lambda place: ["--from", str(place / "carreid")],
    "an inventory that is none": _inventory("all: [\n"),
    "a key that stands twice": _inventory("all:\n  hosts:\n    box1: {a: 1, a: 2}\n"),
    "an inventory without a host": _inventory("all:\n  hosts: {}\n"),
    "a specification with a slip": _inventory("all:\n  hosts:\n    box1: {box_spec: {profile: h200-hgxx}}\n"),
    "a limit that names nobody": _more(_inventory(_GOOD), "--limit", "nobody"),
    "a limit in a file that is not there": _more(_inventory(_GOOD), "--limit", "@PLACE/none"),
    "a baseline that is no host": _more(_inventory(_GOOD), "--baseline", "host:box2"),
    "a baseline that is no audit": _more(_inventory(_GOOD), "--baseline", "audit:3"),
    "a baseline that is nothing": _more(_inventory(_GOOD), "--baseline", "nothing"),
    "an empty folder": _folder(),
    "a folder without a snapshot": _folder(box1=b"{}", box2=b"not JSON"),
    "an audit of files, and one that is none": _more(_folder(box1=b"SNAPSHOT"), "--baseline", "audit:3"),
    "somebody gone who never was": _more(_folder(box1=b"SNAPSHOT"), "--gone", "box9"),
    "an age that is none": _more(_inventory(_GOOD), "--max-age", "soon"),
    "a page in a folder that is not there": _more(_inventory(_GOOD), "--html", "PLACE/none/page.html"),
    "a webhook without TLS": _more(_inventory(_GOOD), "--webhook", "http://hooks.example.org/x"),
    "hosts that may be missing": _more(_inventory(_GOOD), "--max-missing", "some"),
}


@pytest.mark.parametrize("slip", _SLIPS)
@pytest.mark.parametrize("named", [True, False], ids=["--store", "default"])
def test_a_slip_leaves_nothing_behind(slip: str, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, inputs = tmp_path / "state", tmp_path / "inputs"
    for each in (home, inputs):
        each.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    monkeypatch.delenv("TUNECHECK_STORE", raising=False)
    args = _SLIPS[slip](inputs)
    for file in inputs.rglob("*.json"):
        if file.read_bytes() == b"SNAPSHOT":
            file.write_bytes(snapshot_of(file.stem))
    found = CliRunner().invoke(cli, ["audit", *args, *(["--store", str(home / "deep/fleet.db")] if named else [])])
    assert isinstance(found.exception, TunecheckError | SystemExit) and found.exit_code != 0, found.output
    assert not [*home.iterdir()], slip
    assert "history is kept" not in found.output and str(home) not in found.output, found.output


def test_a_key_that_cannot_be_used_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_bytes(b"short")
    monkeypatch.setenv("TUNECHECK_FLEET_KEY", str(tmp_path / "key"))
    (tmp_path / "carried").mkdir()
    (tmp_path / "carried/box1.json").write_bytes(snapshot_of("box1"))
    args = ["audit", "--from", str(tmp_path / "carried"), "--store", str(tmp_path / "store/fleet.db")]
    found = CliRunner().invoke(cli, args)
    assert isinstance(found.exception, TunecheckError) and not (tmp_path / "store").exists()
    monkeypatch.delenv("TUNECHECK_FLEET_KEY")
    found = CliRunner().invoke(cli, args)
    assert found.exit_code in (0, 3) and "history is kept" in found.output and (tmp_path / "store/fleet.key").exists()
