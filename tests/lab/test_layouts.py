"""Other layouts: direct attach without the ACS mechanism, two NUMA nodes, an AMD IOMMU, nobody there."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import click
import pytest
from tests.lab.box import REPO, Box
from tests.lab.conftest import MakeBox

from lab import layouts


def topo(box: Box) -> dict[str, Any]:
    """Run the checker from a copied folder: the package and click are pure Python."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(REPO / "checks" / "tunecheck", "tunecheck")
        tar.add(Path(click.__file__).parent, "click")
    argv = ["ssh", "-F", str(box.machine.folder / "ssh_config"), box.machine.name, "mkdir -p /tmp/t && tar x -C /tmp/t"]
    subprocess.run(argv, input=buffer.getvalue(), check=True, timeout=120)
    return json.loads(box.ssh("cd /tmp/t && python3 -m tunecheck topo --json --spec /tmp/spec.json; true"))  # type: ignore[no-any-return]


def freeze(box: Box, **accelerators: Any) -> None:
    """Put a frozen spec on the box without the roles."""
    from tunecheck.spec import build

    text = build("lab", {"profile": "lab", "accelerators": accelerators}, None).to_json()
    argv = ["ssh", "-F", str(box.machine.folder / "ssh_config"), box.machine.name, "cat >/tmp/spec.json"]
    subprocess.run(argv, input=text.encode(), check=True, timeout=60)


@pytest.mark.long
def test_direct_attach_with_acs_left_on_fails_and_names_the_ports(box: MakeBox) -> None:
    lab = box(layout="direct", spec_overrides={"accelerators": {"relation": "PHB"}, "acs": {"peer_redirect": "leave"}})
    assert_tree(lab, "direct")
    run = lab.playbook()
    assert run.rc != 0 and "exit code 1: a check failed" in run.stdout, run
    failed = [finding for finding in lab.report()["findings"] if finding["outcome"] == "fail"]
    assert {finding["id"] for finding in failed} == {"acs-redirect"}
    pair = lab.report()["pairs"][0]
    assert pair["relation"] == "PHB"
    guilty = {line.split()[0] for line in lab.ssh("lspci -D -d 1b36:000c").splitlines()}
    assert {finding["subject"] for finding in failed} == guilty and len(guilty) == 2
    for finding in failed:
        assert finding["subject"] in finding["message"] and "GPU0-GPU1" in finding["message"]
        assert "--tags acs" in finding["remedy"]["text"] + finding["message"]


def assert_tree(box: Box, layout: str) -> None:
    """The stand-ins and their ACS ports are where the layout says, with redirect on; the users are as promised."""
    tree = layouts.LAYOUTS[layout]
    assert box.ssh("lspci -Dnd 1234:1111 | cut -d' ' -f1").split() == list(tree.endpoints)
    for port in tree.ports:
        assert box.ssh(f"setpci -s {port} ECAP_ACS+6.w").strip() == "001d", port
    assert box.ssh("id -un; sudo -n id -un", user="lab").split() == ["lab", "root"]
    assert "password is required" in box.ssh("sudo -n true 2>&1", user="nosudo", check=False)


@pytest.mark.long
def test_two_numa_nodes_are_sys(box: MakeBox) -> None:
    lab = box(layout="numa", cpus=2)
    assert_tree(lab, "numa")
    freeze(lab, relation="PIX")
    found = topo(lab)
    assert [pair["relation"] for pair in found["pairs"]] == ["SYS"]
    assert any(finding["id"] == "topo-relation" and finding["outcome"] == "fail" for finding in found["findings"])


@pytest.mark.long
def test_an_amd_iommu_turns_acs_on_too(box: MakeBox) -> None:
    lab = box(layout="switch", iommu="amd")
    assert_tree(lab, "switch")
    freeze(lab, relation="PIX")
    found = topo(lab)
    assert [pair["relation"] for pair in found["pairs"]] == ["PIX"]
    redirecting = [finding["subject"] for finding in found["findings"]
                   if finding["id"] == "acs-redirect" and finding["outcome"] == "fail"]
    assert redirecting == ["0000:02:00.0", "0000:02:01.0"]
