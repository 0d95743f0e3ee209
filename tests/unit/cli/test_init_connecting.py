"""A box that cannot be reached, or answers late: the next step, as it can be typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck_fleet.connecting import next_step
from tunecheck_fleet.model import Answer


@pytest.mark.parametrize(("said", "step"), [
    ("ssh: Could not resolve hostname bxo: Name or service not known", "correct ansible_host"),
    ("ssh: connect to host 192.0.2.1 port 22: Connection refused", "systemctl enable --now ssh"),
    ("ssh: connect to host 192.0.2.1 port 22: Connection timed out", "ssh ops@192.0.2.1"),
    ("ops@192.0.2.1: Permission denied (publickey,password).", "ssh-copy-id ops@192.0.2.1"),
    ("Host key verification failed.", "ssh-keygen -R 192.0.2.1"),
    ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @ Host key verification failed.",
     "ssh-keygen -R 192.0.2.1 && ssh ops@192.0.2.1"),
    ("Missing sudo password", "add -K"),
    ("sudo: a password is required", "add -K"),
    ("ops is not in the sudoers file.", "usermod -aG sudo ops"),
    ("/bin/sh: 1: sudo: not found", "apt install sudo"),
    ("/bin/sh: /usr/bin/python3: No such file or directory", "apt install python3"),
    ("mkdir: cannot create directory '/home/ops/.ansible': No space left on device", "df -h, then make room"),
    ("FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp']", "df -h /tmp, then make room"),
    ("something else", "ssh ops@192.0.2.1"),
])
def test_the_next_step(said: str, step: str) -> None:
    assert step in next_step(said, "192.0.2.1", "ops")
    typed = next_step(said, "192.0.2.1", "ops", typed=True)     # no inventory is there yet
    assert "ansible_host" not in typed and "ansible_user" not in typed and "ansible_port" not in typed
    assert not re.search(r"add -[kK]", typed), "tunecheck init has no such option"
    elsewhere = next_step(said, "192.0.2.1", "ops", port=2222)
    assert not re.search(r"ssh(-copy-id)? ops@", elsewhere) and "-R 192.0.2.1" not in elsewhere, "the port is kept"


@pytest.mark.parametrize(("answer", "step"), [
    (Answer("box", "all", "timeout", reason="connected, but no answer within 180 s", reached=True),
     "tunecheck init ops@192.0.2.1 --timeout 540s"),
    (Answer("box", "all", "timeout", reason="connect to host 192.0.2.1 port 22: Connection timed out"),
     "ssh ops@192.0.2.1")])
def test_a_box_that_is_slow_is_not_called_off(monkeypatch: pytest.MonkeyPatch, answer: Answer, step: str) -> None:
    def collect(_hosts: object, _limit: object, _options: object, sink: Callable[[Answer], None],
                _asked: object) -> SimpleNamespace:
        sink(answer)
        return SimpleNamespace(interrupted=False)

    monkeypatch.setattr("tunecheck_fleet.collect.collect", collect)
    done = CliRunner().invoke(cli, ["init", "ops@192.0.2.1"], standalone_mode=False)
    assert str(done.exception).endswith(f" {step}")


@pytest.mark.parametrize("host", ["192.0.2.1", "gpu-0001.rack-07.datacentre-north.example.com"])
def test_while_it_waits_it_names_the_box_and_promises_nothing(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    shown: list[str] = []

    def collect(_hosts: object, _limit: object, options: SimpleNamespace, _sink: object,
                _asked: object) -> SimpleNamespace:
        shown.append(options.doing)
        return SimpleNamespace(interrupted=True)

    monkeypatch.setattr("tunecheck_fleet.collect.collect", collect)
    done = CliRunner().invoke(cli, ["init", f"ops@{host}", "--timeout", "20s"], standalone_mode=False)
    assert isinstance(done.exception, click.Abort | KeyboardInterrupt)
    (line,) = shown
    assert line.startswith("init: ") and f" {host[:9]}" in line and "20 s" in line
    assert "Ctrl-C" in line and len(line) <= 79 and (host in line or "... " in line)
    assert "audit" not in line and "keeps" not in line
