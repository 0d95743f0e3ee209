"""An audit on the terminal, and the lists out of the history."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.fleet import reports
from tests.unit.fleet.reports import DAY, WHEN, cause, example, fleet, head, hostile, play, report, row, since

from tunecheck.report.style import Style
from tunecheck.util.host_names import fold
from tunecheck_fleet.fleet_report import Since, Split, Wave
from tunecheck_fleet.model import Change
from tunecheck_fleet.outputs.rows import BlameRow, DriftRow, FleetRow, HistoryRow, list_text
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import ago, compared, gaps, interval, shown, shown_apart
from tunecheck_fleet.value_words import measured

NOW = WHEN + 2 * 3600
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def _names(start: int, stop: int, form: str = "gpu{:03d}") -> list[str]:
    return [form.format(number) for number in range(start, stop)]


@pytest.mark.parametrize(("names", "said"), [
    (_names(1, 39), "gpu001..gpu038 (38)"),
    (["gpu077", *_names(1, 39)], "gpu001..gpu038 (38), gpu077"),
    (["b", "a", "a"], "a, b"),
    (["gpu1", "gpu2"], "gpu1, gpu2"),
    (_names(8, 12, "gpu{}"), "gpu8..gpu11 (4)"),
    (_names(98, 102), "gpu098..gpu101 (4)"),
    (_names(1, 4, "gpu{}.dc2.example"), "gpu1.dc2.example..gpu3.dc2.example (3)"),
    ([f"r{rack}n{node}" for rack in (1, 2) for node in range(4)], "r1n0..r1n3 (4), r2n0..r2n3 (4)"),
    ([], ""),
])
def test_many_hosts_are_few_words(names: list[str], said: str) -> None:
    assert fold(names) == said


@given(st.sets(st.integers(0, 300), max_size=40))
def test_folding_loses_no_host_and_invents_none(numbers: set[int]) -> None:
    found: set[int] = set()
    for part in filter(None, fold(f"gpu{number}" for number in numbers).split(", ")):
        ends = [int(end) for end in re.findall(r"gpu(\d+)", part)]
        found |= set(range(ends[0], ends[-1] + 1))
    assert found == numbers


def test_too_many_hosts_are_counted() -> None:
    said = fold([f"gpu{number * 2:04d}" for number in range(500)], 60)
    assert said == "gpu0000, gpu0002, gpu0004, gpu0006, gpu0008, gpu0010, and 494 more"


def test_values_and_times() -> None:
    assert shown({"16": 7, "8": 1}) == "7 x 16, 1 x 8"
    assert shown(None) == "(absent)" and shown(False) == "false" and shown(["a b", "c"]) == '["a b", c]'
    assert len(shown("x" * 5000)) == 160
    assert [ago(NOW - seconds, NOW) for seconds in (0, 3600, 7200, 65 * DAY)] == ["now", "60 min ago", "2 h ago",
                                                                                   "65 d ago"]
    assert interval(since(), NOW) == "#364..#365 (26 h ago .. 2 h ago)"
    assert interval(since(300, None), NOW) == "before #300 (first heard 65 d ago)"
    assert interval(Since(365, WHEN, 364), NOW) == "#364..#365 (until 2 h ago)"
    assert interval(since()) == "#364..#365 (2026-11-20 05:00 UTC .. 2026-11-21 05:00 UTC)"


def test_a_lost_gpu_is_one_entry_and_whole_with_v() -> None:
    one = {"authority": "majority", "hosts": ("gpu001",), "expected": "differs from 8 of 9 in h100-a"}
    lost = [cause(**one, fact=fact, before=before, value=value) for fact, before, value in (
        ("gpu.bar1", {"65536": 8}, {"65536": 7}), ("gpu.count", 8, 7), ("gpu.mixed", {"a": 4, "b": 4},
         {"a": 4, "b": 3}),
        ("p2p.read", {"ok": 56}, {"ok": 42}), ("pcie.width", {"16": 8}, {"16": 6, "8": 1}))]
    other = cause(**{**one, "hosts": ("gpu002",)}, fact="gpu.vbios", before={"96": 8}, value={"96": 7})
    brief = terminal(report(causes=(*lost, other)), Style(0), now=NOW)
    entries = [line for line in brief.splitlines() if line.startswith("HIGH")]
    assert [line.split(":")[0].partition("new  ")[2] for line in entries] == [
        "1 GPU fewer (7 of 8)", "pcie.width", "gpu.vbios"]
    assert "3 more facts of the same audit (gpu.bar1, gpu.mixed, p2p.read)" in entries[0]
    assert "CAUSES  3 new" in brief and "DRIFT: 3 causes on 2 hosts" in brief, "the list and the count say the same"
    assert sum(line.startswith("HIGH") for line in terminal(report(causes=(*lost, other)), Style(0), True,
                                                            now=NOW).splitlines()) == 6


def test_everything_is_said_at_80_columns() -> None:
    text = terminal(example(), Style(80), now=NOW)
    whole = {each.shown for found in example().causes for each in found.commands}
    # Only a command may be wider than the terminal, on a line of its own: it is there to be pasted.
    assert [line for line in text.splitlines() if len(line) > 80 and line.strip() not in whole] == []
    assert text.splitlines()[:4] == [
        "tunecheck audit #365, 2026-11-21 05:00 UTC (2 h ago), prod.yml",
        "8 hosts: 6 answered (1 in part), 1 unreachable, 1 timeout; compared with #364", "",
        "CAUSES  3 new, 1 known; 1 standing, 1 intended, 1 waived, 1 resolved"]
    assert "HIGH     new  kernel.cmdline.iommu: pt -> (absent)\n         h100-a, 3 hosts: gpu001..gpu003 (3)\n" in text
    assert "299 of 300 in h100-b have 8 x16; since #364..#365 (26 h ago .. 2 h ago)" in " ".join(text.split())
    assert ("SPLIT    h100-b: nic.fw, no verdict\n         28.43.1014 on 171 / 28.45.1020 on 129\n"
            "         28.45.1020: node000..node128 (129)\n         looks like a rollout") in text
    for words in ("MEDIUM   flapping  gpu001: gpu.driver: 8 x 580.95.05 -> 8 x 580.82.07; known\n",
                  "LOW      new, rollout", "last answered in #361",
                  "never answered yet", "5 facts unknown in all: gpu.driver", "WAIVED   smt", "until 2026-12-21",
                  "RESOLVED cpu.governor", "NOTE     waiver 4", "to put it back: hands-on work",
                  "\n         fix: run:\n           ansible"):
        assert words in text, words
    assert " ".join(text.splitlines()[-2:]).replace("         ", "") == (
        "DRIFT: 4 causes on 4 hosts; 1 split without a verdict; 2 did not answer and 1 answered in part")


def test_a_pipe_has_one_line_per_cause() -> None:
    lines = terminal(example(), Style(0), now=NOW).splitlines()
    (line,) = [line for line in lines if "kernel.cmdline.iommu" in line]
    assert line.startswith("HIGH     new  kernel.cmdline.iommu: pt -> (absent); h100-a, 3 hosts: gpu001..gpu003 (3); ")
    assert line.endswith("fix: run: ansible-playbook site.yml --tags kernel_cmdline -l gpu001,gpu002,gpu003")


@pytest.mark.parametrize("width", [0, 30, 80, 200])
def test_nothing_hostile_reaches_the_terminal(width: int) -> None:
    text = terminal(hostile(), Style(width, colour=True), verbose=True, now=NOW)
    plain = _COLOUR.sub("", text)
    assert "\x1b" not in plain and "\u202e" not in plain and "\\x1b[31m" in plain.replace("\n", "").replace(" ", "")
    assert _COLOUR.sub("", text) == terminal(hostile(), Style(width), verbose=True, now=NOW)
    assert not width or max(map(len, plain.splitlines())) <= width


def test_colour_only_where_it_is_wanted() -> None:
    assert "\x1b" not in terminal(example(), Style(80), now=NOW)
    coloured = terminal(example(), Style(80, colour=True), now=NOW)
    assert "\x1b[31;1mHIGH\x1b[0m" in coloured and "\x1b[31;1mDRIFT\x1b[0m:" in coloured


def test_clean_is_said_only_of_who_answered() -> None:
    assert terminal(report(), Style(80), now=NOW).endswith("CLEAN: no drift on the 2 hosts that answered\n")
    part = report(hosts=(row(), row("gpu002", status="unreachable", reason="no route")))
    assert terminal(part, Style(80), now=NOW).endswith("CLEAN: no drift on the 1 host that answered; "
                                                       "1 did not answer\n")
    silent = report(hosts=(row(status="timeout"),))
    assert terminal(silent, Style(80), now=NOW).endswith("UNKNOWN: no host answered, nothing was judged; "
                                                         "1 did not answer\n")
    killed = terminal(report(audit=head(asked=5, finished=None)), Style(80), now=NOW)
    assert "This audit is not finished" in killed and "5 hosts: 2 answered, 3 without a result" in killed


def test_what_is_drift_is_decided_once() -> None:
    ours = cause(authority="previous", intended=True)
    assert not ours.counts and cause(intended=True).counts, "against the spec it counts whoever did it"
    assert not cause(state="resolved").counts


def test_a_thousand_hosts_fit_on_few_lines() -> None:
    text = terminal(fleet(), Style(80), now=NOW)
    assert len(text.splitlines()) < 200 and "and 20 more (-v shows all)" in text
    assert "sysctl.vm.fact_59" not in text
    assert "sysctl.vm.fact_59" in terminal(fleet(), Style(80), verbose=True, now=NOW)


def test_hosts_that_say_the_same_are_together() -> None:
    rows = [row(f"gpu{number}", status="unreachable", reason=f"ssh: gpu{number}: timed out") for number in range(1, 30)]
    (told,) = gaps(rows)
    assert told[1] == "ssh: HOST: timed out" and len(told[2]) == 29


def test_in_a_pipe_what_nobody_could_look_at_is_one_line_that_names_it() -> None:
    unread = [cause(authority="desired", fact=f"check-{number}", subject="", outcome="unknown", severity="low",
                    text="not in the import", id=f"{number:08}", value=None, before=None) for number in range(9)]
    text = terminal(report(causes=tuple(unread)), Style(0), now=NOW)
    line, = (line for line in text.splitlines() if line.startswith("UNKNOWN "))
    assert all(each.fact in line for each in unread) and "not in the import" not in text
    assert terminal(report(causes=tuple(unread)), Style(0), True, NOW).count("not in the import") == 9


def test_what_changed_is_not_hidden_among_what_is_known_and_stands_in_a_pipe() -> None:
    lines = terminal(example(), Style(0), now=NOW, changes=True).splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("KNOWN", "STANDING"))] == ["KNOWN", "STANDING"]
    assert not [line for line in lines if "known  " in line]


def test_an_audit_of_another_inventory_that_it_is_compared_with_is_named() -> None:
    whole = example()
    assert whole.previous is not None
    assert compared(whole) == "compared with #364"
    other = dataclasses.replace(whole, previous=dataclasses.replace(whole.previous, scope="files of /srv/carried"))
    assert compared(other) == "compared with #364 (files of /srv/carried)"


def test_lists_say_since_when_and_who() -> None:
    rows = [BlameRow("smt", "off", since(), "on", Change("0a1b", WHEN - 3600, "applied")),
            BlameRow("smt", "on", since(340, 339), "off"), BlameRow("smt", "off", since(300, None))]
    text = list_text("smt on gpu001", rows, Style(80), NOW)
    assert text.splitlines()[1] == "smt: on -> off"
    assert "our own roles: run 0a1b at 2026-11-21 04:00 UTC by the box's clock, applied" in " ".join(text.split())
    assert "out of band" in text and "it was so when the box was first heard" in text
    drift = list_text("drift", [DriftRow("gpu001", "h100-a", "smt", "on", None, since(), True)], Style(0), NOW)
    assert drift.splitlines()[1] == ("gpu001 (h100-a)  smt: on -> (absent); since #364..#365 (26 h ago .. 2 h ago), "
                                     "by our own roles")
    history = list_text("history", [HistoryRow("smt", "off", since(300, None), None, 340, WHEN - 25 * DAY),
                                    HistoryRow("smt", "on", since(340, 339), "off")], Style(0), NOW)
    assert "until #340 (25 d ago)" in history and "smt: off -> on; " in history and "still so" in history
    boxes = list_text("fleet", [FleetRow("gpu7", "h100-b", "timeout", "no answer", last_ok=361, last_ok_at=WHEN - DAY),
                                FleetRow("gpu8", "h100-b", "ok", drifted=2, problems=3, failing=1, warnings=4,
                                         unknown=2, high=1, low=1, unjudged=3),
                                FleetRow("gpu9", "h100-b", "ok", drifted=4, problems=5, unknown=5, unjudged=4)],
                      Style(0), NOW)
    assert "gpu7 (h100-b)  timeout; no answer; last answered in #361 (26 h ago)" in boxes
    assert ("gpu8 (h100-b)  answered; entries of the report: 1 high, 1 low; 3 could not be judged; "
            "checks on the host: 1 fails, 4 warn, 2 unknown") in boxes
    assert ("gpu9 (h100-b)  answered; entries of the report: 4 could not be judged; "
            "checks on the host: 5 unknown") in boxes
    assert list_text("drift", [], Style(80), NOW, "no value changed") == "drift\nno value changed\n"
    bad = DriftRow(reports.HOSTILE, reports.HOSTILE, reports.HOSTILE, reports.HOSTILE, reports.HOSTILE, since())
    assert "\x1b" not in list_text(reports.HOSTILE, [bad], Style(0), NOW)


def test_a_number_that_means_nothing_alone_has_its_unit() -> None:
    """Power as checks say it, in watts; lanes as a link's width is written. JSON keeps the fact as it is."""
    limit = "gpu.power_limit"
    assert [measured(limit, value) for value in ({"600000": 7, "402500": 1}, 450000, None, {}, {"odd": 1}, True)] == [
        "7 x 600 W, 1 x 402.5 W", "450 W", None, {}, {"odd": 1}, True]
    assert measured("memlock.tunecheck", 8388608) == "8388608 bytes" and measured("gpu.bar1", {"131072": 8}) == (
        "8 x 131072 MiB")
    assert measured("pcie.width", {"8": 1, "16": 15}) == "15 x16, 1 x8" and measured("no.such.fact", 5) == 5
    moved = DriftRow("gpu1", "a", limit, {"600000": 8}, {"600000": 7, "450000": 1}, since())
    assert "gpu.power_limit: 8 x 600 W -> 7 x 600 W, 1 x 450 W" in list_text("drift", [moved], Style(0), NOW)


def test_any_time_and_name_is_survived() -> None:
    odd = dataclasses.replace(example(), audit=head(started=1e300, finished=float("inf")))
    assert terminal(odd, Style(80), now=NOW)


def test_of_long_values_the_part_that_differs_is_shown() -> None:
    words = [f"word{number}=value{number}" for number in range(60)]
    before, after = " ".join(words), " ".join([*words[:-2], "hugepages=64", *words[-2:]])
    one, other = shown_apart((before, after))
    assert one != other and "hugepages=64" in other and max(len(one), len(other)) <= 160
    assert shown_apart(("pt", None)) == ["pt", "(absent)"]
    split = Split("h100-a", "kernel.cmdline", ((before, 4), (after, 4)))
    text = terminal(report(splits=(split,)), Style(False, 0), now=NOW)
    assert "hugepages=64" in text
    said = terminal(report(causes=(cause(before=before, value=after),)), Style(False, 0), now=NOW)
    assert "hugepages=64" in said


@given(st.lists(st.text(max_size=300), min_size=2, max_size=4), st.text(max_size=300))
def test_values_that_differ_are_never_shown_alike(ends: list[str], start: str) -> None:
    values = [start + end for end in ends]
    told = shown_apart(values[:2], 60)
    assert all(len(text) <= 60 for text in told)
    assert (told[0] == told[1]) == (values[0] == values[1])


def test_facts_that_a_host_does_not_know_are_said_alike_everywhere() -> None:
    from tunecheck_fleet.outputs.html import html
    from tunecheck_fleet.outputs.junit import junit

    one = report(hosts=(row("gpu001", unknown={"gpu.vbios": "no permission"}), row("gpu002")))
    assert "2 hosts: 2 answered; 1 that answered does not know some facts" in terminal(one, Style(False, 0), now=NOW)
    xml = junit(one)
    assert "<error" not in xml and "gpu001: answered, but unknown are gpu.vbios" in xml
    assert "SOME UNKNOWN" in html(one) and ">OK</span>" not in html(one)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_eleven_open_events_and_three_new_ones_are_a_page_of_forty_lines(width: int) -> None:
    """What is new in four lines each with its since, what is open in one line each with its id, one next step; nothing
    half: a command that does not fit is named by where it stands whole."""
    hosts = tuple(row(f"gpu{number:03d}") for number in range(60))
    old = tuple(cause(authority="majority", fact=f"fact.{number}", hosts=(f"gpu{number:03d}",), state="known",
                      since=since(350 + number, 349 + number), id=f"0000000{number:x}") for number in range(11))
    new = tuple(cause(fact=fact, hosts=("gpu030", "gpu031", "gpu033"), id=f"1000000{at}", text="what it says " * 9,
                      **(play("acs", ",".join(f"gpu{number:03d}" for number in range(30, 30 + 9 ** at)))))
                for at, fact in enumerate(("acs-redirect", "link-width", "gpu-ecc")))
    waves = (Wave(since(360, 359), ("gpu030",), "known"), Wave(since(), ("gpu031", "gpu033"), "new"))
    new = (*new[:2], dataclasses.replace(new[2], waves=waves, state="grown", since=since(360, 359)))
    over = tuple(cause(fact=f"over.{number}", state="resolved") for number in range(5))
    silent = row("gpu059", status="timeout", reason="no answer within 90 s", last_ok=360)
    made = report(hosts=(*hosts[:-1], silent), causes=(*new, *old, *over), notes=("a note",) * 5)
    lines = terminal(made, Style(width), now=NOW).splitlines()
    assert len(lines) <= 40, "\n".join(lines)
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert all(text.count(each.id) == 1 for each in old) and all(each.id in text for each in new)
    assert "new on gpu031, gpu033, beside 1 host" in text and "since #364..#365" in text
    assert not [line for line in lines if "ansible-playbook" in line and line.endswith("...")]
    assert sum(line.startswith("NEXT") for line in lines) == 1 and lines[-1].startswith("DRIFT: 14 causes")
    whole = terminal(made, Style(width), verbose=True, now=NOW)
    assert all(whole.count(f"over.{number}") for number in range(5)) and whole.count("a note") == 5


@pytest.mark.parametrize("width", [40, 50, 60, 72, 80, 100])
def test_every_line_of_what_is_known_tells_host_and_cause(width: int) -> None:
    facts = ("gpu.count", "kernel.cmdline.iommu", "module.parameter.nvidia-uvm.uvm_disable_hmm", "driver-held")
    old = [cause(authority="majority", fact=fact, hosts=(f"gpu{at:03d}",), state="known", since=since(350, 349),
                 id=f"0000000{at}") for at, fact in enumerate(facts)]
    lines = terminal(report(causes=old), Style(width), now=NOW).splitlines()
    assert max(len(line) for line in lines) <= width
    text = "".join(line.strip() for line in lines)
    for at, fact in enumerate(facts):
        own = text.partition(f"0000000{at}")[2].partition("HIGH")[0]
        assert f"gpu{at:03d}" in own and fact in own, text


def test_what_changed_is_shown_without_what_is_known_from_before() -> None:
    """On a terminal and in a pipe; -v has it whole."""
    made = report(causes=(cause(id="11111111"), cause(fact="smt", state="known", hosts=("gpu007", "gpu008")),
                          cause(fact="gpu.vbios", state="known", hosts=("gpu007",), authority="majority")))
    text = " ".join(terminal(made, Style(80), now=NOW, changes=True).split())
    assert "KNOWN 2 causes on 2 hosts from before (-v lists them, and so does: tunecheck fleet -v)" in text
    assert "gpu007" not in text and "kernel.cmdline.iommu" in text and "CAUSES 1 new, 2 known" in text
    assert "DRIFT: 3 causes" in text
    for style, verbose in ((Style(0), True), (Style(80), True)):
        assert terminal(made, style, verbose, now=NOW, changes=True) == terminal(made, style, verbose, now=NOW)


def test_the_next_step_is_about_the_host_that_is_worst() -> None:
    """What fails before what only warns, and of the hosts of one cause the one that has more."""
    both = {"authority": "desired", "fix": "none", "hosts": ("able", "lost")}
    warns = cause(**both, fact="pcie-errors", outcome="warn", id="11111111")
    fails = cause(**both, fact="driver-loaded", outcome="fail", id="22222222")
    gone = cause(**{**both, "hosts": ("lost",)}, fact="gpu-fallen-off", outcome="fail", id="33333333")
    for causes in ((warns, gone), (warns, fails, gone), (fails, gone)):
        text = terminal(report(causes=causes), Style(80), now=NOW)
        assert "NEXT     tunecheck drift --host lost -v\n" in text, text


def test_what_nobody_could_judge_is_one_line_on_a_terminal_and_whole_elsewhere() -> None:
    """A text that somebody pasted leaves some forty checks open; what was seen stands above them."""
    unread = [cause(fact=f"check-{number}", severity="low", outcome="unknown", hosts=("gpu1",), state="new")
              for number in range(9)]
    seen = cause(fact="link-width", severity="high", outcome="fail", hosts=("gpu2",), state="new")
    found = report(causes=(seen, *unread))
    said = _COLOUR.sub("", terminal(found, Style(width=100), now=NOW))
    heads = [line.split()[0] for line in said.splitlines() if line[:1].isupper()]
    assert heads.count("UNKNOWN") == 1 and "HIGH" in heads and "LOW" not in heads
    line = " ".join(said[said.index("UNKNOWN"):].split("\n\n")[0].split())
    assert re.search(r"\b9 causes on 1 host\b.* check-0, .*\b3 more\b", line)
    for style, verbose in ((Style(width=100), True), (Style(), False)):
        whole = _COLOUR.sub("", terminal(found, style, verbose, NOW))
        assert all(f"check-{number}" in whole for number in range(9))
    few = _COLOUR.sub("", terminal(report(causes=(seen, *unread[:3])), Style(width=100), now=NOW))
    assert all(f"check-{number}" in few for number in range(3))
