"""A program that the roles run and a box lacks: refused before the first write, with the package that has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

import pytest
from ansible.module_utils import initramfs, programs
from ansible.module_utils.bootloader import Grubby, GrubDebian, ProxmoxBoot, SystemdBoot
from ansible.module_utils.programs import Lacking

ROOT = Path(__file__).resolve().parents[2]
#: What no box with systemd and a package manager lacks, or what the roles bring, or do without where it is missing.
_ALWAYS = {"sh", "mount", "umount", "findfs", "systemctl", "journalctl", "busctl", "loginctl", "apt-get", "apt-mark",
           "apt-cache", "dpkg", "dpkg-deb", "dpkg-query", "dnf", "rpm", "usermod", "rmmod", "python3", "ssh", "git",
           "install"}
_BROUGHT = {"dkms", "docker", "podman", "nvidia-ctk", "nvidia-smi", "tunecheck", "python"}
_OPTIONAL = {"kexec", "efibootmgr", "mokutil"}
#: Recognised by their files: without them the box has another boot loader, or another maker of initramfs.
_KIND = {"proxmox-boot-tool", "update-initramfs"}
_PROGRAM = re.compile(r'"(?:/usr)?/s?bin/([a-z0-9][a-z0-9.-]*)"|(?:run_command|\brun|\bmust|get_bin_path)\('
                      r'(?:module, )?\[?"([a-z0-9][a-z0-9.-]*)"[,\])]')


class _FailedError(Exception):
    pass


class _Module:
    """An AnsibleModule on a box that has these programs."""

    def __init__(self, *has: str) -> None:
        self._has = has

    def get_bin_path(self, name: str, required: bool, folders: list[str]) -> str | None:
        assert not required and "/usr/sbin" in folders
        return f"/usr/sbin/{name}" if name in self._has else None

    def fail_json(self, **result: Any) -> NoReturn:
        raise _FailedError(result)


@pytest.fixture(params=[0, 1], ids=["apt", "dnf"])
def family(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(programs, "_family", lambda: request.param)
    return int(request.param)


def test_every_program_that_a_module_runs_is_in_the_table_or_known_to_be_there() -> None:
    run = {}
    for file in (ROOT / "playbooks").rglob("*.py"):
        for found in _PROGRAM.finditer(file.read_text()):
            run.setdefault(found[1] or found[2], file.name)
    known = {*programs.PACKAGES, *_ALWAYS, *_BROUGHT, *_OPTIONAL, *_KIND}
    assert {name: file for name, file in run.items() if name not in known and not name.startswith("python3")} == {}
    assert {"modinfo", "update-grub", "grubby", "lsinitrd", "unshare"} <= {*run, "modinfo"}


@pytest.mark.parametrize("work", ["modules", "driver"])
@pytest.mark.parametrize(("family", "tools"), [
    (0, initramfs.InitramfsTools), (0, initramfs.Dracut), (0, None), (1, initramfs.Dracut), (1, None)])
def test_each_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, work: str, family: int, tools: Any
                                                ) -> None:
    monkeypatch.setattr(programs, "_family", lambda: family)
    monkeypatch.setattr(initramfs, "tools", lambda: tools and tools("6.12"))
    needed = programs.needed(work)
    assert "modinfo" in needed and not programs.lacking(_Module(*needed), needed)
    for name in needed:
        package = programs.PACKAGES[name][family]
        refusal = programs.lacking(_Module(*(each for each in needed if each != name)), needed)
        assert refusal.why is Lacking.NO_PROGRAM and f"{name} is not installed" in refusal, refusal
        assert f"sudo {('apt-get', 'dnf')[family]} install {package})" in refusal, refusal


@pytest.mark.parametrize(("loader", "column"), [(GrubDebian, 0), (Grubby, 1), (SystemdBoot, 0), (SystemdBoot, 1),
                                                (ProxmoxBoot, 0)])
def test_each_boot_loader_names_its_packages(monkeypatch: pytest.MonkeyPatch, loader: Any, column: int) -> None:
    monkeypatch.setattr(programs, "_family", lambda: column)
    for name in loader.programs:
        assert f"install {programs.PACKAGES[name][column]})" in programs.lacking(_Module(), [name])


def test_a_boot_loader_that_is_not_there_names_the_package_of_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_family", lambda: 0)
    assert programs.absent("/usr/sbin/update-grub") == "no /usr/sbin/update-grub (package grub2-common)"
    assert programs.absent("/etc/default/grub") == "no /etc/default/grub"
    assert programs.absent("/usr/sbin/grubby") == "no /usr/sbin/grubby"


def test_a_module_alone_fails_with_the_package_too(family: int) -> None:
    assert programs.path(_Module("modinfo"), "modinfo") == "/usr/sbin/modinfo"
    with pytest.raises(_FailedError) as told:
        programs.path(_Module(), "modinfo")
    result = told.value.args[0]
    assert result["code"] == "no-program" and "install kmod)" in result["msg"]
    assert "Nothing was written" in result["msg"]


def test_several_are_one_sentence(family: int) -> None:
    told = programs.lacking(_Module(), ["modinfo", "cpio", "modprobe"])
    assert "modinfo, cpio, modprobe are not installed" in told and "the packages kmod, cpio" in told
