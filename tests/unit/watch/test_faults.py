"""What broke the watch once, each with the promise that it broke."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.host.nvml_box import library
from tests.unit.watch.served import ROOT, Watching, served
from tests.unit.watch.test_judge import ACTIVE, BOTH_SPIN, DECODES, LIMITS, RESTS, SILENT, SPINS, Night, _codes, unit_is
from tests.unit.watch.test_sources import _Host, _Sampler, _sources
from tests.unit.watch.test_watch import FAST, _once

from tunecheck.host import Unreadable, nvml_samples
from tunecheck.host.child import Child
from tunecheck.host.http_page import fetch
from tunecheck.host.nvml_samples import GpuSample, NvmlSampler
from tunecheck.model.absence import Absence
from tunecheck.watch import kernel
from tunecheck.watch.judge import Judge
from tunecheck.watch.model import BAD, Code, Engine, Look, Process, Reason, Run, State
from tunecheck.watch.progress import engine_of_page

# ---- a stall that is not noticed -----------------------------------------------------------------------------------

def test_01_metrics_that_answer_now_and_then_do_not_hide_a_stall() -> None:
    """A wedged engine whose page times out now and then: each missed answer begins the clock anew."""
    night = Night()
    night.go(60)
    for _ in range(60):
        night.go(9, step=0, gpus=RESTS)
        night.go(1, step=0, gpus=RESTS, engine=SILENT)
    assert night.all[-1].state is State.STALLED


def test_02_one_look_at_a_wedged_engine_does_not_say_that_it_serves() -> None:
    """Two looks a second apart cannot tell; the exit code for a load balancer must not be 0."""
    with served() as server:
        server.running, server.step = 1, 0
        done = _once("--url", server.url)
    assert done.returncode != 0, done.stdout


_ACTIVE = """
from tunecheck.cli.main import main
from tunecheck.host.base import Completed
from tunecheck.host.live import LiveHost
real = LiveHost.run
LiveHost.run = lambda self, argv, deadline=20.0: Completed(argv, 0, "ActiveState=active\\nSubState=running\\n"
    "NRestarts=0\\nControlGroup=/x\\nMainPID=1\\nActiveEnterTimestampMonotonic=1\\nLoadState=loaded\\n", ""
    ) if argv[0] == "systemctl" else real(self, argv, deadline)
main()
"""


def test_03_one_look_at_a_unit_that_is_active_for_hours_and_silent_is_not_loading() -> None:
    """Also what a watch says that systemd's watchdog started again beside a hung engine: loading, for an hour."""
    with socket.create_server(("127.0.0.1", 0)) as door:        # accepts, and never answers
        url = f"http://127.0.0.1:{door.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-c", _ACTIVE, "watch", "--once", "--unit", "x", "--url", url],
            capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "checks")})
    assert done.stderr.count("\n") == 1 and all(each in done.stderr for each in (f"{url}/metrics", "--url", "--unit"))
    assert done.returncode != 0, done.stdout


def test_04_requests_that_wait_while_none_runs_are_a_stall() -> None:
    night = Night()
    night.go(60)
    for _ in range(3600):
        night.go(1, step=0, gpus=RESTS, engine=Engine(0, 50, 7.0, 7.0))
    assert night.all[-1].state is State.STALLED


def _two_ranks(moving: int) -> Engine:
    return engine_of_page(200, "".join(
        f'vllm:num_requests_running{{engine="{rank}"}} 8\nvllm:generation_tokens_total{{engine="{rank}"}} {tokens}\n'
        for rank, tokens in ((0, 1000), (1, moving))))


def test_05_one_replica_that_hangs_is_not_hidden_by_the_other() -> None:
    """vLLM with --data-parallel-size 2: half of the requests never end."""
    night = Night()
    for second in range(1000):
        night.go(1, engine=_two_ranks(1000 + 20 * second), gpus=None)
    assert night.all[-1].state in BAD


def test_06_a_job_of_somebody_else_does_not_delay_the_alarm() -> None:
    """GPU 5 is not the engine's. Its work turns a spinning collective into a 'long step' for ten minutes."""
    night = Night()
    night.go(60, gpus=(*DECODES, GpuSample("0000:05:00.0", 100, 60, 600_000, 700_000)))
    night.go(LIMITS.stall + 5, step=0, gpus=(*BOTH_SPIN, GpuSample("0000:05:00.0", 100, 60, 600_000, 700_000)))
    assert night.all[-1].state is State.STALLED


def test_07_a_lowered_power_limit_does_not_make_a_spinning_gpu_work() -> None:
    """135 W of a limit of 250 W is 54 %: 'works', although its memory is unused."""
    night = Night()
    night.go(60)
    night.go(LIMITS.stall + 5, step=0, gpus=tuple(replace(each, limit_mw=250_000) for each in BOTH_SPIN))
    assert night.all[-1].state is State.STALLED


def test_08_garbage_of_nvml_is_no_work() -> None:
    night = Night()
    night.go(60)
    night.go(LIMITS.stall + 5, step=0, gpus=tuple(
        replace(each, gpu=2**32 - 1, memory=2**32 - 1, power_mw=2**32 - 1) for each in DECODES))
    assert night.all[-1].state is State.STALLED


def test_09_a_unit_that_starts_again_and_again_is_not_loading_for_ever() -> None:
    """docs/watch.md: 'for an hour at most'. systemd says activating (auto-restart) all night."""
    night = Night()
    for turn in range(400):
        night.unit = unit_is("activating", turn)
        night.go(20, engine=SILENT, gpus=RESTS)
    assert night.all[-1].state is not State.LOADING


# ---- an alarm where there is nothing -------------------------------------------------------------------------------

@pytest.mark.parametrize("units", [(replace(ACTIVE, restarts=1, main=2),), (replace(ACTIVE, main=2),)],
                         ids=["systemd restarted it", "somebody restarted it"])
def test_10_an_engine_that_loads_after_a_restart_is_no_stall(units: tuple[Run, ...]) -> None:
    """A unit that is active at once, as a container's is; its weights load for ten minutes."""
    night = Night()
    night.go(600)
    night.unit = units[0]
    night.go(600, engine=Engine(absence=Absence.FAILED), gpus=RESTS)
    assert night.all[-1].state is State.LOADING


def test_11_a_unit_that_was_stopped_for_a_night_has_its_time_to_load() -> None:
    night = Night()
    night.go(600)
    night.unit = unit_is("inactive")
    night.go(5000, engine=SILENT, gpus=RESTS)
    night.unit = unit_is("activating")
    night.go(5, engine=SILENT, gpus=RESTS)
    night.unit = replace(ACTIVE, main=2)
    night.go(60, engine=SILENT, gpus=RESTS)
    assert State.STALLED not in night.states


def test_12_a_debugger_that_holds_the_engine_so_that_its_metrics_are_silent_is_no_alarm() -> None:
    """The processes are read when the judge says so, as loop.py does: then the state changes with every look."""
    night = Night()
    night.go(60)
    for _ in range(200):
        night.go(1, engine=SILENT, processes=(Process(7, "VLLM", "t"),) if night.judge.near else ())
    assert State.STALLED not in night.states, night.states[:6]


def test_13_a_long_answer_of_sglang_is_no_stall() -> None:
    """generation_tokens_total and prompt_tokens_total of SGLang grow when a request ends (TokenizerManager.
    collect_metrics: observe_one_finished_request). realtime_tokens_total grows with the work."""
    night = Night()
    for second in range(900):
        page = ('sglang:num_running_reqs{tp_rank="0"} 1.0\nsglang:generation_tokens_total 5000.0\n'
                'sglang:prompt_tokens_total 900.0\n'
                f'sglang:realtime_tokens_total{{mode="decode",tp_rank="0"}} {40 * second}\n')
        night.go(1, engine=engine_of_page(200, page), gpus=DECODES)
    assert night.states == [State.SERVING]


def test_14_llama_cpp_that_loads_its_model_is_loading() -> None:
    """It answers 503 to everything while it loads, /metrics too."""
    night = Night()
    night.go(60, engine=engine_of_page(503, '{"error":{"code":503,"message":"Loading model"}}'), gpus=RESTS)
    assert night.states == [State.LOADING]


def test_15_a_spinning_job_of_somebody_else_does_not_shorten_the_limit() -> None:
    """Our engine compiles for 60 s with its GPUs at rest; GPU 5 of somebody else spins, and is blamed."""
    night = Night()
    night.go(60)
    seen = night.go(60, step=0, gpus=(*RESTS, GpuSample("0000:05:00.0", 100, 0, 125_000, 700_000)))
    assert seen.state is State.SERVING, seen.reasons


def test_16_a_watch_stopped_in_the_middle_of_a_look_begins_anew() -> None:
    """``took`` holds the pause: no look can last longer than its deadlines together."""
    night = Night()
    night.go(60)
    night.at += 5000
    seen = night.judge.judge(Look(night.at, Engine(1, 0, night.moved, 0), DECODES, ACTIVE, took=4999.5))
    assert seen.state is State.SERVING and Code.WATCH_PAUSED in _codes(seen)


def test_17_samples_at_a_long_interval_are_no_hung_driver(libraries: str) -> None:
    """Looks and samples every 6 s, as --interval 6s: a look that comes a moment before its sample kills the child."""
    script = """
import sys, time
from tunecheck.host import Unreadable
from tunecheck.host.nvml_samples import NvmlSampler
sampler = NvmlSampler(6.0)
for pause in (0.0, 6.5, 5.3, 6.0):
    time.sleep(pause)
    try:
        sampler.latest(); print("sample", flush=True)
    except Unreadable as error:
        print(error.absence.value, flush=True)
sampler.close()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "checks"), "FAKE_NVML": "busy=10",
                               "LD_LIBRARY_PATH": libraries})
    assert "timed-out" not in done.stdout.split(), done.stdout


# ---- evidence that goes away improves the verdict --------------------------------------------------------------------

@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = library(tmp_path_factory.mktemp("nvml"))
    if not found:
        pytest.skip("no C compiler here")
    return found


@pytest.mark.parametrize("absence", [Absence.FAILED, Absence.NOT_READ, Absence.TIMED_OUT, Absence.CUT_OFF])
def test_18_samples_that_are_missing_are_always_told(absence: Absence) -> None:
    """The driver was unloaded, or refuses (nvmlInit fails after an update): nothing is said, the box is well."""
    class Sampler:
        def latest(self) -> Any:
            raise Unreadable("NVML", absence)

    look = _sources(_Host(), Sampler(), unit="").look(False)
    assert {each.code for each in look.conditions} - {Code.KMSG_UNREADABLE}


def test_19_a_gpu_that_nvml_no_longer_lists_is_told() -> None:
    night = Night()
    night.go(60)
    seen = night.go(60, gpus=DECODES[:1])
    assert seen.state in BAD, "there were two"


def test_20_a_gpu_that_answers_with_another_error_is_told() -> None:
    seen = Night().go(60, gpus=(DECODES[0], GpuSample("GPU1", error="Unknown Error")))
    assert seen.reasons


def test_21_a_gpu_that_fell_off_the_bus_does_not_come_back_after_five_minutes() -> None:
    night = Night()
    night.go(10)
    night.go(1, running=0, step=0, gpus=None, events=(Reason(Code.GPU_GONE, "0000:04:00.0"),))
    night.go(LIMITS.hold + 10, running=0, step=0, gpus=None)
    assert night.all[-1].state is State.LOST, "nobody saw it answer again"


def test_22_a_disk_that_is_full_stays_so_when_df_gives_no_answer() -> None:
    host = _Host()
    host.runs["df"] = "Avail 1B-blocks Mounted on\n1000 1000000000 /\n"
    sources = _sources(host, unit="")
    assert any(each.code is Code.DISK_LOW for each in sources.look(False).conditions)
    del host.runs["df"]
    sources._slow.clear()
    assert {each.code for each in sources.look(False).conditions} - {Code.KMSG_UNREADABLE}


def test_23_a_link_that_is_narrower_stays_so_when_sysfs_gives_no_answer() -> None:
    host, path = _Host(), "/sys/bus/pci/devices/0000:03:00.0/current_link_width"
    host.files[path] = b"16\n"
    sources = _sources(host, _Sampler("0000:03:00.0"), unit="")
    sources.look(False)
    host.files[path] = b"8\n"
    sources._slow.clear()
    assert any(each.code is Code.LINK_NARROWER for each in sources.look(False).conditions)
    del host.files[path]
    sources._slow.clear()
    assert any(each.code is Code.LINK_NARROWER for each in sources.look(False).conditions)


def test_24_two_xids_of_one_gpu_are_both_told() -> None:
    seen = Night().go(1, events=(Reason(Code.XID, "0000:03:00.0", (("xid", 48.0),)),
                                 Reason(Code.XID, "0000:03:00.0", (("xid", 95.0),))))
    assert {number for each in seen.reasons for _, number in each.numbers} == {48.0, 95.0}


def test_25_a_hung_task_whose_stack_comes_with_the_next_look_is_told() -> None:
    head = ["[  100.000000] INFO: task VLLM::Worker:77 blocked for more than 122 seconds."]
    stack = ["[  100.000100] Call Trace:", "[  100.000200]  os_acquire_mutex+0x3a/0x40 [nvidia]"]
    assert kernel.reasons([*head, *stack]), "in one look it is seen"
    assert kernel.reasons(head) + kernel.reasons(stack)


def test_26_a_storm_of_corrected_errors_that_the_kernel_limits_is_told() -> None:
    """Linux 6.16 and later print at most 10 of them in 5 s for a device; sysfs counts them all."""
    host, folder = _Host(), "/sys/bus/pci/devices/0000:03:00.0"
    host.files |= {f"{folder}/current_link_width": b"16\n",
                   f"{folder}/aer_dev_correctable": b"RxErr 0\nTOTAL_ERR_COR 0\n"}
    sources = _sources(host, _Sampler("0000:03:00.0"), unit="")
    sources.look(False)
    host.files[f"{folder}/aer_dev_correctable"] = b"RxErr 90000\nTOTAL_ERR_COR 90000\n"
    sources._slow.clear()
    look = sources.look(False)
    assert any(each.code is Code.AER_STORM for each in (*look.conditions, *look.events))


def test_27_the_oom_killer_is_told_where_it_kills_whoever_asked() -> None:
    """vm.oom_kill_allocating_task=1, mm/oom_kill.c."""
    assert kernel.reasons(["[  100.000000] Out of memory (oom_kill_allocating_task): Killed process 4242 "
                           "(llama-server) total-vm:1kB, anon-rss:1kB"])


def test_28_a_page_that_ends_too_early_is_no_page() -> None:
    """'Unreadable where there is no whole answer in time': a number cut in two is progress that was none."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        def answer() -> None:
            connection, _ = door.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
                                   b"vllm:num_requests_running 1\nvllm:generation_tokens_total 12")

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(Unreadable):
            fetch(f"http://127.0.0.1:{door.getsockname()[1]}/metrics", 2.0)


@pytest.mark.parametrize("bad", [
    lambda night: night.go(LIMITS.stall * 6, step=0), lambda night: night.go(
        1, gpus=(DECODES[0], replace(DECODES[1], error="GPU_IS_LOST"))),
    lambda night: night.go(1, conditions=(Reason(Code.DISK_LOW, "/", (("free_bytes", 1.0),)),))],
    ids=["stalled", "lost", "degraded"])
def test_29_a_bad_state_always_has_a_reason(bad: Any) -> None:
    """Then the metrics are silent for a few seconds: the state is kept, and nobody says why."""
    night = Night()
    night.go(10)
    assert bad(night).state in BAD
    night.go(5, engine=SILENT, gpus=None)
    assert all(each.reasons for each in night.all if each.state in BAD)


# ---- the watch itself ends ---------------------------------------------------------------------------------

def test_30_numbers_at_the_edge_do_not_end_the_watch() -> None:
    """Each is finite, their sum is not: round() raises OverflowError."""
    engine_of_page(200, 'vllm:num_requests_running{engine="0"} 1e308\nvllm:num_requests_running{engine="1"} 1e308\n'
                        "vllm:generation_tokens_total 1\n")


def test_31_a_metrics_file_that_cannot_be_written_does_not_end_the_watch(tmp_path: Path) -> None:
    """A disk that is full is one of the things it watches for."""
    folder = tmp_path / "textfile"
    folder.mkdir()
    with served() as server:
        watching = Watching("--url", server.url, *FAST, "--prometheus", str(folder / "watch.prom"))
        try:
            watching.until("serving")
            shutil.rmtree(folder)
            server.running = 0
            watching.until("idle")
            server.running = 1
            watching.until("serving", 15)      # queue.Empty: it has ended
        finally:
            watching.end()


def test_32_a_sampler_that_gets_no_process_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is left, or no memory: OSError goes through sources.look and ends the watch."""
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(nvml_samples, "fork", fork)
    with pytest.raises(Unreadable):
        NvmlSampler(1.0).latest()


def test_33_children_that_cannot_be_killed_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that hangs for a night: a new child every five minutes, each stuck in state D with its memory."""
    started: list[int] = []

    class Stuck(Child):
        def __init__(self, pid: int) -> None:
            super().__init__(pid)
            started.append(pid)

        def reaped(self) -> bool:
            return False

        def kill(self) -> str:
            return "; cannot be killed"

    class Now:
        at = 0.0

        @classmethod
        def monotonic(cls) -> float:
            return cls.at

    monkeypatch.setattr(nvml_samples, "Child", Stuck)
    monkeypatch.setattr(nvml_samples, "time", Now)
    pipes: list[int] = []

    def fork() -> int:
        pipes.append(os.dup(0))
        return 1 << 30

    monkeypatch.setattr(nvml_samples, "fork", fork)
    theirs: list[int] = []
    real = os.pipe

    def pipe() -> tuple[int, int]:
        ours, other = real()
        theirs.append(os.dup(other))        # the stuck child keeps its end
        return ours, other

    monkeypatch.setattr(os, "pipe", pipe)
    sampler = NvmlSampler(1.0)
    try:
        for _ in range(8 * 3600):
            Now.at += 1
            with contextlib.suppress(Unreadable):
                sampler.latest()
        assert len(started) <= 3, len(started)
    finally:
        for each in (*theirs, *pipes):
            os.close(each)


def test_34_nobody_reads_any_more(tmp_path: Path) -> None:
    """`tunecheck watch | grep -m 1 stalled` must end."""
    with served() as server:
        watching = subprocess.Popen([sys.executable, "-m", "tunecheck", "watch", "--url", server.url, *FAST],
                                    stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT / "checks")})
        try:
            assert watching.stdout is not None
            watching.stdout.readline()
            watching.stdout.close()
            for running in (0, 1, 0):
                server.running = running
                with contextlib.suppress(subprocess.TimeoutExpired):
                    watching.wait(2)
            assert watching.poll() is not None
        finally:
            watching.kill()
            watching.wait(30)


# ---- messages --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [401, 403])
def test_35_a_key_that_is_refused_is_told_as_that(status: int) -> None:
    """'does not hold the counters of vLLM' sends the operator to the wrong place."""
    assert engine_of_page(status, "").code is not Code.METRICS_UNREADABLE


def test_36_a_unit_that_does_not_exist_is_told_as_that() -> None:
    """systemctl show says inactive and LoadState=not-found: a typing error reads as an outage."""
    host = _Host()
    host.runs["systemctl"] = "ActiveState=inactive\nNRestarts=0\nControlGroup=\nMainPID=0\nLoadState=not-found\n"
    unit = _sources(host, unit="typo.service").look(False).run
    assert unit is not None and _codes(Judge(LIMITS).judge(Look(1.0, SILENT, None, unit))) != {Code.UNIT_STOPPED}


def test_37_a_culprit_that_flickers_does_not_fill_the_journal() -> None:
    """State D comes and goes: a line for each look."""
    from tunecheck.watch.teller import _changed

    night = Night()
    night.go(10)
    lines, shown = 0, None
    for second in range(600):
        seen = night.go(1, step=0, gpus=SPINS, processes=(Process(6, "VLLM", "D" if second % 2 else "S"),))
        if _changed(shown, seen):
            lines, shown = lines + 1, seen
    assert lines <= 10, lines


# ---- second round ----------------------------------------------------------------------------------------------------

def test_38_a_wedge_at_the_first_request_after_an_idle_phase_leaves_a_trace() -> None:
    """vLLM sets its gauges when a step has given outputs (AsyncLLM output_handler), SGLang before the prefill without
    the new request: whoever hangs in his first step shows running 0 for ever, while the GPUs spin."""
    night = Night()
    night.go(600, running=0, step=0, gpus=RESTS)
    seen = night.go(3600, running=0, step=0, gpus=BOTH_SPIN)
    assert seen.state is not State.IDLE or seen.reasons


def test_39_clients_that_give_up_and_try_again_do_not_hide_a_stall() -> None:
    """20 s of a request without a token, 2 s without one, for an hour: no token, and 'serving'."""
    night = Night()
    night.go(60)
    for _ in range(160):
        night.go(20, step=0, gpus=RESTS)
        night.go(2, running=0, step=0, gpus=RESTS)
    assert State.STALLED in night.states


@pytest.mark.parametrize("where", ["read_bytes", "list"])
def test_40_a_reader_that_gets_no_process_does_not_end_the_watch(where: str) -> None:
    """host/reader.py raises ProbeError where fork fails, and sources.py catches Unreadable only."""
    from tunecheck.errors import ProbeError

    host = _Host()
    host.runs["systemctl"] = "ActiveState=active\nNRestarts=0\nControlGroup=/x\nMainPID=1\n"
    host.files["/sys/fs/cgroup/x/cgroup.procs"] = b""

    def fails(_: str) -> Any:
        raise ProbeError("no process can be started")

    setattr(host, where, fails)
    _sources(host, _Sampler("0000:03:00.0")).look(True)


def test_41_the_watchdog_of_the_unit_is_fed_in_time(tmp_path: Path) -> None:
    """docs/watch.md gives WatchdogSec=60, --interval may be 60 s: systemd then kills a watch that is well."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unit, served() as server:
        unit.settimeout(30)
        unit.bind(str(tmp_path / "notify"))
        watching = Watching("--url", server.url, "--interval", "5s", environment={
            "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "2000000"})
        times: list[float] = []
        try:
            while len(times) < 3:
                if unit.recv(4096) == b"WATCHDOG=1":
                    times.append(time.monotonic())
        finally:
            watching.end()
    assert max(after - before for before, after in itertools.pairwise(times)) < 2


def test_42_a_full_disk_below_standard_output_does_not_end_the_watch() -> None:
    """`tunecheck watch > /var/log/watch.log`: the write fails once, and nobody watches any more."""
    with served() as server, Path("/dev/full").open("w", encoding="utf-8") as full:
        watching = subprocess.Popen([sys.executable, "-m", "tunecheck", "watch", "--url", server.url, *FAST],
                                    stdout=full, stderr=subprocess.DEVNULL,
                                    env={**os.environ, "PYTHONPATH": str(ROOT / "checks")})
        try:
            time.sleep(6)
            assert watching.poll() is None
        finally:
            watching.kill()
            watching.wait(30)


def test_43_a_width_that_a_lost_device_shows_is_no_width() -> None:
    """All ones read as 63 lanes. As the first value it makes every later one 'narrower' for ever."""
    host, path = _Host(), "/sys/bus/pci/devices/0000:03:00.0/current_link_width"
    host.files[path] = b"63\n"
    sources = _sources(host, _Sampler("0000:03:00.0"), unit="")
    sources.look(False)
    host.files[path] = b"16\n"
    sources._slow.clear()
    assert not any(each.code is Code.LINK_NARROWER for each in sources.look(False).conditions)


def test_44_a_gpu_that_software_slows_down_for_its_heat_is_told() -> None:
    """nvmlClocksEventReasonSwThermalSlowdown, 0x20: what a board in hot air shows first."""
    night = Night()
    seen = night.go(120, gpus=(replace(DECODES[0], throttle=0x20), DECODES[1]))
    assert Code.THROTTLED in _codes(seen)


def test_45_a_value_with_underscores_is_no_number() -> None:
    """float() takes 1_0 and digits of other scripts; Prometheus does not."""
    for text in ("1_0", "\u0661"):
        assert engine_of_page(200, f"vllm:num_requests_running {text}\nvllm:generation_tokens_total 1\n").absence
