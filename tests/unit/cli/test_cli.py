"""The command as a process: verbs, exit codes, pipes, Ctrl-C, and what start-up costs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.facts.trees import Machine, answering, bound, direct, flat, frozen, full, switch

from tunecheck.errors import Flaw, SpecError
from tunecheck.facts.snapshot import gather
from tunecheck.host.recording import RecordingHost
from tunecheck.rules.check import Heading
from tunecheck.rules.index import CHECKS
from tunecheck.spec.frozen import Acs, Frozen, load_frozen

_CHECKS = Path(__file__).resolve().parents[3] / "checks"
_ENV = {**os.environ, "PYTHONPATH": str(_CHECKS), "LC_ALL": "C.UTF-8"}


def _run(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    options: dict[str, object] = {"capture_output": True, "text": True, "timeout": 60, "env": _ENV, "check": False}
    return subprocess.run([sys.executable, "-m", "tunecheck", *args], **{**options, **more})  # type: ignore[call-overload, no-any-return]


def _record(path: Path, machine: Machine, spec: Frozen | None) -> str:
    """What `--record` would have written on that machine, its spec included."""
    if spec is not None:
        machine.file("/etc/tunecheck/spec.json", spec.to_json())
    else:
        machine.gone("read", "/etc/tunecheck/spec.json")
    recorder = RecordingHost(machine.host())
    if spec is not None:
        recorder.read_bytes("/etc/tunecheck/spec.json")
    gather(recorder, spec.spec if spec else None, True)
    path.write_bytes(recorder.packed())
    return str(path)


@pytest.fixture
def failing(tmp_path: Path) -> str:
    return _record(tmp_path / "fail.gz", full(switch()), frozen())


@pytest.mark.parametrize(("machine", "code"), [
    (answering(switch(0)), 0), (answering(switch()), 1), (answering(direct(), 30), 1), (bound(flat()), 3),
    (switch(0), 1)])
def test_exit_codes(tmp_path: Path, machine: Machine, code: int) -> None:
    done = _run("topo", "--from", _record(tmp_path / "rec", full(machine), frozen()))
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("verb", ["driver", "runtime"])
def test_where_nothing_was_judged_nothing_is_determined(tmp_path: Path, verb: str) -> None:
    """A box whose GPUs are gone; its recording, and what --json says of it."""
    done = _run(verb, "--from", _record(tmp_path / "rec", full(Machine()), None), "--json",
                str(tmp_path / "out.json"))
    assert (done.returncode, done.stderr) == (3, "")
    assert "UNKNOWN: " in done.stdout and "nothing was judged (-v says why)" in done.stdout
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["exit_code"], written["outcome"]) == (3, "unknown")
    assert {each["outcome"] for each in written["findings"]} == {"skip"}


def test_topo_json_to_standard_output_is_only_json(failing: str) -> None:
    for args in (("topo", "--json", "--from", failing), ("topo", "--from", failing, "--json")):
        done = _run(*args)
        assert done.returncode == 1
        assert json.loads(done.stdout)["pairs"][0]["relation"] == "PIX"


def test_preflight_shows_the_report_and_writes_the_file(failing: str, tmp_path: Path) -> None:
    done = _run("preflight", "--from", failing, "--json", str(tmp_path / "r.json"))
    data = json.loads((tmp_path / "r.json").read_text())
    assert (done.returncode, data["exit_code"], data["outcome"]) == (1, 1, "fail")
    assert re.search(r"FAIL    acs-redirect: .*0000:02:00\.0 .*0x001d", done.stdout)
    assert done.stdout.endswith(f": {tmp_path}/r.json\n")


def test_a_replay_gives_the_findings_of_the_live_run(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(frozen(acs=Acs()).to_json())
    common = ("preflight", "--spec", str(tmp_path / "spec.json"), "--json")
    live = _run(*common, str(tmp_path / "live.json"), "--record", str(tmp_path / "rec"))
    replayed = _run(*common, str(tmp_path / "again.json"), "--from", str(tmp_path / "rec"))
    assert live.stderr == replayed.stderr == ""
    assert live.returncode == replayed.returncode
    first, again = (json.loads((tmp_path / name).read_text()) for name in ("live.json", "again.json"))
    assert first.pop("host") != again.pop("host") and first.pop("boot_id") != again.pop("boot_id"), "names are replaced"
    assert first == again


def test_only_a_trial_needs_a_spec(tmp_path: Path) -> None:
    bare = _record(tmp_path / "rec", full(switch(0)), None)
    assert _run("topo", "--from", bare).returncode == 0
    assert "SKIP    spec-present: " in _run("host", "-v", "--from", bare).stdout
    refused = _run("host", "--trial", "--from", bare)
    assert refused.returncode == 2
    assert refused.stderr.startswith("tunecheck: /etc/tunecheck/spec.json: ") and "--spec " in refused.stderr


@pytest.mark.parametrize(("args", "sentence"), [
    (("topo", "--from", "/nonexistent"), "/nonexistent: .*No such file"),
    (("topo", "--json", "/nonexistent/x.json"), r"/nonexistent/x\.json: .*/nonexistent "),
    (("topo", "--json", "/proc/self/mem/x.json"), "/proc/self/mem/x.json: "),
    (("topo", "--json", "x" * 5000), "File name too long"),
    (("topo", "--from", "x", "--record", "y"), "--(from|record) .*--(from|record) "),
    (("host", "--spec", "/nonexistent"), "/nonexistent: does not exist"),
    (("explain", "acs-redirct"), r" acs-redirect\b"),
    (("explain", "acs-r"), r" acs-redirect\?"),
    (("explain", "redirect"), r" acs-redirect\?"),
    (("explain", "gpu_ecc"), r" gpu-ecc\?"),
    (("explain", "zz"), "zz.*`tunecheck checks`"),
    (("topo", "--frob"), "--frob"),
    (("frob",), "'frob'.*`tunecheck --help`"),
])
def test_bad_usage_is_a_sentence_and_two(args: tuple[str, ...], sentence: str) -> None:
    done = _run(*args)
    assert done.returncode == 2
    assert re.search(sentence, done.stderr), done.stderr
    assert "Traceback" not in done.stderr


def test_an_altered_spec_is_refused(tmp_path: Path) -> None:
    machine = full(switch())
    path = _record(tmp_path / "rec", machine, frozen())
    (tmp_path / "spec.json").write_text(frozen().to_json().replace('"PIX"', '"SYS"'))
    done = _run("topo", "--from", path, "--spec", str(tmp_path / "spec.json"))
    assert done.returncode == 2 and f"{tmp_path}/spec.json: " in done.stderr
    with pytest.raises(SpecError) as refused:
        load_frozen((tmp_path / "spec.json").read_bytes())
    assert refused.value.flaw is Flaw.ALTERED


@pytest.mark.parametrize(("content", "sentence"), [
    ("{}", '"schema": "tunecheck/spec/1"'), ("null", " null"), ("7", ""),
    ('{"schema": "tunecheck/spec/9"}', "'tunecheck/spec/9'")])
def test_what_is_no_spec_is_told_in_plain_words(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "spec.json").write_text(content)
    done = _run("topo", "--spec", str(tmp_path / "spec.json"))
    assert done.returncode == 2
    assert f"{tmp_path}/spec.json: " in done.stderr and sentence in done.stderr and "None" not in done.stderr


def test_an_empty_snapshot_is_told_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"schema": "tunecheck/snapshot/1"}')
    done = _run("topo", "--from", str(tmp_path / "s.json"))
    assert done.returncode == 2
    assert re.match(rf"tunecheck: {tmp_path}/s\.json: .*\bSnapshot\b", done.stderr)


def test_a_spec_with_impossible_values_is_refused_though_its_digest_fits(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(frozen(iommu="frob", modules={"x": []}).to_json())
    done = _run("topo", "--spec", str(tmp_path / "spec.json"))
    assert done.returncode == 2
    assert re.findall(rf"{tmp_path}/spec\.json: (\w+) ", done.stderr) == ["iommu", "modules"]


def test_an_output_that_cannot_be_written_says_so(failing: str) -> None:
    with open("/dev/full", "w") as full_device:
        done = _run("topo", "--from", failing, capture_output=False, stdout=full_device, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "No space left" in done.stderr


def test_a_reader_that_goes_away_changes_no_verdict(failing: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = _run("preflight", "--from", failing, capture_output=False, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_ascii_only_terminals(failing: str) -> None:
    done = _run("topo", "--from", failing, env={**_ENV, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
                                                "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert done.stdout.isascii()
    assert "`- " in done.stdout


def test_ctrl_c_while_a_class_is_made_is_no_defect(tmp_path: Path) -> None:
    """Python makes a RuntimeError of it."""
    code = ("import tunecheck.cli.main as main\n"
            "class Field:\n    def __set_name__(self, *_): raise KeyboardInterrupt\n"
            "def begin(**_): type('Made', (), {'field': Field()})\n"
            "main.cli.main = begin\nmain.main()\n")
    done = subprocess.run([sys.executable, "-c", code], env=_ENV, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 130 and "internal error" not in done.stderr, done.stderr


def test_ctrl_c_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    """A command that hangs during `tunecheck host`, interrupted as a terminal would: the whole group at once."""
    (tmp_path / "bin").mkdir()
    dmesg = tmp_path / "bin" / "dmesg"
    dmesg.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    dmesg.chmod(0o755)
    (tmp_path / "spec.json").write_text(frozen().to_json())
    code = ("import sys, tunecheck.host.command as command; command._ENVIRONMENT['PATH'] = sys.argv.pop(1); "
            "import os; os.environ['PATH'] = command._ENVIRONMENT['PATH']; from tunecheck.cli.main import main; main()")
    command = [sys.executable, "-c", code, f"{tmp_path}/bin:/usr/bin:/bin", "host", "--spec",
               str(tmp_path / "spec.json"), "--json", str(tmp_path / "r.json")]
    process = subprocess.Popen(command, env=_ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    until = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < until, "the fake dmesg never started"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (130, "") and re.fullmatch("tunecheck: [^\n:]*", err.strip()), err
    assert not (tmp_path / "r.json").exists()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_checks_and_explain_agree() -> None:
    lines = _run("checks").stdout.splitlines()
    ids = [line.split()[0] for line in lines if not line.startswith("#")]
    assert ids == [check.id for check in CHECKS]
    headings = [line for line in lines if line.startswith("# ")]
    assert headings == [f"# {heading.value}" for heading in Heading] and lines[0] == headings[0]
    assert lines[lines.index("# ACS") + 1].startswith("acs-redirect  ")
    assert _run("explain", "--markdown", "acs-redirect").stdout.startswith("# acs-redirect\n")
    # What was typed stands in the first line.
    for typed, meant in (("ACS-REDIRECT", "acs-redirect"), ("noacs", "pci=noacs")):
        assert _run("explain", typed).stdout.splitlines()[1:] == _run("explain", meant).stdout.splitlines()[1:]


def test_help_and_version() -> None:
    assert "Exit codes" in _run("--help").stdout
    assert _run("--version").stdout.startswith("tunecheck, version ")


def test_start_up_imports_nothing_heavy(failing: str) -> None:
    code = ("import sys; from tunecheck.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
            "heavy = {'tunecheck.parsers.kernel.kernel_log', 'tunecheck.parsers.nvidia.xid_catalog',\n"
            "'tunecheck.rules.errors.xid', 'pydantic', 'rich', 'jinja2', 'psutil', 'pynvml', 'yaml',\n"
            "'subprocess', 'asyncio'}\n"
            "print(sorted(heavy & set(sys.modules)), file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", code, "topo", "--json", "--from", failing], env=_ENV, timeout=60,
                          capture_output=True, text=True, check=False)
    assert done.stderr == "[]\n"
