"""What leaves something in tunecheck's own folder says that it needs root, and the command that has it."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck.errors import UsageError


@pytest.mark.parametrize(("args", "command"), [
    (["push"], "sudo tunecheck push"),
    (["preflight", "--pass"], "sudo tunecheck preflight --pass")])
def test_the_usual_place_needs_root(args: list[str], command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and real(path, mode, **more))
    result = CliRunner().invoke(cli, args)
    assert isinstance(result.exception, UsageError)
    said = str(result.exception)
    assert "only root may leave" in said and f"run: {command}" in said


def test_a_folder_that_this_user_may_not_make_is_not_to_be_created_first(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and real(path, mode, **more))
    result = CliRunner().invoke(cli, ["push", "--snapshot", "/var/lib/not-there/snapshot.json"])
    assert isinstance(result.exception, UsageError)
    assert "run as root" in str(result.exception) and "create it first" not in str(result.exception)
