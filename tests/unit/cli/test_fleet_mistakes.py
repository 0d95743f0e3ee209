"""Mistakes on the command line of the fleet's verbs: refused with a code, before anything is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.carried import Fleet

from tunecheck.errors import Misuse
from tunecheck_fleet.store import open_store


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


#: What is typed, why it is refused, and what the answer names. Without a code: click itself refuses it.
MISTAKES: list[tuple[tuple[str, ...], Misuse | None, tuple[str, ...]]] = [
    (("audit",), Misuse.LEFT_OUT, ("-i INVENTORY", "--from FOLDER")),
    (("audit", "--from", "nowhere"), Misuse.NOT_THERE, ("--from nowhere", "HOST.json")),
    (("audit", "--from", "state"), Misuse.EMPTY, ("--from state", "HOST.json")),
    (("audit", "--from", "boxes", "--limit", "gpu1"), Misuse.LEFT_OUT, ("--limit", "-i INVENTORY")),
    (("audit", "--from", "boxes", "--with-check-diff"), Misuse.LEFT_OUT, ("--with-check-diff", "-i INVENTORY")),
    (("audit", "-i", "nowhere"), Misuse.NOT_THERE, ("nowhere",)),
    (("audit", "-i", "localhost,", "--timeout", "soon"), Misuse.MALFORMED, ("--timeout soon", "90s")),
    (("audit", "--from", "boxes", "--baseline", "best"), Misuse.MALFORMED, ("best", "previous", "audit:N")),
    (("audit", "--from", "boxes", "--max-missing", "many"), Misuse.MALFORMED, ("--max-missing 'many'", "2%")),
    (("audit", "--from", "boxes", "--json", "no/where.json"), Misuse.NOT_THERE, ("no/where.json",)),
    (("audit", "--from", "boxes", "--prometheus", "fleet.txt"), Misuse.MALFORMED, ("fleet.txt.prom",)),
    (("audit", "--from", "boxes", "--webhook", "http://example.org/"), Misuse.NOT_ENCRYPTED,
     ("http://example.org", "https://")),
    (("audit", "--from", "boxes", "--store", "/proc/nothing/fleet.db"), Misuse.UNWRITABLE, ("/proc/nothing",)),
    (("drift", "--since", "yesterday"), Misuse.MALFORMED, ("--since yesterday", "7d, 36h, 2026-11-01", "audit:12")),
    (("drift", "--since", "2999-01-01"), Misuse.FUTURE, ("2999-01-01",)),
    (("drift", "--since", "2026-02-30"), Misuse.MALFORMED, ("--since 2026-02-30",)),
    (("drift", "--since", "audit:77"), Misuse.NO_SUCH, ("77",)),
    (("drift", "--host", "gpu33"), Misuse.NO_SUCH, ("'gpu33'", "gpu3 or")),
    (("drift", "--fact", "kernel.cmdline.iomu"), Misuse.NO_SUCH, ("kernel.cmdline.iommu",)),
    (("blame", "gpu.vbois", "--host", "gpu3"), Misuse.NO_SUCH, ("gpu.vbios",)),
    (("blame", "gpu.vbios"), None, ("--host",)),
    (("history", "--host", "\x1b[31m"), Misuse.NO_SUCH, ()),
    (("fleet", "--audit", "99"), Misuse.NO_SUCH, ("99",)),
    (("fleet", "--baseline", "host:gpu99"), Misuse.NO_SUCH, ("gpu99",)),
    (("fleet", "baseline"), None, ("--from-majority",)),
    (("waive",), Misuse.LEFT_OUT, ("waive FACT", "--list", "--end")),
    (("waive", "gpu.vbios"), Misuse.LEFT_OUT, ("--host", "--group", "--until", "--reason")),
    (("waive", "gpu.vbios", "--host", "gpu1", "--until", "2020-01-01", "--reason", "x"), Misuse.PASSED,
     ("2020-01-01",)),
    (("waive", "gpu.vbios", "--host", "gpu1", "--until", "1m", "--reason", "x"), Misuse.AMBIGUOUS, ("1m",)),
    (("waive", "gpu.vbios", "--host", "gpu9", "--until", "30d", "--reason", "x"), Misuse.NO_SUCH, ("'gpu9'",)),
    (("waive", "gpu.vbios", "--group", "h300", "--until", "30d", "--reason", "x"), Misuse.NO_SUCH, ("'h300'",)),
    (("waive", "gpu.bios", "--host", "gpu1", "--until", "30d", "--reason", "x"), Misuse.NO_SUCH, ("'gpu.bios'",)),
    (("waive", "acs-redirct", "--host", "gpu1", "--until", "30d", "--reason", "x"), Misuse.NO_SUCH, ("acs-redirect",)),
    (("waive", "library-mismach", "--host", "gpu1", "--until", "30d", "--reason", "x"), Misuse.NO_SUCH,
     ("nvml-answers/library-mismatch",)),
    (("waive", "gpu-ecc/no-such-code", "--host", "gpu1", "--until", "30d", "--reason", "x"), Misuse.NO_SUCH,
     ("gpu-ecc", "'no-such-code'", "tunecheck explain gpu-ecc")),
    (("waive", "gpu-ec/x", "--host", "gpu1", "--until", "30d", "--reason", "x"), Misuse.NO_SUCH,
     ("'gpu-ec'", "gpu-ecc?")),
    (("waive", "--list", "--end", "1"), Misuse.LEFT_OUT, ("--list", "--end")),
    (("approve",), Misuse.LEFT_OUT, ("approve ID",)),
    (("approve", "--list", "12345678"), Misuse.LEFT_OUT, ("approve ID",)),
    (("approve", "12345678"), Misuse.NO_SUCH, ("'12345678'", "`tunecheck fleet`")),
    (("approve", "--end", "3"), Misuse.NO_SUCH, ("3", "--list")),
    (("acknowledge", "12345678", "--owner", "ann"), Misuse.NO_SUCH, ("'12345678'",)),
    (("history",), Misuse.LEFT_OUT, ("--host box1", "--gpu 1650924012345")),
    (("history", "--gpu", "1324", "--fact", "gpu.serials"), Misuse.DOES_NOT_BELONG, ("--fact", "--since", "--host")),
    (("fleet", "--webhook", "http://example.org/"), Misuse.NOT_ENCRYPTED, ("http://example.org",)),
    (("fleet", "--link", "fleet.html"), Misuse.MALFORMED, ("fleet.html", "https://host/path")),
    (("fleet", "--json", "work/"), Misuse.UNWRITABLE, ("work/",)),
    (("fleet", "hosts", "--json", "work/"), Misuse.UNWRITABLE, ("work/",)),
    (("fleet", "--webhook-secret", "file"), Misuse.DOES_NOT_BELONG, ("--webhook-secret", "--webhook URL")),
    (("audit", "-i", "localhost,", "--with-check-diff"), Misuse.NOT_THERE, ("site.yml",)),
    (("blame", "accelerator-count", "--host", "gpu1"), Misuse.NO_SUCH, ("is a check", "history --host gpu1 --fact ac")),
    (("blame", "link-width", "--host", "gpu1"), Misuse.NO_SUCH, ("is a check", "history --host gpu1")),
    (("export", "--parquet", "/proc/nothing/out"), Misuse.UNWRITABLE, ("/proc/nothing",)),
    (("audt", "-i", "x"), Misuse.NO_SUCH, ("'audt'", "audit")),
    (("explain", "gpu.cuont"), Misuse.NO_SUCH, ("'gpu.cuont'",)),
]


@pytest.mark.parametrize(("arguments", "flaw", "names"), MISTAKES, ids=[" ".join(each[0])[:50] for each in MISTAKES])
def test_a_mistake_has_a_code_and_names_what_is_wrong(drifted: Fleet, arguments: tuple[str, ...], flaw: Misuse | None,
                                                      names: tuple[str, ...]) -> None:
    found, said = drifted.refused(*arguments)
    assert found is flaw and [name for name in names if name not in said] == [], said
    with open_store(str(drifted.store)) as store:
        assert [audit.id for audit in store.audits()] == [1, 2], "none was begun"


@pytest.mark.parametrize("arguments", [("drift",), ("fleet",), ("fleet", "hosts"), ("blame", "x", "--host", "y"),
                                       ("history", "--host", "y"), ("waive", "--list"), ("export", "--parquet", "out")])
def test_without_a_history_it_says_to_run_an_audit(fleet: Fleet, arguments: tuple[str, ...]) -> None:
    flaw, said = fleet.refused(*arguments)
    assert flaw is Misuse.NOT_THERE and "tunecheck audit" in said
    assert not fleet.store.exists()


@pytest.mark.parametrize(("content", "begun"), [
    (b'{"schema": "tunecheck/acceptance/1"}', 0), (b"[]", 0), (b"no JSON", 0), (b"", 1), (b" \n", 1),
    (b'{"schema": "tunecheck/snapshot/1", "tunec', 1), (b'{"schema": "tunecheck/snapshot/9"}', 1)])
def test_a_folder_of_other_files_is_no_audit(fleet: Fleet, content: bytes, begun: int) -> None:
    """What is cut or empty may be a host's snapshot. Of a host that is known every file is its own."""
    folder = fleet.folder / "other"
    folder.mkdir()
    for name in ("one", "gpu1"):
        (folder / f"{name}.json").write_bytes(content)
    command = ("audit", "--from", str(folder))
    if not begun:
        flaw, said = fleet.refused(*command)
        assert flaw is Misuse.EMPTY and "HOST.json" in said
    else:
        fleet.run(*command)
    assert len(_audits(fleet)) == begun
    fleet.put(1)
    fleet.audit()
    assert fleet.run(*command)[0] != 0 and len(_audits(fleet)) == begun + 2


@pytest.mark.parametrize(("name", "first"), [
    ("driver.version", "of the same family: driver.loaded,"), ("kernel.release", "of the same family: kernel.running,"),
    ("driver", "driver. means all of that family:"), ("gpu.vbois", "did you mean gpu.vbios?"),
    ("Kernel.Running", "did you mean kernel.running?"), ("zzz", "facts and families are: acs.")])
@pytest.mark.parametrize("verb", ["blame NAME --host gpu3", "history --host gpu3 --fact NAME", "drift --fact NAME",
                                  "waive NAME --host gpu3 --until 1d --reason x"])
def test_an_unknown_fact_is_told_those_of_its_family_first(drifted: Fleet, verb: str, name: str, first: str) -> None:
    flaw, said = drifted.refused(*verb.replace("NAME", name).split())
    assert flaw is Misuse.NO_SUCH and "docs/facts.md" in said
    assert first in said or (verb.startswith("waive") and name == "zzz"), said


def test_the_history_of_a_host_that_never_answered_says_how_it_answered(fleet: Fleet) -> None:
    """In words, with the reason of its newest audit; and as rows, which JSON has too."""
    fleet.put(1)
    (fleet.files / "gpu2.json").write_bytes(b"")
    fleet.audit()
    fleet.audit()
    code, out, _ = fleet.run("history", "--host", "gpu2")
    assert code == 0 and "never answered yet (#2: not a usable snapshot" in " ".join(out.split())
    assert "host.answer: garbled" in out and "nothing changed" not in out
    (only,) = json.loads(fleet.run("history", "--host", "gpu2", "--json")[1])["rows"]
    assert (only["fact"], only["value"]) == ("host.answer", "garbled")
    _, out, _ = fleet.run("history", "--host", "gpu1")
    assert "never" not in out and "nothing changed" in out
    flaw, said = fleet.refused("blame", "driver.loaded", "--host", "gpu2")
    assert flaw is Misuse.NO_SUCH and "gpu2 never answered yet (#2: not a usable snapshot" in said


def _audits(fleet: Fleet) -> list[int]:
    with open_store(str(fleet.store)) as store:
        return [audit.id for audit in store.audits()]


def test_what_an_operator_typed_reaches_the_terminal_unharmed(drifted: Fleet) -> None:
    code, _, err = drifted.process("history", "--host", "\x1b[31mgpu")
    assert code == 2 and "\x1b" not in err and "Traceback" not in err


def test_a_history_that_is_none(fleet: Fleet) -> None:
    fleet.put(1)
    fleet.store.write_bytes(b"not a database, and longer than a header" * 100)
    for arguments in (("audit", "--from", "boxes"),):
        code, _, err = fleet.process(*arguments)
        assert code == 2 and "fleet.db" in err and "Traceback" not in err, err
