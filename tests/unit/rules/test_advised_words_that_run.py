"""No remedy of any check asks for a kernel word, a module option or a word of RegistryDwords that runs already: each
case of each check is judged again with every such word that its remedies asked for running, and no remedy asks for one
of them twice. Where none of the words did what it should, the remedy says what is next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.report.test_no_gain_no_option import refused
from tests.unit.rules.judging import judged

from tunecheck.facts.kernel.modules import LOADED
from tunecheck.facts.snapshot import HostFacts, gather
from tunecheck.model.fact import known
from tunecheck.model.finding import Finding
from tunecheck.parsers.kernel.cmdline import words
from tunecheck.parsers.kernel.modprobe import normalise_module
from tunecheck.parsers.kernel.param_conflicts import conflicts, split
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.pcie.force_p2p import WORD
from tunecheck.spec.frozen import Cpu

_WORD = r"(?:[a-z_]+[.\w]*=[^\s;,\"`'()]+|nosmt\b)"
#: How a remedy asks for words of the command line.
_ASKS = re.compile(rf"(?:boot with|put|add) \"?({_WORD}(?: {_WORD})*)")
_INSTEAD = re.compile(rf"in place of ({_WORD}(?: {_WORD})*)")
_OPTION = re.compile(r'"options ([\w-]+) ([^"]+)"')
#: What is not read, so no remedy can know that it is there: the blacklist, and the ids that vfio-pci takes.
_UNREAD = ("nouveau", "vfio-pci")


def _asked(found: Finding) -> Iterator[str]:
    """The words of the command line, and "module name=value", that a finding asks for."""
    if found.outcome not in ("fail", "warn") or found.remedy is None:
        return
    text = f"{found.remedy.text}; expected {found.expected}".replace("expected ", "boot with " if "command line" in
                                                                     found.expected else "")
    # What only stays of a token that is replaced is not asked for.
    kept = {part for match in _INSTEAD.finditer(text) for token in match[1].split() for part in split(token)}
    for match in _ASKS.finditer(text):
        yield from (word.rstrip(":") for word in words(match[1].split()) if word not in kept)
    for match in _OPTION.finditer(text):
        yield from (f"{match[1]} {each}" for each in match[2].split() if match[1] not in _UNREAD)
    if "or write ForceP2P" in text:
        yield f"nvidia NVreg_RegistryDwords={WORD}"


def _with(case: Case, asked: set[str]) -> Case:
    """The same box, on which all of these run: last on the line, without what contradicts them."""
    host = case.host
    tokens = [word for word in asked if " " not in word]
    line = [token for token in host.kernel.cmdline.value or ()]
    rivals = {each.rival for each in conflicts(tokens, line)}
    line = [token for token in line if not set(split(token)) & rivals and token not in tokens]
    kernel = replace(host.kernel, cmdline=known((*line, *sorted(tokens)), "/proc/cmdline"))
    boot = replace(host.boot, generated=known((*line, *sorted(tokens)), "grub.cfg"))
    host = replace(host, kernel=kernel, boot=boot)
    for option in asked:
        if " " in option:
            host = _option(host, *option.split())
    return replace(case, snapshot=replace(case.snapshot, host=host))


def _option(host: HostFacts, module: str, option: str) -> HostFacts:
    """The host whose modprobe.d has the option; of RegistryDwords the loaded driver runs with the word."""
    name, _, value = option.partition("=")
    if name == "NVreg_RegistryDwords":
        return replace(host, registry_dwords={**host.registry_dwords, LOADED: known(value, "params")})
    found = host.modules[module]
    configured = {**(found.configured.value or {}), normalise_module(name): value}
    return replace(host, modules={**host.modules, module: replace(found, configured=known(configured, "modprobe.d"))})


def _twice(case: Case, verb: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The words that remedies ask for, by check; and those that they ask for again."""
    first = {(each.id, word) for each in judge(case, verb) for word in _asked(each)}
    # What only keeps a word of the running line for the next boot asks for nothing new.
    if not first:
        return first, set()
    later = judge(_with(case, {word for _, word in first}), verb)
    return first, {(each.id, word) for each in later for word in _asked(each)} & first


def test_no_remedy_asks_twice_for_one_word() -> None:
    asked, again = set[tuple[str, str]](), dict[str, list[str]]()
    for path in CASES:
        _, case, verb = case_of(path)
        for variant in (case, replace(case, snapshot=refused(case.snapshot, "CNS"))):
            if variant.snapshot.host is None:
                continue
            first, twice = _twice(variant, verb)
            asked |= first
            if twice:
                again[path.stem] = sorted(f"{check}: {word}" for check, word in twice)
    assert again == {}
    checks = {check for check, _ in asked}
    assert {"link-payload", "link-aspm", "bar-assignment", "bar1-size", "iommu-fault", "iommu-mode", "iommu-trap",
            "acs-redirect", "acs-persistence", "cpu-lost", "init-on-alloc", "p2p-capability", "module-parameter",
            "kernel-log-complete", "p2p-staged"} <= checks, checks


@pytest.mark.parametrize("letter", ["CNS", "TNS", "DR"])
@pytest.mark.parametrize("tree", [True, False])
def test_a_refusal_beside_the_word_that_allows_it_is_named(letter: str, tree: bool) -> None:
    case = Case(gather(full(switch() if tree else switch(None)).host(), None, True))
    host = replace(case.host, registry_dwords={LOADED: known("rmfoo=1;ForceP2P=0x11", "params")})
    case = Case(refused(replace(case.snapshot, host=host), letter))
    (found,) = [each for each in judge(case, "preflight") if each.id == "p2p-capability"]
    assert "though the loaded driver runs with ForceP2P=0x11, which decides first and allows it" in found.text
    assert found.remedy and "options nvidia" not in found.remedy.text and "or write" not in found.remedy.text
    assert "cat /proc/driver/nvidia/params" in [command.shown for command in found.remedy.commands]


@pytest.mark.parametrize(("loaded", "told"), [
    ("", "write \"options nvidia NVreg_RegistryDwords=ForceP2P=0x211\""),
    ("ForceP2P=0x222", "it takes the place of ForceP2P=0x222"), ("forcep2p=0x211", "overridden already")])
def test_a_word_with_other_bits_is_replaced(loaded: str, told: str) -> None:
    case = Case(gather(full(switch()).host(), None, True))
    case = Case(refused(replace(case.snapshot, host=replace(case.host, registry_dwords={
        LOADED: known(loaded, "params")})), "CNS"))
    (found,) = [each for each in judge(case, "preflight") if each.id == "p2p-capability"]
    assert found.remedy and told in found.remedy.text


def test_a_word_that_waits_for_the_driver_to_be_loaded_is_not_written_again() -> None:
    case = Case(gather(full(switch()).host(), None, True))
    case = Case(refused(replace(case.snapshot, host=replace(case.host, registry_dwords={
        LOADED: known("", "params"), "modprobe.d": known(WORD, "modprobe.d")})), "CNS"))
    (found,) = [each for each in judge(case, "preflight") if each.id == "p2p-capability"]
    assert found.remedy and "options nvidia" not in found.remedy.text
    assert f"/etc/modprobe.d has {WORD} already, and the driver was loaded without it" in found.remedy.text


@pytest.mark.parametrize(("wanted", "line", "told"), [
    ("off", "", "boot with nosmt"), ("off", "nosmt", "nosmt is on the running command line and did not act"),
    ("on", "nosmt=force", "boot without nosmt=force, and enable SMT in the BIOS"),
    ("on", "mitigations=auto,nosmt", "boot without mitigations=auto,nosmt"), ("on", "", "enable SMT in the BIOS")])
def test_smt_names_the_words_that_are_there(wanted: str, line: str, told: str) -> None:
    machine = full(switch(), line)
    machine.file("/sys/devices/system/cpu/smt/control", "off\n" if wanted == "on" else "on\n")
    (found,) = judged(machine, "smt", frozen(cpu=Cpu(smt=wanted)))
    assert found.remedy and found.remedy.text.startswith(told)
