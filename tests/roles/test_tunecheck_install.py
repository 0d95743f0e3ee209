"""tunecheck_install unpacks exactly the wheels that the lock names, without pip; anything else is refused."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Load = Callable[[str], ModuleType]
ENTRY = {"tunecheck/__init__.py": "def main():\n    print('tunecheck 9')\n    return 3\n",
         "tunecheck-9.dist-info/entry_points.txt": "[console_scripts]\ntunecheck = tunecheck:main\n"}
OTHER = {"some_part/__init__.py": "", "some_part-1.0.dist-info/METADATA": "Name: some.part\n"}
NAMES = {"tunecheck": "tunecheck-9-py3-none-any.whl", "some.part": "some_part-1.0-py3-none-any.whl"}


def wheel(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        for name, text in files.items():
            out.writestr(name, text)
    return buffer.getvalue()


def members(entry: dict[str, str] = ENTRY, other: dict[str, str] = OTHER) -> dict[str, bytes]:
    """What a good archive holds: two wheels, and a lock in pip's form with a second hash that fits no file here."""
    wheels = {NAMES["tunecheck"]: wheel(entry), NAMES["some.part"]: wheel(other)}
    pins = {"tunecheck==9": NAMES["tunecheck"], "some.part==1.0": NAMES["some.part"]}
    lock = "# made by uv\n" + "".join(
        f"{pin} \\\n    --hash=sha256:{'0' * 64} \\\n    --hash=sha256:{hashlib.sha256(wheels[name]).hexdigest()}\n"
        "    # via x\n" for pin, name in pins.items())
    return {**wheels, "box.lock": lock.encode()}


def archive(path: Path, files: dict[str, bytes]) -> str:
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return str(path)


def test_the_wheels_are_there_and_the_command_runs(load_module: Load, tmp_path: Path) -> None:
    module = load_module("tunecheck_install")
    site, folder = tmp_path / "site", tmp_path / "bin"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    module.unpack(archive(tmp_path / "a.tar", members()), str(site))
    assert {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()} == {*ENTRY, *OTHER}
    module.write_command(str(site), str(folder))
    done = subprocess.run([folder / "tunecheck"], env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True,
                          text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "tunecheck 9\n"), done.stderr


def test_what_the_lock_does_not_name_is_refused(load_module: Load, tmp_path: Path) -> None:
    module = load_module("tunecheck_install")
    good, changed = members(), members(other={**OTHER, "some_part/more.py": "x = 1\n"})
    entry, part = NAMES.values()
    cases = [
        ("not-named", part, {**good, part: changed[part]}),
        ("not-named", "some_part-1.1-py3-none-any.whl", {**good, "some_part-1.1-py3-none-any.whl": good[part]}),
        ("not-named", "more-1-py3-none-any.whl", {**good, "more-1-py3-none-any.whl": good[part]}),
        ("not-named", "some_part-1.0-cp3-none-any.whl", {**good, "some_part-1.0-cp3-none-any.whl": good[part]}),
        ("not-named", "README", {**good, "README": b""}),
        ("no-wheel", "some_part==1.0", {name: data for name, data in good.items() if name != part}),
        ("no-lock", "box.lock", {entry: good[entry], part: good[part]}),
        ("no-plain-file", "'../x.whl'", {**good, "../x.whl": b""}),
        ("outside", "'../evil.py'", members(other={"../evil.py": ""})),
        ("outside", "'/evil.py'", members(other={"/evil.py": ""})),
        ("outside", "'some_part-1.0.data/scripts/x'", members(other={"some_part-1.0.data/scripts/x": ""})),
    ]
    for number, (code, names, files) in enumerate(cases):
        with pytest.raises(module.WheelhouseError) as error:
            module.unpack(archive(tmp_path / f"{number}.tar", files), str(tmp_path / f"site{number}"))
        assert error.value.why is module.Unfit(code) and names in str(error.value)
    assert not list(tmp_path.rglob("evil.py")) and not list(tmp_path.parent.glob("evil.py"))


@pytest.mark.parametrize("words", ["", "[console_scripts]\nother = tunecheck:main\n"])
def test_a_wheel_without_the_command_is_refused(load_module: Load, tmp_path: Path, words: str) -> None:
    module = load_module("tunecheck_install")
    info = tmp_path / "tunecheck-9.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(words)
    with pytest.raises(module.WheelhouseError) as error:
        module.write_command(str(tmp_path), str(tmp_path))
    assert error.value.why is module.Unfit.NO_COMMAND


class Module:
    """AnsibleModule as far as the installation asks for it; commands are run."""

    check_mode = False

    def __init__(self, **params: str) -> None:
        self.params = params

    def run_command(self, argv: list[str], check_rc: bool = False) -> tuple[int, str, str]:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=check_rc)
        return (0 if argv[-1] == "--version" else done.returncode), done.stdout, done.stderr

    def exit_json(self, **result: object) -> None:
        raise SystemExit(str(result["changed"]))

    def warn(self, text: str) -> None:
        pass


def test_what_was_unpacked_is_on_the_disk_before_anything_names_it(
    load_module: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """After a power cut it would be there and empty, and the next play would find it installed."""
    module, root = load_module("tunecheck_install"), tmp_path / "opt"
    root.mkdir()
    path = archive(tmp_path / "a.tar", members())
    digest = "sha256:" + hashlib.sha256(Path(path).read_bytes()).hexdigest()
    synced: list[tuple[int, list[str]]] = []
    for name, value in (("ROOT", str(root)), ("COMMANDS", (str(tmp_path / "sbin/tunecheck"),)),
                        ("SHARE", str(tmp_path / "share")),
                        ("AnsibleModule", lambda **_: Module(archive=path, digest=digest, python=sys.executable))):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(os, "sync", lambda: synced.append((
        len(list(root.rglob("site-packages/tunecheck/*"))), [name for name in ("current", ".digest")
                                                             if (root / name).exists()])))
    with pytest.raises(SystemExit, match="True"):
        module.main()
    assert synced and synced[0][0] > 0 and synced[0][1] == []
    assert (root / ".digest").read_text().strip() == digest and (root / "current").exists()
