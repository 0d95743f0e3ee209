"""The GPUs' settings: the real script on a library that answers for boards that are not there, the module, the unit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.fakes.build import build as compile_fake
from tests.play_environment import environment

from tunecheck.spec import build

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "roles/gpu_settings/files"
SCRIPT = FILES / "set_gpu.py"
ALL = {"power_limit_watts": 400, "clocks_mhz": [600, 2400], "persistence": False}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nvml")
    compile_fake("nvml.c", "libnvidia-ml.so.1", folder)
    return folder


class Box:
    """A box whose boards keep what is set on them, in the file `state`."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder, self.library = folder, library
        self.state, self.record = folder / "state", folder / "run/gpu.json"

    def environment(self, mode: str = "") -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT / "checks"), "LD_LIBRARY_PATH": str(self.library),
                "FAKE_NVML": mode, "FAKE_NVML_STATE": str(self.state)}

    def spec(self, gpu: dict[str, Any], profile: str = "rtx-pro-6000-direct") -> Path:
        path = self.folder / "spec.json"
        path.write_text(build("box1", {"profile": profile, "gpu": gpu}).to_json())
        return path

    def run(self, gpu: dict[str, Any], mode: str = "", *arguments: str, profile: str = "rtx-pro-6000-direct",
            deadline: str = "30") -> tuple[int, str]:
        argv = [sys.executable, str(SCRIPT), "--spec", str(self.spec(gpu, profile)), "--record", str(self.record),
                "--deadline", deadline, *arguments]
        done = subprocess.run(argv, env=self.environment(mode), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60, check=False)
        return done.returncode, done.stdout

    def boards(self) -> list[list[int]]:
        """[persistence, limit in W, lowest, highest clock] of both boards."""
        rows = [[int(each) for each in line.split()] for line in self.state.read_text().splitlines()[:2]]
        return [[row[1], row[2] // 1000, row[3], row[4]] for row in rows]


@pytest.fixture
def box(tmp_path: Path, library: Path) -> Box:
    return Box(tmp_path, library)


def test_it_sets_once_reads_back_and_releases(box: Box) -> None:
    code, said = box.run(ALL, "", "--check")
    assert code == 10 and "(not done: --check)" in said and not box.state.exists() and not box.record.exists()
    code, said = box.run(ALL)
    assert code == 0, said
    assert ("GPU1 0000:04:00.0: persistence mode on -> off; power limit 600 -> 400 W; clocks locked to 600 to 2400 MHz"
            in said)
    assert box.boards() == [[0, 400, 600, 2400]] * 2
    assert set(json.loads(box.record.read_text())["clocks_mhz"]) == {"0000:03:00.0", "0000:04:00.0"}
    code, said = box.run(ALL, "", "--check")
    assert (code, said.count("nothing to change")) == (0, 2), said
    # Clocks that are no longer declared are released, a limit stays.
    assert box.run({"persistence": False}, "", "--check")[0] == 10
    code, said = box.run({"persistence": False})
    assert code == 0 and "clocks released" in said and box.boards() == [[0, 400, 0, 0]] * 2
    assert box.run({"persistence": False}, "", "--check")[0] == 0


def test_a_lock_of_another_boot_is_set_again(box: Box) -> None:
    box.run(ALL)
    old = json.loads(box.record.read_text())
    box.record.write_text(json.dumps({**old, "boot_id": "another"}))
    assert box.run(ALL, "", "--check")[0] == 10
    box.record.write_text("[")
    assert box.run(ALL, "", "--check")[0] == 10


@pytest.mark.parametrize(("gpu", "mode", "code", "says"), [
    ({"power_limit_watts": 700}, "", 1, "power_limit_watts 700 is outside what this board takes: 150 to 600 W"),
    ({"clocks_mhz": [100, 2400]}, "", 1, "clocks_mhz [100, 2400] is outside what this board takes: 180 to 3090 MHz"),
    ({"clocks_mhz": [600, 3200]}, "unlisted=1", 1, "outside what this board takes: 0 to 3090 MHz"),
    ({"clocks_mhz": [600, 2400]}, "unlisted=1", 0, "clocks locked to 600 to 2400 MHz"),
    (ALL, "deny=nvmlDeviceSetPowerManagementLimit", 1, "GPU1 0000:04:00.0: NVML refuses: NO_PERMISSION"),
    (ALL, "deaf=nvmlDeviceSetPowerManagementLimit", 1, "reads power limit 600 -> 600 W after 400 was set"),
    (ALL, "lost=0", 1, "GPU0: NVML refuses: GPU_IS_LOST"),
    (ALL, "init=12", 0, "skip: no NVIDIA driver answers here (LIBRARY_NOT_FOUND)"),
    (ALL, "init=9", 0, "skip: no NVIDIA driver answers here (DRIVER_NOT_LOADED)"),
    (ALL, "init=18", 3, "NVML gives no answer (LIB_RM_VERSION_MISMATCH)"),
    (ALL, "crash=nvmlDeviceSetGpuLockedClocks", 3, "NVML ended its process (signal 11)"),
])
def test_what_does_not_work_is_said(box: Box, gpu: dict[str, Any], mode: str, code: int, says: str) -> None:
    # The specification lets 700 W through: nobody published the highest limit of the profile's Max-Q board.
    got, said = box.run(gpu, mode)
    assert got == code and says in said, said


def test_the_other_boards_get_theirs(box: Box) -> None:
    assert box.run(ALL, "deny=nvmlDeviceSetPersistenceMode")[0] == 1
    assert box.boards() == [[0, 400, 600, 2400], [1, 600, 0, 0]]
    assert list(json.loads(box.record.read_text())["clocks_mhz"]) == ["0000:03:00.0"]


def test_a_driver_that_hangs_costs_the_deadline_and_not_what_was_done(box: Box) -> None:
    code, said = box.run(ALL, "hang=nvmlDeviceSetPowerManagementLimit", deadline="2")
    assert code == 3 and "GPU0 0000:03:00.0: persistence mode on -> off; power limit" in said
    assert "NVML gave no answer within 2 s" in said
    assert list(json.loads(box.record.read_text())["clocks_mhz"]) == ["0000:03:00.0"]


def test_only_accelerators_are_touched(box: Box) -> None:
    code, said = box.run({"persistence": False}, profile="rtx-5090-direct")
    assert code == 0 and said.startswith("skip: none of NVML's 2 GPUs") and not box.state.exists()


def test_no_specification(box: Box) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--spec", str(box.folder / "none")], env=box.environment(),
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and re.search(rf"^{box.folder}/none: does not exist", done.stdout)


_STATE = {"LoadState": "loaded", "UnitFileState": "disabled", "ActiveState": "inactive"}


@pytest.mark.parametrize(("state", "persistence", "driver", "steps"), [
    ({}, True, True, ["enable", "start"]),
    ({}, True, False, ["enable"]),                                  # it fails without the driver
    ({"UnitFileState": "static"}, True, True, ["start"]),           # Ubuntu
    ({"UnitFileState": "enabled", "ActiveState": "active"}, True, True, []),
    ({"UnitFileState": "enabled", "ActiveState": "active"}, False, True, ["disable", "stop"]),
    ({"UnitFileState": "static", "ActiveState": "active"}, False, True, []),
    ({}, False, True, []),
    ({"LoadState": "not-found", "UnitFileState": ""}, True, True, []),
])
def test_what_is_done_with_the_daemon(load_module: Callable[[str], ModuleType], state: dict[str, str],
                                      persistence: bool, driver: bool, steps: list[str]) -> None:
    assert load_module("gpu_settings").daemon_steps({**_STATE, **state}, persistence, driver) == steps


def test_the_module_changes_once(box: Box) -> None:
    """Packed and run by Ansible, with the real script behind a wrapper that names this box's files."""
    wrapper = box.folder / "wrapper.py"
    wrapper.write_text(f"import runpy, sys\nsys.argv += ['--spec', {str(box.spec(ALL))!r}, '--record', "
                       f"{str(box.record)!r}]\nrunpy.run_path({str(SCRIPT)!r}, run_name='__main__')\n")

    def run(*options: str, mode: str = "") -> dict[str, Any]:
        argv = [str(Path(sys.executable).parent / "ansible"), "localhost", "-i", "localhost,", "-c", "local", "-e",
                f"ansible_python_interpreter={sys.executable}", "-m", "gpu_settings", "-a",
                json.dumps({"python": sys.executable, "script": str(wrapper)}), *options]
        variables = {**environment(ANSIBLE_BECOME="false", ANSIBLE_CALLBACK_RESULT_FORMAT="json"),
                     **box.environment(mode)}
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=ROOT, env=variables, check=False)
        return json.loads(done.stdout[done.stdout.index("=> {") + 3:])  # type: ignore[no-any-return]

    assert run("--check")["changed"] and not box.state.exists()
    first, second = run(), run()
    assert first["changed"] and len(first["said"]) == 2 and not second["changed"] and not second["skipped_reason"]
    refused = run(mode="gpus=1 lost=0")
    assert "GPU_IS_LOST" in refused["msg"]
    away = run(mode="init=12")
    assert not away["changed"] and "LIBRARY_NOT_FOUND" in away["skipped_reason"]
    sick = run(mode="init=18")
    assert "msg" not in sick and "LIB_RM_VERSION_MISMATCH" in sick["skipped_reason"]


def test_the_unit_is_one(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    text = (FILES / "tunecheck-gpu.service").read_text()
    assert "--" not in text.split("ExecStart=")[1].splitlines()[0]
    unit = tmp_path / "tunecheck-gpu.service"
    unit.write_text(text.replace("/opt/tunecheck/current/bin/python", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and "tunecheck-gpu" not in done.stderr, done.stderr
