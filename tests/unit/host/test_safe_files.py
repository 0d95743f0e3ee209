"""What another user may have put at a path is not waited for, not read without an end, and not written through."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import pytest

from tunecheck.errors import UsageError
from tunecheck.util import safe_files
from tunecheck.util.safe_files import Danger, UnsafeFileError
from tunecheck.util.whole_file import check_writable, write_file

NOBODY = 65534
root = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of another user: needs root")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _refused(write: Callable[..., None], path: str, named: str, *content: bytes) -> Enum | None:
    """Why the path is refused; the refusal names what another user has planted."""
    with pytest.raises(UsageError) as refused:
        write(path, *content)
    assert str(refused.value).startswith(f"{path}: ") and named in str(refused.value)
    return refused.value.flaw


@pytest.mark.parametrize(("make", "danger"), [
    (os.mkfifo, Danger.NOT_REGULAR), (_socket, Danger.NOT_REGULAR),
    (lambda path: path.symlink_to("/dev/zero"), Danger.NOT_REGULAR),
    (lambda path: path.write_bytes(b"x" * 5000), Danger.TOO_LARGE),
    (lambda path: path.symlink_to("/proc/self/cmdline"), None),
    (lambda path: path.mkdir(), errno.EISDIR),
], ids=["fifo", "socket", "zero", "large", "link", "folder"])
def test_a_read_is_bounded(tmp_path: Path, make: Callable[[Path], object], danger: Danger | int | None) -> None:
    path = tmp_path / "it"
    make(path)
    begun = time.monotonic()
    if danger is None:
        assert safe_files.read(str(path), 4096)
        with pytest.raises(UnsafeFileError) as refused:
            safe_files.read(str(path), 4096, follow=False)
        assert refused.value.danger is Danger.LINK
    else:
        with pytest.raises(OSError, match=r".+") as failed:
            safe_files.read(str(path), 4096)
        assert getattr(failed.value, "danger", failed.value.errno) == danger
        assert (danger is Danger.TOO_LARGE) == (" 4096 " in str(failed.value))
    assert time.monotonic() - begun < 10


def test_a_read_beneath_a_folder_leaves_it_by_no_way(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    inside = tmp_path / "folder"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub/config.json").write_text("{}")
    (inside / "link").symlink_to(tmp_path)
    (inside / "sub/file").symlink_to(tmp_path / "secret")
    assert safe_files.read_beneath(str(inside), "sub/config.json") == b"{}"
    for name in ("../secret", "sub/../../secret", "link/secret", "sub/file", "", ".", "none"):
        with pytest.raises(OSError, match=r".+"):
            safe_files.read_beneath(str(inside), name)
    (inside / "sub").chmod(0o777)
    with pytest.raises(UnsafeFileError) as refused:
        safe_files.read_beneath(str(inside), "sub/config.json")
    assert refused.value.danger is Danger.FOLDER


@root
def test_roots_report_follows_no_link_that_another_user_planted(tmp_path: Path) -> None:
    """In a shared folder, sticky or not: as the report itself, as a folder on the way, as a FIFO."""
    target = tmp_path / "precious"
    target.write_text("precious")
    for mode in (0o1777, 0o777, 0o775):
        shared = tmp_path / f"shared{mode:o}"
        shared.mkdir()
        shared.chmod(mode)
        for name, to in (("page.html", target), ("way", tmp_path)):
            (shared / name).symlink_to(to)
            os.lchown(shared / name, NOBODY, NOBODY)
        os.mkfifo(shared / "fifo")
        os.chown(shared / "fifo", NOBODY, NOBODY)
        for name in ("page.html", "way/precious"):
            link = name.split("/")[0]
            assert _refused(write_file, str(shared / name), f"({link} ", b"report") is Danger.PLANTED
            assert _refused(check_writable, str(shared / name), f"({link} ") is Danger.PLANTED
        assert _refused(write_file, str(shared / "fifo"), "(fifo ", b"report") is Danger.PLANTED
        assert target.read_text() == "precious"
        # What nobody planted still works there, and a link of root's own.
        write_file(str(shared / "mine.html"), b"report")
        (shared / "latest").symlink_to("mine.html")
        write_file(str(shared / "latest"), b"newer")
        assert (shared / "mine.html").read_bytes() == b"newer" and (shared / "latest").is_symlink()
    # Nor is the link followed that a user has in a folder of his own.
    his = tmp_path / "his"
    his.mkdir()
    os.chown(his, NOBODY, NOBODY)
    (his / "page.html").symlink_to(target)
    os.lchown(his / "page.html", NOBODY, NOBODY)
    assert _refused(write_file, str(his / "page.html"), "(page.html ", b"report") is Danger.PLANTED


def test_a_replacement_is_whole_and_keeps_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("old").write_text("old")
    Path("old").chmod(0o640)
    safe_files.replace("old", b"new")
    assert Path("old").read_bytes() == b"new" and Path("old").stat().st_mode & 0o777 == 0o640
    safe_files.replace("sub/../sub/./there", b"x", 0o600)
    assert Path("sub/there").stat().st_mode & 0o777 == 0o600
    Path("a").symlink_to("b")
    Path("b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels"):
        safe_files.replace("a", b"x")
    for path in ("sub", "sub/", "none/there", ".."):
        with pytest.raises(OSError, match=r".+"):
            safe_files.replace(path, b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "old", "sub"], "no temporary file is left"
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        safe_files.replace("old", b"newer")
    assert Path("old").read_bytes() == b"new" and sorted(path.name for path in tmp_path.iterdir()) == [
        "a", "b", "old", "sub"]
