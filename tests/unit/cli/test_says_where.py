"""No verb ends in silence, and one that belongs on the control node says how to get there, always in the same words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tunecheck.cli.main import cli, main
from tunecheck.errors import CONTROL_NODE, Misuse, UsageError

#: What requirements/box.lock leaves out.
_BLOCKED = ("yaml", "pydantic", "sqlalchemy", "tunecheck_fleet")
_ELSEWHERE = [
    ("recipe", "list"), ("recipe", "lint"), ("recipe", "show", "lab-tiny"), ("recipe", "render", "lab-tiny"),
    ("recipe", "pin", "lab-tiny"), ("audit", "-i", "x"), ("fleet",), ("drift",), ("history",), ("blame", "x"),
    ("export",), ("ingest",), ("approve",), ("acknowledge",), ("waive",), ("init", "192.0.2.1", "-o", "x/y"),
]
#: Each call in a child of one process, which has the program loaded.
_ON_A_BOX = """
import json, os, sys, tempfile
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from tunecheck.cli.main import main
ends = []
for words in json.loads(sys.argv[2]):
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            sys.argv = ["tunecheck", *words]
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            main()
            sys.exit()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0), err.seek(0)
        ends.append([code, out.read(), err.read()])
print(json.dumps(ends))
"""


@pytest.fixture(scope="module")
def on_a_box() -> dict[tuple[str, ...], tuple[int, str, str]]:
    """Call -> exit code, standard output and standard error, where only a box's packages are installed."""
    done = subprocess.run([sys.executable, "-c", _ON_A_BOX, json.dumps(_BLOCKED), json.dumps(_ELSEWHERE)],
                          capture_output=True, text=True, timeout=120, check=True)
    return {words: tuple(end) for words, end in zip(_ELSEWHERE, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("words", _ELSEWHERE, ids=" ".join)
def test_on_a_box_the_verbs_of_the_control_node_say_where_to_go(
        on_a_box: dict[tuple[str, ...], tuple[int, str, str]], words: tuple[str, ...]) -> None:
    code, out, err = on_a_box[words]
    assert (code, out) == (2, "") and CONTROL_NODE in err, err


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_a_push_to_nobody_says_so(tmp_path: Path) -> None:
    place = tmp_path / "snapshot.json"
    for more in ((), ("--from", str(place))):
        done = _run("push", "--snapshot", str(place), "--spool", str(tmp_path / "spool"), *more)
        assert done.exit_code == 0 and str(place) in done.stderr and "--to URL" in done.stderr, done.stderr


@pytest.mark.parametrize("verb", ["history", "drift", "audit", "fleet"])
def test_a_host_without_its_option_is_recognised(verb: str, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tunecheck", verb, "box1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and ("--host box1?" in capsys.readouterr().err) == (verb in ("history", "drift"))


@pytest.mark.parametrize("url", ["localhost:30000", "127.0.0.1:30000"])
def test_a_watch_without_a_scheme_is_told_what_is_missing(url: str) -> None:
    error = _run("watch", "--once", "--url", url).exception
    assert isinstance(error, UsageError) and error.flaw is Misuse.MALFORMED
    assert url in str(error) and "http://" in str(error)
