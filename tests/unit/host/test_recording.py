"""Recordings: what is read comes back the same; a hostile file of the first format is refused with a sentence."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import Flaw, UsageError
from tunecheck.host import Completed, Host, Unreadable
from tunecheck.host import bundle_1 as module
from tunecheck.host.answers import RecordedHost
from tunecheck.host.live import LiveHost
from tunecheck.host.recording import RecordingHost, load_recording
from tunecheck.model.absence import Absence
from tunecheck.parsers.text.damage import Damage


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


def _id(value: object) -> str:
    if isinstance(value, Damage):
        return str(value.value)
    return value if isinstance(value, str) else "content"


def _document(**parts: Any) -> dict[str, Any]:
    return {"schema": "tunecheck/record/1", **parts}


@pytest.mark.parametrize(("content", "damage", "names"), [
    (b"", Damage.EMPTY, ""),
    (b"plain text", Damage.NOT_PACKED, ""),
    (gzip.compress(json.dumps(_document()).encode())[:-9], Damage.CUT_SHORT, ""),
    (gzip.compress(b"\xff\xfe"), Damage.NOT_JSON, ""),
    (gzip.compress(b"[" * 200_000), Damage.NOT_JSON, ""),
    (gzip.compress(b"[]"), Damage.NO_TABLE, ""),
    (gzip.compress(json.dumps({"schema": "tunecheck/record/9"}).encode()), Damage.NEWER, "record/9"),
    (gzip.compress(json.dumps(_document(surprise=1)).encode()), Damage.UNKNOWN_PART, "'surprise'"),
    (gzip.compress(json.dumps(_document(reads=[])).encode()), Damage.WRONG_TYPE, "reads "),
    (gzip.compress(json.dumps(_document(reads={"/x": 5})).encode()), Damage.WRONG_TYPE, "reads "),
    (gzip.compress(json.dumps(_document(reads={"/x": "%%%"})).encode()), Damage.NOT_BASE64, "'/x'"),
    (gzip.compress(json.dumps(_document(lists={"/x": [1]})).encode()), Damage.WRONG_TYPE, "lists "),
    (gzip.compress(json.dumps(_document(runs=[{"argv": []}])).encode()), Damage.NO_COMMAND, "runs[0] "),
    (gzip.compress(json.dumps(_document(runs=[{"argv": ["x"], "returncode": True}])).encode()),
     Damage.NO_RESULT, "runs[0] "),
], ids=_id)
# Not from the bytes: gzip puts the time into them, and the workers of xdist would collect different tests.
def test_a_damaged_or_hostile_recording_is_refused(tmp_path: Path, content: bytes, damage: Damage, names: str
                                                     ) -> None:
    (tmp_path / "rec").write_bytes(content)
    with pytest.raises(UsageError) as refused:
        load_recording(str(tmp_path / "rec"))
    assert refused.value.flaw is damage and names in str(refused.value)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_UNPACKED", 1 << 20)
    (tmp_path / "rec").write_bytes(gzip.compress(b" " * (4 << 20)))
    with pytest.raises(UsageError, match=r" 1 MiB\b") as refused:
        load_recording(str(tmp_path / "rec"))
    assert refused.value.flaw is Damage.TOO_LARGE


def test_places_that_are_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, flaw in ((tmp_path / "fifo", Damage.NOT_A_FILE), (tmp_path, Damage.NOT_A_FILE),
                       (tmp_path / "missing", Flaw.UNREAD)):
        with pytest.raises(UsageError, match=f"^{path}: ") as refused:
            load_recording(str(path))
        assert refused.value.flaw is flaw
