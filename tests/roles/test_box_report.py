"""The action plugin box_report: a report of a box is on the control node whole, or what was there stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.play_environment import ROOT, environment


def fetched(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code, and output as one line. The box is this machine; its file is folder/box's.json."""
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False,
        "tasks": [{"box_report": {"src": f"{folder}/box's.json", "dest": f"{folder}/reports/box.json"}}]}]))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(playbook), "-i", "box,", "-c", "local",
            *arguments]
    done = subprocess.run(argv, cwd=ROOT, env=environment(ANSIBLE_BECOME="false"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_it_is_copied_once_and_anew_when_it_differs(tmp_path: Path) -> None:
    report, copy = tmp_path / "box's.json", tmp_path / "reports/box.json"
    for text, change in (('{"a": "é"}', 1), ('{"a": "é"}', 0), ('{"a": 2}\n', 1)):
        report.write_text(text)
        code, said = fetched(tmp_path)
        assert code == 0 and f"changed={change}" in said, said
        assert copy.read_bytes() == report.read_bytes()
    assert [each.name for each in copy.parent.iterdir()] == ["box.json"]


def test_a_dry_run_copies_nothing(tmp_path: Path) -> None:
    (tmp_path / "box's.json").write_text("{}")
    code, said = fetched(tmp_path, "--check")
    assert code == 0 and "skipped=1" in said and not (tmp_path / "reports").exists()


@pytest.mark.parametrize(("text", "reason"), [
    (None, "No such file"), ('{"a": ', "no whole JSON"), ("[" * 100_000, "no whole JSON"),
    ('"' + "a" * (16 << 20) + '"', "larger than 16 MiB")])
def test_what_is_no_whole_report_replaces_none(tmp_path: Path, text: str | None, reason: str) -> None:
    kept = tmp_path / "reports/box.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    if text is not None:
        (tmp_path / "box's.json").write_text(text)
    code, said = fetched(tmp_path)
    assert code == 2 and reason in said, said[:2000]
    assert kept.read_text() == "{}"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "box's.json").write_text("{}")
    (tmp_path / "reports").write_text("a file")
    code, said = fetched(tmp_path)
    assert code == 2 and "-e preflight_reports_dir=FOLDER" in said and str(tmp_path / "reports") in said, said
