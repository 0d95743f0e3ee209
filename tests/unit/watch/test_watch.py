"""The verb as a process, beside a server that stalls, lies and comes back."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import jsonschema
import pytest
from tests.unit.host.nvml_box import library
from tests.unit.report.closed import closed
from tests.unit.watch.served import ROOT, Watching, served, tells

from tunecheck.app.schemas import SCHEMAS
from tunecheck.watch.model import Code, Engine, Reason, Seen, State
from tunecheck.watch.tell import MEANING, METRICS, Watched, document, exit_code, line, metrics

FAST = ("--interval", "0.2s", "--stall", "2s", "--spin", "1s", "--silent", "2s")


def test_a_stall_is_told_and_its_end_too() -> None:
    with served() as server:
        watching = Watching("--url", server.url, *FAST)
        try:
            assert "(1 " in watching.until("serving")
            server.step = 0
            assert tells(watching.until("stalled"), Code.TOKENS_FROZEN)
            server.step = 100
            watching.until("serving")
            server.running, server.step = 0, 0
            watching.until("idle")
            server.running, server.step, server.delay = 1, 100, 30
            assert tells(watching.until("stalled"), Code.METRICS_SILENT)
            server.delay = 0
            watching.until("serving")
            server.page = "<html>busy</html>"
            watching.until("unknown")
        finally:
            assert watching.end() == 128 + signal.SIGTERM


def test_a_server_that_drips_does_not_hold_the_watch_up() -> None:
    """One deadline for the whole answer, however often a byte comes."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = door.accept()
            with connection:
                while not ended.is_set():
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        before = time.monotonic()
        done = _once("--url", f"http://127.0.0.1:{door.getsockname()[1]}")
        ended.set()
    assert done.returncode == 3 and "unknown" in done.stdout and time.monotonic() - before < 30


def _once(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tunecheck", "watch", "--once", *arguments], capture_output=True,
                          text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "checks")})


def test_one_verdict_is_a_document() -> None:
    with served() as server:
        done = _once("--url", server.url, "--json", "--interval", "0.3s")
    told = json.loads(done.stdout)
    jsonschema.validate(told, closed(SCHEMAS["watch-1.json"]))
    assert (told["state"], told["exit_code"], done.returncode, told["engine"]["running"]) == ("serving", 0, 0, 1)


def test_nobody_there_is_not_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    done = _once("--url", f"http://127.0.0.1:{port}")
    assert done.returncode == 3 and tells(done.stdout, Code.NOT_ANSWERING_YET), done.stdout


def test_the_key_is_sent_and_never_shown(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret-word\n")
    with served() as server:
        done = _once("--url", server.url, "--api-key-file", str(key), "--json")
        assert server.keys == ["Bearer secret-word"] * len(server.keys) and server.keys
    assert "secret-word" not in done.stdout + done.stderr


def test_metrics_are_kept_for_node_exporter(tmp_path: Path) -> None:
    target = tmp_path / "watch.prom"
    with served() as server:
        done = _once("--url", server.url, "--prometheus", str(target))
    text = target.read_text()
    assert done.returncode == 0 and 'tunecheck_watch_state{state="serving"} 1\n' in text
    assert "tunecheck_watch_requests_running 1\n" in text
    assert [each.name for each in tmp_path.iterdir()] == ["watch.prom"]


def test_systemd_is_told_that_it_is_ready_and_alive(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unit, served() as server:
        unit.settimeout(30)
        unit.bind(str(tmp_path / "notify"))
        watching = Watching("--url", server.url, *FAST, environment={"NOTIFY_SOCKET": str(tmp_path / "notify")})
        told = set()
        try:
            while not {"READY=1", "WATCHDOG=1"} <= told or not any(each.startswith("STATUS=") for each in told):
                told.add(unit.recv(4096).decode())
        finally:
            assert watching.end() == 143


@pytest.mark.parametrize(("arguments", "says"), [
    (["--url", "gpu.example:30000"], ("--url gpu.example:30000: ", "http://", "https://")),
    (["--url", "http://gpu.example:30000"], ("--url http://gpu.example:30000: ", "'gpu.example'", "65535")),
    (["--url", "ftp://127.0.0.1"], ("--url ftp://127.0.0.1: ", "'ftp:'")),
    (["--url", "http://127.0.0.1:30000/metrics"], ("--url http://127.0.0.1:30000/metrics: ", "'/metrics'")),
    (["--url", "http://127.0.0.1:30000?a=b"], ("--url http://127.0.0.1:30000?a=b: ", "'?a=b'")),
    (["--url", "http://me:secret@127.0.0.1"], ("--url 127.0.0.1: ", "'@'")),
    (["--url", "http://127.0.0.1:99999"], ("--url http://127.0.0.1:99999: ", "'127.0.0.1:99999'", "65535")),
    (["--interval", "0"], ("--interval 0: ", "0.2s", "60s")), (["--interval", "soon"], ("--interval", "soon")),
    (["--stall", "1s"], ("--stall 1s: ", "2s", "--interval")),
    (["--unit", "a b"], ("--unit a b: ", "tunecheck-inference.service")),
    (["--api-key-file", "/nowhere"], ("/nowhere", os.strerror(errno.ENOENT))),
    (["--url", "https://127.0.0.1", "--ca", "/nowhere"], ("--ca /nowhere: ", os.strerror(errno.ENOENT)))])
def test_wrong_input_is_refused(arguments: list[str], says: tuple[str, ...]) -> None:
    done = _once(*arguments)
    assert done.returncode == 2 and all(each in done.stderr for each in says), done.stderr
    assert "Traceback" not in done.stderr and "secret@" not in done.stderr


# ---- NVML, at its lowest seam: lab/standins/gpu/nvml.c ------------------------------------------------------------

_SAMPLE = """
import json, sys, time
from tunecheck.host import Unreadable
from tunecheck.host.nvml_samples import NvmlSampler
sampler, said, end = NvmlSampler(0.1, deadline=float(sys.argv[1])), [], time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    before = time.monotonic()
    try:
        said = [[each.bdf, each.gpu, each.memory, each.power_mw, each.limit_mw, each.corrected, each.uncorrected,
                 each.error]
                for each in sampler.latest().gpus]
    except Unreadable as error:
        said = [error.absence.value]
    assert time.monotonic() - before < 1.5, "it never blocks"
    print(json.dumps(said), flush=True)
    time.sleep(0.1)
sampler.close()
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = library(tmp_path_factory.mktemp("nvml"))
    if not found:
        pytest.skip("no C compiler here")
    return found


def _samples(libraries: str, mode: str, deadline: float = 5.0, seconds: float = 2.0) -> list[object]:
    done = subprocess.run([sys.executable, "-c", _SAMPLE, str(deadline), str(seconds)], capture_output=True, text=True,
                          timeout=60, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "checks"),
                                                       "FAKE_NVML": mode, "LD_LIBRARY_PATH": libraries})
    return [json.loads(each) for each in done.stdout.splitlines()]


def test_samples_of_two_gpus(libraries: str) -> None:
    assert _samples(libraries, "busy=100 memory=0 mw=125000 corrected=7 uncorrected=1")[-1] == [
        [f"0000:0{number}:00.0", 100, 0, 125000, 600000, 7, 1, ""] for number in (3, 4)]


@pytest.mark.parametrize(("mode", "absence"), [
    ("hang=nvmlDeviceGetUtilizationRates", "timed-out"), ("hang=nvmlDeviceGetHandleByIndex_v2", "timed-out"),
    ("crash=nvmlDeviceGetUtilizationRates", "cut-off"), ("init=9", "failed")])
def test_a_driver_that_hangs_or_crashes_never_holds_the_watch_up(libraries: str, mode: str, absence: str) -> None:
    said = _samples(libraries, mode, deadline=1.0, seconds=4.0)
    assert [absence] in said and all(len(each) == 1 for each in said)       # type: ignore[arg-type]


def test_a_lost_gpu_is_told_beside_the_other(libraries: str) -> None:
    last = _samples(libraries, "lost=1")[-1]
    assert [each[0] for each in last] == ["0000:03:00.0", "GPU1"] and last[1][-1] == "GPU_IS_LOST"    # type: ignore


# ---- what is told ------------------------------------------------------------------------------------------------

def test_every_code_has_words_that_its_numbers_fill_and_stands_on_the_page() -> None:
    page = (ROOT / "docs/watch.md").read_text(encoding="utf-8")
    assert set(MEANING) == set(Code)
    for code in Code:
        assert f"| `{code.value}` |" in page, code
    for state in State:
        assert f"| `{state.value}` |" in page, state
    for name in METRICS:
        assert f"`{name}`" in page, name


def test_a_foreign_name_reaches_no_terminal_as_it_is() -> None:
    seen = Seen(State.DEGRADED, 0.0, (Reason(Code.OOM_KILL, "evil\x1b[2J 1"),), engine=Engine(1, 0, 1.0))
    for text in (line(seen, 0.0), metrics(seen, 0.0), json.dumps(document(seen, 0.0, 0.0, Watched("http://127.0.0.1:1")))):
        assert "\x1b" not in text


def test_exit_codes() -> None:
    assert {state.value: exit_code(state) for state in State} == {
        "serving": 0, "idle": 0, "loading": 3, "degraded": 1, "stalled": 1, "lost": 1, "stopped": 1, "unknown": 3}
