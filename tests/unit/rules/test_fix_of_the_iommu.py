"""Who follows a fix for the IOMMU, by hand or by play, gets one command line, and the check that gave it is content: on
every declared value and every set of words on the running line. Words that are not known to be the play's own stay
until a fix names them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest
from tests.unit.facts.trees import Machine, frozen, full, switch
from tests.unit.rules.test_loader_edit import _booted_by

from tunecheck.facts.kernel.boot import Loader
from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding, Place
from tunecheck.parsers.kernel.cmdline import tokenize, words
from tunecheck.parsers.kernel.param_conflicts import conflicts, split
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Acs, Frozen, Kernel, Spec, declared_tokens

ALL = "pci=disable_acs_redir=pci:0:0"
_LINES = ("", "iommu=off", "amd_iommu=off", "intel_iommu=off", "iommu=pt", "iommu=off amd_iommu=off",
          "iommu=pt amd_iommu=off", "iommu=pt iommu=off", "iommu=off,pt", "intel_iommu=off iommu=pt", "iommu=nopt",
          "iommu=pt iommu=nopt", "amd_iommu=off iommu=off intel_iommu=off", "iommu.passthrough=0",
          "iommu=off intremap=off", f"iommu=pt {ALL}", f"amd_iommu=off iommu=off {ALL}", "pci=nocrs,noaer iommu=off")
_KERNELS = ((), ("amd_iommu=off",), ("pcie_port_pm=off",), ("pci=use_crs",), ("intel_iommu=off",), ("iommu=nopt",))
_ABOUT = ("iommu-mode", "iommu-trap", "cpu-lost", "acs-persistence", "cmdline-conflict", "cmdline-token")
_CPU = "/sys/devices/system/cpu"


def _group(line: list[str]) -> str:
    """The type of the group as an AMD machine with an IVRS table makes it."""
    parts = [part for token in line for part in split(token)]
    if {"iommu=off", "amd_iommu=off"} & set(parts):
        return ""
    domain = [part for part in parts if part in ("iommu=pt", "iommu=nopt", "iommu.passthrough=0")]
    return "identity" if domain and domain[-1] == "iommu=pt" else "DMA-FQ"


def _machine(line: list[str], lost: bool) -> Machine:
    """The machine as it comes up with this command line: without an IOMMU a CPU is lost, where there are so many."""
    kind, running = _group(line), " ".join(line)
    down = lost and kind == ""
    log = ("[    0.000000] Linux version 6.12.1\n"
           "[    0.200000] ACPI: IVRS 0x000000008A208000 000040 (v02 AMD    AMD      00000001 AMD  00000001)\n")
    machine = full(switch(0x11), running, running, dropin="", log=log)
    machine.lists["/sys/firmware/acpi/tables"] = ["APIC", "IVRS"]
    for bdf in ("0000:03:00.0", "0000:04:00.0"):
        folder = f"/sys/bus/pci/devices/{bdf}/iommu_group"
        if kind:
            machine.errors.pop(f"realpath {folder}", None)
            machine.realpaths[folder] = "/sys/kernel/iommu_groups/1"
    machine.file("/sys/kernel/iommu_groups/1/type", f"{kind}\n")
    if lost:
        machine.file(f"{_CPU}/present", "0-255\n").file(f"{_CPU}/online", "0-254\n" if down else "0-255\n")
    return machine


def _case(line: list[str], spec: Frozen | None, lost: bool) -> Case:
    found = gather(_machine(line, lost).host(), spec.spec if spec else None, True)
    return _booted_by(Case(found, spec), Loader.GRUBBY)     # its options are the words that are put and taken


def _judged(line: list[str], spec: Frozen | None, lost: bool) -> list[Finding]:
    return [each for each in judge(_case(line, spec, lost), "preflight") if each.id in _ABOUT]


def _options(found: Finding, name: str, by_play: bool) -> list[str]:
    """The words of grubby's option in the half by hand, or in the half before the play."""
    assert found.remedy is not None
    text = found.remedy.play_text if by_play else found.remedy.by_hand
    options = [option for command in found.remedy.commands if command.shown in text for option in command.argv
               if option.startswith(f"--{name}=")]
    return [word for option in options for word in tokenize(option.partition("=")[2])]


def _edited(line: list[str], put: list[str], away: list[str]) -> list[str]:
    kept = [token for token in line if token not in away]
    return [*kept, *(word for word in words(put) if word not in words(kept) or _last(word, kept))]


def _last(word: str, line: list[str]) -> bool:
    """Whether the word stands there and a later one undoes it, so that it has to come last."""
    return bool(conflicts([word], [word, *line]))


def _by_hand(line: list[str], found: Finding) -> list[str]:
    return _edited(line, _options(found, "args", False), _options(found, "remove-args", False))


def _changed(text: str, after: Spec) -> Spec:
    """The specification after what the text asks for in the inventory."""
    if asked := re.search(r'set box_spec\.iommu: "(\w+)"', text):
        after = replace(after, iommu=asked[1])
    if asked := re.search(r'set box_spec\.acs\.peer_redirect: "(\w+)"', text):
        after = replace(after, acs=replace(after.acs, peer_redirect=asked[1]))
    if asked := re.search(r"take (.*?) out of box_spec\.kernel\.cmdline", text):
        kept = tuple(word for word in after.kernel.cmdline if word not in asked[1].split())
        after = replace(after, kernel=replace(after.kernel, cmdline=kept))
    if asked := re.search(r'add "(.*?)" to box_spec\.kernel\.cmdline', text):
        after = replace(after, kernel=replace(after.kernel, cmdline=(*after.kernel.cmdline, asked[1])))
    return after


def _by_play(line: list[str], found: Finding, spec: Frozen) -> tuple[list[str], Frozen]:
    """The line and the specification after the steps before the play, and the play. It refuses beside a word that
    contradicts what is declared."""
    assert found.remedy is not None
    text, after = found.remedy.play_text, _changed(found.remedy.play_text, spec.spec)
    away = _options(found, "remove-args", True)
    named = re.search(r"remove (.*?) from the boot configuration", text)
    parts = set(re.split(r",? and |, | ", named[1])) if named else set()
    line = [token for token in line if token not in away]
    line = [kept for token in line if (kept := _without(token, parts))]
    put = [*declared_tokens(after), *([ALL] if "acs" in found.remedy.ansible_tags and _clears(after) else [])]
    assert not conflicts(put, line), f"the play refuses: {line}"
    return _edited(line, put, []), replace(spec, spec=after)


def _without(token: str, parts: set[str]) -> str:
    """A token without the words that the fix names, as a person edits it in a file."""
    name, _, _ = token.partition("=")
    kept = [part for part in split(token) if part not in parts]
    return token if len(kept) == len(split(token)) else f"{name}={','.join(part.partition('=')[2] for part in kept)}" \
        if kept else ""


def _clears(spec: Spec) -> bool:
    return spec.acs.peer_redirect == "off"


def _specs() -> list[Frozen | None]:
    made: list[Frozen | None] = [None]
    for iommu, kernel, redirect in product(("pt", "off", "translated", "leave"), _KERNELS, ("off", "leave")):
        if redirect == "leave" and kernel:
            continue
        tokens = declared_tokens(Spec(iommu=iommu, kernel=Kernel(cmdline=kernel)))
        if not conflicts(tokens, [word for word in kernel if word not in tokens]) and not _refused(tokens):
            made.append(frozen(iommu=iommu, kernel=Kernel(cmdline=kernel), acs=Acs(peer_redirect=redirect)))
    return made


def _refused(tokens: tuple[str, ...]) -> bool:
    """Whether the inventory is refused, as two of its own words contradict each other."""
    return any(conflicts([one], [one, other]) for one in tokens for other in tokens if one != other)


_ALL_SPECS = _specs()
_CONFLICT = "cmdline-conflict"


def _bad(findings: list[Finding]) -> dict[str, Finding]:
    return {each.id: each for each in findings if each.outcome in ("fail", "warn")}


@pytest.mark.parametrize("lost", [False, True], ids=["few CPUs", "256 CPUs"])
@pytest.mark.parametrize("line", _LINES)
def test_both_ways_lead_to_one_line_and_end_the_finding(line: str, lost: bool) -> None:
    running = tokenize(line)
    for spec in _ALL_SPECS:
        before = _bad(_judged(running, spec, lost))
        for check, found in before.items():
            if found.remedy is None or found.remedy.place is Place.FIRMWARE:
                continue
            asked = spec and (spec.spec.iommu, spec.spec.kernel.cmdline, spec.spec.acs.peer_redirect)
            said = f"{asked}: {found.message}"
            lines = []
            if found.remedy.by_hand and _options(found, "remove-args", False) + _options(found, "args", False):
                hand = _by_hand(running, found)
                lines.append(set(part for token in hand for part in words([token])))
                after = _bad(_judged(hand, spec, lost))
                # What the inventory asks for is judged by it, until it is changed as well.
                assert spec is not None or check not in after, f"by hand: {hand}: {said}"
                if spec is not None and not found.remedy.play_text:
                    changed = replace(spec, spec=_changed(found.remedy.text, spec.spec))
                    assert check not in _bad(_judged(hand, changed, lost)), f"by hand: {hand}: {said}"
            if found.remedy.play_text and spec is not None:
                try:
                    played, changed = _by_play(running, found, spec)
                except AssertionError as error:
                    raise AssertionError(f"{error}: {said}") from None
                lines.append(set(part for token in played for part in words([token])))
                after = _bad(_judged(played, changed, lost))
                assert check not in after, f"by play: {played}: {said}"
                assert _CONFLICT not in after, f"a new conflict: {played}: {said}"
                if len(lines) == 2:
                    assert lines[0] == lines[1], said
                    assert check not in _bad(_judged(hand, changed, lost)), f"by hand: {hand}: {said}"


@pytest.mark.parametrize("lost", [False, True], ids=["few CPUs", "256 CPUs"])
@pytest.mark.parametrize("line", _LINES)
def test_iommu_mode_names_only_words_that_run_and_offers_off_only_where_nothing_needs_an_iommu(
        line: str, lost: bool) -> None:
    running = tokenize(line)
    there = {part for token in running for part in (token, *split(token))}
    for spec in _ALL_SPECS:
        for found in _judged(running, spec, lost):
            if found.id != "iommu-mode" or found.outcome not in ("fail", "warn"):
                continue
            fix = found.remedy.text if found.remedy else ""
            away = re.findall(r"in place of (\S+?=\S+(?: \S+?=\S+)*)|(?:remove|take) (.*?) (?:from|out of)", fix)
            for word in re.split(r",? and |, | |:", " ".join(part for each in away for part in each)):
                assert "=" not in word or word in there or (
                    spec and word in spec.spec.kernel.cmdline), f"{word}: {found.message}"
            if 'state box_spec.iommu: "off"' in fix:
                assert spec is not None
                off = replace(spec, spec=replace(spec.spec, iommu="off"))
                later = _judged([*running, *(["iommu=off"] if "iommu=off" not in there else [])], off, lost)
                for each in later:
                    assert each.remedy is None or 'set box_spec.iommu: "pt"' not in each.remedy.text, each.message
