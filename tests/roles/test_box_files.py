"""box_files as Ansible really runs it: packed, in a process of its own, on this machine's files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.play_environment import environment

ROOT = Path(__file__).resolve().parents[2]


def run(files: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    argv = [str(Path(sys.executable).parent / "ansible"), "localhost", "-i", "localhost,", "-c", "local", "-e",
            f"ansible_python_interpreter={sys.executable}", "-m", "box_files",
            "-a", json.dumps({"files": files}), *options]
    variables = environment(ANSIBLE_BECOME="false", ANSIBLE_CALLBACK_RESULT_FORMAT="json")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=ROOT, env=variables, check=False)
    return json.loads(done.stdout[done.stdout.index("=> {") + 3:])  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("box")


def test_check_mode_then_write_then_nothing(folder: Path) -> None:
    files = [{"path": f"{folder}/a/x.conf", "content": "one\n", "mode": "0600"},
             {"path": f"{folder}/a/link", "link_to": "x.conf"},
             {"path": f"{folder}/gone", "state": "absent"}]
    (folder / "gone").write_text("old")
    checked = run(files, "--check")
    assert checked["changed"] and len(checked["written"]) == 3 and not (folder / "a").exists()
    assert run(files)["changed"]
    assert (folder / "a/link").read_text() == "one\n" and (folder / "a/x.conf").stat().st_mode & 0o777 == 0o600
    assert not (folder / "gone").exists()
    assert not run(files)["changed"]


def test_the_last_link_of_a_unit_takes_its_folder_along(folder: Path) -> None:
    links = [{"path": f"{folder}/emergency.target.wants/{name}.service", "link_to": f"/etc/{name}.service"}
             for name in ("one", "two")]
    run(links)
    run([{"path": links[0]["path"], "state": "absent"}])
    assert (folder / "emergency.target.wants/two.service").is_symlink()
    run([{"path": links[1]["path"], "state": "absent"}])
    assert not (folder / "emergency.target.wants").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small tmpfs: needs root")
def test_a_full_disk_leaves_the_old_file(folder: Path) -> None:
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], check=True, timeout=30)
    try:
        (small / "x.cfg").write_text("old\n")
        with pytest.raises(OSError, match="No space"), open(small / "fill", "wb", buffering=0) as handle:
            while True:
                handle.write(b"x" * 4096)
        result = run([{"path": f"{small}/x.cfg", "content": "new\n" * 4096}])
        assert f"{small}/x.cfg: No space left on device." in result["msg"]
        assert (small / "x.cfg").read_text() == "old\n"
        assert sorted(path.name for path in small.iterdir()) == ["fill", "x.cfg"]
    finally:
        subprocess.run(["umount", str(small)], check=True, timeout=30)
