"""Parts of the driver's modules that need no packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_arguments_of_dnf() -> None:
    from ansible.module_utils.driver_box import dnf
    from ansible.module_utils.tunecheck.parsers.packages.driver_set import Exact, Repository

    argv = dnf.install_argv([Exact("nvidia-driver-cuda", "3:595.71.05-1.el9")])
    assert argv[0] == "dnf" and argv[-1] == "nvidia-driver-cuda-3:595.71.05-1.el9" and "--assumeyes" in argv
    assert "--exclude=kernel,kernel-core,kernel-modules,kernel-modules-core,kernel-modules-extra" in argv
    assert "--assumeno" in dnf.install_argv([], simulate=True)
    assert dnf.versionlock_argv("add", ["a", "b"]) == ["dnf", "--assumeyes", "versionlock", "add", "a", "b"]
    options = dnf.look_options(Repository("dnf", "https://mirror/el9/"), "/t/key.asc", "/t/cache")
    assert "--repofrompath=tunecheck-nvidia,https://mirror/el9/" in options
    assert "--setopt=tunecheck-nvidia.gpgkey=file:///t/key.asc" in options


def test_the_one_transaction_of_apt() -> None:
    from ansible.module_utils.driver_box import apt
    from ansible.module_utils.tunecheck.parsers.packages.driver_set import Exact

    argv = apt.install_argv([Exact("libcuda1", "595.71.05-1"), Exact("dkms", "")], ["nvidia-old"])
    assert argv[-3:] == ["libcuda1=595.71.05-1", "dkms", "nvidia-old-"]
    assert {"--allow-change-held-packages", "--allow-downgrades", "--no-install-recommends", "-y"} <= set(argv)
    assert "Dpkg::Options::=--force-confold" in argv and "-s" in apt.install_argv([], [], simulate=True)


def test_what_was_found_first_stays_in_the_receipt() -> None:
    from ansible.module_utils import receipt

    first = receipt.remember({}, "driver", {"packages": {"a": "1"}}, "boot", "now")
    second = receipt.remember(first, "driver", {"packages": {"a": "2"}}, "later", "later")
    third = receipt.remember(second, "acs", {"0": "1"}, "later", "later")
    assert third["before"] == {"boot_id": "boot", "taken": "now", "driver": {"packages": {"a": "1"}}, "acs": {"0": "1"}}
    assert first["schema"] == "tunecheck/receipt/1"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a /dev of its own: needs root")
def test_a_process_with_a_gpu_open_is_named(tmp_path: Path) -> None:
    program = tmp_path / "look.py"
    program.write_text(
        "import sys, ansible.module_utils as m\n"
        f"m.__path__ += [{str(ROOT / 'checks')!r}, {str(ROOT / 'playbooks/module_utils')!r}]\n"
        "from ansible.module_utils.gpu_users import gpu_users\n"
        "held = [open('/dev/' + name, 'w') for name in sys.argv[1:]]\n"
        "print([user.text.split(' (')[0] for user in gpu_users() if '%d)' % __import__('os').getpid() in user.text])\n")
    for names, count in ((["nvidia0"], 1), (["nvidiactl", "nvidia-uvm"], 0)):
        argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                'mount -t tmpfs dev /dev && exec "$@"', "sh", sys.executable, str(program), *names]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.count("'") == 2 * count, done.stdout


def test_the_packages_of_dgx_os_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before the box or a repository is read: no manager is asked."""
    from types import SimpleNamespace

    from ansible.module_utils.driver_box import DriverError, NoDriver
    from ansible.module_utils.driver_box import present as present_module_function
    from ansible.module_utils.driver_box.present import present

    assert present is present_module_function
    release = tmp_path / "dgx-release"
    release.write_text('DGX_SWBUILD_VERSION="7.2.3"\n')
    monkeypatch.setitem(present.__globals__, "_DGX_OS", str(release))
    params = {"version": "595.71.05", "source": "nvidia", "modules": "dkms", "hold": True, "mirror": "",
              "mirror_fingerprint": "", "drain": False}
    with pytest.raises(DriverError, match=rf"{release}\b.*\bdriver\.source: ") as caught:
        present(SimpleNamespace(params=params, check_mode=True), None, str(tmp_path))
    assert caught.value.why is NoDriver.DGX_OS
