"""From nothing to a served answer on one box: provision, trial boot, preflight, gate, container, acceptance; then what
must not serve, and a reboot. The tests follow each other on one VM, as `make demo` leaves it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.box import Box, serving
from tests.lab.conftest import MakeBox

pytestmark = pytest.mark.long
UNIT = "tunecheck-inference"
_ASK = ("curl -sS -m 60 -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' "
        "-d '{\"model\": \"tiny\", \"max_tokens\": 8, \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}' "
        "http://127.0.0.1:30000/v1/chat/completions")


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, serving_image: Path) -> Iterator[Box]:
    box = shared_box(base=serving_image, **serving(serving_image))
    run = box.playbook()
    assert run.rc == 0, run
    yield box


def status(lab: Box) -> str:
    return lab.ssh(f"systemctl status --no-pager --full {UNIT}", check=False)


def asked(lab: Box) -> tuple[str, str]:
    """The HTTP status with the key, and without."""
    key = '-H "Authorization: Bearer $(cat /etc/tunecheck/secrets/api-key)"'
    return lab.ssh(f"{_ASK} {key}", check=False), lab.ssh(_ASK, check=False)


def wait_for(lab: Box, state: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while (found := lab.ssh(f"systemctl is-active {UNIT}", check=False).strip()) != state:
        assert time.monotonic() < end, f"{found}, expected {state}\n{status(lab)}"
        time.sleep(3)


def test_one_play_from_nothing_to_a_served_answer(lab: Box) -> None:
    assert lab.boots() == 2, "one reboot, the trial's"
    assert asked(lab) == ("200", "401")
    assert 'Status: "accepted, serving"' in status(lab)
    lab.ssh("systemctl daemon-reload")
    assert asked(lab) == ("200", "401"), "units read again while it serves"
    pinned = json.loads(lab.ssh("cat /etc/tunecheck/recipe.json"))
    assert lab.ssh("podman inspect --format '{{.Image}}' tunecheck-inference").strip() in json.dumps(pinned)


def test_a_refused_start_names_the_failed_check(lab: Box) -> None:
    lab.ssh(f"systemctl stop {UNIT}; setpci -s 0000:02:00.0 ECAP_ACS+6.w=001d")
    # By hand and not by the unit: it would set the register back.
    assert "rc=0" not in lab.ssh(f"systemctl start {UNIT}; echo rc=$?", check=False, timeout=300)
    wait_for(lab, "failed")
    told = status(lab)
    assert "acs-redirect" in told.partition("Status: ")[2].splitlines()[0], told
    assert asked(lab)[0] == "000"


def test_after_a_reboot_it_serves_again_by_itself(lab: Box) -> None:
    lab.reboot()
    wait_for(lab, "active")
    assert asked(lab) == ("200", "401")
    passed = json.loads(lab.ssh("cat /run/tunecheck/pass.json"))
    assert lab.boot_id() in json.dumps(passed)
