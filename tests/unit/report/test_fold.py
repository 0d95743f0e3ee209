"""Many findings of one kind as one line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.report.boxes import judged, spec, switches

from tunecheck.report.fold import folded, worst_first
from tunecheck.report.terminal import Style, render
from tunecheck.rules import Finding, Remedy
from tunecheck.rules.finding import OUTCOMES


def _finding(subject: str, text: str, outcome: str = "pass", check: str = "link-width") -> Finding:
    return Finding(check, subject, outcome, "effective", text)


def _gpus(count: int, text: str = "{} has x16 at every hop", outcome: str = "pass") -> list[Finding]:
    subjects = [f"GPU{index} 0000:{index:02x}:00.0" for index in range(count)]
    return [_finding(subject, text.format(subject), outcome) for subject in subjects]


def test_eight_gpus_are_one_line() -> None:
    assert [fold.text for fold in folded(_gpus(8))] == ["8 GPUs: x16 at every hop"]


def test_the_exception_is_spelled_out_and_comes_first() -> None:
    bad = _finding("GPU8 0000:99:00.0", "GPU8 0000:99:00.0 is held back by 0000:99:00.0 x8", "fail")
    assert [fold.text for fold in folded([*_gpus(8), bad])] == [bad.text, "8 GPUs: x16 at every hop"]


def test_numbers_become_a_range_and_equal_ones_stay() -> None:
    findings = [_finding(f"GPU{index}", f"GPU{index} is at {value} C of 95 C")
                for index, value in enumerate((41, 9, 35))]
    assert [fold.text for fold in folded(findings)] == ["3 GPUs: is at 9 to 41 C of 95 C"]


def test_what_the_receipt_says_survives() -> None:
    said = ("{} ACSCtl=0x0011 lets peer traffic pass on the path GPU0-GPU1, GPU0-GPU2, and 3 more "
            "(ReqRedir-; it was 0x001d before provisioning)")
    ports = [f"0000:02:0{number}.0" for number in range(3)]
    (fold,) = folded([_finding(port, said.format(port), check="acs-redirect") for port in ports])
    assert fold.text.startswith("3 PCI devices: ACSCtl=0x0011 lets peer traffic pass")
    assert "it was 0x001d before provisioning" in fold.text


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
    ways = [Finding("c", f"GPU{index}", "fail", "effective", f"GPU{index} is slow", remedy=Remedy(f"way {index // 5}"))
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
    assert "PASS    link-width: 8 GPUs: x16 at every hop" in lines
    assert "FAIL    acs-redirect: 0000:02:00.0 ACSCtl=0x001d redirects" in text
    marks = [line.split()[0].lower() for line in lines[:-1]]        # the last is the verdict
    assert marks == sorted(marks, key=OUTCOMES.index)
    skips = [line for line in lines if line.startswith("SKIP")]
    assert len(skips) == 1 and "driver-version" in skips[0] and "(-v says why)" in skips[0]
    everything = render("preflight", case, run.findings, Style(), verbose=True)
    assert all(f"{finding.outcome.upper():<8}{finding.message}\n" in everything for finding in run.findings)


@pytest.mark.parametrize("width", [20, 30, 41, 60, 100])
def test_the_fix_has_a_line_of_its_own_on_a_terminal(width: int) -> None:
    case, run = judged(switches(8, redirecting=(0,)), desired=spec())
    text = render("preflight", case, run.findings, Style(width=width))
    assert max(map(len, text.splitlines())) <= width
    assert [line for line in text.splitlines() if line.strip().startswith("fix:")]
    if width == 100:
        assert "        fix: run: ansible-playbook site.yml --tags acs -l box1\n" in text
