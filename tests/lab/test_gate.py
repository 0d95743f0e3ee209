"""Nothing serves unmeasured, on a box with stand-in GPUs: from bare to serving through the measured pass; then each
fault refuses the start with its reason in one line, leaves no process behind, and is gone at the next start.

The tests follow each other on one VM."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.box import Box, serving, until
from tests.lab.conftest import MakeBox

pytestmark = pytest.mark.long
UNIT = "tunecheck-inference"
WORDS = "/etc/tunecheck-standin"
MEASURED = "/var/lib/tunecheck/measured.json"


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, serving_image: Path) -> Iterator[Box]:
    box = shared_box(base=serving_image, **serving(serving_image))
    run = box.playbook(timeout=2400)
    assert run.rc == 0, run
    yield box


def start(lab: Box) -> str:
    """Start the unit once, as an operator would, to its end; the line Status of systemctl status."""
    lab.ssh(f"systemctl reset-failed {UNIT}; systemctl start {UNIT}", check=False, timeout=900)
    end = time.monotonic() + 60
    while lab.ssh(f"systemctl is-active {UNIT}", check=False).strip() in ("activating", "deactivating"):
        if time.monotonic() > end:      # between two tries: the first one has said why
            break
        time.sleep(2)
    told = lab.ssh(f"systemctl status --no-pager --full {UNIT}", check=False)
    return told.partition("Status: ")[2].splitlines()[0] if "Status: " in told else told


def refused(lab: Box, says: str, seconds: float = 60) -> None:
    """The start is refused for this reason, nothing is left of it, and without the fault the next one serves."""
    status = start(lab)
    assert "gate closed: " in status and says in status, status
    lab.ssh(f"systemctl stop {UNIT} tunecheck-preflight", check=False)
    left = lab.ssh("pgrep -af '[t]unecheck.trials|[t]rials/inside' ; podman ps -aq", check=False)
    assert left.strip() == "", left
    assert lab.ssh("curl -s -m 5 -o /dev/null -w '%{http_code}' http://127.0.0.1:30000/health", check=False) == "000"


def serves(lab: Box) -> None:
    status = start(lab)
    assert "accepted, serving" in status, status
    lab.ssh(f"systemctl stop {UNIT}")


def measured(lab: Box) -> dict[str, Any]:
    return dict(json.loads(lab.ssh(f"cat {MEASURED}"))["measured"])


def gate(lab: Box) -> tuple[int, str]:
    out = lab.ssh("tunecheck gate --recipe /etc/tunecheck/recipe.json 2>&1; echo $?", check=False)
    text, _, code = out.rstrip().rpartition("\n")
    return int(code), text


def test_from_bare_to_serving_through_the_measured_pass(lab: Box) -> None:
    report = lab.report()
    assert report["exit_code"] == 0 and report["measured"]["figures"], "the play measured fully before it handed over"
    assert {each["ranks"] for each in report["measured"]["figures"] if each["trial"] == "soak"} == {2}
    assert 'Status: "accepted, serving"' in lab.ssh(f"systemctl status --no-pager {UNIT}")
    found = measured(lab)
    assert (found["exit_code"], found["kind"], found["place"]) == (0, "quick", "image"), "the start measured inside"
    assert found["key"]["image"] in lab.ssh("cat /etc/tunecheck/recipe.json")
    assert found["boot_id"] == lab.boot_id()
    again = lab.playbook()
    assert again.rc == 0 and "changed=0" in again.stdout, again
    assert "still holds" in again.stdout, "a box that serves is not measured again"
    lab.ssh(f"systemctl stop {UNIT}")


@pytest.mark.parametrize(("file", "words", "says"), [
    ("cuda", "wrong=0,1,4096", "p2p-integrity: GPU0->GPU1"),
    ("cuda", "host=0,1", "p2p-staged: P2P silently unused: GPU0->GPU1"),
    ("cuda", "link=0,1,37 link=1,0,37", "p2p_one_way_gb_s is 37, and was 50 on these GPUs"),
    ("nccl", "at=reduce,1 do=hang", "trial-hang: allreduce of 2 ranks hung"),
], ids=["a corrupted word", "staged in silence", "slow by a quarter", "an all-reduce that hangs"])
def test_a_fault_refuses_and_its_end_serves(lab: Box, file: str, words: str, says: str) -> None:
    bundles = lab.ssh("ls /var/lib/tunecheck/evidence", check=False).split()
    lab.ssh(f"systemctl stop {UNIT}; echo '{words}' > {WORDS}/{file}")
    try:
        refused(lab, says)
        if "hung" in says:
            assert len(lab.ssh("ls /var/lib/tunecheck/evidence").split()) > len(bundles), "the bundle is there"
    finally:    # the tests after this one have their own faults
        lab.ssh(f"systemctl stop {UNIT} tunecheck-preflight; rm {WORDS}/{file}", check=False)
    serves(lab)


def opened(lab: Box) -> None:
    """A quick measured pass by hand: the gate is open after it."""
    lab.ssh("tunecheck preflight --pass", timeout=300)
    code, text = gate(lab)
    assert code == 0, text


def test_what_changed_is_named(lab: Box) -> None:
    """The gate alone: what a start would find if nothing measured again."""
    opened(lab)
    lab.ssh("setpci -s 0000:02:00.0 ECAP_ACS+6.w=001d")
    code, text = gate(lab)
    assert code == 1 and "ACS above the GPUs changed: 0000:02:00.0 0x0000 then, 0000:02:00.0 0x001d now" in text
    lab.ssh("setpci -s 0000:02:00.0 ECAP_ACS+6.w=0000")
    assert gate(lab)[0] == 0
    lab.ssh(f"cp {MEASURED} /root/; sed -i 's/\"exit_code\": 0/\"exit_code\":  0/;s/p2p_one_way_gb_s\": [0-9.]*/"
            f"p2p_one_way_gb_s\": 99/' {MEASURED}")
    assert "was altered, or was written on another box" in gate(lab)[1]
    lab.ssh(f"head -c 700 /root/measured.json > {MEASURED}")
    assert "is not JSON" in gate(lab)[1]
    lab.ssh(f"cp /root/measured.json {MEASURED}; cp /var/lib/tunecheck/measured.key /root/; "
            "head -c 32 /dev/urandom > /var/lib/tunecheck/measured.key")
    assert "its seal does not fit" in gate(lab)[1], "as if it came from another box"
    lab.ssh("cp /root/measured.key /var/lib/tunecheck/")
    assert gate(lab)[0] == 0


def test_gpus_in_use_by_somebody_are_left_alone(lab: Box) -> None:
    lab.ssh("systemd-run -q --unit=somebody sh -c 'exec 3</dev/nvidia0 sleep 600'")
    refused(lab, "the GPUs are in use by")
    lab.ssh("systemctl stop somebody")
    serves(lab)


def test_an_nvidia_smi_that_hangs_does_not_hang_the_start(lab: Box) -> None:
    lab.ssh("mv /usr/bin/nvidia-smi /root/; printf '#!/bin/sh\\nsleep 3600\\n' > /usr/bin/nvidia-smi; "
            "chmod 755 /usr/bin/nvidia-smi")
    began = time.monotonic()
    status = start(lab)
    assert "gate closed" in status or "serving" in status, status
    assert time.monotonic() - began < 600
    lab.ssh(f"systemctl stop {UNIT}; mv /root/nvidia-smi /usr/bin/nvidia-smi", check=False)
    serves(lab)


def test_a_power_cut_while_it_is_measured_leaves_no_pass(lab: Box) -> None:
    lab.reboot("systemd-run -q --unit=cut tunecheck preflight --pass; "
               "systemd-run -q --on-active=12 sh -c 'echo b > /proc/sysrq-trigger'")
    # The unit is enabled: it measures by itself, and serves.
    until(lambda: lab.ssh(f"systemctl is-active {UNIT}", check=False).strip() == "active",
          lambda: lab.ssh(f"systemctl status --no-pager {UNIT}", check=False))
    assert measured(lab)["boot_id"] == lab.boot_id()
    assert lab.ssh("ls -A /var/lib/tunecheck | grep '^[.]measured' || true").strip() == ""
    lab.ssh(f"systemctl stop {UNIT}")


def test_another_card_and_another_driver_are_refused_until_measured(lab: Box) -> None:
    opened(lab)
    lab.ssh("tunecheck-standin swap 1")
    code, text = gate(lab)
    assert code == 1 and "the GPUs changed" in text
    serves(lab)
