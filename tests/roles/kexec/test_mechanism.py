"""A trial by kexec: what is staged, what is loaded right before the reboot, and what is taken away."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.bootloader import BootloaderError, Why, kexec, proof
from ansible.module_utils.gpu_modules import Held
from ansible.module_utils.tunecheck.parsers.kernel import cmdline
from tests.roles.kexec.running_kernel import LINE, TOKENS, Box

_REBOOT = Path(__file__).resolve().parents[3] / "roles/kernel_cmdline/files/bounded_reboot.py"


@pytest.fixture
def trial(box: Box) -> kexec.Kexec:
    """A trial that is staged, with the sums of what it boots noted."""
    made = kexec.Kexec()
    made.stage(TOKENS)
    proof.note(*box.files())
    return made


def test_staged_is_a_file_that_a_reboot_forgets(box: Box) -> None:
    kexec.Kexec().stage(TOKENS)
    staged = kexec.Kexec.staged()
    assert staged.armed and staged.tokens == [token for token in TOKENS if token != "$vt_handoff"]
    assert box.traces() == ["_RECORD"] and box.commands == []
    kexec.Kexec().take_away()
    assert box.traces() == [] and kexec.Kexec.staged() is None


def test_where_it_lies_is_forgotten_by_a_reboot() -> None:
    assert all(path.startswith("/run/") for path in (kexec._RECORD, kexec.LOADED, kexec._JOINED))


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"tokens": 7}', '{"tokens": [7]}', "{}"])
def test_a_damaged_record_is_no_trial(box: Box, text: str) -> None:
    box.path("_RECORD").write_text(text)
    assert kexec.Kexec.staged() is None


def test_loaded_is_what_was_noted_with_the_trials_line(box: Box, trial: kexec.Kexec) -> None:
    trial.load(*box.files())
    assert box.image == (b"the kernel", b"initramfs", LINE) and cmdline.by_kexec(LINE.split())
    assert box.path("LOADED").read_text() == "ready\n" and box.active == set(), "kexec.service would start it too early"
    trial.load(*box.files())
    trial.take_away()
    assert box.traces() == []


def test_several_initramfs_are_loaded_as_one(box: Box, trial: kexec.Kexec) -> None:
    microcode = box.boot / "intel-ucode.img"
    microcode.write_bytes(b"microcode!")
    proof.note(str(box.kernel), [str(microcode), str(box.initrd)])
    trial.load(str(box.kernel), [str(microcode), str(box.initrd)])
    assert box.image is not None and box.image[1] == b"microcode!\0\0initramfs"
    assert box.traces() == ["_RECORD", "LOADED", "image"]


def test_the_older_call_serves_where_the_kernel_does_not_offer_the_other(box: Box, trial: kexec.Kexec) -> None:
    box.offers = ["kexec_load"]
    trial.load(*box.files())
    assert box.image is not None
    trial.take_away()
    assert box.traces() == []


def test_under_lockdown_only_the_call_that_verifies_is_used(box: Box, trial: kexec.Kexec) -> None:
    box.path("lockdown").write_text("none [integrity] confidentiality\n")
    (box.boot / f"config-{box.kernel.name.partition('-')[2]}").write_text("CONFIG_KEXEC_SIG=y\n")
    box.offers = ["kexec_load"]
    with pytest.raises(BootloaderError, match=r"kexec_file_load not available") as caught:
        trial.load(*box.files())
    assert caught.value.why is Why.KEXEC_NOT_LOADED and box.traces() == ["_RECORD"]
    box.offers = ["kexec_file_load"]
    trial.load(*box.files())
    trial.take_away()
    assert box.traces() == []


def test_what_cannot_be_loaded_is_said_and_leaves_nothing(box: Box, trial: kexec.Kexec) -> None:
    box.refuses = "--load"
    with pytest.raises(BootloaderError, match=r"Operation not permitted.*Nothing was rebooted") as caught:
        trial.load(*box.files())
    assert caught.value.why is Why.KEXEC_NOT_LOADED and box.traces() == ["_RECORD"]


def test_a_file_that_is_written_meanwhile_is_not_booted(box: Box, trial: kexec.Kexec) -> None:
    box.loading = lambda: box.initrd.write_bytes(b"made again, by a package")
    with pytest.raises(BootloaderError, match=r"initrd\.img.* while it was loaded") as caught:
        trial.load(*box.files())
    assert caught.value.why is Why.NOT_STAGED and box.traces() == ["_RECORD"]


def test_a_service_that_would_start_it_too_early_ends_the_attempt(box: Box, trial: kexec.Kexec) -> None:
    box.refuses = "stop kexec.service"
    with pytest.raises(BootloaderError, match=r"kexec\.service") as caught:
        trial.load(*box.files())
    assert caught.value.why is Why.KEXEC_SERVICE and box.traces() == ["_RECORD"]


def test_the_driver_of_the_gpus_goes_first_and_those_on_top_before_it(box: Box, trial: kexec.Kexec) -> None:
    box.gpus()
    trial.load(*box.files())
    assert box.drivers() == [] and box.image is not None
    assert "nvidia-persistenced.service" not in box.active
    order = [each for each in box.commands if each.startswith("rmmod")]
    assert order[-1] == "rmmod nvidia" and order.index("rmmod nvidia_drm") < order.index("rmmod nvidia_modeset")


def test_a_driver_that_stays_is_whole_again_and_nothing_is_loaded(box: Box, trial: kexec.Kexec) -> None:
    box.gpus(users=("nvidia-persistenced", "python3"))
    box.refuses = "rmmod nvidia_modeset"
    with pytest.raises(BootloaderError, match=r"rmmod nvidia_modeset: .*python3 \(pid 101\)") as caught:
        trial.load(*box.files())
    assert caught.value.why is Held.IN_USE and box.traces() == ["_RECORD"]
    assert sorted(box.drivers()) == ["nvidia", "nvidia_drm", "nvidia_modeset", "nvidia_uvm"]
    assert "nvidia-persistenced.service" in box.active


@pytest.fixture
def reboot(box: Box, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """bounded_reboot.py, which is told by files alone."""
    spec = importlib.util.spec_from_file_location("bounded_reboot", _REBOOT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (module.READY, module.LOADED) == ("/run/tunecheck/kexec-loaded", "/sys/kernel/kexec_loaded")
    for name, path in (("READY", "LOADED"), ("LOADED", "_KERNEL"), ("GPU_DRIVER", "gpu_driver")):
        monkeypatch.setattr(module, name, str(box.path(path)))
    return module


def test_the_reboot_takes_what_is_loaded_whole(box: Box, trial: kexec.Kexec, reboot: ModuleType) -> None:
    assert not reboot.kexec_ready()
    box.path("LOADED").write_text("")
    box.path("_KERNEL").write_text("1\n")
    assert not reboot.kexec_ready(), "it is being loaded"
    box.path("_KERNEL").write_text("0\n")
    trial.load(*box.files())
    assert reboot.kexec_ready()
    box.path("_KERNEL").write_text("0\n")
    assert not reboot.kexec_ready(), "somebody has unloaded it"


def test_the_reboot_is_by_kexec_and_what_is_forced_by_the_firmware(
    box: Box, trial: kexec.Kexec, reboot: ModuleType, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    trial.load(*box.files())
    done, clock = list[Any](), [1000.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        if clock[0] == 1020:        # somebody runs nvidia-smi
            box.path("gpu_driver").touch()

    monkeypatch.setattr(reboot, "open_trigger", lambda: -1)
    monkeypatch.setattr(reboot, "lock_memory", lambda: None)
    monkeypatch.setattr(reboot, "restart_now", lambda _trigger: done.append("sysrq"))
    monkeypatch.setattr(reboot, "start", lambda argv: done.append((clock[0] - 1000, argv[-2:])))
    monkeypatch.setattr(reboot, "say", lambda _text: None)
    monkeypatch.setattr(reboot.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(reboot.time, "sleep", sleep)
    reboot.main()
    assert done == [(0, ["--no-block", "kexec"]), (20, ["--unload", "--kexec-file-syscall"]),
                    (20, ["--unload", "--kexec-syscall"]), (300, ["--force", "reboot"]), "sysrq"]
