"""The commands and files behind the facts of containers and of the module's build, asked for real."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.facts import trees
from tests.unit.facts.trees import CDI, full, switch

from tunecheck.facts.nvidia import module_build, packages
from tunecheck.facts.runtime import runtime
from tunecheck.facts.snapshot import gather
from tunecheck.host import Completed
from tunecheck.host.live import LiveHost
from tunecheck.host.recording import RecordingHost
from tunecheck.model.absence import Absence, Reason
from tunecheck.spec.frozen import Runtime, Spec


@pytest.fixture
def live() -> Iterator[LiveHost]:
    host = LiveHost()
    yield host
    host.close()


@pytest.mark.skipif(not shutil.which("df"), reason="no df")
def test_free_space_where_the_images_will_be(tmp_path: Path, live: LiveHost) -> None:
    found = runtime.runtime(live, True, Runtime(engine="podman", storage=f"{tmp_path}/not/there/yet")).value
    assert found is not None and found.storage.value is not None
    assert found.storage.value.path == str(tmp_path)
    assert abs((found.storage.value.free << 10) - shutil.disk_usage(tmp_path).free) < 1 << 30


def test_a_specification_on_this_machine(tmp_path: Path, live: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cdi").mkdir()
    text = CDI.replace("VERSION", "595.71.05").replace("/dev/nvidiactl", "/dev/null")
    (tmp_path / "cdi/nvidia.yaml").write_text(text)
    (tmp_path / "cdi/notes.txt").write_text("not one")
    monkeypatch.setattr(runtime, "_CDI", (f"{tmp_path}/none", f"{tmp_path}/cdi"))
    found = runtime.runtime(live, True, Runtime()).value
    assert found is not None and found.cdi.value is not None
    (spec,) = found.cdi.value
    assert (spec.kind, spec.devices, spec.drivers) == ("nvidia.com/gpu", ("0", "1", "all"), ("595.71.05",))
    assert "/dev/null" not in spec.missing and spec.missing[0].endswith("libcuda.so.595.71.05")
    assert found.storage.absence is Absence.NOT_ASKED


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="no dpkg")
def test_what_dpkg_lists_around_the_driver(live: LiveHost) -> None:
    found = packages.packages(live, False)
    assert found.others.known and found.installed.absence is Absence.NOT_ASKED
    assert all(package.version for package in found.others.value or ())


@pytest.mark.skipif(not shutil.which("grep"), reason="no grep")
def test_of_the_keys_only_certificates_reach_a_recording(tmp_path: Path, live: LiveHost,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text(
        "1ebd3a5e I------     1 perm 1f030000     0     0 asymmetri Debian Secure Boot CA: 6ccece7e4c: X509.rsa 9 []\n"
        "06f0c5f6 I--Q---     2 perm 1f3f0000  1000 65534 user      krb_ccache_of_alice: 12\n")
    monkeypatch.setattr(module_build, "_KEYS", (*module_build._KEYS[:3], f"{tmp_path}/keys"))
    host = RecordingHost(live)
    found = module_build.module_keys(host, True).value
    assert found is not None and found.trusted == ("Debian Secure Boot CA",) and not found.pending
    assert found.takes("Debian Secure Boot CA") and not found.takes("Secure Boot CA")
    assert b"alice" not in host.packed()


def test_an_rpm_box_has_its_engine_and_its_kernels() -> None:
    machine = trees.driver(full(switch(0)))
    rpm = "podman\t5.4.0-13.el9\nkernel-core\t5.14.0-570.12.1.el9\n"
    for argv in (packages.DPKG, packages.DPKG_BOX):
        machine.runs[argv] = Reason(Absence.NOT_PRESENT)
    machine.runs[packages._RPM] = Completed(packages._RPM, 0, "nvidia-container-toolkit\t1.18.1-1\n", "")
    machine.runs[packages._RPM_BOX] = Completed(packages._RPM_BOX, 0, rpm, "")
    machine.file("/etc/dnf/plugins/versionlock.list", "nvidia-container-toolkit-0:1.18.1-1.*\n")
    host = gather(machine.host(), Spec(), True).host
    assert host is not None and host.packages.manager == "rpm"
    engine = host.packages.engine("podman")
    assert engine is not None and engine.version == "5.4.0-13.el9"
    assert [(package.version, package.held) for package in host.packages.toolkit] == [("1.18.1-1", True)]
