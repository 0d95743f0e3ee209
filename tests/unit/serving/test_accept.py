"""`tunecheck accept` as a process: exit codes, files, keys, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.engine import models
from tests.engine.pace_proxy import Proxy
from tests.unit.report.closed import closed
from tests.unit.serving.engines import Engine, engine
from tests.unit.serving.test_published import raw, row

from tunecheck.recipes import frozen
from tunecheck.recipes.frozen import Canary, Expected, Model, Recipe, Serve
from tunecheck.recipes.stored import to_json
from tunecheck.serving.golden import candidate, why_not_golden
from tunecheck.serving.schema import SCHEMAS

_CHECKS = Path(__file__).resolve().parents[3] / "checks"
_ENV = {**os.environ, "PYTHONPATH": str(_CHECKS), "LC_ALL": "C.UTF-8"}
_SMALL = ("--scale", "0.1", "--ladder", "4K")


def _run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tunecheck", "accept", *args], capture_output=True, text=True,
                          timeout=120, env={**_ENV, **env}, check=False)  # fmt: skip


def _recipe(path: Path, base: str, **changes: object) -> str:
    port = int(base.rsplit(":", 1)[1])
    recipe = Recipe("lab-tiny", frozen.Engine("llama.cpp"), Model("ours/tiny"), serve=Serve(port, "tiny", 20))
    (path / "recipe.json").write_text(to_json(replace(recipe, **changes)))  # type: ignore[arg-type]
    return str(path / "recipe.json")


def test_a_healthy_server_is_accepted_with_all_documents(good: Engine, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    recipe = _recipe(tmp_path, good.base, expected=Expected(spread_pct=1e5))
    done = _run("--recipe", recipe, *_SMALL, "--concurrency", "1,3", "--json", str(tmp_path / "a.json"), "--golden",
                str(tmp_path / "g.json"), "--html", str(tmp_path / "a.html"), "--junit", str(tmp_path / "a.xml"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    data = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(data, closed(SCHEMAS["acceptance-1.json"]))
    assert data["figures"]["streams"][1]["streams"] == 3
    # A busy machine's runs lie far apart: no reference. Where they do not, here they are made to.
    wide = data["figures"]["spread_pct"] > 5
    assert "PASS: " in done.stdout and (f": {tmp_path}/g.json\n" in done.stdout) != wide
    assert (tmp_path / "g.json").exists() != wide
    assert re.search(r" 185\.0 %.* 5 %", why_not_golden({**data, "figures": {**data["figures"], "spread_pct": 185.0}}))
    calm = {**data, "figures": {**data["figures"], "spread_pct": 1.0}}
    golden = candidate(calm, data["provenance"])
    assert why_not_golden(calm) == ""
    jsonschema.validate(golden, closed(SCHEMAS["golden-1.json"]))
    assert golden["expected"]["value"] == data["figures"]["tok_s"]
    assert golden["provenance"]["cmdline"] and golden["provenance"]["boot_id"]
    suite = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert suite.get("name") == "tunecheck accept" and int(suite.get("tests", 0)) == len(data["findings"])
    page = (tmp_path / "a.html").read_text()
    assert golden["provenance"]["kernel"] in page and 'id="plot-gaps"' in page
    assert f"HTML: {tmp_path}/a.html" in done.stdout
    timed = [run for run in data["measured"]["runs"] if run["kind"] == "timed"]
    assert all(sum(run["gap_bins"].values()) == run["reads"] - 1 for run in timed)
    assert data["figures"]["gaps_ms"]["p50"] <= data["figures"]["gaps_ms"]["p99"] <= data["figures"]["gaps_ms"]["most"]
    again = _run("--judge", str(tmp_path / "a.json"), "--json", "--recipe", recipe, "--html", str(tmp_path / "b.html"))
    assert json.loads(again.stdout)["findings"] == data["findings"]
    assert 'id="plot-gaps"' in (tmp_path / "b.html").read_text()
    assert again.stderr == f"tunecheck: HTML: {tmp_path}/b.html\n"


def test_the_boot_profile_waits_and_asks_little(good: Engine, tmp_path: Path) -> None:
    recipe = _recipe(tmp_path, good.base, status="golden", expected=Expected(value=20.0, counted_by="usage_wallclock"),
                     canaries=(Canary("What is the capital of Japan? Answer with one word.", "Tokyo", context=700),))
    done = _run("--recipe", recipe, "--profile", "boot", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["outcome"]) == (0, "warn"), "far more than 20 tok/s: suspicious, no reason to stop"
    assert [run["asked"] for run in data["measured"]["runs"] if run["kind"] == "timed"] == [256]


@pytest.mark.parametrize("make", [models.nan, models.noisy])
def test_garbage_is_exit_code_1(make: Callable[[Path], Path], tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with engine(make(tmp_path / "ill.gguf")) as found:
        done = _run("--base", found.base, *_SMALL, "--golden", str(tmp_path / "g.json"))
    assert done.returncode == 1 and re.search("^FAIL +canary: .*'42'", done.stdout, re.MULTILINE)
    assert str(tmp_path / "g.json") not in done.stdout and not (tmp_path / "g.json").exists()


def test_keys(tmp_path: Path) -> None:
    """Missing and wrong: exit code 2 and what to do. No output ever shows one."""
    pytest.importorskip("xllamacpp")
    (tmp_path / "key").write_text("s3cret-key\n")
    with engine(models.GOOD, key="s3cret-key") as found:
        asked = ("--base", found.base, "--profile", "boot", "--scale", "0.1")
        missing, wrong = _run(*asked), _run(*asked, TUNECHECK_API_KEY="wrong-key")
        right, given = _run(*asked, "--api-key-file", str(tmp_path / "key"), "--json"), _run(
            *asked, TUNECHECK_API_KEY="s3cret-key")
    # llama.cpp lists its models for everybody; the first request is what is refused.
    assert [each.returncode for each in (missing, wrong, right, given)] == [2, 2, 0, 0]
    assert all("(HTTP 401)" in each.stderr and "--api-key-file" in each.stderr for each in (missing, wrong))
    assert missing.stderr != wrong.stderr, "which of the two it is"
    everything = "".join(each.stdout + each.stderr for each in (missing, wrong, right, given))
    assert "s3cret" not in everything and "wrong-key" not in everything


@pytest.mark.parametrize(("args", "code", "says"), [
    (("--base", "http://127.0.0.1:9"), 3, r"http://127\.0\.0\.1:9/v1/models: .*--wait-ready 20m"),
    (("--base", "127.0.0.1:9"), 2, r"--url 127\.0\.0\.1:9: .*http://127\.0\.0\.1:30000"),
    (("--base", "http://user:pw@127.0.0.1:9"), 2, "--url http://127.0.0.1:9: .*http://127"),
    (("--base", "http://127.0.0.1:9", "--ladder", "4k"), 2, "--ladder 4k: .*4K"),
    (("--base", "http://127.0.0.1:9", "--deadline", "frist=3"), 2, "--deadline frist=3: .*first=5m"),
    (("--base", "http://127.0.0.1:9", "--wait-ready", "soon"), 2, "--wait-ready soon: .*90s"),
    (("--base", "http://127.0.0.1:9/?key=x"), 2, "--url http://127.0.0.1:9/: .*http://127"),
    (("--base", "http://127.0.0.1:9", "--header", "Cookie: x"), 2, "--header Cookie: .*--api-key-file"),
    (("--base", "https://127.0.0.1:9", "--ca", "/nonexistent"), 2, "--ca /nonexistent: .*No such file"),
    (("--base", "http://127.0.0.1:9", "--deadline", "first"), 2, "--deadline first: .*first=5m"),
    (("--base", "http://127.0.0.1:9", "--deadline", "first=0s"), 2, "--deadline first=0s: .* 0 s"),
    (("--base", "http://127.0.0.1:9", "--concurrency", "0"), 2, "--concurrency 0: .*1,4,16"),
    (("--base", "http://127.0.0.1:9", "--judge", "x.json"), 2, "--judge .*--base "),
    ((), 2, "/etc/tunecheck/.*--base URL"),
    (("--base", "http://127.0.0.1:9", "--api-key-file", "/nonexistent"), 2, "--api-key-file /nonexistent: .*No such"),
    (("--base", "http://127.0.0.1:9", "--json", "/nonexistent/a.json"), 2, r"/nonexistent/a\.json: .*/nonexistent "),
    (("--base", "http://127.0.0.1:9", "--golden", "g.json", "--profile", "boot"), 2, "--golden: .*--profile full"),
    (("--base", "http://127.0.0.1:9", "--html", "/nonexistent/a.html"), 2, r"/nonexistent/a\.html: .*/nonexistent "),
    (("--base", "http://127.0.0.1:9", "--html", "-", "--json"), 2, "--(html|json) .*--(html|json) "),
    (("--judge", "x.json", "--judge", "y.json", "--html", "a.html"), 2, "--html: "),
    (("--recipe", "/nonexistent.json"), 2, r"/nonexistent\.json: does not exist"),
    (("--judge", "/nonexistent.json"), 2, r"/nonexistent\.json: .*No such file"),
])
def test_bad_usage_is_one_sentence(args: tuple[str, ...], code: int, says: str) -> None:
    done = _run(*args)
    assert done.returncode == code and len(done.stderr.splitlines()) == 1, done.stderr
    assert re.match(f"tunecheck: .*{says}", done.stderr), done.stderr


def test_published_files_are_judged_without_a_server(tmp_path: Path) -> None:
    (tmp_path / "verify.json").write_text(json.dumps(raw(row(6026, 30.079), row(5935, 30.089))))
    (tmp_path / "real.json").write_text(json.dumps(raw(row(2048, 18.606), most=2048)))
    done = _run("--judge", str(tmp_path / "verify.json"), "--judge", str(tmp_path / "real.json"))
    assert done.returncode == 1
    assert re.search("FAIL    usage: .* 6026 ", done.stdout) and re.search("PASS    usage: .*2048 ", done.stdout)


def test_an_interrupt_leaves_nothing_behind(proxy: Callable[..., Proxy], tmp_path: Path) -> None:
    behind = proxy(rate=50.0)
    child = subprocess.Popen([sys.executable, "-m", "tunecheck", "accept", "--base", behind.base, "--concurrency", "2",
                              "--json", str(tmp_path / "a.json"), "--golden", str(tmp_path / "g.json")], env=_ENV,
                             stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    while not behind.sent:
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, "") and re.fullmatch("tunecheck: .*", err.strip()), err
    assert list(tmp_path.iterdir()) == []


def test_the_client_library_is_loaded_by_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "verify.json").write_text(json.dumps(raw(row(6026, 30.079))))
    code = ("import sys\nfrom tunecheck.__main__ import main\ntry:\n    main()\nexcept SystemExit: pass\n"
            "print(sorted({'httpx', 'pydantic'} & set(sys.modules)), file=sys.stderr)")
    for args in (("accept", "--judge", str(tmp_path / "verify.json")), ("accept", "--help"), ("checks",)):
        argv = [sys.executable, "-c", code, *args]
        done = subprocess.run(argv, capture_output=True, text=True, env=_ENV, check=False)
        assert done.stderr.endswith("[]\n"), done.stderr
