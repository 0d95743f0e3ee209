"""What a refusal of --from names is accepted with the very input: every command is run as it stands there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.unit.cli.carried import ROOT, Fleet, one_line

_RECORDING = ROOT / "tests/fixtures/h200-2gpu-vm.tar.zst"
_TABLE = ("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPIX\t0-15\t0\t\tN/A\n"
          "GPU1\tPIX\t X \t0-15\t0\t\tN/A\n")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


@pytest.fixture(params=["gpu1.tar.zst", "gpu1.txt", "gpu1"])
def source(request: pytest.FixtureRequest, fleet: Fleet) -> Path:
    """A recording, a text, and a folder of outputs, each of one box."""
    path = fleet.files / request.param
    if path.suffix == ".zst":
        shutil.copy(_RECORDING, path)
    elif path.suffix:
        path.write_text(_TABLE)
    else:
        path.mkdir()
        (path / "topo.txt").write_text(_TABLE)
    return path


def _run(fleet: Fleet, command: str, source: Path) -> tuple[int, str, str]:
    """The command as who has this input types it."""
    words = [each.replace("PATH", str(source)).replace("FOLDER", "many").replace("HOST", "gpu1")
             for each in shlex.split(command)]
    if words[:2] == ["mkdir", "-p"]:
        (fleet.folder / words[2]).mkdir(parents=True, exist_ok=True)
        return 0, "", ""
    assert words[0] == "tunecheck"
    return fleet.run(*words[1:])


@pytest.mark.parametrize("verb", ["record", "p2p", "allreduce"])
def test_a_verb_without_from_names_what_takes_the_input(verb: str, fleet: Fleet, source: Path) -> None:
    _, said = fleet.refused(verb, "--from", str(source))
    commands = re.findall(r"`(.*?)`", said)[1:]         # the first is what was typed
    assert [each.split()[1] for each in commands] == ["preflight", "-p", "audit"]
    for command in commands:
        for each in command.split(" && "):
            code, out, err = _run(fleet, each, source)
            assert code in (0, 1, 3), (each, out, err)
    assert json.loads(fleet.run("fleet", "--json")[1])["hosts"][0]["status"] in ("ok", "partial")


def test_an_audit_says_how_what_lies_in_its_folder_becomes_a_snapshot(fleet: Fleet, source: Path) -> None:
    """And once it is made, nothing more is said of what it was made of."""
    _, said = fleet.refused("audit", "--from", "boxes")
    named = [each for each in re.findall(r"tunecheck snapshot .*?\.json", said) if "--from" in each]
    assert len(named) == 1
    code, _, err = _run(fleet, named[0], source)
    assert code == 0, err
    code, document = fleet.seen()
    assert code in (0, 3) and [row["host"] for row in document["hosts"]] == ["gpu1"]
    assert not [note for note in document["notes"] if source.name in note]
    (fleet.files / "gpu2.txt").write_text(_TABLE)
    assert [note for note in fleet.seen()[1]["notes"] if "gpu2.txt" in note and source.name not in note]


def test_what_only_the_box_can_tell_is_told_by_a_snapshot_that_is_made_there(fleet: Fleet) -> None:
    (fleet.files / "gpu1").mkdir()
    (fleet.files / "gpu1/topo.txt").write_text(_TABLE)
    assert fleet.run("snapshot", "--from", "boxes/gpu1", "--json", "boxes/gpu1.json")[0] == 0
    _, out, _ = fleet.audit()
    assert re.search(r"\d+ facts unknown in all: .*; \d+ of them: .*; the others: -v", one_line(out)), out
    (row,) = fleet.seen()[1]["hosts"]
    why = [str(reason) for reason in row["unknown"].values()]
    assert [each for each in why if each.endswith("on the box run: sudo tunecheck snapshot --json HOST.json")]
    assert not [each for each in why if "tunecheck record" in each]
