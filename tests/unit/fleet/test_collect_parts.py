"""What a box writes, taken apart; the key exchange; the line of progress. No box."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot_file import unpack
from tunecheck_fleet.collect import Options, collect
from tunecheck_fleet.collect.events import Event, answer_of, event_of
from tunecheck_fleet.collect.kex import Client, advice, client, offered
from tunecheck_fleet.collect.progress import Progress
from tunecheck_fleet.collect.project import lay_out
from tunecheck_fleet.collect.protocol import one_line, unframed
from tunecheck_fleet.collect.ship import LOADER, collector, with_snapshot
from tunecheck_fleet.model import Answer, Status


def framed(content: bytes, end: bytes = b"\n#end  rc=0 \n", nonce: str = "abc") -> str:
    body = base64.b64encode(gzip.compress(content + end)).decode()
    return f"hello\n\ntunecheck-1 {nonce} ok {len(body)} {hashlib.sha256(body.encode()).hexdigest()}\n{body}\n"


def test_a_frame_between_banners() -> None:
    assert unframed(f"tunecheck-1 xyz ok 4 -\nAAAA\n{framed(b'{}')}bye", "abc") == ("ok", b"{}", "")
    assert unframed(framed(b"{}").replace("\n", "\r\n"), "abc")[1] == b"{}"     # a terminal was in between
    assert unframed("tunecheck-1 abc missing 0 -\n\n", "abc")[0] == "missing"
    # The last one counts: a login script may have echoed the command and its answer.
    assert unframed(framed(b"{1}") + framed(b"{2}"), "abc")[1] == b"{2}"


@pytest.mark.parametrize("said, status, reason", [
    ("", "garbled", "nothing"),
    ("tunecheck-1 abc ok 999999999 -\nAAAA\n", "garbled", "5 of"),
    ("tunecheck-1 abc ok 4 -\nAAAA\n", "garbled", "not gzip"),
    ("tunecheck-1 abc ok 3 -\nA\u00e9A\n", "garbled", ""),
    ("tunecheck-1 abc ok 4 00\nAAAA\n", "garbled", "checksum"),
    (framed(b"{}", b""), "garbled", "cut short"),
    (framed(b"", b"\n#end tunecheck: spec is unusable\x1b[2J rc=2 \n"), "garbled", "ended with 2: tunecheck: spec is"),
    (framed(b"", b"\n#end  rc=124 \n"), "timeout", "did not end"),
    (framed(b"x" * (9 << 20)), "garbled", "larger than 8 MiB"),
    ("tunecheck-ssh timeout 60\n", "timeout", "within 60 s"),
    ("x\ntunecheck-ssh timeout 60\n", "garbled", "no snapshot"),
])
def test_anything_else_is_said(said: str, status: str, reason: str) -> None:
    found = unframed(said, "abc")
    assert found[:2] == (status, b"")
    assert reason in found[2] and found[2].isprintable()


def test_one_line() -> None:
    assert one_line("a\x1b[31m\n\u202eb\0") == "a [31m b"
    assert len(one_line("x" * 10000 + "end")) == 200 and one_line("x" * 10000 + "end").endswith("end")


@pytest.mark.parametrize("words, status", [
    ("root@10.0.0.1: Permission denied (publickey).", "refused"), ("Host key verification failed.", "refused"),
    ("ssh: connect to host x port 22: Connection refused", "unreachable"), ("", "unreachable"),
    ("Connection timed out during banner exchange", "timeout"), ("Timeout, server x not responding.", "timeout"),
    ("ssh: Could not resolve hostname x: Name or service not known", "unreachable"),
])
def test_why_ssh_did_not_get_through(words: str, status: str) -> None:
    for before in ("", "Task failed: "):        # as of ansible-core 2.19
        event = event_of({"event": "runner_on_unreachable", "event_data": {
            "host": "x", "duration": 1.5,
            "res": {"unreachable": True, "msg": f"{before}Failed to connect to the host via ssh: {words}"}}})
        assert event is not None
        answer = answer_of(event, "g", "abc")
        assert (answer.status, answer.seconds) == (status, 1.5)
        assert answer.reason == (words or "ssh ended without a word")


OLD = Client("OpenSSH_9.2p1", frozenset({"curve25519-sha256", "sntrup761x25519-sha512"}), "sntrup761x25519-sha512")
BETWEEN = Client("OpenSSH_9.9p1", OLD.known | {"mlkem768x25519-sha256"}, "sntrup761x25519-sha512")
NEW = Client("OpenSSH_10.0p2", BETWEEN.known, "mlkem768x25519-sha256")


def test_the_key_exchange_is_never_weaker_unasked() -> None:
    assert [offered(None, ssh) for ssh in (OLD, BETWEEN, NEW)] == ["", "^mlkem768x25519-sha256", ""]
    assert offered("curve25519", OLD) == "^curve25519-sha256"
    assert offered("curve25519", Client("?", frozenset(), "")) == ""
    assert "13 s for 200 hosts" in advice(OLD, 200) and "quantum" in advice(OLD, 200)
    assert advice(OLD, 200, "curve25519") == advice(BETWEEN, 200) == advice(NEW, 200) == ""


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh; apt-get install openssh-client")
def test_this_machines_ssh_says_what_it_has() -> None:
    ssh = client()
    assert ssh.version.startswith("OpenSSH_")
    assert "curve25519-sha256" in ssh.known
    assert ssh.first in ssh.known


def test_progress() -> None:
    progress = Progress(5)
    for name, status in (("a", "ok"), ("b", "timeout"), ("c", "unreachable")):
        progress.took(Answer(name, "g", status))
    assert progress.texts()[0].startswith("audit: 1 done, 2 failed (1 timeout, 1 unreachable), 2 left;")
    progress.done()


def test_of_a_box_that_is_only_read_no_audit_is_shown_and_nothing_is_said_to_be_kept() -> None:
    progress = Progress(1, doing="init: reading 192.0.2.1 over ssh")
    assert progress.texts() == ("init: reading 192.0.2.1 over ssh",)


@pytest.mark.parametrize("statuses", [[], ["unreachable"], ["unreachable", "timeout"], list(get_args(Status))])
@pytest.mark.parametrize("each", [1, 2_000])
def test_the_line_of_an_audit_fits_into_80_columns(statuses: list[Status], each: int) -> None:
    """Whatever fails; the reasons stand in it where there is room, then what Ctrl-C does."""
    progress = Progress(40_000)
    for number in range(each):
        for status in statuses:
            progress.took(Answer(f"{status}-{number}", "g", status))
    texts = progress.texts()
    assert list(map(len, texts)) == sorted(map(len, texts), reverse=True) or len(texts[1]) < len(texts[2])
    fits = next(text for text in texts if len(text) < 80)
    assert re.fullmatch(r"audit: \d+ done, \d+ failed( \([^()]+\))?, \d+ left(; Ctrl-C keeps what came)?", fits)



@pytest.mark.parametrize("given", [{"forks": 0}, {"deadline": 0}, {"max_age": 1}, {"tools": ("tunecheck",)},
                                   {"kept": "/a b"}, {"tools": ("/x$(id)",)}])
def test_unusable_options(given: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Options(**given)    # type: ignore[arg-type]


def test_how_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, expected in ((1, (2, 5)), (2, (3, 9)), (8, (9, 33)), (128, (50, 50))):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, count=processors: set(range(count)))
        assert Options().turns(1000) == expected
        assert Options().turns(2) == (2, 2) and Options(forks=80).turns(1000) == (80, 80)


@pytest.mark.parametrize("ship", [False, True])
def test_the_play_as_it_is_run(tmp_path: Path, ship: bool) -> None:
    """Nothing is left in it that Ansible would fill in for every host."""
    lay_out(tmp_path, "abc", Options(forks=7, deadline=20, tools=("/none/tunecheck",), kept="/none/snapshot"),
            [f"box{number}" for number in range(9)], ship)
    text = (tmp_path / "project/play.yml").read_text()
    assert "{{" not in text and "nonce=abc limit=15 " in text
    assert "      timeout: 30\n" in text and "      throttle: 7\n" in text
    # By itself, as from AWX: Ansible has nothing to say against it.
    alone = subprocess.run([Path(sys.executable).with_name("ansible-playbook"), "-i", "box,", "-c", "local",
                            tmp_path / "project/play.yml"], capture_output=True, text=True, check=True,
                           env={**os.environ, "TUNECHECK_SECONDS": "20"})
    assert "WARNING" not in alone.stdout + alone.stderr


def test_nothing_but_answers_goes_through_ansible_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event is a file and a part of standard output; awx_display has two more for every box."""
    told: list[tuple[str, float | None]] = []

    def spied(data: Mapping[str, Any]) -> Event | None:
        told.append((data["event"], (data.get("event_data") or {}).get("duration")))
        return event_of(data)

    monkeypatch.setattr("tunecheck_fleet.collect.run.event_of", spied)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/tunecheck_answers.py").write_text("raise ValueError('an operator\'s own of that name')\n")
    monkeypatch.setenv("ANSIBLE_CALLBACK_PLUGINS", str(tmp_path / "own"))
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all: {hosts: {a: , b: }, vars: {ansible_connection: local}}\n")
    answers: list[Answer] = []
    collect(str(inventory), None, Options(tools=("/none/tunecheck",), kept="/none/snapshot", ship=False),
            answers.append)
    assert [answer.status for answer in answers] == ["missing", "missing"]
    assert sorted({kind for kind, _ in told} - {"verbose"}) == [
        "playbook_on_play_start", "playbook_on_start", "playbook_on_stats", "runner_on_ok"]
    assert all(duration and duration > 0 for kind, duration in told if kind == "runner_on_ok")


def test_a_host_that_is_this_machine_is_asked_as_one_behind_ssh(tmp_path: Path) -> None:
    """The local connection passes no input on; a host with it, and no tunecheck installed, has its collector too."""
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all: {hosts: {here: {ansible_connection: local}}}\n")
    answers: list[Answer] = []
    collect(str(inventory), None, Options(tools=("/none/tunecheck",), kept="/none/snapshot", deadline=300.0),
            answers.append)
    [answer] = answers
    assert (answer.status, answer.reason) == ("ok", "")
    assert unpack(answer.content).snapshot.hostname.value == os.uname().nodename


def test_a_connection_that_takes_no_collector_along_is_said(tmp_path: Path) -> None:
    """As docker's or a chroot's: the command runs, and its input is empty."""
    lay_out(tmp_path, "abc", Options(), ["box"], ship=True)
    [play] = yaml.safe_load((tmp_path / "project/play.yml").read_text())
    done = subprocess.run(["/bin/sh", "-c", play["tasks"][0]["ansible.builtin.raw"]], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=True, env={"PATH": os.defpath})
    answer = with_snapshot(answer_of(Event("box", False, False, done.stdout, done.stderr, 1.0), "g", "abc"))
    assert answer.status == "missing" and "only ssh and local do. State ansible_connection: ssh, or install it" in \
        answer.reason


def test_the_collector_runs_from_memory_on_an_old_python(tmp_path: Path) -> None:
    """The oldest one here, without its packages; it reads only, so nothing appears where it works."""
    collected = subprocess.run([_oldest(), "-I", "-S", "-c", LOADER], input=collector(), cwd=tmp_path, check=True,
                               capture_output=True, env={"PATH": os.defpath, "TMPDIR": str(tmp_path)})
    assert collected.stderr == b""
    assert not list(tmp_path.iterdir())
    answer = with_snapshot(Answer("box", "g", "ok", collected.stdout, seconds=2.0))
    assert (answer.status, answer.reason, answer.seconds) == ("ok", "", 2.0)
    found = unpack(answer.content).snapshot
    assert found.hostname.value == os.uname().nodename
    assert found.host is not None and found.host.kernel.release.value == os.uname().release


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"schema": "tunecheck/record/1"}',
                                     b'{"schema": "tunecheck/record/1", "reads": {"/etc/tunecheck/spec.json": "e30="}}',
                                     b"[" * 100000])
def test_what_a_collector_sends_is_not_trusted(content: bytes) -> None:
    answer = with_snapshot(Answer("box", "g", "ok", content))
    assert (answer.status, answer.content) == ("garbled", b"") or unpack(answer.content).frozen is None
    assert answer.reason.isprintable()


def test_the_loader_stands_in_a_shells_quotes_and_in_a_play() -> None:
    assert not set(LOADER) & set("'\n") and not any(word in LOADER for word in ("{{", "{%", "{#"))
    page = (Path(__file__).resolve().parents[3] / "docs/fleet-collect.md").read_text()
    said, = re.findall(r"as that command's input \((\d+) KB\)", page)
    assert said and 0.9 * int(said) < len(collector()) / 1000 <= int(said)


def _oldest() -> str | Path:
    """A Python from 3.9 on."""
    for name in ("python3.9", "python3.10"):
        versions = Path.home() / ".pyenv/versions"
        for found in (shutil.which(name), *versions.glob(f"{name[6:]}.*/bin/python3")):
            if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
                return found
    return sys.executable
