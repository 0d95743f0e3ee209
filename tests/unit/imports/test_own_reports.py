"""A report of this program is a result. Given back with --from it is told so, and never judged as what it quotes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.imports import smi_texts
from tests.unit.imports.samples import FIXTURES
from tests.unit.imports.test_partial_lspci import judged

from tunecheck.cli.main import cli
from tunecheck.errors import UsageError
from tunecheck.host.imported.kinds import is_result
from tunecheck.parsers.text.damage import Damage

LSPCI = (FIXTURES / "pciutils" / "3.14.0.txt").read_text()
TOPO = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNODE\t0-63\nGPU1\tNODE\t X \t0-63\n"
LOG = ("[    0.000000] Linux version 6.12.1\n[    1.000000] pci 0000:00:00.0: [8086:29c0] type 00\n"
       "[  800.1] NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.\n")
SMI = smi_texts.table(smi_texts.row(), smi_texts.row())
GIVEN = {"lspci": LSPCI, "topo": TOPO, "log": LOG, "smi": SMI}
FORMS: dict[str, tuple[str, ...]] = {
    "text": (), "verbose": ("-v",), "json": ("--json",), "html": ("--html",), "junit": ("--junit",),
    "prometheus": ("--prometheus",)}


def _report(folder: Path, verb: str, given: str, form: str) -> str:
    source, target = folder / "given.txt", folder / f"{form}.{'prom' if form == 'prometheus' else 'out'}"
    source.write_text(given)
    files = (str(target),) if form in ("html", "junit", "prometheus") else ()
    done = CliRunner().invoke(cli, [verb, "--from", str(source), *FORMS[form], *files])
    assert done.exit_code in (0, 1, 3), done.output
    return target.read_text() if files else done.stdout


@pytest.mark.parametrize("verb", ["preflight", "topo", "host"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", GIVEN)
def test_a_report_is_no_evidence(tmp_path: Path, verb: str, form: str, given: str) -> None:
    report = _report(tmp_path, verb, GIVEN[given], form)
    place = tmp_path / "report.txt"
    for text in (report, f"\n{report}", f"tunecheck: import: lspci (given.txt)\n{report}"):
        if form not in ("text", "verbose") and text.startswith("tunecheck"):
            continue
        place.write_text(text)
        done = CliRunner().invoke(cli, ["preflight", "--from", str(place)])
        assert isinstance(done.exception, UsageError) and done.exception.flaw is Damage.TOO_LITTLE, done.output
        assert "a report of tunecheck" in str(done.exception)


@pytest.mark.parametrize("form", FORMS)
def test_a_report_beside_what_it_was_made_from_changes_nothing(tmp_path: Path, form: str) -> None:
    def found(name: str, *texts: str) -> list[tuple[str, str, str]]:
        return [(each.id, each.code, each.subject) for some in judged(tmp_path / name, *texts).values()
                for each in some]

    report = _report(tmp_path, "preflight", LSPCI, form)
    assert found("beside", LSPCI, report) == found("alone", LSPCI)


@pytest.mark.parametrize("text", [*GIVEN.values(), "tunecheck is fine\n", "# tunecheck\n\nProvisions boxes.\n",
                                  '{"schema": "tunecheck/spec/1"}', "$ tunecheck preflight\n" + LSPCI])
def test_what_is_no_report(text: str) -> None:
    assert not is_result(text)
