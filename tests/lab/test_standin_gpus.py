"""The real trials on the demo's box: stand-in modules and libraries, real processes, real containers. The figures are a
model's; that they are measured and judged, and that a fault is found, is real. The tests follow each other on a VM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.box import Box
from tests.lab.conftest import MakeBox

from lab import standin_gpus

pytestmark = pytest.mark.long
WORDS = "/etc/tunecheck-standin"
GPUS = ("0000:03:00.0", "0000:04:00.0")


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, serving_image: Path) -> Iterator[Box]:
    box = shared_box(base=serving_image)
    run = box.playbook()
    assert run.rc == 0, run
    yield box


def tunecheck(lab: Box, *words: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, report and messages of a verb on the box."""
    out = lab.ssh(f"tunecheck {' '.join(words)} --json 2>/run/errors; echo; echo $?", check=False, timeout=300)
    text, _, code = out.rstrip().rpartition("\n")
    return int(code), json.loads(text) if text.strip() else {}, lab.ssh("cat /run/errors")


def findings(report: dict[str, Any], check: str) -> list[dict[str, Any]]:
    return [each for each in report["findings"] if each["id"] == check]


def figures(report: dict[str, Any], trial: str) -> list[dict[str, Any]]:
    return [each for each in report["measured"]["figures"] if each["trial"] == trial]


def test_kernel_module_and_libraries_tell_of_the_same_boards(lab: Box) -> None:
    about = lab.ssh("cat /proc/driver/nvidia/gpus/*/information")
    uuids = re.findall(r"^GPU UUID: \t (GPU-\S+)$", about, re.MULTILINE)
    assert re.findall(r"^Bus Location: \t (\S+)$", about, re.MULTILINE) == list(GPUS) and len(set(uuids)) == 2
    assert re.findall(r"UUID: (GPU-[^)]+)\)", lab.ssh("nvidia-smi -L")) == uuids
    assert lab.ssh("ls /sys/bus/pci/drivers/nvidia").split()[:2] == list(GPUS)
    assert lab.ssh("nvidia-smi topo -m").splitlines()[1].split() == ["GPU0", "X", "PIX"]
    assert standin_gpus.VERSION in lab.ssh("cat /proc/driver/nvidia/version")
    assert lab.ssh("cat /sys/module/nvidia_uvm/parameters/uvm_disable_hmm").strip() == "1", "the role's, by its reboot"


def test_preflight_passes(lab: Box) -> None:
    code, report, errors = tunecheck(lab, "preflight")
    assert code == 0, (errors, [each for each in report["findings"] if each["outcome"] not in ("pass", "skip")])
    for check in ("accelerator-count", "driver-coherence", "nvml-answers", "topo-agreement", "module-parameter",
                  "cdi-spec"):
        assert {each["outcome"] for each in findings(report, check)} == {"pass"}, findings(report, check)


def test_p2p_and_allreduce_measure(lab: Box) -> None:
    code, report, errors = tunecheck(lab, "p2p")
    assert code == 0, (errors, report)
    assert {(each["a"], each["b"]) for each in figures(report, "one way")} == {(0, 1), (1, 0)}
    assert all(each["verified"] for each in figures(report, "one way"))
    code, report, errors = tunecheck(lab, "allreduce", "--soak", "2s")
    assert code == 0, (errors, report)
    assert {"own", "nccl", "nccl staged", "bus"} <= {each["way"] for each in figures(report, "allreduce")}
    assert [each["verified"] for each in figures(report, "soak")] == [True]


def test_a_fault_is_found_and_gone_again(lab: Box) -> None:
    lab.ssh(f"echo wrong=0,1,4096 > {WORDS}/cuda")
    code, report, _ = tunecheck(lab, "p2p")
    assert code == 1
    assert [each["outcome"] for each in findings(report, "p2p-integrity") if each["outcome"] == "fail"], report
    lab.ssh(f"rm {WORDS}/cuda")
    assert tunecheck(lab, "p2p")[0] == 0


def test_the_same_trials_in_the_engines_image(lab: Box) -> None:
    lab.ssh("podman image exists localhost/tunecheck/lab-tiny:1 || podman load -q -i /srv/images/lab-tiny.tar",
            timeout=300)
    identity = lab.ssh("podman image inspect --format '{{.Id}}' localhost/tunecheck/lab-tiny:1").strip()
    code, report, errors = tunecheck(lab, "trial", "--in-container", identity, "--soak", "2s")
    assert code == 0, (errors, report)
    assert report["measured"]["notes"]["image id"] == identity
    assert figures(report, "soak") and figures(report, "one way")
    assert "tunecheck-trial" not in lab.ssh("podman ps -a --format '{{.Names}}'")
    lab.ssh(f"echo wrong=0,3 > {WORDS}/nccl")
    code, report, errors = tunecheck(lab, "trial", "--in-container", identity, "--soak", "2s")
    lab.ssh(f"rm {WORDS}/nccl")
    assert code == 1, (errors, report)


def test_another_card_and_another_driver(lab: Box) -> None:
    def uuids() -> list[str]:
        told = lab.ssh("grep -h UUID /proc/driver/nvidia/gpus/*/information")
        found = re.findall(r"GPU-\S+", told)
        assert re.findall(r"UUID: (GPU-[^)]+)\)", lab.ssh("nvidia-smi -L")) == found
        return found

    before = uuids()
    lab.ssh("tunecheck-standin swap 1")
    after = uuids()
    assert before[0] == after[0] and before[1] != after[1]
    lab.ssh("tunecheck-standin driver 596.10.01")
    assert "596.10.01" in lab.ssh("cat /proc/driver/nvidia/version") and "596.10.01" in lab.ssh("nvidia-smi")
    report = tunecheck(lab, "preflight")[1]
    assert {each["outcome"] for each in findings(report, "driver-coherence")} == {"pass"}, report
