"""The commands behind the driver's facts, run for real: grep keeps secrets out, ps is understood."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.facts import trees

from tunecheck.facts.kernel import processes
from tunecheck.facts.nvidia import driver_parts, packages
from tunecheck.facts.nvidia.driver import driver
from tunecheck.facts.nvidia.nvml import Gpu, Nvml
from tunecheck.facts.runtime import service_env
from tunecheck.facts.snapshot import gather
from tunecheck.host import Completed, Unreadable
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.answers import RecordedHost
from tunecheck.host.live import LiveHost
from tunecheck.host.recording import RecordingHost
from tunecheck.model.absence import Absence
from tunecheck.model.fact import absent, known
from tunecheck.rules import judge
from tunecheck.rules.context import Case

UNIT = """[Service]
Environment="NCCL_P2P_LEVEL=NODE" HF_TOKEN=hf_secret "CUDA_VISIBLE_DEVICES=0,1"
# Environment=NCCL_PROTO=LL API_KEY=secret_in_a_comment
EnvironmentFile=-%s/env
ExecStart=/usr/bin/docker run -e VLLM_USE_V1=1 \\
  -e HF_TOKEN=hf_secret -e MY_NCCL_X=1 --enable-pcie-oneshot-allreduce
"""


@pytest.fixture
def live() -> Iterator[LiveHost]:
    host = LiveHost()
    yield host
    host.close()


@pytest.mark.skipif(not shutil.which("grep"), reason="no grep")
def test_only_the_variables_asked_for_reach_a_recording(tmp_path: Path, live: LiveHost,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "units").mkdir()
    (tmp_path / "units/vllm.service").write_text(UNIT % tmp_path)
    (tmp_path / "env").write_text("HF_TOKEN=hf_secret\nexport NCCL_IB_DISABLE='1'\n#NCCL_DEBUG=INFO\n")
    os.mkfifo(tmp_path / "units/pipe.service")
    monkeypatch.setattr(service_env, "_PLACES", (f"{tmp_path}/units", f"{tmp_path}/absent"))
    child = subprocess.Popen(["sleep", "60"], env={"HF_TOKEN": "hf_secret", "NCCL_SOCKET_IFNAME": "eth0 eth1"})
    try:
        gpu = Gpu("0000:03:00.0", 0, {"processes": [{"pid": child.pid}, {"pid": -1}, "x"]}, {})
        told = known(Nvml(absent("x", Absence.FAILED), absent("x", Absence.FAILED), (gpu,), {}), "NVML")
        host = RecordingHost(live)
        for _ in range(100):        # until the child has become sleep
            env = service_env.service_env(host, True, told).value
            if env and f"/proc/{child.pid}/environ" in env.found:
                break
    finally:
        child.kill()
        child.wait()
    assert env is not None
    assert {path: each.values for path, each in env.found.items()} == {
        f"{tmp_path}/units/vllm.service": {"NCCL_P2P_LEVEL": "NODE", "CUDA_VISIBLE_DEVICES": "0,1", "VLLM_USE_V1": "1"},
        f"{tmp_path}/env": {"NCCL_IB_DISABLE": "1"},
        f"/proc/{child.pid}/environ": {"NCCL_SOCKET_IFNAME": "eth0 eth1"}}
    assert env.found[f"{tmp_path}/units/vllm.service"].options == {"--enable-pcie-oneshot-allreduce"}
    assert "secret" not in str(vars(host.answers))


@pytest.mark.skipif(not shutil.which("ps"), reason="no ps")
def test_the_tasks_of_this_machine(live: LiveHost) -> None:
    found = processes.processes(live, True)
    assert found.value is not None and found.value.complete
    # An idle machine may have a task that waits for its disk; none is in a driver that is not there.
    assert [stuck for stuck in found.value.stuck if stuck.in_driver] == []


def test_nothing_is_asked_where_there_is_no_nvidia() -> None:
    host = RecordedHost({})
    for fact in (processes.processes(host, False), packages.packages(host, False).installed):
        assert fact.absence is Absence.NOT_ASKED
    assert driver_parts.driver_parts(host, False, ("6.1",)).modules == {}


def test_a_machine_that_answers_nothing_about_its_driver() -> None:
    """Every check says unknown or skip, none raises, none passes."""
    machine = trees.full(trees.switch())
    for path in ("/sys/module/nvidia/version", "/proc/driver/nvidia/version"):
        machine.gone("read", path, reason="timed out after 5 s")
    findings = judge(Case(gather(machine.host(), None, True)), "host")
    ours = [each for each in findings if each.id.startswith((
        "driver-c", "driver-p", "driver-h", "driver-s", "module-f", "registry", "persist", "fabric-manager",
        "fabric-state", "gpu-z", "nccl"))]
    assert len(ours) == 11 and {each.outcome for each in ours} == {"unknown"}


@pytest.mark.parametrize("garbage", ["", "\0", "\xff" * 5000, "version: x\nlicense:\n", "1 2 3 D\n",
                                     "\t\t\tinstalled\n"])
def test_garbage_from_every_command_and_file(garbage: str) -> None:
    machine = trees.driver(trees.full(trees.switch()))
    for argv in machine.runs:
        machine.runs[argv] = Completed(argv, 0, garbage, garbage)
    for path in ("/proc/driver/nvidia/params", "/proc/driver/nvidia/version"):
        machine.file(path, garbage)
    for name in ("libnvidia-ml.so", "libcuda.so"):
        machine.realpaths[f"/usr/lib/x86_64-linux-gnu/{name}.1"] = f"/x{garbage}"
    machine.lists["/lib/firmware/nvidia"] = [garbage]
    findings = judge(Case(gather(machine.host(), None, True)), "host")
    assert {each.outcome for each in findings if each.id == "driver-pending"} == {"unknown"}
    assert {each.outcome for each in findings if each.id == "driver-stuck"} == {"unknown"}


def test_debians_own_module_is_found_under_its_files_name() -> None:
    machine = trees.driver(trees.full(trees.switch(0)))
    asked = ("modinfo", "-k", "6.12.1", "nvidia")
    found = machine.runs.pop(asked)
    machine.runs[asked] = Completed(asked, 1, "", "modinfo: ERROR: Module nvidia not found.\n")
    open_one = (*asked[:3], "nvidia-current-open")
    machine.runs[open_one] = Completed(open_one, 0, found.stdout, "")
    fact = driver_parts.driver_parts(machine.host(), True, ("6.12.1", "6.12.1")).modules["6.12.1"]
    assert fact.value is not None and fact.source.endswith("nvidia-current-open")
    del machine.runs[open_one]
    fact = driver_parts.driver_parts(machine.host(), True, ("6.12.1", "6.12.1")).modules["6.12.1"]
    assert fact.missing and fact.source.endswith(" nvidia")


@pytest.mark.parametrize(("module", "banner", "missing"), [
    ("not present", "not present", True), ("not recorded", "not present", False),
    ("not present", "no permission", False), ("no permission", "no permission", False)])
def test_no_driver_is_loaded_only_where_both_files_are_missing(module: str, banner: str, missing: bool) -> None:
    class Silent:
        def read_bytes(self, path: str) -> bytes:
            raise Unreadable(path, reason_of_text(banner if path.startswith("/proc/driver") else module))

    found = driver(cast(Any, Silent()))
    assert not found.version.known and found.version.missing is missing
