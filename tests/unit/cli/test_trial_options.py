"""What p2p and allreduce take, and where it goes: without a GPU, the trial itself is a stand-in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.checks.measurements import measured
from tests.unit.facts.trees import PCI, Machine, below_one_switch, full

from tunecheck.app.run_trial import Unlisted
from tunecheck.cli.main import cli
from tunecheck.errors import TrialError, UsageError
from tunecheck.host import Host
from tunecheck.model.measurement import Measured


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A box of two GPUs whose trials find what a healthy one would; what each was asked for is noted."""
    asked: list[dict[str, Any]] = []

    def run(host: Host, snapshot: object, measure: object, chosen: Sequence[int], *rest: object) -> Measured:
        asked.append({"chosen": list(chosen), "rest": rest})
        return measured({"notes": {"chosen": [0, 1]}}, 2)

    monkeypatch.setattr("tunecheck.app.read_host._open", lambda *_: full(below_one_switch(2)).host())
    monkeypatch.setattr("tunecheck.trials.session.run", run)
    return asked


@pytest.mark.parametrize("verb", ["p2p", "allreduce"])
def test_every_kind_of_report(stand_in: list[dict[str, Any]], tmp_path: Path, verb: str) -> None:
    files = {kind: tmp_path / f"r.{ending}" for kind, ending in {"json": "json", "junit": "xml", "prometheus": "prom",
                                                               "html": "html"}.items()}
    options = [text for kind, path in files.items() for text in (f"--{kind}", str(path))]
    done = CliRunner().invoke(cli, [verb, "--gpus", "0,1", *options])
    assert done.exit_code in (0, 1, 3), done.exception
    assert stand_in[0]["chosen"] == [0, 1]
    assert done.output.endswith(f"Prometheus: {files['prometheus']}\nHTML: {files['html']}\n")
    assert 'way="one"} 56500000000\n' in files["prometheus"].read_text()
    assert f'verb="{verb}"' in files["prometheus"].read_text()
    assert "56.5" in files["html"].read_text()


def test_metrics_alone_go_to_standard_output(stand_in: list[dict[str, Any]]) -> None:
    done = CliRunner().invoke(cli, ["p2p", "--prometheus", "-"])
    assert done.output.startswith("# HELP tunecheck_run_info ") and "tunecheck_trial_hung 0\n" in done.output


def test_a_place_that_cannot_be_written_is_refused_before_the_trial(stand_in: list[dict[str, Any]],
                                                                    tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["p2p", "--prometheus", str(tmp_path / "r.txt")])
    assert done.exit_code != 0 and f"{tmp_path}/r.txt" in str(done.exception) and stand_in == []


@pytest.mark.parametrize(("argv", "says"), [
    (["p2p", "--evidence", "/nope"], "--evidence /nope: "),
    (["allreduce", "--evidence", "/etc/passwd"], "--evidence /etc/passwd: "),
    (["allreduce", "--nccl", "/etc/passwd"], r"--nccl /etc/passwd: .*libnccl\.so\.2"),
    (["allreduce", "--nccl", "/nope/libnccl.so.2"], r"/nope/libnccl\.so\.2: .*No such file"),
    (["allreduce", "--soak", "long"], r"--soak long: .*\b90s\b"),
])
def test_options_are_refused_where_there_is_no_gpu_either(monkeypatch: pytest.MonkeyPatch, argv: list[str],
                                                          says: str) -> None:
    monkeypatch.setattr("tunecheck.app.read_host._open", lambda *_: Machine().host())
    error = CliRunner().invoke(cli, argv).exception
    assert isinstance(error, UsageError) and re.search(says, str(error)), error


def test_a_library_by_name_is_the_loaders_to_find(stand_in: list[dict[str, Any]]) -> None:
    assert CliRunner().invoke(cli, ["allreduce", "--nccl", "libnccl.so.2"]).exit_code in (0, 1, 3)
    assert len(stand_in) == 1


@pytest.mark.parametrize("verb", ["p2p", "allreduce"])
def test_without_a_gpu_nothing_was_measured(monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    """Gone GPUs must not be green; what cannot be listed is not gone."""
    monkeypatch.setattr("tunecheck.app.read_host._open", lambda *_: Machine().host())
    error = CliRunner().invoke(cli, [verb]).exception
    assert isinstance(error, TrialError) and error.exit_code == 3
    assert error.why is Unlisted.NO_GPU
    closed = Machine().gone("list", PCI, reason="no permission")
    del closed.lists[PCI]
    monkeypatch.setattr("tunecheck.app.read_host._open", lambda *_: closed.host())
    error = CliRunner().invoke(cli, [verb]).exception
    assert isinstance(error, TrialError) and error.why is Unlisted.NO_LIST and PCI in str(error)


@pytest.mark.parametrize("argv", [["p2p"], ["allreduce"], ["preflight", "--quick"], ["preflight", "--full"]])
def test_a_folder_that_nobody_named_is_not_the_first_that_is_said(monkeypatch: pytest.MonkeyPatch, argv: list[str]
                                                                   ) -> None:
    """An ordinary user in a folder of somebody else, on a box without a GPU."""
    monkeypatch.setattr("tunecheck.app.run_trial.os.access", lambda *_: False)
    monkeypatch.setattr("tunecheck.app.read_host._open", lambda *_: Machine().host())
    done = CliRunner().invoke(cli, argv)
    assert not isinstance(done.exception, UsageError) and "bundle" not in f"{done.exception} {done.output}"
    named = CliRunner().invoke(cli, [*argv, "--evidence", "."])
    assert isinstance(named.exception, UsageError) and str(named.exception).startswith("--evidence .: ")


@pytest.mark.parametrize("verb", ["p2p", "allreduce"])
def test_a_folder_that_nobody_named_is_refused_before_a_gpu_is_touched(
        monkeypatch: pytest.MonkeyPatch, stand_in: list[dict[str, Any]], verb: str) -> None:
    monkeypatch.setattr("tunecheck.app.run_trial.os.access", lambda *_: False)
    CliRunner().invoke(cli, [verb])
    with pytest.raises(UsageError, match=f"{re.escape(str(Path.cwd()))}.* --evidence DIR"):
        stand_in[0]["rest"][-1]()


@pytest.mark.parametrize(("argv", "says"), [
    (["--full", "--quick"], "--full .*--quick "),
    (["--if-needed"], "--if-needed.*--full .*--quick "),
    (["--soak", "10s"], "--soak.*--full "),
    (["--quick", "--soak", "10s"], "--soak.*--full "),
    (["--evidence", "/tmp"], "--evidence.*--full, --quick .*--pass "),
    (["--pass", ""], "--pass "),
    (["--full", "--soak", "soon"], r"--soak soon: .*\b90s\b"),
    (["--quick", "--from", "x"], "--quick.*--from"),
])
def test_options_of_preflight_that_do_nothing_are_refused(argv: list[str], says: str) -> None:
    done = CliRunner().invoke(cli, ["preflight", *argv])
    assert done.exit_code != 0 and re.search(says, done.output + str(done.exception)), done.exception
