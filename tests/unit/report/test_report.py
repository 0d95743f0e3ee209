"""Documents against their schemas, and the terminal report on every kind of terminal."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest
from tests.unit.facts.trees import PCI, Machine, cascaded, config, direct, flat, frozen, full, switch
from tests.unit.refusing import refused
from tests.unit.report.boxes import shown
from tests.unit.report.closed import closed
from tests.unit.report.pasted import too_wide
from tests.unit.told import told

from tunecheck.errors import Misuse
from tunecheck.facts.snapshot import gather
from tunecheck.report.document import document
from tunecheck.report.grouping import worst_first
from tunecheck.report.plain import to_text
from tunecheck.report.style import Style, style_for, wrapped
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.index import CHECKS
from tunecheck.util.whole_file import check_writable, write_file
from tunecheck_fleet.schemas import SCHEMAS, write

_DOCS = Path(__file__).resolve().parents[3] / "docs"


def _case(machine: Machine, verb: str, with_spec: bool = True) -> Case:
    spec = frozen(iommu="pt") if with_spec else None
    return Case(gather(full(machine).host(), spec.spec if spec else None, verb != "topo"), spec)


def _text(machine: Machine, style: Style, verb: str = "preflight") -> str:
    case = _case(machine, verb)
    return render(verb, case, judge(case, verb), style)


@pytest.mark.parametrize("verb", ["topo", "host", "driver", "runtime", "preflight"])
@pytest.mark.parametrize("machine", [switch(), switch(None), cascaded(), direct(), flat(), Machine()],
                         ids=["switch", "no acs", "cascaded", "direct", "flat", "empty"])
def test_documents_fit_their_schemas(verb: str, machine: Machine) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    case = _case(machine, verb)
    data = document(verb, case, judge(case, verb))
    schema = SCHEMAS["topo-1.json" if verb == "topo" else "report-1.json"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(to_text(data)), closed(schema))


@pytest.mark.parametrize(("mark", "state", "said"), [
    ("tunecheck.trial=3f2a9c01b7de", "", True), ("tunecheck.trial=3f2a9c01b7de", "trial 3f2a9c01b7de", True),
    ("tunecheck.trial=3f2a9c01b7de", "staged 3f2a9c01b7de", True), ("tunecheck.trial=3f2a9c01b7de", "trial", True),
    ("tunecheck.trial=3f2a9c01b7de", "reverted 3f2a9c01b7de", True),
    ("tunecheck.trial=3f2a9c01b7de", "committed", False), ("tunecheck.trial=3f2a9c01b7de", "clean", False),
    ("tunecheck.trial=3f2a9c01b7de", "staged 000000000001", False),
    ("", "", False), ("", "staged 000000000001", False)])
def test_the_heading_says_that_a_trial_boot_runs(mark: str, state: str, said: bool) -> None:
    """The mark stays on the running command line of a boot that was committed: that is an ordinary boot, also when the
    next trial waits already."""
    machine = full(switch(), f"iommu=pt {mark}")
    if state:
        machine.errors.pop("read /var/lib/tunecheck/receipt.json", None)
        word, _, trial = state.partition(" ")
        machine.file("/var/lib/tunecheck/receipt.json", json.dumps(
            {"schema": "tunecheck/receipt/1", "state": word, "trial_id": trial or None}))
    spec = frozen(iommu="pt")
    case = Case(gather(machine.host(), spec.spec, True), spec)
    for text in (render("host", case, judge(case, "host"), Style(), True), render("host", case, [], Style())):
        assert ("trial boot" in text.splitlines()[0]) is said


def test_topo_holds_every_unordered_pair() -> None:
    case = _case(switch(), "topo")
    data = document("topo", case, judge(case, "topo"))
    assert data["schema"] == "tunecheck/topo/1"
    assert [(pair["a"], pair["b"], pair["relation"]) for pair in data["pairs"]] == [
        ("0000:03:00.0", "0000:04:00.0", "PIX")]
    assert data["bridges"][2]["acs"]["ctl"] == "0x001d"
    assert (data["outcome"], data["exit_code"]) == ("fail", 1)


def test_the_committed_schemas_are_the_generated_ones(tmp_path: Path) -> None:
    write(tmp_path)
    assert {path.name for path in (_DOCS / "schema").glob("*-1.json")} >= set(SCHEMAS)
    for name in SCHEMAS:
        assert (tmp_path / name).read_text() == (_DOCS / "schema" / name).read_text(), (
            "run: python -m tunecheck_fleet.schemas docs/schema")


def test_every_check_has_a_page_and_every_page_a_check() -> None:
    assert {path.stem for path in (_DOCS / "checks").glob("*.md")} == {check.id for check in CHECKS}
    for check in CHECKS:
        page = (_DOCS / "checks" / f"{check.id}.md").read_text()
        assert page.startswith(f"# {check.id}\n")
        assert [line for line in page.splitlines() if line.startswith("## ")] == [
            "## What", "## Why", "## Wrong", "## Right", "## How to fix"]


@pytest.mark.parametrize("width", [200, 80, 40, 24])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    findings = judge(_case(switch(), "preflight"), "preflight")
    text = _text(switch(), Style(width=width))
    assert too_wide(text, findings, width) == []
    assert "redirects" in text


@pytest.mark.parametrize("verb", ["driver", "runtime"])
def test_a_report_without_a_gpu_says_so(verb: str) -> None:
    case = _case(Machine(), verb, with_spec=False)
    findings = judge(case, verb)
    no_gpu = render(verb, case, findings, Style()).splitlines()[-1].split("; ")[1]
    skipped = [finding for finding in findings if finding.outcome == "skip"]
    last = render(verb, case, skipped, Style()).splitlines()[-1].split("; ")
    assert last[:2] == [f"UNKNOWN: {len(skipped)} skipped", no_gpu] and "-v" in last[2]
    # What judged nothing is no pass.
    assert (document(verb, case, skipped)["outcome"], document(verb, case, skipped)["exit_code"]) == ("unknown", 3)
    for machine, which in ((switch(), verb), (Machine(), "host")):
        case = _case(machine, which)
        assert no_gpu not in render(which, case, judge(case, which), Style()).splitlines()[-1]


def test_a_narrow_terminal_gets_pairs_for_the_matrix() -> None:
    assert "GPU0  X     PIX" in _text(switch(), Style(width=80))
    assert "GPU0-GPU1 PIX" in _text(switch(), Style(width=12), "topo")


def test_unwrapped_every_finding_is_one_line() -> None:
    case = _case(switch(), "preflight")
    findings = judge(case, "preflight")
    lines = render("preflight", case, findings, Style(), verbose=True).splitlines()
    assert lines[-len(findings) - 2:-2] == [f"{finding.outcome.upper():<8}{shown(finding)}"
                                            for finding in worst_first(findings)]


def test_ascii_and_colour() -> None:
    plain = _text(switch(), Style())
    assert plain.isascii()
    assert "\x1b" not in plain
    assert "\x1b[31;1mFAIL\x1b[0m" in _text(switch(), Style(colour=True))
    assert "└─ " in _text(switch(), Style(unicode=True))


def test_what_a_hostile_host_says_cannot_reach_the_terminal() -> None:
    machine = full(switch()).file("/proc/sys/kernel/hostname", "box\x1b]0;owned\x07\n")
    machine.file("/proc/cmdline", "iommu=pt iommu=\x1b[2J\u202eevil")
    machine.file(f"{PCI}/0000:03:00.0/current_link_speed", "\x9b31m")
    spec = frozen(iommu="pt")
    case = Case(gather(machine.host(), spec.spec, True), spec)
    text = render("preflight", case, judge(case, "preflight"), Style(width=80, unicode=True))
    assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "owned" not in text and "unknown host" in text, "a name that is none is not shown at all"


def test_style_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
    assert style_for(io.TextIOWrapper(io.BytesIO(), "ascii")) == Style(0, False, False)
    monkeypatch.setenv("COLUMNS", "50")
    assert style_for(io.TextIOWrapper(io.BytesIO(), "utf-8")) == Style(50, False, True)


def test_unknown_acs_shows_in_the_tree() -> None:
    machine = switch().file(f"{PCI}/0000:02:00.0/config", config(0x1D, size=64))
    assert "0000:02:00.0 1000:c030 x16 Gen5 ACS ? (no permission)" in _text(machine, Style(), "topo")


def test_an_idle_link_does_not_read_as_a_fault() -> None:
    machine = switch().file(f"{PCI}/0000:03:00.0/current_link_speed", "2.5 GT/s PCIe\n")
    machine.file(f"{PCI}/0000:04:00.0/current_link_width", "8\n")
    text = _text(machine, Style(), "topo")
    lines = [told(line) for line in text.splitlines()]
    assert [line for line in lines if "x16 Gen1 Gen5" in line and "0000:03:00.0" in line]
    assert [line for line in lines if "x8 x16 Gen5" in line and "0000:04:00.0" in line]
    drawings = [each.partition("\nFAIL ")[0] for each in (text, _text(switch(), Style(), "topo"))]
    assert [drawing.count("link-speed") for drawing in drawings] == [1, 0], "which judges links at work"


def test_a_wrapped_tree_keeps_its_lines() -> None:
    for unicode, bar in ((True, "│"), (False, "|")):
        lines = _text(switch(), Style(width=44, unicode=unicode), "topo").splitlines()
        at = next(index for index, line in enumerate(lines) if "GPU0 " in line)
        assert lines[at + 1].startswith(f"      {bar}       "), lines
        assert "GPU0" not in lines[at + 1]


def test_a_message_is_wrapped_for_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    assert wrapped("word " * 40, stream) == "word " * 40
    monkeypatch.setattr(stream, "isatty", lambda: True)
    lines = wrapped("tunecheck: import: " + "word " * 40, stream).splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 60 and lines[1].startswith("  word")


def test_write_file_replaces_in_one_step_and_keeps_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    target.chmod(0o640)
    (tmp_path / "link").symlink_to(target)
    write_file(str(tmp_path / "link"), b"new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "report.json"]


def test_a_device_is_written_to_and_never_replaced() -> None:
    check_writable("/dev/null")
    write_file("/dev/null", b"x")
    assert Path("/dev/null").is_char_device()


def test_a_full_disk_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.json").write_text("old")

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tunecheck.util.whole_file.os.fsync", refuse)
    with refused(Misuse.UNWRITABLE, str(tmp_path / "report.json"), "No space left on device"):
        write_file(str(tmp_path / "report.json"), b"new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(("place", "flaw"), [("", Misuse.ALREADY), ("missing/x.json", Misuse.NOT_THERE)])
def test_places_that_cannot_be_written_are_refused_early(tmp_path: Path, place: str, flaw: Misuse) -> None:
    with refused(flaw, f"{tmp_path}/{place}"):
        check_writable(f"{tmp_path}/{place}")
