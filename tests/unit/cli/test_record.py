"""tunecheck record and snapshot: what they write is judged like the machine, and nothing half-written is left."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import time
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import zstandard
from click.testing import CliRunner, Result
from tests.unit.facts.trees import Machine, frozen, full, switch
from tests.unit.host.bundles import MANIFEST, bundle

from tunecheck.cli.main import cli
from tunecheck.errors import Flaw, Misuse, SpecError, UsageError
from tunecheck.host import Unreadable, live
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.answers import RecordedHost
from tunecheck.host.bundle import load
from tunecheck.model.absence import Absence
from tunecheck.parsers.text.damage import Damage
from tunecheck.spec.frozen import Frozen
from tunecheck.util.whole_file import free_name

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "h200-2gpu-vm.rec.json.gz"
SPEC = "/etc/tunecheck/spec.json"


def _run(*args: str) -> Result:
    result = CliRunner().invoke(cli, list(args))
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def _fails(*args: str) -> tuple[Enum | None, str]:
    """Why it is refused, and what is said of it."""
    result = CliRunner().invoke(cli, list(args))
    assert isinstance(result.exception, UsageError | SpecError), result.output
    return result.exception.flaw, str(result.exception)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """What "this machine" is, with a spec on it."""
    found = full(switch(), "iommu=pt").file("/proc/sys/kernel/hostname", "zeus7\n").gone("read", "/etc/hostname")
    found.file(SPEC, Frozen("zeus7", "lab", frozen(iommu="pt").spec, {}).to_json())
    monkeypatch.setattr(live, "LiveHost", lambda: found.host())
    monkeypatch.chdir(tmp_path)
    return found


def _findings(*args: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(cli, [*args, "--json"])
    findings: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    assert findings, result.output
    return findings


@pytest.mark.parametrize("verb", ["topo", "host", "driver", "runtime", "preflight"])
def test_a_recording_and_a_snapshot_are_judged_like_the_machine(machine: Machine, verb: str) -> None:
    now = _findings(verb)
    for extra, names in (((), False), (("--raw",), True)):
        Path("box.tar.zst").unlink(missing_ok=True)
        assert _run("record", "-o", "box.tar.zst", *extra).exit_code == 0
        assert _run("snapshot", "--from", "box.tar.zst", "--json", "box.json").exit_code == 0
        replayed = _findings(verb, "--from", "box.tar.zst")
        assert replayed == _findings(verb, "--from", "box.json")
        text = json.dumps(now)
        assert replayed == json.loads(text if names else text.replace("zeus7", "host-1"))


def test_the_line_says_what_was_kept(machine: Machine) -> None:
    line = _run("record", "-o", "box.tar.zst").output
    assert re.match(r"box\.tar\.zst: \d+\.\d KiB, \d+ files, \d+ commands\b", line) and line.count("\n") == 1
    raw = _run("record", "-o", "raw.tar.zst", "--raw").output
    assert raw.rpartition("commands")[2] != line.rpartition("commands")[2], "whether names are in it"
    assert json.loads(_member("box.tar.zst", "manifest.json"))["redacted"] is True
    manifest = json.loads(_member("raw.tar.zst", "manifest.json"))
    assert {**manifest, "created": "", "tunecheck": ""} == {**MANIFEST, "created": "", "tunecheck": "",
                                                           "root": os.geteuid() == 0, "verb": "record"}


def _member(path: str, name: str) -> bytes:
    import io
    import tarfile

    with tarfile.open(fileobj=io.BytesIO(zstandard.decompress(Path(path).read_bytes()))) as archive:
        found = archive.extractfile(name)
        assert found is not None
        return found.read()


def test_not_as_root_says_how_to_get_the_rest(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    machine.reads.pop("/proc/cmdline")
    machine.gone("read", "/proc/cmdline", reason="no permission")
    machine.runs["dmesg",] = reason_of_text("timed out after 20 s; pid 5 left in state D")
    for path in list(machine.reads):
        if path.endswith("/config"):
            machine.file(path, machine.reads[path][:64])
    line = _run("record", "-o", "box.tar.zst").output
    assert "7 no permission, " in line and "1 timed out after 20 s" in line and "sudo tunecheck record" in line
    assert json.loads(_member("box.tar.zst", "manifest.json"))["root"] is False
    assert _findings("host", "--from", "box.tar.zst") == json.loads(
        json.dumps(_findings("host")).replace("zeus7", "host-1"))


def test_the_usual_name_tells_nothing_unless_asked(machine: Machine) -> None:
    for args, pattern in (((), r"tunecheck-\d{8}-\d{6}\.tar\.zst"), (("--raw",), r"zeus7-\d{8}-\d{6}\.tar\.zst")):
        name = _run("record", *args).output.partition(":")[0]
        assert re.fullmatch(pattern, name) and Path(name).is_file()
    machine.file("/proc/sys/kernel/hostname", "../../etc/x y\n")
    assert re.match(r"tunecheck-\d", _run("record", "--raw").output)


def test_standard_output(machine: Machine) -> None:
    result = CliRunner().invoke(cli, ["record", "-o", "-"])
    Path("box.tar.zst").write_bytes(result.stdout_bytes)
    assert load("box.tar.zst").reads["/proc/sys/kernel/hostname"] == b"host-1\n"
    assert result.stderr.startswith("-: ")


@pytest.mark.parametrize("args", [("record", "-o"), ("topo", "--record"), ("preflight", "--record")], ids=" ".join)
def test_a_recording_is_never_replaced(machine: Machine, args: tuple[str, ...]) -> None:
    target = Path("box.tar.zst")
    _run("record", "-o", "box.tar.zst")
    os.utime(target, (1_700_000_000, 1_700_000_000))
    before = target.read_bytes()
    for other in ("box-2.tar.zst", "box-3.tar.zst"):
        flaw, said = _fails(*args, "box.tar.zst")
        assert flaw is Misuse.ALREADY and " 2023-11-1" in said and f" {other}," in said
        assert target.read_bytes() == before
        Path(other).write_text("there")


@pytest.mark.parametrize("args", [(), ("--raw",)], ids=str)
def test_recordings_of_one_second_are_numbered(machine: Machine, monkeypatch: pytest.MonkeyPatch,
                                               args: tuple[str, ...]) -> None:
    monkeypatch.setattr("tunecheck.cli.record.time.strftime", lambda *_: "20261127-075050")
    names = [_run("record", *args).output.partition(":")[0] for _ in range(3)]
    assert [name.partition("-")[2] for name in names] == [
        f"20261127-075050{number}.tar.zst" for number in ("", "-2", "-3")]
    assert all(Path(name).is_file() for name in names)


@pytest.mark.parametrize(("there", "free"), [
    ("box.tar.zst", "box-2.tar.zst"), ("box", "box-2"), (".box.rec", ".box-2.rec"), ("a.b/box", "a.b/box-2"),
    ("a.b/x.tar.zst", "a.b/x-2.tar.zst")])
def test_the_name_beside_an_existing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str,
                                         free: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert free_name(there) == there
    Path(there).parent.mkdir(exist_ok=True)
    Path(there).write_text("x")
    assert free_name(there) == free


def test_an_empty_file_is_replaced_in_one_step(machine: Machine) -> None:
    target = Path("box.tar.zst")
    target.touch(0o600)
    before = target.stat().st_ino
    _run("record", "-o", "box.tar.zst")
    assert target.stat().st_ino != before and stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in Path().iterdir()] == ["box.tar.zst"]


@pytest.mark.parametrize("args", [
    ("record", "-o"), ("topo", "--record"), ("snapshot", "--json"), ("pins", "--json"),
    *(("topo", option) for option in ("--json", "--html", "--junit"))], ids=" ".join)
@pytest.mark.parametrize("content", [
    b"notes about tunecheck\n", b'{"of": "another program"}\n', gzip.compress(b"a backup"),
    zstandard.compress(b"another")],
    ids=["text", "json", "gzip", "zstd"])
def test_a_file_of_somebody_else_is_not_replaced_and_our_own_is(machine: Machine, args: tuple[str, ...],
                                                                 content: bytes) -> None:
    Path("x").write_bytes(content)
    flaw, said = _fails(*args, "x")
    assert flaw is Misuse.ALREADY and said.startswith("x: ") and Path("x").read_bytes() == content
    Path("x").write_text("")        # as mktemp leaves it
    for _ in range(1 if args[-1] in ("-o", "--record") else 2):
        assert not isinstance(CliRunner().invoke(cli, [*args, "x"]).exception, UsageError)
        assert Path("x").stat().st_size


def test_a_snapshot_says_what_it_replaces(machine: Machine) -> None:
    assert "replaces" not in _run("snapshot", "--json", "box.json").stderr
    os.utime("box.json", (1767225600, 1767225600))
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(1767225600))
    assert f"box.json (replaces the file of {when})" in _run("snapshot", "--json", "box.json").stderr
    Path("empty.json").write_text("")       # as mktemp leaves it
    assert "replaces" not in _run("snapshot", "--json", "empty.json").stderr


def test_since_says_where_nothing_is_compared(machine: Machine) -> None:
    """Texts do not tell their boot, and counters begin again at each."""
    _run("record", "-o", "box.tar.zst")
    Path("lspci.txt").write_text("00:00.0 Host bridge: Intel Corporation 82G33\n06:00.0 3D controller: NVIDIA X\n")
    said = CliRunner().invoke(cli, ["preflight", "--from", "lspci.txt", "--since", "box.tar.zst"]).stderr
    assert "--since box.tar.zst: " in said
    same = CliRunner().invoke(cli, ["preflight", "--from", "box.tar.zst", "--since", "box.tar.zst"]).stderr
    assert "--since" not in same


def test_places_where_nothing_can_be_written(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    flaw, said = _fails("record", "-o", "/nonexistent/x")
    assert flaw is Misuse.NOT_THERE and " /nonexistent " in said
    assert _fails("record", "-o", ".")[0] is Misuse.ALREADY
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert _fails("record", "-o", "x")[0] is _fails("snapshot", "--json", "x")[0] is Misuse.UNWRITABLE
    assert list(Path().iterdir()) == []


def test_ctrl_c_leaves_no_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    Path("box.tar.zst").write_text("old")
    monkeypatch.setattr(RecordedHost, "run", interrupted)
    result = CliRunner().invoke(cli, ["record", "-o", "box.tar.zst"])
    assert result.exit_code != 0
    assert [path.read_text() for path in Path().iterdir()] == ["old"]


def test_a_spec_of_another_version_on_the_box_stops_no_recording(machine: Machine) -> None:
    machine.file(SPEC, '{"schema": "tunecheck/spec/9"}')
    result = CliRunner().invoke(cli, ["record", "-o", "box.tar.zst"])
    assert result.exit_code == 0 and SPEC in result.stderr
    flaw, said = _fails("host", "--from", "box.tar.zst")
    assert flaw is Flaw.OTHER_SCHEMA and "spec/9" in said


def test_a_given_spec_goes_into_the_recording(machine: Machine) -> None:
    Path("s.json").write_text(Frozen("zeus7", "other", frozen().spec, {}).to_json())
    for command in (("record", "-o", "box.tar.zst", "--spec", "s.json"),
                    ("host", "--record", "box.tar.zst", "--spec", "s.json")):
        Path("box.tar.zst").unlink(missing_ok=True)
        CliRunner().invoke(cli, command)
        assert json.loads(load("box.tar.zst").reads[SPEC])["profile"] == "other"
        judged = json.loads(CliRunner().invoke(cli, ["host", "--json", "--from", "box.tar.zst"]).stdout)["spec"]
        assert (judged["host"], judged["profile"]) == ("host-1", "other")
        Path("box.tar.zst").unlink()
    assert _fails("record", "--spec", "/nonexistent")[0] is Flaw.MISSING


def test_record_of_the_verbs_replaces_names_too(machine: Machine) -> None:
    CliRunner().invoke(cli, ["topo", "--record", "box.tar.zst"])
    assert load("box.tar.zst").reads["/proc/sys/kernel/hostname"] == b"host-1\n"


@pytest.mark.parametrize("verb", ["topo", "host", "driver", "runtime", "preflight", "snapshot", "pins"])
def test_what_is_no_recording_is_refused(machine: Machine, verb: str) -> None:
    Path("empty").touch()
    Path("newer").write_bytes(bundle(manifest={"schema": "tunecheck/record/3"}))
    Path("newer.gz").write_bytes(gzip.compress(b'{"schema": "tunecheck/record/3"}'))
    Path("newer.json").write_text('{"schema": "tunecheck/snapshot/2"}')
    Path("cut").write_bytes(bundle()[:-9])
    for name, code, names in (("empty", Damage.EMPTY, ""), ("newer", Damage.NEWER, "record/3"),
                              ("newer.gz", Damage.NEWER, "record/3"), ("cut", Damage.CUT_SHORT, ""),
                              *([] if verb in ("snapshot", "pins") else [
                                  ("newer.json", Damage.OTHER_SCHEMA, "tunecheck/snapshot/2")])):
        flaw, said = _fails(verb, "--from", name)
        assert flaw is code and said.startswith(f"{name}: ") and names in said


def test_since_takes_recordings_and_snapshots_with_and_without_names(machine: Machine) -> None:
    _run("record", "-o", "raw.tar.zst", "--raw")
    _run("record", "-o", "box.tar.zst")
    for source in ("raw.tar.zst", "box.tar.zst"):
        _run("snapshot", "--from", source, "--json", "s.json")
        for path in (source, "s.json"):
            assert _findings("preflight", "--since", path) == _findings("preflight", "--since", "raw.tar.zst")


def test_a_trial_needs_the_snapshot_of_a_box_with_a_spec(machine: Machine) -> None:
    _run("snapshot", "--json", "s.json")
    assert CliRunner().invoke(cli, ["host", "--trial", "--from", "s.json"]).exit_code in (0, 1, 3)
    machine.reads.pop(SPEC)
    machine.gone("read", SPEC)
    _run("snapshot", "--json", "s.json")
    flaw, said = _fails("host", "--trial", "--from", "s.json")
    assert flaw is Flaw.MISSING and SPEC in said


def test_facts_that_contradict_each_other_are_no_traceback(machine: Machine) -> None:
    _run("snapshot", "--json", "s.json")
    document = json.loads(Path("s.json").read_text())
    document["snapshot"]["topology"]["pairs"][0]["a"] = 7
    Path("s.json").write_text(json.dumps(document))
    flaw, said = _fails("topo", "--from", "s.json")
    assert flaw is Damage.CONTRADICTS and re.search(r"\b7 .*\b1\b.*\b2$", said)


def test_the_first_format_is_still_read() -> None:
    result = CliRunner().invoke(cli, ["topo", "--json", "--from", str(FIXTURE)])
    assert len(json.loads(result.stdout)["accelerators"]) == 2


def test_a_host_that_answers_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object, path: str) -> None:
        raise Unreadable(path, Absence.TIMED_OUT.because("timed out after 5 s"))

    for name in ("read_bytes", "list", "realpath"):
        monkeypatch.setattr(RecordedHost, name, refuse)
    result = CliRunner().invoke(cli, ["record", "-o", "box.tar.zst"])
    assert result.exit_code == 0 and re.search(r", 0 files, .*\d+ timed out after 5 s", result.output)


def test_a_kernel_log_that_could_not_be_read_is_said(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run("record", "-o", "with.tar.zst").output.count("\n") == 1
    logs = [argv for argv in machine.runs if argv[0] in ("dmesg", "journalctl")]
    machine.runs.update(dict.fromkeys(logs, reason_of_text("no permission")))
    monkeypatch.setattr("os.geteuid", lambda: 65534)
    _, line = _run("record", "-o", "without.tar.zst").stdout.splitlines()
    assert "no permission)" in line and line.endswith("sudo tunecheck record")
