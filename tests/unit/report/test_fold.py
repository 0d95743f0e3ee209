"""Many findings of one kind as one line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.report.boxes import judged, shown, spec, switches
from tests.unit.report.pasted import too_wide
from tests.unit.told import told

from tunecheck.model.absence import Absence
from tunecheck.model.finding import OUTCOMES, Finding, Remedy
from tunecheck.report.grouping import folded, worst_first
from tunecheck.report.style import Style
from tunecheck.report.terminal import render


def _finding(subject: str, text: str, outcome: str = "pass", check: str = "link-width",
             absence: Absence | None = None, source: str = "") -> Finding:
    return Finding(check, "any-code", subject, outcome, "effective", text, evidence=(source,) if source else (),
                   absence=absence)


def _gpus(count: int, text: str = "{} has x16 at every hop", outcome: str = "pass") -> list[Finding]:
    subjects = [f"GPU{index} 0000:{index:02x}:00.0" for index in range(count)]
    return [_finding(subject, text.format(subject), outcome) for subject in subjects]


def test_eight_gpus_are_one_line() -> None:
    assert [fold.text for fold in folded(_gpus(8, "{} x16 everywhere"))] == ["8 GPUs: x16 everywhere"]


def test_the_exception_is_spelled_out_and_comes_first() -> None:
    bad = _finding("GPU8 0000:99:00.0", "GPU8 0000:99:00.0 is held back by 0000:99:00.0 x8", "fail")
    assert [fold.text for fold in folded([*_gpus(8, "{} x16 everywhere"), bad])] == [
        bad.text, "8 GPUs: x16 everywhere"]


def test_numbers_become_a_range_and_equal_ones_stay() -> None:
    findings = [_finding(f"GPU{index}", f"GPU{index} is at {value} C of 95 C")
                for index, value in enumerate((41, 9, 35))]
    (fold,) = folded(findings)
    assert told(fold.text) == "3 9 41 95" and fold.text.endswith(" 41 C of 95 C")


def test_ranges_together_are_one_range() -> None:
    said = ("one way: 339.4 to 366.0 GB/s", "one way: 363.0 to 391.3 GB/s", "one way: 350.0 to 351.0 GB/s")
    (fold,) = folded([_finding("one way", text, check="bench-figures") for text in said])
    assert "339.4 to 391.3 GB/s" in fold.text


def test_a_subject_that_says_the_same_again_is_not_listed_again() -> None:
    said = ("p2p test (one way): 339.4 to 366.0 GB/s one way", "p2p test (one way): 363.0 to 391.3 GB/s one way")
    (fold,) = folded([_finding("one way", text, check="bench-figures") for text in said])
    assert fold.text == "p2p test (one way): 339.4 to 391.3 GB/s one way (2 findings)"


def test_what_the_receipt_says_survives() -> None:
    said = ("{} ACSCtl=0x0011 lets peer traffic pass on the path GPU0-GPU1, GPU0-GPU2, and 3 more "
            "(ReqRedir-; it was 0x001d before provisioning)")
    ports = [f"0000:02:0{number}.0" for number in range(3)]
    (fold,) = folded([_finding(port, said.format(port), check="acs-redirect") for port in ports])
    assert fold.text.startswith("3 PCI devices (0000:02:00.0, 0000:02:01.0, 0000:02:02.0): ACSCtl=0x0011 lets peer")
    assert "it was 0x001d before provisioning" in fold.text


def test_where_no_words_fit_all_those_of_the_first_stand_and_the_others_are_named() -> None:
    said = "{} ACSCtl=0x0011 lets peer traffic pass on the path {} (ReqRedir- CmpltRedir-)"
    ways = {"0000:02:00.0": "GPU0-GPU1", "0000:02:01.0": "GPU0-GPU2", "0000:12:00.0": "GPU2-GPU3, GPU2-GPU4"}
    (fold,) = folded([_finding(port, said.format(port, way), check="acs-redirect") for port, way in ways.items()])
    first, others = fold.text.split("; ")
    assert first == said.format("0000:02:00.0", "GPU0-GPU1") and told(others) == "2 0000:02:01.0 0000:12:00.0"
    links = [f"0000:{bus}:01.1-0000:{bus}:00.0" for bus in ("00", "70")]
    shared = [_finding(link, f"GPU{at}, GPU{at + 1} share x16 Gen5 of {link}: host copies get {28 + at} GB/s each")
              for at, link in enumerate(links)]
    (fold,) = folded(shared)
    assert told(fold.text) == "GPU0 GPU1 x16 Gen5 0000:00:01.1-0000:00:00.0 28 29 1 0000:70:01.1-0000:70:00.0"


def test_a_subject_in_the_middle_stays_readable() -> None:
    found = [_finding(name, f"the counter of {name} stands still") for name in ("cpu1", "cpu2", "cpu3")]
    (fold,) = folded(found)
    assert fold.text.startswith("the counter of cpu1 stands still; ") and told(fold.text) == "cpu1 2 cpu2 cpu3"


def test_other_words_are_not_folded() -> None:
    findings = [_finding("iommu=pt", "iommu=pt is set"), _finding("nosmt", "nosmt is running")]
    assert len(folded(findings)) == 2


def test_named_things_keep_their_names() -> None:
    findings = [_finding(word, f"{word} is set") for word in ("iommu=pt", "nosmt")]
    assert [fold.text for fold in folded(findings)] == ["iommu=pt, nosmt: is set"]


def test_what_needs_attention_names_every_subject() -> None:
    assert len(folded(_gpus(4, outcome="fail"))) == 4
    (fold,) = folded(_gpus(8, outcome="fail"))
    assert all(f"GPU{index} 0000:{index:02x}:00.0" in fold.text for index in range(8))


def test_another_remedy_is_another_line() -> None:
    ways = [Finding("c", "any-code", f"GPU{index}", "fail", "effective", f"GPU{index} is slow",
                    remedy=Remedy(f"way {index // 5}"))
            for index in range(10)]
    assert [len(fold.findings) for fold in folded(ways)] == [5, 5]


def test_worst_first_and_stable_inside() -> None:
    mixed = [_finding(str(index), "x", outcome) for index, outcome in enumerate([*reversed(OUTCOMES), *OUTCOMES])]
    ordered = [(finding.outcome, finding.subject) for finding in worst_first(mixed)]
    assert ordered == sorted(ordered, key=lambda item: (OUTCOMES.index(item[0]), int(item[1])))


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(), st.text(), st.sampled_from(OUTCOMES)), max_size=12))
def test_any_text_folds_and_none_is_lost(said: list[tuple[str, str, str]]) -> None:
    findings = [_finding(subject, text, outcome) for subject, text, outcome in said]
    folds = folded(findings)
    assert sorted(map(id, findings)) == sorted(id(finding) for fold in folds for finding in fold.findings)


def test_a_big_box_stays_readable_and_verbose_shows_all() -> None:
    case, run = judged(switches(8, redirecting=(0,)), desired=spec())
    text = render("preflight", case, run.findings, Style())
    lines = [line for line in text.splitlines() if line.startswith(("FAIL", "UNKNOWN", "WARN", "PASS", "SKIP"))]
    checks = {finding.id for finding in run.findings}
    assert len(lines) <= len(checks) + 2 < len(run.findings)
    assert [told(line) for line in lines if line.startswith("PASS    link-width: 8 GPUs: ")] == ["8 x16"]
    assert "FAIL    acs-redirect: 0000:02:00.0 ACSCtl=0x001d " in text
    marks = [line.split()[0].lower() for line in lines[:-1]]        # the last is the verdict
    assert marks == sorted(marks, key=OUTCOMES.index)
    skips = [line for line in lines if line.startswith("SKIP")]
    assert len(skips) == 1 and "driver-version" in skips[0] and "(-v " in skips[0]
    everything = render("preflight", case, run.findings, Style(), verbose=True)
    assert all(f"{finding.outcome.upper():<8}{shown(finding)}\n" in everything for finding in run.findings)


@pytest.mark.parametrize("width", [20, 30, 41, 60, 100])
def test_the_fix_has_a_line_of_its_own_on_a_terminal(width: int) -> None:
    case, run = judged(switches(8, redirecting=(0,)), desired=spec())
    text = render("preflight", case, run.findings, Style(width=width))
    assert too_wide(text, run.findings, width) == []
    assert [line for line in text.splitlines() if line.strip().startswith("fix")]
    if width == 100:
        assert re.search(r"\w+ \w+ \w+ 3: \w+: ansible-playbook site\.yml -i inventory/NAME "
                         r"--tags acs,cmdline -l box1; [^:;]+: ",
                         " ".join(text.split()))


def test_piped_the_fix_has_its_label_too() -> None:
    case, run = judged(switches(8, redirecting=(0,)), desired=spec())
    text = render("preflight", case, run.findings, Style())
    assert re.search(r"; fix: [^;]* pci=.*: ansible-playbook site\.yml -i inventory/NAME --tags acs,cmdline "
                     r"-l box1\n", text)


def test_what_was_not_judged_is_counted_by_check() -> None:
    case, _ = judged(switches(2), desired=spec(2))
    skips = [_finding(f"GPU{index}", "idle", "skip", "link-speed") for index in range(8)]
    text = render("preflight", case, [*skips, _finding("", "no spec", "skip", "smt")], Style())
    (line,) = [line for line in text.splitlines() if line.startswith("SKIP    ")]
    assert "(-v " in line and line.endswith(": link-speed (8), smt")


def _of_an_import() -> list[Finding]:
    return [_finding("", "it cannot be read", "unknown", "swap", Absence.NOT_IN_IMPORT, "/proc/swaps"),
            _finding("", "the pair is not derivable", "unknown", "topo-relation"),
            _finding("", "not in the import", "unknown", "driver-stuck", Absence.NOT_IN_IMPORT, "ps -e"),
            _finding("", "CPU 239 did not come up", "warn", "cpu-lost"),
            _finding("", "it is tsc", "pass", "clocksource")]


@pytest.mark.parametrize(("imported", "verbose", "order"), [
    (True, False, ["topo-relation:", "cpu-lost:", "2 ", "clocksource:"]),
    (True, True, ["topo-relation:", "cpu-lost:", "swap:", "driver-stuck:", "clocksource:"]),
    (False, False, ["swap:", "topo-relation:", "driver-stuck:", "cpu-lost:", "clocksource:"])])
def test_what_an_import_lacks_stands_behind_its_warnings(imported: bool, verbose: bool, order: list[str]) -> None:
    case, _ = judged(switches(2), desired=spec(2))
    text = render("host", case, _of_an_import(), Style(), verbose, imported)
    lines = [line[8:] for line in text.splitlines() if line[:8].strip() in ("UNKNOWN", "WARN", "PASS")]
    assert [line.startswith(start) for line, start in zip(lines, order, strict=True)] == [True] * len(order), lines
    if imported and not verbose:
        open_, _, fix = lines[2].partition("; fix: ")
        assert "(-v " in open_ and open_.endswith(": swap, driver-stuck")
        one, whole = fix.split("; ")
        assert ": cat /proc/swaps (" in one and told(one.partition("swaps")[2]) == "1"
        assert whole.endswith(": sudo tunecheck record")
    assert text.endswith("UNKNOWN: 3 unknown, 1 warning, 1 passed\n")


def test_warnings_of_how_a_machine_is_built_stand_behind_faults_and_failures_where_they_are() -> None:
    found = [_finding("", "GPU0-GPU1 is SYS", "warn", "topo-relation"),
             _finding("", "Gen3 of Gen5", "warn", "link-speed"),
             _finding("", "found 2 groups", "fail", "topo-relation"), _finding("", "x8 of x16", "fail", "link-width")]
    assert [(each.outcome, each.id) for each in worst_first(found)] == [
        ("fail", "topo-relation"), ("fail", "link-width"), ("warn", "link-speed"), ("warn", "topo-relation")]
