"""What goes wrong around a trial, through the whole program: it comes back, says what it saw, and leaves nothing.

Each run ends within the bound of whole_box.run, whatever hangs. docs/trials-faults.md lists all faults.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.trials import whole_box
from tests.unit.trials.whole_box import Done

from tunecheck.host.recording import load_recording
from tunecheck.trials.supervisor import process_state

Box = Callable[..., Done]
mounts = pytest.mark.skipif(bool(whole_box.may_mount()), reason=whole_box.may_mount() or "it can be done")


@pytest.fixture
def box(libraries: Path, tmp_path: Path) -> Box:
    return lambda *arguments, **given: whole_box.run(libraries, tmp_path, *arguments, **given)


@mounts
@pytest.mark.parametrize(("where", "thread"), [("cuMemcpyAsync,1", ""), ("tc_copy", r"\([^()]* \d+\)")],
                         ids=["main thread", "another thread"])
def test_a_worker_that_sigkill_does_not_end(box: Box, tmp_path: Path, where: str, thread: str) -> None:
    """Real state D, on a filesystem that never answers. Our process ends all the same, and only with it the worker."""
    done = box("p2p", cuda=f"at={where} do=stuck", stuck="yes")
    assert done.code == 4 and done.hang["aftermath"]["verdict"] == "wedged"
    assert done.codes("trial-hang") == {"wedged"}
    found = re.search(rf"\b(\d+) \([^()]* D\b[^()]*{thread}[^()]*\brequest_wait_answer\)", done.message("trial-hang"))
    assert found, done.message("trial-hang")
    until = time.monotonic() + 10       # the filesystem ended with the program
    while process_state(int(found[1])) not in ("gone", "Z") and time.monotonic() < until:
        time.sleep(0.01)
    assert process_state(int(found[1])) in ("gone", "Z")
    assert json.loads((tmp_path / "run" / "wedged.json").read_text())["text"] in done.message("trial-hang")
    kept = load_recording(done.hang["bundle"])._reads
    stacks = [data for path, data in kept.items() if path.startswith(f"/proc/{found[1]}/") and path.endswith("/wchan")]
    assert b"request_wait_answer" in stacks
    again = box("p2p", stuck="")
    assert again.code == 4 and again.report == {} and "--after-reset" in again.errors


@mounts
def test_an_nvidia_smi_that_hangs_is_named(box: Box) -> None:
    """The trial does not need it. It may be what holds the driver, so it is named, with its kernel function."""
    done = box("p2p", cuda="at=tc_copy do=stop", stuck="nvidia-smi")
    assert done.code == 4 and done.hang["aftermath"]["verdict"] == "recovered"
    (remark,) = done.hang["remarks"]
    assert re.fullmatch(r"nvidia-smi \(\w+ \d+\) .* D\b.*\brequest_wait_answer", remark)
    kept = load_recording(done.hang["bundle"])
    assert not [argv for argv in kept._runs if argv[0] == "nvidia-smi"] and ("dmesg",) in kept._runs


@pytest.mark.parametrize(("nvml", "remark"), [
    ("crash=nvmlDeviceGetPowerUsage", r"NVML .*\b0000:04:00\.0: \D* 11"),
    ("hang=nvmlDeviceGetPowerUsage", r"NVML .*\b0000:04:00\.0: \D* [0-9.]+ s"),
    ("init=9", r"NVML .*DRIVER_NOT_LOADED.*"),
    ("lost=1", r"NVML .*\b0000:04:00\.0: GPU_IS_LOST"),
])
def test_nvml_that_fails_at_the_stall(box: Box, nvml: str, remark: str) -> None:
    """The rest of the evidence is there, and the verdict is not NVML's."""
    done = box("p2p", cuda="at=tc_copy do=stop", nvml=f"gpus=2 {nvml}")
    assert done.code == 4 and done.hang["aftermath"]["verdict"] == "recovered"
    assert [bool(re.fullmatch(remark, each)) for each in done.hang["remarks"]] == [True], done.hang["remarks"]
    assert done.hang["remarks"][0] in done.message("trial-hang")
    assert [path for path in load_recording(done.hang["bundle"])._reads if path.endswith("/stack")]


@mounts
def test_a_full_disk_costs_the_bundle_alone(box: Box) -> None:
    done = box("p2p", cuda="at=tc_copy do=stop", full=True)
    assert done.code == 4 and done.hang["bundle"] is None and done.hang["aftermath"]["verdict"] == "recovered"
    assert "No space left on device" in done.message("trial-hang")
    assert done.left == ("ballast",)


@mounts
def test_ranks_that_cannot_meet_on_a_full_disk_say_so(box: Box) -> None:
    done = box("allreduce", "--soak", "0", full=True)
    assert done.code == 3 and done.report["measured"]["hangs"] == []
    assert done.codes("trial-hang") == {"not-finished"} and done.left == ("ballast",)
    assert re.search(r"No usable temporary directory.*\bTMPDIR\b", done.message("trial-hang"))


@pytest.mark.parametrize(("words", "says"), [
    ("at=any do=gone,46 skip=400", "CUDA_ERROR_DEVICE_UNAVAILABLE (46)"),
    ("at=any,1 do=gone,100 skip=400", "CUDA_ERROR_NO_DEVICE (100)"),
])
@pytest.mark.parametrize("verb", [("p2p",), ("allreduce", "--soak", "30s")], ids=["p2p", "allreduce"])
def test_a_driver_that_goes_away(box: Box, verb: tuple[str, ...], words: str, says: str) -> None:
    """Inconclusive, with the driver's own word for it: no hang, and nothing is claimed of P2P."""
    done = box(*verb, cuda=words)
    assert done.code in (1, 3) and done.report["measured"]["hangs"] == []
    assert says in done.message("trial-hang") and done.codes("trial-hang") == {"not-finished"}


def test_counters_that_moved_are_in_the_evidence(box: Box) -> None:
    done = box("p2p", cuda="at=tc_copy do=stop", nvml="gpus=2 replays=7", counts=(2, 14))
    (remark,) = done.hang["remarks"]
    assert re.findall(r"(0000:0\d:00\.0)( BadTLP)? [^+]*\+(\d+)", remark) == [
        ("0000:03:00.0", " BadTLP", "12"), ("0000:03:00.0", "", "7"), ("0000:04:00.0", "", "7")]
    kept = load_recording(done.hang["bundle"])._reads
    assert kept["/sys/bus/pci/devices/0000:03:00.0/aer_dev_correctable"].startswith(b"BadTLP 14\n")
