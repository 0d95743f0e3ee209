"""A served engine that gives no token any more, on a machine with real systemd, real podman and a real engine: seen by
the watch, kept as evidence, stopped, proven, started and accepted again, by what the specification allows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from tests.roles.inference.machine import GOOD, KEY, UNIT, Machine, machine
from tests.roles.inference.watched import (
    INCIDENTS,
    RECOVER,
    WATCH,
    grace,
    policy,
    ready,
    signal_engine,
    soon,
    steps,
    until,
)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("recover")) as found:
        soon(found)
        done = found.hand_over(found.recipe("lab-good", GOOD))
        assert done.returncode == 0, done.stdout + done.stderr
        yield found


@pytest.fixture
def serving(box: Machine) -> Iterator[Machine]:
    """Serves and is watched, and no incident is on record."""
    policy(box, "restart")
    box.run("systemctl", "stop", RECOVER)
    # Most tests end with a new run that nothing was asked for yet: it is as good as one more.
    serves = box.show("ActiveState") == "active" and until(lambda: ready(box) == ("200", "ready: idle"), 10)
    if not serves:
        box.run("systemctl", "stop", UNIT)
    box.run("sh", "-c", f"rm -rf /{INCIDENTS} /run/tunecheck/stall.json /run/tunecheck/drained.json")
    box.run("systemctl", "reset-failed", UNIT, RECOVER)
    if not serves:
        assert box.run("systemctl", "start", UNIT).returncode == 0, box.status()
    assert until(lambda: ready(box) == ("200", "ready: idle")), (ready(box), box.say("systemctl", "status", WATCH))
    yield box
    signal_engine(box, "CONT")


def test_a_frozen_engine_serves_again_by_itself(serving: Machine) -> None:
    before, run = serving.preflights(), serving.show("InvocationID")
    signal_engine(serving, "STOP")
    begun = time.monotonic()
    assert until(lambda: ready(serving)[0] == "503", 60), serving.say("systemctl", "status", WATCH, RECOVER)
    noticed = time.monotonic() - begun
    assert until(lambda: ("serving", "") in steps(serving)), (steps(serving), serving.say("journalctl", "-u", RECOVER))
    assert [step for step, _ in steps(serving)] == ["noticed", "evidence", "stopping", "stopped", "starting", "serving"]
    assert serving.show("InvocationID") != run and serving.preflights() - before == 1
    assert serving.post((serving.root / KEY[1:]).read_text().strip()) == 200
    assert until(lambda: ready(serving) == ("200", "ready: idle")) and noticed < 60
    assert serving.show("Result", RECOVER) == "success"
    evidence_is_whole(serving)
    page_is_whole(serving)
    told = json.loads(serving.say("cat", "/run/tunecheck/accepted.json"))
    assert told["invocation"] == serving.show("InvocationID") and told["tok_s"] > 0 and told["question"]["expect"]
    assert "not-accepted" not in serving.say("curl", "-s", "-m", "3", "http://127.0.0.1:9638/metrics")


def page_is_whole(serving: Machine) -> None:
    done = serving.run("/opt/tunecheck/bin/tunecheck", "recover", "--html", "/run/tunecheck/page.html")
    assert done.returncode == 0, done.stderr
    page = serving.say("cat", "/run/tunecheck/page.html")
    for words in ("It serves and is accepted again", "was stopped by a signal", "Requests, at once", "do_signal_stop"):
        assert words in page, (words, page[-3000:])


def evidence_is_whole(serving: Machine) -> None:
    """It names the stopped process, and holds no key."""
    folder, = [each for each in (serving.root / INCIDENTS).iterdir() if each.is_dir()]
    threads = json.loads((folder / "processes.json").read_text())
    assert any(each["state"] == "T" and "llama" in each["name"] for each in threads), threads
    told = json.loads((folder / "stall.json").read_text())
    seen = [each["state"] for each in told["timeline"]]
    assert told["watch"]["state"] == "stalled" and seen[0] == "idle" and seen[-1] == "stalled", seen
    assert "InvocationID" in (folder / "unit.txt").read_text()
    key = (serving.root / KEY[1:]).read_text().strip()
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in folder.iterdir():
        assert key not in path.read_text() and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("on_stall", "ended", "answer"), [
    ("report", ("reported", "policy"), "ready: idle"), ("drain", ("drained", "policy"), "not ready: drained")])
def test_what_the_specification_does_not_allow_is_not_done(serving: Machine, on_stall: str, ended: tuple[str, str],
                                                           answer: str) -> None:
    policy(serving, on_stall)
    run = serving.show("InvocationID")
    signal_engine(serving, "STOP")
    assert until(lambda: ended in steps(serving)), steps(serving)
    signal_engine(serving, "CONT")
    assert serving.show("InvocationID") == run
    assert until(lambda: ready(serving)[1] == answer), ready(serving)
    assert serving.until_said("journalctl -t tunecheck", "tunecheck-recover.service failed", 60)
    # A new run of the unit may be asked again.
    assert serving.run("systemctl", "restart", UNIT).returncode == 0
    assert until(lambda: ready(serving) == ("200", "ready: idle")), ready(serving)


def test_after_so_many_restarts_it_stays_down(serving: Machine) -> None:
    policy(serving, "restart", 1)
    signal_engine(serving, "STOP")
    assert until(lambda: ("serving", "") in steps(serving)), steps(serving)
    assert until(lambda: ready(serving)[0] == "200")
    signal_engine(serving, "STOP")
    assert until(lambda: ("stays-down", "too-many") in steps(serving)), steps(serving)
    assert serving.show("ActiveState") in ("inactive", "failed") and ready(serving)[0] != "200"
    assert "as often today as watch.restarts_per_day allows" in serving.say("systemctl", "status", RECOVER)
    listed = serving.say("/opt/tunecheck/bin/tunecheck", "recover", "--list").splitlines()
    assert len(listed) == 2 and "serves and is accepted again" in listed[0] and "stays down" in listed[1], listed


def test_a_box_that_is_not_proven_after_the_stall_stays_down(serving: Machine) -> None:
    serving.verdict("p2p-integrity: data differ between 0000:01:00.0 and 0000:02:00.0")
    try:
        signal_engine(serving, "STOP")
        assert until(lambda: ("stays-down", "not-started") in steps(serving)), steps(serving)
        assert serving.show("ActiveState") == "failed"
        assert "p2p-integrity: data differ" in serving.say("systemctl", "status", "--full", RECOVER)
        assert until(lambda: ready(serving)[1].startswith("not ready: ")), ready(serving)
    finally:
        serving.verdict("")


@pytest.mark.parametrize("during", ["stopping", "starting"])
def test_killed_in_the_middle_it_takes_up_and_starts_nothing_twice(serving: Machine, during: str) -> None:
    before = serving.preflights()
    grace(serving, 3.0 if during == "stopping" else 0.5)        # there is a middle to be killed in
    signal_engine(serving, "STOP")
    assert until(lambda: any(step == during for step, _ in steps(serving))), steps(serving)
    grace(serving, 0.5)         # for the one that takes it up
    serving.run("systemctl", "kill", "--signal=KILL", RECOVER)
    assert until(lambda: ("serving", "") in steps(serving)), (steps(serving),
                                                                  serving.say("journalctl", "-u", RECOVER))
    assert serving.preflights() - before == 1
    assert len([step for step, _ in steps(serving) if step == "serving"]) == 1


def test_a_container_with_another_name_is_stopped_and_serves_again(serving: Machine) -> None:
    assert serving.run("podman", "rename", "tunecheck-inference", "mine").returncode == 0
    serving.run("podman", "kill", "--signal=STOP", "mine")
    assert until(lambda: ("serving", "") in steps(serving)), (steps(serving), serving.say("journalctl", "-u", RECOVER))
    assert serving.say("podman", "ps", "--all", "--format", "{{.Names}}").split() == ["tunecheck-inference"]
    assert serving.run("podman", "rename", "tunecheck-inference", "mine").returncode == 0
    assert serving.run("systemctl", "restart", UNIT).returncode == 0, serving.status()
    assert serving.say("podman", "ps", "--all", "--format", "{{.Names}}").split() == ["tunecheck-inference"]


@pytest.mark.parametrize("command", [("restart", "--time", "5"), ("kill",), ("stop", "--time", "5"), ("rm", "--force")])
def test_a_container_that_somebody_ends_is_never_served_unproven(serving: Machine, command: tuple[str, ...]) -> None:
    """Whatever is done to the container by hand: the unit ends with it. Where it starts again, it was proven anew."""
    before, run = serving.preflights(), serving.show("InvocationID")
    serving.run("podman", *command, "tunecheck-inference")

    def settled() -> bool:
        state = serving.show("ActiveState")
        if state not in ("inactive", "failed"):
            return state == "active" and serving.show("InvocationID") != run
        time.sleep(2)       # it is so for a moment, too, before systemd starts it again after 1 s
        return serving.show("ActiveState") == state

    assert until(settled, 120), serving.status()
    if serving.show("ActiveState") == "active":
        assert serving.preflights() == before + 1 and serving.show("InvocationID") != run
    else:
        assert not serving.say("podman", "ps", "--all", "--quiet").strip(), "a container is left behind the unit"
