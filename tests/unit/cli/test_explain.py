"""``tunecheck explain``: every page fits a terminal, loses no word, and the field's own words have pages too."""

from __future__ import annotations

import re

import pytest
from click import Context
from click.testing import CliRunner
from tests.unit.cli.carried import ROOT

from tunecheck.cli.main import cli
from tunecheck.errors import Misuse, UsageError
from tunecheck.model.finding import OUTCOMES
from tunecheck.parsers.nvidia.xid_catalog import CATALOG, DATE
from tunecheck.report.check_pages import asked_for, page
from tunecheck.report.page import rendered
from tunecheck.report.sentences import MESSAGES, check_of_sentence
from tunecheck.report.style import Style
from tunecheck.report.words.fleet_words import FLEET_WORDS
from tunecheck.report.words.terms import NAMES, term
from tunecheck.rules.index import CHECKS
from tunecheck.util.suggestions import nearest
from tunecheck_fleet.outputs.text import KINDS, STATUSES

IDS = tuple(check.id for check in CHECKS)


def test_words_of_the_fleets_report_have_pages_and_hide_no_code() -> None:
    said = {*STATUSES[1:], *KINDS, "drift", "clean", "incomplete", "split",
            "flapping", "cause", "entry", "baseline", "since", "cannot be told now", "rollout", "silent", "in change",
            "as the specification asks", "by our own roles", "note", "next"}
    assert said == {word.lower() for word in FLEET_WORDS}
    for word in said:
        assert "fleet's report" in page(word)
    codes = {code: each for each in CHECKS for code in each.codes}
    for word in said & codes.keys():
        assert codes[word].codes[word] in page(word), "a code of the same name is told, too"
    pages = " ".join((ROOT / "docs/fleet-outputs.md").read_text().lower().split()) + " ".join(
        (ROOT / "docs/fleet.md").read_text().lower().split()) + " " + " ".join(STATUSES)
    assert [word for word in FLEET_WORDS if not re.search(rf"\b{word.lower()}\b", pages)] == []


@pytest.mark.parametrize("name", ["74cd874e", "12345678"])
def test_the_id_of_a_finding_is_told_as_one(name: str) -> None:
    with pytest.raises(UsageError) as told:
        page(name)
    assert told.value.flaw is Misuse.NO_SUCH and name in str(told.value) and "`tunecheck fleet -v`" in str(told.value)


def words(text: str) -> list[str]:
    return re.findall(r"[\w.=/-]*\w", text)


def test_every_page_is_rendered_whole_at_every_width() -> None:
    for check in CHECKS:
        text = page(check.id)
        copied = {line.strip() for block in re.findall(r"(?ms)^```\n(.*?)^```", text) for line in block.splitlines()
                  if not re.match(r"[a-z0-9-]+: ", line)}
        prose = re.sub(r"(?ms)^```\n.*?^```", "", text)
        commands = {" ".join(part.split()) for part in re.findall(
            r"`((?:sudo(?! (?:dmesg|journalctl|lspci|tunecheck))|echo|ansible-playbook) [^`]+)`",
            re.sub(r"(?m)^\|.*$", "", prose))}
        for width in (40, 80, 200):
            shown = rendered(text, Style(width), check.summary)
            head, *lines = shown.splitlines()
            assert head.startswith(f"{check.id}: ") and check.summary.split()[0] in head
            assert "```" not in shown and not re.search(r"(?m)^#|^\s*\|", shown), check.id
            for title in ("What is checked", "Why it matters", "What you see", "What good looks like", "How to fix"):
                assert title in lines, check.id
            assert commands <= {line.strip() for line in lines}, (check.id, "each on a line of its own, unbroken")
            long = [line for line in lines if len(line) > min(width, 100) and line.strip() not in copied
                    and not line.strip().startswith(("ansible-playbook ", "sudo ", "nvidia-smi "))
                    and f"`{line.strip()}`" not in " ".join(prose.split())]
            # Only a word that is longer than the line itself is broken, and only there. What is to be copied is not.
            assert not long, (check.id, long)
        plain = rendered(text, Style(100), check.summary)
        body = re.sub(r"(?m)^#+ .*$|^```.*$|^[|:\s-]+$", "", text)
        lost = set(words(re.sub(r"[`*|]", " ", body))) - set(words(plain))
        assert not {word for word in lost if len(word) < 60}, (check.id, lost)


@pytest.mark.parametrize("check", IDS)
def test_no_code_of_a_page_is_broken_where_it_fits_into_a_line(check: str) -> None:
    text = page(check)
    prose = " ".join(re.sub(r"(?ms)^```\n.*?^```", "", text).split())
    shown = rendered(text, Style(80))
    broken = [part for part in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose) if len(part) <= 70 and part not in shown]
    assert broken == []


@pytest.mark.parametrize("check", IDS)
def test_what_can_be_pasted_is_whole_however_narrow_the_terminal_is(check: str) -> None:
    text = page(check)
    shown = [line.strip() for line in rendered(text, Style(50)).splitlines()]
    pasted = [line.strip() for block in re.findall(r"(?ms)^```\n(.*?)^```", text) for line in block.splitlines()
              if not re.match(r"[a-z0-9]+(?:-[a-z0-9]+)*: ", line)]
    assert [line for line in pasted if line not in shown] == []


@pytest.mark.parametrize("check", IDS)
def test_brackets_that_a_page_opens_are_closed(check: str) -> None:
    for paragraph in re.split(r"\n\n|\n(?=- )", re.sub(r"(?ms)^```\n.*?^```", "", page(check))):
        if paragraph.count("(") == paragraph.count(")"):
            shown = rendered(paragraph, Style(80))
            assert shown.count("(") == shown.count(")"), shown


@pytest.mark.parametrize(("markdown", "shown"), [
    ("# a\n\n## What\nIt is `x` and **bold**\nand [a page](docs/p.md).\n",
     "a: sum\n\nWhat is checked\n  It is x and bold and a page (docs/p.md).\n"),
    ("| a | b |\n|---|---|\n| GNS | the `model` |\n\ntext\n", "  a    b\n  GNS  the model\n\n  text\n"),
    ("| a | b | c |\n|---|---|---|\n| GNS | the model | " + "word " * 16 + "|\n",
     "  a    b          c\n  GNS  the model  word word word word word word word word word word word word\n"
     "                  word word word word\n"),
    ("| a | b |\n|---|---|\n| GNS | `" + "x" * 90 + "` |\n", "  GNS\n      b:\n        " + "x" * 90 + "\n"),
    ("- one\n  goes on\n- `*.p` two\n\n1. three\n", "  - one goes on\n  - *.p two\n\n  1. three\n"),
    ("```\n$ a  b\n```\ntext\n", "    $ a  b\n  text\n"),
    ("```\nopen\n", "    open\n"),
    ("", "\n"),
    ("``Unknown option `x'`` is `y`\n", "  Unknown option `x' is y\n"),
    ("a\x1b[31m `b\x07`\n", "  a\\x1b[31m b\\x07\n"),
])
def test_markdown_that_the_pages_use(markdown: str, shown: str) -> None:
    assert rendered(markdown, Style(80), "sum") == shown


@pytest.mark.parametrize("name", [name for name in NAMES if "#" not in name and name != "Xid N"])
def test_every_word_has_a_page_with_a_way_on(name: str) -> None:
    text = page(name)
    assert text.startswith(f"# {name}: ")
    for check in re.findall(r"`tunecheck explain (\S+)`", text):
        assert check in IDS


@pytest.mark.parametrize("word", [name for name in NAMES if name not in ("NV#", "Xid N")])
def test_a_word_is_found_whatever_its_case(word: str) -> None:
    """One that is a check's name in lower case shows the check."""
    text, verbs = page(word).partition(": ")[2], cli.list_commands(Context(cli))
    for typed in {word.lower(), word.upper(), word.title(), word}:
        done = CliRunner().invoke(cli, ["explain", "--markdown", typed])
        assert done.exit_code == 0, (typed, done.exception)
        assert (typed in IDS and done.stdout == page(typed)) or done.stdout.partition(": ")[2].startswith(text)
        assert (f"tunecheck {typed.lower()} --help" in done.stdout) == (typed.lower() in verbs)


@pytest.mark.parametrize(("sentence", "check"), [
    ("GPU has fallen off the bus", "gpu-fallen-off"), ("gpu has fallen off", "gpu-fallen-off"),
    ("fallen off the bus", "gpu-fallen-off"), ("has fallen off the bus", "gpu-fallen-off"), ("on the bus", None),
    ("GPU 0000:41:00.0", None), ("is a GPU", None), ("kernel panic", "kernel-panic"), ("soft lockup", "hung-task"),
    ("NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.", "gpu-fallen-off"),
    ("RmInitAdapter failed", "gpu-start"), ("rm_init_adapter failed", "gpu-start"),
    ("NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x62:0x40:1901)", "gpu-start"),
    ("Kernel panic - not syncing: Fatal exception", "kernel-panic"),
    ("INFO: task python3:4711 blocked for more than 122 seconds.", "hung-task"),
    ("watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [python3:4711]", "hung-task"),
    ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 29 LTSSM Fault Up", "sxid"),
    ("AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000a address=0x0 flags=0x0000]", "iommu-fault"),
    ("nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000a address=0x0 flags=0x0]", "iommu-fault"),
    ("NVRM: API mismatch: the client has the version 580.95.05, but this kernel module has the version 580.82.07",
     "driver-coherence"),
    ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "host-memory"),
    ("pcieport 0000:40:01.1: AER: Correctable error message received from 0000:41:00.0", "aer-events"),
])
def test_a_sentence_of_the_kernel_shows_the_check_that_reads_it(sentence: str, check: str | None) -> None:
    done = CliRunner().invoke(cli, ["explain", *sentence.split()])
    assert (done.stdout.partition(": ")[0] or None) == check, done.exception


@pytest.mark.parametrize("message", MESSAGES)
def test_words_of_a_message_show_the_check_that_reads_it(message: str) -> None:
    """In any case, also without its beginning; some words of it never show the page of another check."""
    check = check_of_sentence(message)
    assert check in IDS
    for part in (message.lower(), message.partition(": ")[2] or message):
        assert check_of_sentence(part) == check, part
    words = message.split()
    parts = {" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 2, len(words) + 1)}
    assert {check_of_sentence(part) for part in parts} <= {check, ""}


@pytest.mark.parametrize(("typed", "says"), [
    (["GNS"], "GNS"), (["gns"], "GNS"), (["PHB"], "PHB"), (["Xid 79"], "Xid 79"), (["xid", "79"], "Xid 79"),
    (["XID:79"], "Xid 79"), (["NVRM: Xid (PCI:0000:03:00): 79, pid=1"], "Xid 79"),
    (["[ 12.3] NVRM: Xid (PCI:0000:03:00): 79, pid=1, name=x"], "Xid 79"), (["frobnicate"], None),
    (["sleep"], None), (["redriver"], "redriver"), (["SHM"], "SHM"), (["spec"], "spec"), (["pci=noacs"], "pci=noacs"),
    (["Xid79"], "Xid 79"), (["NV18"], "NV18"), (["NV#"], "NV#"), (["Xid", "9999"], "Xid 9999"), (["xid"], "xid"),
    (["acs"], "acs"), (["ACS"], "ACS"), (["p2p"], "p2p"),
    (["record"], None), (["host"], None),
    (["unknown"], "unknown"), (["swap"], "swap"),
])
def test_what_is_typed(typed: list[str], says: str | None) -> None:
    """The page that is shown, by the name at its head, is the whole page of that name."""
    done = CliRunner().invoke(cli, ["explain", *typed])
    assert (done.stdout.partition(": ")[0] or None) == says and (done.exit_code == 0) == (says is not None)
    if says is not None:
        summary = next((check.summary for check in CHECKS if check.id == says), "")
        verbs = cli.list_commands(Context(cli))
        command = f"\n  It is a command, too: tunecheck {says} --help\n" if says in verbs else ""
        assert done.stdout == rendered(page(says), Style(0), summary) + command
        assert not says.startswith("Xid ") or says == "Xid 9999" or CATALOG[int(says[4:])].meaning in done.stdout
    else:
        assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.NO_SUCH
        # A suggestion is near, or a page that says the word; no guess.
        assert ("link-speed" in str(done.exception)) == (typed == ["sleep"])


@pytest.mark.parametrize(("word", "check"), [
    ("SXid 12028", "sxid"), ("sxid: 24007", "sxid"), ("Drain and Reset", "gpu-recovery"), ("Drain P2P", "gpu-recovery"),
    ("GPU Reset Required", "gpu-recovery"), ("node reboot required", "gpu-recovery")])
def test_words_that_the_driver_logs_have_a_page(word: str, check: str) -> None:
    done = CliRunner().invoke(cli, ["explain", word])
    assert done.exit_code == 0 and f"tunecheck explain {check}" in done.output, done.output


@pytest.mark.parametrize(("number", "says"), [
    (39, "Restart the application"), (54, "connect the power cables"), (126, "copy engine CE10"), (135, "CE19"),
    (105, "NVJPG7"), (98, "NVDEC7"), (56, "unused on A100"), (165, "replace the GPU")])
def test_what_nvidias_page_lists_is_known(number: int, says: str) -> None:
    """Its words, with the day of the page."""
    text = term(f"Xid {number}")
    assert text is not None and says in text and DATE in text


def test_a_number_that_is_not_in_the_table_is_not_said_to_be_missing_at_nvidia() -> None:
    text = term("Xid 9999")
    assert text is not None and DATE in text


@pytest.mark.parametrize("number", range(144, 151))
def test_an_xid_whose_text_says_how_bad_it_is_is_explained_for_both(number: int) -> None:
    """The page and the report of the same Xid must not say the opposite of each other."""
    fatal, other = [line for line in (term(f"Xid {number}") or "").splitlines() if line.startswith("- ")]
    assert " Fatal," in fatal and "--gpu-reset" in fatal and " Nonfatal," in other and "--gpu-reset" not in other


@pytest.mark.parametrize("number", [74, *range(144, 151)])
def test_an_error_of_nvlink_leads_to_the_page_of_its_fabric(number: int) -> None:
    assert "Read on: `tunecheck explain fabric-state`" in (term(f"Xid {number}") or "")
    assert {"nvidia-smi nvlink -e", "Xid 74", "fabric-state"} <= {
        word for word in ("nvidia-smi nvlink -e", "Xid 74", "fabric-state") if word in page("xid")}


def test_every_xid_of_the_catalogue_says_what_to_do() -> None:
    for number, entry in CATALOG.items():
        text = term(f"Xid {number}")
        assert text is not None and entry.meaning in text and "How to fix" in text and "<gpu>" not in text


@pytest.mark.parametrize(("asked", "flaw", "names"), [
    (["79"], Misuse.NO_SUCH, '"Xid 79"?'), (["13"], Misuse.NO_SUCH, '"Xid 13"?'), (["gsn"], Misuse.NO_SUCH, " GNS?"),
    (["0"], Misuse.NO_SUCH, "`tunecheck explain --list`"), (["XYZ"], Misuse.NO_SUCH, "`tunecheck checks`"),
    ([], Misuse.LEFT_OUT, "tunecheck explain --list"), (["foo"], Misuse.NO_SUCH, "'foo'; `tunecheck checks`"),
    (["owl"], Misuse.NO_SUCH, "'owl'; `tunecheck checks`"), (["pxi"], Misuse.NO_SUCH, " PIX?"),
    (["links"], Misuse.NO_SUCH, " link-"), (["acss"], Misuse.NO_SUCH, " ACS?"),
])
def test_what_is_no_name_gets_the_nearest_or_the_way_to_all(asked: list[str], flaw: Misuse, names: str) -> None:
    done = CliRunner().invoke(cli, ["explain", *asked])
    assert isinstance(done.exception, UsageError) and done.exception.flaw is flaw and names in str(done.exception)


def test_no_short_word_suggests_another_one() -> None:
    """Every word of three letters that is one slip away from no name gets the way to all names, whatever it shares."""
    letters = "abcdefghilmnoprstuwx"
    names = [*IDS, *NAMES]
    for word in (a + b + c for a in letters for b in letters for c in letters):
        for near in nearest(word.upper(), NAMES, 3, 0.65):
            swapped = {word[1] + word[0] + word[2], word[0] + word[2] + word[1]}
            assert near.lower() in swapped or abs(len(near) - 3) == 1, (word, near)
    assert nearest("FOO", names) == [] and nearest("PXI", NAMES) == ["PIX"] and nearest("GNSS", NAMES) == ["GNS"]


def test_every_verdict_and_every_word_has_a_page() -> None:
    for word in (*NAMES, *OUTCOMES, "PF FLR"):
        assert page("Xid 79" if word == "Xid N" else word.upper() if word in OUTCOMES else word)


def test_an_xid_defers_to_the_action_that_the_driver_names() -> None:
    assert "Xid 154" in page("Xid 79") and "Xid 154" not in page("Xid 154").partition("\n")[2]


@pytest.mark.parametrize(("words", "asked"), [
    (("acs-redirect", "link-width"), ["acs-redirect", "link-width"]),
    (("acs-redirect,link-width",), ["acs-redirect", "link-width"]),
    (("acs-redirect", "and", "PIX"), ["acs-redirect", "PIX"]),
    (("Xid 79, 154",), ["Xid 79", "Xid 154"]), (("Xid", "79,", "154"), ["Xid 79", "Xid 154"]),
    (("xid 79 and 154",), ["xid 79", "xid 154"]), (("Xid 79/154",), ["Xid 79", "Xid 154"]),
    (("Xid 79", "Xid 154"), ["Xid 79", "Xid 154"]), (("xid:79", "xid"), ["xid:79", "xid"]),
    (("SXid 12028, 20034",), ["SXid 12028", "SXid 20034"]),
    (("PF", "FLR"), ["PF FLR"]), (("PF FLR", "GNS", "drain", "p2p"), ["PF FLR", "GNS", "drain p2p"]),
    (("DRAIN", "AND", "RESET"), ["DRAIN AND RESET"]), (("gpu.count", "xid-79"), ["gpu.count", "xid-79"]),
    (("PIX", "PIX"), ["PIX"]),
    (("acs-redirect", "link-widht"), ["acs-redirect", "link-widht"]),
    (("Xid 79, 154, what",), ["Xid 79", "Xid 154", "what"]),
    (("NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus",),
     ["NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus"]),
    (("acs", "thing"), ["acs", "thing"]), (("RmInitAdapter", "failed!"), ["RmInitAdapter failed!"]),
])
def test_several_names_are_asked_for_one_by_one(words: tuple[str, ...], asked: list[str]) -> None:
    assert asked_for(words) == asked


def test_every_name_that_has_a_page_is_one_name() -> None:
    for name in (*IDS, *(each for each in NAMES if each not in ("NV#", "Xid N")), *(f"Xid {each}" for each in CATALOG)):
        assert asked_for(name.split()) == [name]


def test_several_are_explained_one_after_the_other() -> None:
    one, other = (CliRunner().invoke(cli, ["explain", name]).stdout for name in ("acs-redirect", "link-width"))
    done = CliRunner().invoke(cli, ["explain", "acs-redirect", "link-width"])
    assert (done.exit_code, done.stdout) == (0, f"{one}\n{other}")
    done = CliRunner().invoke(cli, ["explain", "Xid 79, 154"])
    assert done.stdout.index("Xid 79: ") < done.stdout.index("Xid 154: ")
    done = CliRunner().invoke(cli, ["explain", "acs-redirect", "link-widht"])
    assert done.stdout == "" and re.search(r"'link-widht'.* link-width\?", str(done.exception))


def test_the_beginning_of_a_word_is_told_the_word() -> None:
    """Before what is only spelt like it: NVLI is NVLink, not NVML."""
    with pytest.raises(UsageError) as refused:
        page("NVLI")
    assert "did you mean NVLink" in str(refused.value)
