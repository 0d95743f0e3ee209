"""A box whose specification names NVIDIA's GPUs needs their driver: without it preflight ends with 1."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck.host import live
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.answers import RecordedHost
from tunecheck.host.bundle import load
from tunecheck.model.absence import Absence
from tunecheck.rules.codes import NO_DRIVER as NO_DRIVER_LOADED
from tunecheck.rules.codes import NOT_DECLARED
from tunecheck.spec.frozen import Accelerators, Frozen, Spec

BUNDLE = Path(__file__).resolve().parents[2] / "fixtures" / "h200-2gpu-vm.tar.zst"
LINK = "/sys/bus/pci/devices/{}/driver"
GPUS = ("0000:00:06.0", "0000:00:07.0")
NO_DRIVER = "not present: the NVIDIA driver is not loaded"


def _spec(*ids: str) -> str:
    return Frozen("box1", "h200-hgx", Spec(accelerators=Accelerators(pci_ids=ids, count=2)), {}).to_json()


def _machine(spec: str | None, change: Callable[[RecordedHost], None]) -> RecordedHost:
    """The recorded machine of two H200, healthy, with one change."""
    host = load(str(BUNDLE)).host()
    if spec is not None:
        host._reads["/etc/tunecheck/spec.json"] = spec.encode()
        host._errors.pop("read /etc/tunecheck/spec.json", None)
    change(host)
    return host


def _unbind(*bdfs: str, to: str | None = None) -> Callable[[RecordedHost], None]:
    def change(host: RecordedHost) -> None:
        for bdf in bdfs:
            host._realpaths.pop(LINK.format(bdf), None)
            if to is None:
                host._errors[f"realpath {LINK.format(bdf)}"] = reason_of_text("not present")
            else:
                host._realpaths[LINK.format(bdf)] = f"/sys/bus/pci/drivers/{to}"
        if host._nvml is not None:
            gpus = [gpu for gpu in host._nvml["gpus"] if gpu["bdf"] not in bdfs]
            host._nvml = {**host._nvml, "gpus": gpus, "pairs": []}

    return change


def _no_driver(host: RecordedHost) -> None:
    _unbind(*GPUS)(host)
    host._nvml = None
    host._errors["nvml"] = reason_of_text(NO_DRIVER)
    for path in ("/sys/module/nvidia/version", "/proc/driver/nvidia/version"):
        host._reads.pop(path, None)
        host._errors[f"read {path}"] = reason_of_text("not present")


def _hangs(host: RecordedHost) -> None:
    host._nvml = None
    host._errors["nvml"] = reason_of_text("timed out after 10 s")


def _nothing(host: RecordedHost) -> None:
    """As recorded."""


def _judged(monkeypatch: pytest.MonkeyPatch, folder: Path, host: RecordedHost, *args: str) -> tuple[
        int, dict[str, list[dict[str, Any]]]]:
    """Live, and from a recording of it: the same exit code and the same findings."""
    monkeypatch.setattr(live, "LiveHost", lambda: host)
    box = str(folder / "box.tar.zst")
    assert CliRunner().invoke(cli, ["record", "-o", box]).exit_code == 0
    seen = []
    for source in ((), ("--from", box)):
        result = CliRunner().invoke(cli, [*args, "--json", *source])
        found: dict[str, list[dict[str, Any]]] = {}
        for finding in json.loads(result.stdout)["findings"]:
            found.setdefault(finding["id"], []).append(finding)
        seen.append((result.exit_code, {check: sorted({each["outcome"] for each in every})
                                        for check, every in found.items()}, found))
    assert seen[0][:2] == seen[1][:2]
    return seen[0][0], found


@pytest.mark.parametrize(("spec", "change", "code"), [
    (("10de:2335",), _nothing, 0), (("10de:2335",), _unbind(GPUS[1]), 1), (("10de:2335",), _no_driver, 1),
    (("10de:2335",), _unbind(*GPUS, to="vfio-pci"), 1), (("10de:2335",), _hangs, 1), (None, _hangs, 1),
    (None, _nothing, 0)])
def test_exit_code(spec: tuple[str, ...] | None, change: Callable[[RecordedHost], None], code: int,
                   monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host = _machine(_spec(*spec) if spec else None, change)
    assert _judged(monkeypatch, tmp_path, host, "preflight")[0] == code


def test_one_unbound_gpu_fails_by_its_address_with_the_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, found = _judged(monkeypatch, tmp_path, _machine(_spec("10de:2335"), _unbind(GPUS[1])), "preflight")
    for check in ("driver-bound", "accelerator-count"):
        (bad,) = [each for each in found[check] if each["outcome"] == "fail"]
        assert bad["subject"] == GPUS[1]
        assert "ansible-playbook site.yml -i inventory/NAME --tags driver -l " in json.dumps(bad["remedy"])


def test_without_a_driver_nothing_is_skipped_for_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Over every check: what would need the driver is fail or unknown where the specification wants one."""
    _, found = _judged(monkeypatch, tmp_path, _machine(_spec("10de:2335"), _no_driver), "preflight")
    for check in ("driver-bound", "nvml-answers", "accelerator-count"):
        assert "fail" in {each["outcome"] for each in found[check]}, check
    wrong = [(check, each["code"]) for check, every in found.items() for each in every
             if each["outcome"] in ("skip", "warn", "pass")
             and not (check == "hmm-addressing" and each["code"] == NOT_DECLARED)
             and (each["code"] == NO_DRIVER_LOADED or each["absence"] in (Absence.NO_DRIVER.value,
                                                                         Absence.NO_BOARDS.value))]
    assert wrong == []


def test_without_a_spec_an_unbound_gpu_warns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, found = _judged(monkeypatch, tmp_path, _machine(None, _no_driver), "preflight")
    assert [each["outcome"] for each in found["driver-bound"]] == ["warn"]
    assert {each["outcome"] for each in found["nvml-answers"]} == {"skip"}
