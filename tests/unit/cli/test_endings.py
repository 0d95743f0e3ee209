"""How a run ends: what was written where, for whom, and what an early Ctrl-C or a full disk leaves."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import stat
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.report.boxes import wrong

from tunecheck.cli.main import cli
from tunecheck.errors import UsageError
from tunecheck.facts.measured_pass import MeasuredPass
from tunecheck.gate import measured, passed
from tunecheck.gate.measure import key_now
from tunecheck.gate.state import state
from tunecheck.host import live
from tunecheck.report.exporters import check_outputs, write_outputs
from tunecheck.spec.frozen import Frozen, Spec
from tunecheck.util import whole_file

_ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "checks"), "LC_ALL": "C.UTF-8"}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(live, "LiveHost", lambda: full(switch(0)).host())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _fails(*args: str) -> str:
    error = CliRunner().invoke(cli, list(args)).exception
    assert isinstance(error, UsageError), error
    return str(error)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_recording_does_not_go_to_standard_output_beside_a_report(machine: Path) -> None:
    assert "tunecheck record -o -" in _fails("topo", "--record", "-")
    assert not (machine / "-").exists()
    check_outputs({"json": "-"}, "./-")


def test_every_file_is_announced_in_the_order_written(machine: Path) -> None:
    files = ("--record", "a.rec", "--html", "a.html", "--junit", "a.xml", "--json", "a.json")
    done = CliRunner().invoke(cli, ["topo", *files])
    announced = [line.rpartition(": ")[2] for line in done.stdout.splitlines()[-4:]]
    assert announced == ["a.json", "a.xml", "a.html", "a.rec"], done.output
    done = CliRunner().invoke(cli, ["topo", "--json", "-", "--record", "b.rec"])
    assert re.fullmatch("tunecheck: .*: b\\.rec\n", done.stderr)
    assert done.stdout.endswith("}\n")
    assert re.fullmatch(".*: c\\.json\n", CliRunner().invoke(cli, ["snapshot", "--json", "c.json"]).stderr)


def test_what_names_people_is_for_nobody_else(machine: Path) -> None:
    old = os.umask(0o022)
    try:
        assert CliRunner().invoke(cli, ["record", "-o", "raw"]).exit_code == 0
        assert _mode(machine / "raw") == 0o644
        (machine / "raw").unlink()
        for args in (("record", "--raw", "-o", "raw"), ("record", "-o", "redacted"), ("snapshot", "--json", "snap")):
            assert CliRunner().invoke(cli, list(args)).exit_code == 0
    finally:
        os.umask(old)
    assert [_mode(machine / name) for name in ("raw", "snap", "redacted")] == [0o600, 0o600, 0o644]


@pytest.mark.parametrize(("args", "what"), [
    (("record", "-o", "x"), "recording"), (("snapshot", "--json", "x"), "snapshot"),
    (("topo", "--record", "x"), "recording"), (("topo", "--json", "x"), "JSON report")])
def test_a_full_disk_names_what_was_not_saved(machine: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...],
                                              what: str) -> None:
    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tunecheck.util.whole_file.os.fsync", refuse)
    assert re.fullmatch(rf"x: .*\(No space left on device\); .*\b{what.split()[0]}\b.*", _fails(*args))


def test_root_is_not_told_to_become_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file.os, "access", lambda *_: False)
    monkeypatch.setattr(whole_file.os, "geteuid", lambda: 0)
    with pytest.raises(UsageError, match=rf"(?i)^{tmp_path}/x: (?!.* root\b)"):
        whole_file.check_writable(f"{tmp_path}/x")
    monkeypatch.setattr(whole_file.os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match=rf"(?i)^{tmp_path}/x: .* root$"):
        whole_file.check_writable(f"{tmp_path}/x")
    monkeypatch.setattr(whole_file.os, "statvfs", lambda _: os.statvfs_result((0,) * 8 + (os.ST_RDONLY, 0)))
    with pytest.raises(UsageError, match=rf"(?i)^{tmp_path}/x: .*\bread-only\b(?!.* root\b)"):
        whole_file.check_writable(f"{tmp_path}/x")


def test_the_usual_name_of_a_recording_is_the_one_in_messages(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file.os, "access", lambda *_: False)
    assert _fails("record").partition(": ")[0].startswith("tunecheck-20")


def test_nothing_is_written_before_everything_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("tunecheck.report.html.html", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_outputs({"json": f"{tmp_path}/r.json", "html": f"{tmp_path}/r.html"}, wrong(), (f"{tmp_path}/rec", b"x"))
    assert list(tmp_path.iterdir()) == []


def _interrupted(code: str, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *args], env=_ENV, cwd=cwd, capture_output=True, text=True,
                          timeout=60, check=False)


def test_an_interrupt_between_two_files_names_the_first(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(frozen().to_json())
    code = ("import tunecheck.util.whole_file as output\nwrite = output.replace\n"
            "def second(target, *more):\n    if target == 'r.html': raise KeyboardInterrupt\n"
            "    write(target, *more)\n"
            "output.replace = second\nfrom tunecheck.__main__ import main; main()")
    done = _interrupted(code, "topo", "--json", "r.json", "--html", "r.html", cwd=tmp_path)
    assert done.returncode == 130 and re.fullmatch("\n*tunecheck: .*: r\\.json\n", done.stderr)
    assert not (tmp_path / "r.html").exists()


def test_ctrl_c_while_the_command_is_still_loading(tmp_path: Path) -> None:
    code = ("import builtins, os, signal\nfrom tunecheck.__main__ import main\nload = builtins.__import__\n"
            "def slow(name, *more, **rest):\n"
            "    if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
            "    return load(name, *more, **rest)\nbuiltins.__import__ = slow\nmain()")
    done = _interrupted(code, "checks", cwd=tmp_path)
    assert done.returncode == 130 and re.fullmatch("tunecheck: [^\n:]*\n", done.stderr)


#: As pip writes the console script; the signal comes at the event of this number, counted from our own first line on.
_SCRIPT = """import os, signal, sys
wanted, number, seen = int(os.environ["AT"]), int(os.environ["SIGNAL"]), 0
def watch(frame, event, _):
    global seen
    if frame.f_code.co_filename.endswith("tunecheck/__main__.py") and event == "line":
        seen += 1
        if seen == wanted:
            sys.settrace(None)
            os.kill(os.getpid(), number)
    return watch
sys.settrace(watch)
from tunecheck.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [2, 15])
def test_a_signal_at_any_line_of_the_beginning(tmp_path: Path, number: int) -> None:
    """From the line on that takes the signals: what stands before it is imported by Python itself."""
    (tmp_path / "tunecheck").write_text(_SCRIPT)
    source = (Path(__file__).resolve().parents[3] / "checks/tunecheck/__main__.py").read_text()
    assert "import _signal" in source and "import signal" not in source
    ends = []
    for at in range(1, 70, 4):
        done = subprocess.run([sys.executable, "tunecheck", "checks"], cwd=tmp_path, capture_output=True, text=True,
                              env=_ENV | {"AT": str(at), "SIGNAL": str(number)}, timeout=60, check=False)
        ends.append((done.returncode, done.stderr.lstrip("\n")))
    ours = (128 + number, f"tunecheck: {'interrupted' if number == 2 else 'ended by SIGTERM'}; nothing was changed\n")
    first = ends.index(ours)
    # Its own imports, the names and functions, and the lines that take the signal.
    assert first <= 5, ends[first]
    assert set(ends[first:]) <= {ours, (0, "")} and ends[-1] == (0, ""), set(ends[first:])


def test_whoever_imports_the_command_keeps_its_signals() -> None:
    code = "from signal import *; from tunecheck.__main__ import main; print(getsignal(2) is default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], env=_ENV, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.stdout == "True\n"


def test_ctrl_c_while_a_dataclass_is_made_ends_with_the_code_too(tmp_path: Path) -> None:
    code = ("import tunecheck.cli.main as cli\n"
            "def topo(*_, **__): exec('raise KeyboardInterrupt')\ncli.check = topo\n"
            "from tunecheck.__main__ import main; main()")
    (tmp_path / "as_module.py").write_text(code)
    done = subprocess.run([sys.executable, "-m", "as_module", "topo"], env=_ENV, cwd=tmp_path, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 130 and re.fullmatch("\\s*tunecheck: [^\n:]*\n", done.stderr)


@pytest.mark.parametrize("args", ["topo", "record -o -", "snapshot", "checks"])
def test_closed_standard_output_is_said(args: str) -> None:
    done = subprocess.run(["sh", "-c", f"exec {sys.executable} -m tunecheck {args} >&-"], env=_ENV, text=True,
                          stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 2
    assert re.match("tunecheck: .*standard output", done.stderr, re.IGNORECASE)


@pytest.mark.parametrize("args", ["record -o -", "snapshot", "checks", "explain acs-redirect", "--help", "topo --help",
                                  "recipe list", "recipe lint lab-tiny", "spec schema"])
def test_a_full_device_is_said(args: str) -> None:
    done = subprocess.run(["sh", "-c", f"exec {sys.executable} -m tunecheck {args} >/dev/full"], env=_ENV, text=True,
                          stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 2
    assert "(No space left on device)" in done.stderr


def test_a_full_log_disk_does_not_close_the_gate(tmp_path: Path) -> None:
    spec = Frozen(host="box1", profile="lab", spec=Spec(), sources={})
    door = live.LiveHost()
    try:
        now, what = state(door), key_now(door, Spec())
    finally:
        door.close()
    passed.write(str(tmp_path / "pass.json"), passed.from_findings([], 0, spec.digest, now, False, "0"))
    measured.write(str(tmp_path / "measured.json"), MeasuredPass(0, (), "quick", "host", what, now.boot_id.value or "",
                                                                 now.uptime.value or 0.0, "", 5.0, "0"))
    (tmp_path / "spec.json").write_text(spec.to_json())
    done = subprocess.run(["sh", "-c", f"exec {sys.executable} -m tunecheck gate --pass {tmp_path}/pass.json "
                           f"--spec {tmp_path}/spec.json >/dev/full"], env=_ENV, text=True, stderr=subprocess.PIPE,
                          timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def _on_a_terminal(*args: str, columns: int) -> tuple[int, list[str]]:
    """Exit code and the lines that a terminal of so many columns got; standard output is none."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    try:
        done = subprocess.run([sys.executable, "-m", "tunecheck", *args], env=_ENV, stdout=subprocess.DEVNULL,
                              stderr=theirs, timeout=60, check=False)
        os.set_blocking(ours, False)
        return done.returncode, os.read(ours, 65536).decode().replace("\r\n", "\n").splitlines()
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(("args", "code", "begin"), [
    (("topo", "--record", "-"), 2, "tunecheck: --record -: "),
    (("gate", "--pass", "none/pass.json"), 1, "tunecheck gate: "),
    (("spec", "show", "-i", "none/inventory"), 2, "'none/inventory'"),
])
def test_what_is_wrong_fits_a_narrow_terminal(args: tuple[str, ...], code: int, begin: str) -> None:
    found, lines = _on_a_terminal(*args, columns=50)
    assert found == code
    assert len(lines) > 1 and max(map(len, lines)) <= 50
    assert begin in lines[0]
    assert all(line.startswith("  ") for line in lines[1:])
