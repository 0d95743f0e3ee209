"""Byte code of what is imported from a zip is kept, and is never another's: real interpreters, real zip files."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.play_environment import keep_bytecode

#: What the child does once more: says how often Python compiled.
COUNT = ("import sitecustomize, zipimport; n = 0; own = sitecustomize._compile\n"
         "def counted(*given):\n    global n\n    n += 1\n    return own(*given)\n"
         "sitecustomize._compile = counted; import it; print(it.VALUE, n)\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path


def _value(place: Path, source: str, name: str = "a.zip", kept: str = "kept") -> str:
    with zipfile.ZipFile(place / name, "w") as file:
        file.writestr("it.py", source)
    variables = keep_bytecode(place / "first", place / kept)
    variables["PYTHONPATH"] += f":{place / name}"
    return subprocess.run([sys.executable, "-c", COUNT], env=variables, capture_output=True, text=True, timeout=60,
                          check=True).stdout


def test_compiled_once_whichever_zip_it_is_in(place: Path) -> None:
    assert _value(place, "VALUE = 'one'\n") == "one 1\n"
    assert _value(place, "VALUE = 'one'\n", "b.zip") == "one 0\n"


def test_a_changed_source_is_compiled(place: Path) -> None:
    assert _value(place, "VALUE = 'one'\n") == "one 1\n"
    assert _value(place, "VALUE = 'two'\n") == "two 1\n"


@pytest.mark.parametrize("end", [0, 4, 8, 9, -1])
@pytest.mark.parametrize("rest", [b"", b"\0" * 64, b"garbage"])
def test_a_kept_file_that_is_damaged_costs_a_compilation(place: Path, end: int, rest: bytes) -> None:
    _value(place, "VALUE = 'one'\n")
    (file,) = (place / "kept").iterdir()
    file.write_bytes(file.read_bytes()[:end] + rest)
    assert _value(place, "VALUE = 'one'\n") == "one 1\n"
    assert _value(place, "VALUE = 'one'\n") == "one 0\n"


def test_a_folder_that_cannot_be_made(place: Path) -> None:
    (place / "file").write_text("")
    assert _value(place, "VALUE = 'one'\n", kept="file/kept").startswith("one ")
