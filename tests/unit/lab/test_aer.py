"""What `lab aer` takes and what it says of a machine or an error that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.errors import LabError

from lab import aer, qmp


def test_an_error_that_qemu_does_not_know_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"`COMP_TIMEOUT` is no PCIe error that QEMU knows; known: RCVR, .*COMP_TIME"):
        aer.inject(tmp_path, "rp0", "COMP_TIMEOUT")


def test_a_machine_that_does_not_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="QEMU did not answer `pcie_aer_inject_error -c rp0 RCVR`"):
        aer.inject(tmp_path, "rp0", "RCVR")


def test_what_qemu_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qmp, "ask", lambda *_args, **_more: "device 'nobody' not found\r\n")
    with pytest.raises(LabError, match="QEMU refused .*: device 'nobody' not found"):
        aer.inject(tmp_path, "nobody")
