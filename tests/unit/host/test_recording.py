"""Recordings: what is read comes back the same; a hostile file of the first format is refused with a sentence."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import UsageError
from tunecheck.host import Completed, Host, Unreadable
from tunecheck.host import bundle_1 as module
from tunecheck.host.answers import RecordedHost
from tunecheck.host.live import LiveHost
from tunecheck.host.recording import RecordingHost, load_recording
from tunecheck.model.absence import Absence


def _ask_everything(host: Host, folder: Path) -> list[object]:
    answers: list[object] = []
    for ask in (lambda: host.read_bytes(f"{folder}/file"), lambda: host.list(str(folder)),
                lambda: host.realpath(f"{folder}/link"), lambda: host.read_bytes(f"{folder}/missing"),
                lambda: host.list(f"{folder}/missing"), lambda: host.run(("sh", "-c", "echo x; exit 4")),
                lambda: host.run(("no-such-command",))):
        try:
            answers.append(ask())
        except Unreadable as error:
            answers.append((error.path, error.reason, error.absence))
    return answers


def test_a_replay_answers_like_the_machine(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "file").write_bytes(bytes(range(256)))
    (folder / "link").symlink_to("file")
    recorder = RecordingHost(LiveHost())
    live = _ask_everything(recorder, folder)
    recorder.close()
    (tmp_path / "rec").write_bytes(recorder.packed())
    replayed = load_recording(str(tmp_path / "rec"))
    assert _ask_everything(replayed, folder) == live
    assert Completed(("sh", "-c", "echo x; exit 4"), 4, "x\n", "") in live
    with pytest.raises(Unreadable) as refused:
        replayed.read_bytes("/never/asked")
    assert refused.value.absence is Absence.NOT_RECORDED


def test_every_host_is_a_host() -> None:
    for host in (LiveHost(), RecordedHost({}), RecordingHost(RecordedHost({}))):
        assert isinstance(host, Host)


def _document(**parts: Any) -> dict[str, Any]:
    return {"schema": "tunecheck/record/1", **parts}


@pytest.mark.parametrize(("content", "sentence"), [
    (b"", "it is empty"),
    (b"plain text", "neither zstd nor gzip"),
    (gzip.compress(json.dumps(_document()).encode())[:-9], "cut short"),
    (gzip.compress(b"\xff\xfe"), "not JSON"),
    (gzip.compress(b"[" * 200_000), "not JSON"),
    (gzip.compress(b"[]"), "holds no table"),
    (gzip.compress(json.dumps({"schema": "tunecheck/record/9"}).encode()), "record/9"),
    (gzip.compress(json.dumps(_document(surprise=1)).encode()), "unknown part 'surprise'"),
    (gzip.compress(json.dumps(_document(reads=[])).encode()), "reads is not a table"),
    (gzip.compress(json.dumps(_document(reads={"/x": 5})).encode()), "reads is not a table"),
    (gzip.compress(json.dumps(_document(reads={"/x": "%%%"})).encode()), "not base64"),
    (gzip.compress(json.dumps(_document(lists={"/x": [1]})).encode()), "lists of names"),
    (gzip.compress(json.dumps(_document(runs=[{"argv": []}])).encode()), r"runs\[0\] names no command"),
    (gzip.compress(json.dumps(_document(runs=[{"argv": ["x"], "returncode": True}])).encode()), "neither"),
], ids=lambda value: value if isinstance(value, str) else "content")
# Not from the bytes: gzip puts the time into them, and the workers of xdist would collect different tests.
def test_a_damaged_or_hostile_recording_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "rec").write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        load_recording(str(tmp_path / "rec"))


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_UNPACKED", 1 << 20)
    (tmp_path / "rec").write_bytes(gzip.compress(b" " * (4 << 20)))
    with pytest.raises(UsageError, match="larger than"):
        load_recording(str(tmp_path / "rec"))


def test_places_that_are_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, sentence in ((tmp_path / "fifo", "not a file"), (tmp_path, "not a file"),
                           (tmp_path / "missing", "cannot be read")):
        with pytest.raises(UsageError, match=sentence):
            load_recording(str(path))
