"""What a unit shows as Status, and what the role asks before it stops a served model."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import re
import socket
from pathlib import Path

import pytest

from tunecheck.app import recipe_on_box as offer
from tunecheck.host.notify import refused, tell
from tunecheck.recipes.frozen import Engine, Image, Model, Recipe, Requires
from tunecheck.recipes.stored import to_json


@pytest.mark.parametrize("abstract", [False, True])
def test_the_status_is_one_short_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool) -> None:
    name = f"@tunecheck-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unit:
        unit.settimeout(10)
        unit.bind(name.replace("@", "\0"))
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        tell("gate closed:\nREADY=1\n" + "x" * 1000)
        told = unit.recv(4096).decode()
        refused("not accepted:\nERRNO=0")
        assert unit.recv(4096).decode() == f"STATUS=not accepted: ERRNO=0\nERRNO={errno.ECANCELED}"
    assert told.startswith("STATUS=gate closed: READY=1 xxx") and "\n" not in told and len(told) < 420


@pytest.mark.parametrize("address", [None, "", "vsock:2:1234", "/nobody/listens/here"])
def test_without_a_unit_nothing_happens(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    if address is None:
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    else:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    tell("nobody reads this")


def test_what_a_recipe_lacks_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = b"weights"
    model = Model("a/b", "0" * 40, files={"m.gguf": "sha256:" + hashlib.sha256(content).hexdigest()})
    recipe = Recipe("tiny", Engine("vllm"), model, Image(None, None, "sha256:" + "1" * 64),
                    requires=Requires(gpus=0), status="pinned")
    file = tmp_path / "recipe.json"
    file.write_text(to_json(recipe))
    assert offer.main(str(file), str(tmp_path), "no-such-engine") == 1
    told = capsys.readouterr().err
    assert "no-such-engine" in told and " a/b: m.gguf " in told
    file.write_text(to_json(dataclasses.replace(recipe, status="draft")))
    assert offer.main(str(file), str(tmp_path), "podman") == 1
    assert re.search(r"\btiny\b.*\bdraft\b", capsys.readouterr().err)
    assert offer.main("/none", str(tmp_path), "podman") == 2 and "/none: " in capsys.readouterr().err
