"""The hand-off on a machine with real systemd, real podman and a real engine: what serves, and what does not."""

from __future__ import annotations

import json
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engine import models
from tests.roles.inference.files import WORDS
from tests.roles.inference.machine import GOOD, KEY, UNIT, Machine, machine

from tunecheck.recipes.handoff import exec_line


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("inference")) as found:
        yield found


@pytest.fixture(scope="module")
def good(box: Machine) -> Path:
    """Handed over: it serves from here on."""
    recipe = box.recipe("lab-good", GOOD)
    done = box.hand_over(recipe)
    assert done.returncode == 0 and "changed=1 " in done.stdout, done.stdout + done.stderr
    return recipe


@pytest.fixture
def serving(box: Machine, good: Path) -> Iterator[Machine]:
    yield box
    box.verdict("")
    box.run("systemctl", "stop", UNIT)
    box.run("systemctl", "reset-failed", UNIT)
    assert box.run("systemctl", "start", UNIT).returncode == 0, box.status()


def key_of(box: Machine) -> str:
    return (box.root / KEY[1:]).read_text().strip()


def test_it_serves_with_the_key_alone_and_a_second_run_changes_nothing(box: Machine, good: Path) -> None:
    key = key_of(box)
    assert (box.post(key), box.post(None), box.post("wrong")) == (200, 401, 401)
    assert "Status: \"accepted, serving\"" in box.status() and box.show("UnitFileState") == "enabled"
    assert box.show("NeedDaemonReload") == "no" and "changed on disk" not in box.status()
    for path in (box.root / KEY[1:]).parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((box.root / KEY[1:]).parent.stat().st_mode) == 0o700
    started = box.show("InvocationID")
    again = box.hand_over(good, "--diff", "-vvv")
    assert again.returncode == 0 and "changed=0 " in again.stdout, again.stdout
    assert box.show("InvocationID") == started and key not in again.stdout and key not in box.say("ps", "axww")
    assert box.run("systemctl", "daemon-reload").returncode == 0
    assert box.post(key) == 200 and box.show("InvocationID") == started, "units read again while it serves"
    tried = box.hand_over(good, "--check", inference_pass_max_age="5m")
    assert "changed=1 " in tried.stdout and box.show("InvocationID") == started, tried.stdout


def test_an_image_comes_from_an_archive_and_its_id_decides(box: Machine) -> None:
    box.run("tar", "-C", "/etc", "-cf", "/var/small.tar", "hostname")
    made = box.run("podman", "import", "/var/small.tar", "localhost/small:1").stdout.split()[-1].removeprefix("sha256:")
    assert box.run("podman", "save", "-o", "/var/small.archive", "localhost/small:1").returncode == 0
    box.run("podman", "rmi", made)
    asked = {"engine": "podman", "image_id": f"sha256:{made}", "archive": "/var/small.archive"}
    assert box.module("container_image", {**asked, "free_gib": 10**7})["code"] == "no-room"
    none = box.module("container_image", {**asked, "archive": "/var/none"})
    assert none["code"] == "no-archive" and " /var/none " in none["msg"]
    gone = box.module("container_image", {**asked, "archive": "", "pull": f"localhost:9/small@sha256:{made}"})
    assert gone["code"] == "not-brought" and f"podman pull localhost:9/small@sha256:{made} " in gone["msg"]
    other = box.module("container_image", {**asked, "image_id": "sha256:" + "0" * 64})
    assert other["code"] == "other-image"
    assert re.search(rf"\bsha256:{made[:12]}\b.*\bsha256:000000000000\b", other["msg"])
    box.run("podman", "rmi", made)
    assert box.module("container_image", asked)["came"] == "archive"
    assert not box.module("container_image", asked)["changed"]


def test_systemd_gives_a_program_the_very_words_that_were_rendered(box: Machine) -> None:
    words = ["/usr/bin/python3", "-c", "import json,sys; json.dump(sys.argv[1:], open('/var/words','w'))", *WORDS]
    (box.root / "etc/systemd/system/words.service").write_text(
        f"[Service]\nType=oneshot\nExecStart={exec_line(words)}\n")
    assert box.run("systemctl", "start", "words").returncode == 0, box.say("journalctl", "-u", "words")
    assert json.loads((box.root / "var/words").read_text()) == WORDS


def test_a_closed_gate_is_a_failed_start_that_names_the_check(serving: Machine) -> None:
    serving.run("systemctl", "stop", UNIT)
    serving.verdict("pcie-acs: ACS redirects peer traffic at 0000:01:00.0")
    before, closed = serving.preflights(), serving.say("journalctl", "-u", UNIT).count("tunecheck gate: closed")
    assert serving.run("systemctl", "start", UNIT).returncode != 0
    assert serving.until("ActiveState", "failed"), serving.status()
    told = serving.status()
    assert "gate closed: preflight of" in told.partition("Status: ")[2].splitlines()[0], told
    assert "pcie-acs: ACS redirects peer traffic at 0000:01:00.0" in told
    # Asked anew at every start: the one, and the one retry. What the limit refuses runs the preflight still.
    assert serving.say("journalctl", "-u", UNIT).count("tunecheck gate: closed") - closed == 2
    assert serving.preflights() - before in (2, 3)
    assert "tunecheck-inference.service failed, and a person is needed" in serving.say("journalctl", "-t", "tunecheck")


def test_no_start_goes_without_its_preflight_however_many_there_are(serving: Machine) -> None:
    before = serving.preflights()
    # Six within systemd's ten seconds: its own limit is five.
    assert serving.run("sh", "-c", "for i in 1 2 3 4 5 6; do systemctl start tunecheck-preflight.service || exit; done"
                       ).returncode == 0
    assert serving.preflights() - before == 6


def test_a_crash_is_restarted_once_after_a_new_preflight_then_it_stays_down(serving: Machine) -> None:
    # A preflight of the test before may still run, and a start would take that one.
    serving.run("systemctl", "stop", UNIT, "tunecheck-preflight.service")
    serving.run("systemctl", "reset-failed", UNIT)
    before = serving.preflights()
    assert serving.run("systemctl", "start", UNIT).returncode == 0
    serving.run("podman", "kill", "--signal", "KILL", "tunecheck-inference")
    assert serving.until("NRestarts", "1") and serving.until("ActiveState", "active"), serving.status()
    assert serving.preflights() - before == 2
    serving.run("podman", "kill", "--signal", "KILL", "tunecheck-inference")
    assert serving.until("ActiveState", "failed"), serving.status()
    assert "Start request repeated too quickly" in serving.status() and serving.preflights() - before <= 3


def test_a_boot_is_over_before_the_model_is_loaded_and_a_play_waits_for_it(serving: Machine, good: Path) -> None:
    serving.run("systemctl", "stop", UNIT)
    serving.run("rm", "/run/tunecheck/pass.json")
    slow = serving.root / f"etc/systemd/system/{UNIT}.d/slow.conf"
    slow.write_text("[Service]\nExecStartPre=/usr/bin/sleep 12\n")
    serving.run("systemctl", "daemon-reload")
    assert serving.run("systemctl", "start", "multi-user.target").returncode == 0
    assert serving.show("ActiveState") in ("inactive", "activating")      # inactive: the preflight comes first
    assert serving.until("ActiveState", "activating")
    started = serving.show("InvocationID")
    done = serving.hand_over(good)
    assert "changed=0 " in done.stdout and serving.show("ActiveState") == "active", done.stdout
    assert serving.show("InvocationID") == started
    assert "ordering cycle" not in serving.say("journalctl", "--no-pager")
    slow.unlink()
    serving.run("systemctl", "daemon-reload")


def test_in_a_trial_boot_only_the_play_starts_it(serving: Machine, good: Path) -> None:
    serving.run("systemctl", "stop", UNIT)
    serving.run("rm", "/run/tunecheck/handed-over")
    # In a container systemd takes the arguments of the first process for the kernel's.
    trial = ("[Unit]\nConditionKernelCommandLine=\nConditionKernelCommandLine=|!--unit\n"
             "ConditionPathExists=|/run/tunecheck/handed-over\n")
    files = [serving.root / f"etc/systemd/system/{unit}.d/trial.conf" for unit in (UNIT, "tunecheck-preflight.service")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(trial)
    serving.run("systemctl", "daemon-reload")
    before = serving.preflights()
    assert serving.run("systemctl", "start", UNIT).returncode == 0      # as the boot does
    assert serving.show("ActiveState") == "inactive" and serving.preflights() == before
    assert "no trigger condition checks were met" in serving.status()
    done = serving.hand_over(good)
    assert "changed=1 " in done.stdout and serving.show("ActiveState") == "active", done.stdout
    assert serving.preflights() == before + 1
    for file in files:
        file.unlink()
    serving.run("systemctl", "daemon-reload")


def unreadable_secret(box: Machine) -> None:
    (box.root / KEY[1:]).parent.joinpath("api-keys").rename(box.root / "root/api-keys")


def readable_secret(box: Machine) -> None:
    (box.root / "root/api-keys").rename((box.root / KEY[1:]).parent / "api-keys")


def take_port(box: Machine) -> None:
    box.run("systemd-run", "--unit=taken", "/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", "30000")
    assert box.until_said("ss -ltn", "127.0.0.1:30000")


def free_port(box: Machine) -> None:
    box.run("systemctl", "stop", "taken")


def wrong_key(box: Machine) -> None:
    path = box.root / KEY[1:]
    (box.root / "root/key").write_text(path.read_text())
    path.write_text("another-key-than-the-engine-has\n")


def right_key(box: Machine) -> None:
    (box.root / KEY[1:]).write_text((box.root / "root/key").read_text())


@pytest.mark.parametrize(("break_it", "mend_it", "says"), [
    (unreadable_secret, readable_secret, "api-keys: no such file or directory"),
    (take_port, free_port, "address already in use"),
    (wrong_key, right_key, "not accepted: "),
])
def test_a_start_that_cannot_work_ends_and_says_why(serving: Machine, break_it: Callable[[Machine], None],
                                                    mend_it: Callable[[Machine], None], says: str) -> None:
    serving.run("systemctl", "stop", UNIT)
    break_it(serving)
    try:
        assert serving.run("systemctl", "start", UNIT).returncode != 0
        assert serving.until("ActiveState", "failed"), serving.status()
        assert says in serving.status() + serving.say("journalctl", "-u", UNIT, "-n", "40"), serving.status()
    finally:
        mend_it(serving)


def test_a_model_file_that_was_cut_is_refused(serving: Machine) -> None:
    serving.run("systemctl", "stop", UNIT)
    (path,) = (serving.root / "srv/models").rglob("tiny.gguf")
    path.write_bytes(GOOD[:-100])
    try:
        assert serving.run("systemctl", "start", UNIT).returncode != 0
        assert "tiny.gguf is not the pinned file" in serving.status()
    finally:
        path.write_bytes(GOOD)


@pytest.mark.parametrize(("name", "says"), [
    ("lab-nan", "is not accepted: not accepted: "),
    ("lab-cut", "the engine ended before it was ready"),
])
def test_an_upgrade_that_is_not_accepted_is_rolled_back_by_itself(box: Machine, good: Path, tmp_path: Path, name: str,
                                                                  says: str) -> None:
    served = (box.root / "etc/tunecheck/recipe.json").read_text()
    # One NaN: HTTP 200, as fast as ever. The other one is pinned as it is, and no engine loads it.
    model = models.nan(tmp_path / "nan.gguf").read_bytes() if name == "lab-nan" else GOOD[:100000]
    done = box.hand_over(box.recipe(name, model))
    text = " ".join(done.stdout.split())
    assert done.returncode != 0 and f"recipe {name}" in text and says in text, done.stdout
    assert "Rolled back to recipe lab-good" in text and "serves again." in text
    assert (box.root / "etc/tunecheck/recipe.json").read_text() == served and box.post(key_of(box)) == 200
    assert "Description=Serve lab-good" in (box.root / f"etc/systemd/system/{UNIT}").read_text()


def test_an_upgrade_keeps_the_former_recipe_and_lacks_are_said_before_anything_stops(box: Machine, good: Path) -> None:
    started = box.show("InvocationID")
    other = box.recipe("lab-other", GOOD, **{"shm_gib: 1": "shm_gib: 2"})
    box.recipe("lab-lacking", GOOD + b" ")
    for path in (box.root / "srv/models").rglob("tiny.gguf"):
        if path.read_bytes() == GOOD + b" ":
            path.unlink()
    lacking = box.hand_over(other.with_name("lab-lacking.yml"))
    assert lacking.returncode != 0 and "Nothing was written. model tunecheck/lab-tiny: tiny.gguf cannot be read" in (
        " ".join(lacking.stdout.split())), lacking.stdout
    assert box.show("InvocationID") == started
    done = box.hand_over(other)
    assert done.returncode == 0 and box.show("InvocationID") != started, done.stdout
    assert '"id": "lab-good"' in (box.root / "etc/tunecheck/recipe.previous.json").read_text()


def test_a_box_that_serves_at_an_address_of_its_own_is_accepted_and_watched(serving: Machine, good: Path) -> None:
    """The key goes there in clear, and never leaves the box."""
    assert serving.run("ip", "addr", "add", "198.51.100.7/32", "dev", "lo").returncode == 0
    try:
        done = serving.hand_over(good, inference_bind="198.51.100.7")
        assert done.returncode == 0 and "Status: \"accepted, serving\"" in serving.status(), done.stdout
        watched = serving.run("/opt/tunecheck/bin/tunecheck", "watch", "--once", "--unit", UNIT, "--url",
                              "http://198.51.100.7:30000", "--api-key-file", KEY)
        assert watched.returncode == 0 and "idle" in watched.stdout, watched.stdout + watched.stderr
    finally:
        serving.hand_over(good)
        serving.run("ip", "addr", "del", "198.51.100.7/32", "dev", "lo")


def test_a_play_does_not_wait_for_a_job_that_a_reboot_ended(serving: Machine, good: Path) -> None:
    """A reboot takes /run with it, and the file of the job that Ansible asks for."""
    serving.run("systemctl", "stop", UNIT)
    gone = ("for i in $(seq 600); do ls /run/tunecheck-job/j* && sleep 1 && rm -rf /run/tunecheck-job && break; "
            "sleep 0.1; done")
    reboot = threading.Thread(target=lambda: serving.run("sh", "-c", gone))
    reboot.start()
    begun = time.monotonic()
    done = serving.hand_over(good)
    reboot.join()
    assert done.returncode != 0 and "gave no answer" in done.stdout and time.monotonic() - begun < 200, done.stdout


def test_taking_it_back_leaves_nothing_and_no_recipe_means_nothing_to_do(box: Machine, good: Path) -> None:
    # The play ends for such a box before its first task, so Ansible counts none.
    told = box.hand_over(None)
    assert told.returncode == 0 and "Leave out a box whose inference_recipe is not set" in told.stdout
    assert not any(word in told.stdout for word in ("ok:", "changed:", "failed=1"))
    done = box.module("inference_service", {"state": "absent"})
    assert done["changed"], done
    left = [str(path) for folder in ("etc/tunecheck", "etc/systemd/system") for path in (box.root / folder).rglob("*")
            if path.is_file() and ("inference" in path.name or "recipe" in path.name or "key" in path.name)]
    assert not left and box.show("LoadState") == "not-found", left
    assert not box.module("inference_service", {"state": "absent"})["changed"]
