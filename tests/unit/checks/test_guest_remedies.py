"""In a virtual machine no remedy sends anybody to a BIOS or slot that is not there: over every case of every check."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checks.machines import MACHINES, build, spec_of
from tests.unit.checks.measurements import measured
from tests.unit.checks.test_cases import CASES, check_of, read
from tests.unit.facts.trees import full

from tunecheck.facts.kernel.boot import Loader
from tunecheck.facts.snapshot import gather
from tunecheck.host import Completed
from tunecheck.host.prefetch import CPU
from tunecheck.model.finding import Place
from tunecheck.rules import ON_ITS_HOST, judge
from tunecheck.rules.context import Case

_DMI = {"/sys/class/dmi/id/sys_vendor": "QEMU\n"}
#: What only the real machine has, and the ACS settings that decide there. A guest that declares ACS is on its own.
_REAL = re.compile(r"BIOS|[Rr]eseat|seating|riser|\bslot|airflow|Resizable BAR|one (?:PCIe )?switch\b|root complex|"
                   r"power supply|BMC|disable_acs_redir|setpci -s", re.ASCII)
_GUEST_KNOWS = ("x-nv-gpudirect-clique", "tensor parallel groups below one switch")


def _findings(data: dict[str, Any], path: Path) -> list[Any]:
    if "measured" in data:
        data = {"machine": "clear", "verb": "allreduce" if path.stem.startswith("allreduce") else "p2p", **data}
    data = {**data, "files": {**data.get("files", {}), **_DMI}}
    # The profile of a guest leaves ACS alone; a spec that says otherwise is judged as it says.
    if not data.get("spec", {}).get("none"):
        spec = data.get("spec", {})
        data["spec"] = {**spec, "acs": {**spec.get("acs", {}), "peer_redirect": "leave"}}
    frozen = spec_of(data)
    snapshot = gather(build(data), frozen.spec if frozen else None, True)
    found = measured(data["measured"], len(snapshot.topology.devices)) if data.get("measured") is not None else None
    return [each for each in judge(Case(snapshot, frozen, False, None, found), data.get("verb", "preflight"))
            if each.id == check_of(path)]


@pytest.mark.parametrize("path", [path for path in CASES if "-guest" not in path.stem], ids=lambda path: path.stem)
def test_a_remedy_for_the_real_machine_names_the_host(path: Path) -> None:
    for finding in _findings(read(path), path):
        text = finding.remedy.text if finding.remedy else ""
        if _REAL.search(text) and not any(words in text for words in _GUEST_KNOWS):
            assert text.startswith(ON_ITS_HOST), text


@pytest.mark.parametrize("machine", ["switch", "clear", "flat"])
@pytest.mark.parametrize("gpus", [True, False], ids=["with GPUs", "without a GPU"])
@pytest.mark.parametrize("flag", [True, False], ids=["guest", "real machine"])
def test_topo_and_preflight_say_the_same_of_a_guest(machine: str, gpus: bool, flag: bool) -> None:
    """Also where only the CPU tells that it is one: `topo` reads nothing else that would."""
    found = MACHINES[machine]()
    if not gpus:
        found.lists["/sys/bus/pci/devices"] = [name for name in found.lists["/sys/bus/pci/devices"]
                                               if found.reads[f"/sys/bus/pci/devices/{name}/vendor"] != b"0x10de\n"]
    full(found)
    found.runs[CPU] = Completed(CPU, 0, f"vendor_id\t: x\nflags\t\t: fpu {'hypervisor ' * flag}lahf_lm\n", "")
    # `topo` reads no boot loader either, by which the other names the file to edit.
    assert gather(found.host(), None, True).host.boot.loader is Loader.GRUB
    del found.reads["/boot/grub/grub.cfg"]
    found.gone("read", "/boot/grub/grub.cfg", reason="no permission")
    judged = {verb: {(each.id, each.subject): each for each in judge(Case(gather(found.host(), None, verb != "topo")),
                                                                     verb)
                     if each.id != "measured-pass"}      # which only preflight reads
              for verb in ("topo", "preflight")}
    assert judged["topo"]
    assert {key: judged["preflight"].get(key) for key in judged["topo"]} == judged["topo"]
    if not gpus:
        (count,) = [each for key, each in judged["topo"].items() if key[0] == "accelerator-count"]
        assert count.remedy and (count.remedy.place is Place.HYPERVISOR) == flag
