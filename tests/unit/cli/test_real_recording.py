"""A recording of a real GPU machine: two H200 in a VM, driver 580.159.04, our own capture of 2026-11-21."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from tunecheck.cli.main import cli

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORDING = FIXTURES / "h200-2gpu-vm.rec.json.gz"


def test_a_flat_virtual_machine_is_unknown_not_phb() -> None:
    """Its driver says NV18; from the PCIe tree alone nothing can be said, and nothing is guessed."""
    result = CliRunner().invoke(cli, ["topo", "--json", "--from", str(RECORDING)])
    assert result.exit_code == 3, result.output
    report = json.loads(result.output)
    assert [(gpu["bdf"], gpu["index"], gpu["name"]) for gpu in report["accelerators"]] == [
        ("0000:00:06.0", 0, "NVIDIA H200"), ("0000:00:07.0", 1, "NVIDIA H200")]
    (pair,) = report["pairs"]
    assert (pair["a"], pair["b"]) == ("0000:00:06.0", "0000:00:07.0") and pair["relation"] is None
    outcomes = {finding["id"]: finding["outcome"] for finding in report["findings"]}
    # That version did not ask NVML: what only NVML knows is unknown.
    assert {check for check, outcome in outcomes.items() if outcome == "unknown"} == {"p2p-capability", "nvml-answers"}
    assert outcomes["acs-redirect"] == "skip" and outcomes["accelerator-count"] == "pass"


def test_pins_and_driver_agree_on_what_an_older_recording_lacks() -> None:
    """It holds the list of NVIDIA's packages, which is empty, and not that of engines and kernels."""
    source = ["--from", str(FIXTURES / "h200-2gpu-vm.tar.zst")]
    unknown = json.loads(CliRunner().invoke(cli, ["pins", *source]).stdout)["unknown"]
    assert set(unknown) >= {"engine.", "held.", "package."}
    assert {unknown[name] for name in ("engine.", "held.", "package.")} == {
        "dpkg-query of engines and kernels: not recorded; an older tunecheck made the recording, or `tunecheck "
        "topo`, which reads less: make one with: sudo tunecheck record"}
    assert "no package holds the driver" in CliRunner().invoke(cli, ["driver", "-v", *source]).output


def test_the_recording_is_judged_as_the_machine_was() -> None:
    """A bundle of the same kind of machine, and what was found live in the run that recorded it (2026-11-21); but for
    aer-ownership and link-errors, which know since that pcie_ports=compat leaves the error counters at 0. Such a
    machine was judged so live, too (2026-11-22)."""
    live = [tuple(each) for each in json.loads((FIXTURES / "h200-2gpu-vm.live.json").read_text())]
    result = CliRunner().invoke(cli, ["preflight", "--json", "--from", str(FIXTURES / "h200-2gpu-vm.tar.zst")])
    assert result.exit_code == 0, result.output
    known = {each[0] for each in live}
    assert len(known) > 60 and [
        (each["id"], each["subject"], each["outcome"]) for each in json.loads(result.output)["findings"]
        if each["id"] in known] == live
