"""A host that is told by pasted texts: of every check that lacks one, the fix is to add it, in every output."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.imported.machine import load_import
from tunecheck.report.style import Style
from tunecheck.spec import build
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Answer
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.read import seen
from tunecheck_fleet.store.store import Store

_TEXTS = {"cmdline.txt": "BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/sda1 ro iommu=pt\n",
          "uname.txt": "Linux box 6.8.0-60-generic #63-Ubuntu SMP x86_64 GNU/Linux\n"}


def _content(folder: Path) -> bytes:
    for name, text in _TEXTS.items():
        (folder / name).write_text(text)
    return packed(Stored(gather(load_import(str(folder)), None, True), None), created=0)


def test_the_fix_of_what_lacks_a_text_is_to_add_it(tmp_path: Path) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    with Store(str(tmp_path / "fleet.db")) as store:
        head = store.begin("all", [("box", "g")])
        store.put(head.id, seen(Answer("box", "g", "ok", content=_content(folder))))
        store.finish(head.id)
        found = report(store)
    lacking = [cause for cause in found.causes if cause.outcome == "unknown" and "; add: " in cause.text]
    assert len(lacking) > 10
    for cause in lacking:
        assert re.fullmatch(r"add: [\w ./:=*>&-]+", cause.remedy) and cause.remedy in cause.text, cause
    page = html(found)
    fixes = [unescape(fix) for fix in re.findall(r'<dt>Fix</dt><dd class="fix">([^<]*)', page)]
    assert {fix for fix in fixes if fix.startswith("add: ")} == {cause.remedy for cause in lacking}
    assert "see what it is" not in page and "<dt>Expected</dt><dd>desired state" not in page
    assert all(each["remedy"] for each in document(found)["causes"] if "; add: " in each["text"])
    lines = terminal(found, Style(0), verbose=True).splitlines()
    assert not [line for line in lines if line.count("add: ") > 1], "what the check says is not said again"


@pytest.mark.parametrize("source", ["/proc/sys/x; reboot", "/proc/sys/$(reboot)", "/sys/kernel/x\n; reboot",
                                    "/proc/sys/`reboot`", "/proc/sys/a|sh"])
def test_a_source_that_is_no_path_becomes_no_command(source: str, tmp_path: Path) -> None:
    """It stands in the answer, which is a stranger's."""
    told = json.loads(_content(tmp_path))
    text = json.dumps(told).replace('"/proc/sys/kernel/tainted"', json.dumps(source))
    assert text != json.dumps(told)
    assert not [problem for problem in seen(Answer("box", "g", "ok", content=text.encode())).problems
                if "reboot" in problem.remedy or "|" in problem.remedy]


def test_what_to_add_is_a_command_that_can_be_pasted(tmp_path: Path) -> None:
    """Of a file of each processor: all of them, and no "and 1 more"."""
    (tmp_path / "a.txt").write_text("".join(
        f"/sys/devices/system/cpu/cpufreq/policy{number}/scaling_governor:performance\n" for number in range(2)))
    spec = build("a", {"profile": "rtx-pro-6000-switches", "cpu": {"epp": "performance"}})
    document = packed(Stored(gather(load_import(str(tmp_path)), spec.spec, True), spec))
    (found,) = [each for each in seen(Answer("a", "g", "ok", document), spec).problems
                if (each.check, each.subject) == ("cpu-governor", "energy preference")]
    assert found.remedy == "add: grep -H . /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"
