"""What the kernel_cmdline module decides, from what the box shows. The real GRUB follows in tests/lab."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils.bootloader import Unproven, Why, proof
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.trial_boot import situation as situations
from ansible.module_utils.trial_boot import steps

BASE = ["root=/dev/vda", "ro", "console=ttyS0"]
MARK = "tunecheck.trial="


@pytest.fixture()
def kernel_cmdline(load_module: Any) -> ModuleType:
    return load_module("kernel_cmdline")


def situation(monkeypatch: pytest.MonkeyPatch, tokens: list[str], *, running: list[str],
              configured: list[str], generated: list[str], retired: list[str] | None = None,
              staged: Any = None, unproven: str = "") -> Any:
    loader = SimpleNamespace(configured=lambda: configured, generated=lambda: generated,
                             retired=lambda: retired or [], staged=lambda: staged, kernel=lambda: "/vmlinuz",
                             initrds=list, root=lambda: "")
    monkeypatch.setattr(proof, "unproven", lambda *_: unproven)
    monkeypatch.setattr(situations, "read_text", lambda path: " ".join(running))
    return situations.Situation(loader, tokens)


class _EndedError(Exception):
    pass


def run_without_loader(module: ModuleType, monkeypatch: pytest.MonkeyPatch, state: str, tokens: list[str]) -> Any:
    """What the module returns on a box that has no boot loader of its own: ("exit" or "fail", its values)."""
    said: list[tuple[str, dict[str, Any]]] = []

    def ends(how: str) -> Any:
        def end(**values: Any) -> None:
            said.append((how, values))
            raise _EndedError

        return end

    params = {"state": state, "tokens": tokens, "modules": {}, "trial": True, "panic_seconds": 30,
              "confirm_seconds": 1200, "reason": "not_proven"}
    monkeypatch.setattr(module, "AnsibleModule", lambda **_: SimpleNamespace(
        params=params, check_mode=False, exit_json=ends("exit"), fail_json=ends("fail")))
    for kind in ("GrubDebian", "Grubby", "SystemdBoot"):
        monkeypatch.setattr(f"ansible.module_utils.bootloader.{kind}.absent", lambda: "it is not there")
    with pytest.raises(_EndedError):
        module.main()
    return said[0]


@pytest.mark.parametrize("state", ["staged", "noted", "committed", "given_up", "held", "absent"])
def test_a_box_without_boot_loader_of_which_nothing_is_asked_is_left_alone(
        kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    how, values = run_without_loader(kernel_cmdline, monkeypatch, state, [])
    assert (how, values["changed"], values["phase"], values["tokens"]) == ("exit", False, "settled", [])


def test_a_box_without_boot_loader_is_told_what_is_asked_and_how_to_take_it_out(
        kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    how, values = run_without_loader(kernel_cmdline, monkeypatch, "staged", ["iommu=pt", "pci=noacs"])
    assert (how, values["code"]) == ("fail", Why.NO_LOADER.value)
    assert " iommu=pt pci=noacs" in values["msg"] and " {cmdline: []}" in values["msg"]
    assert run_without_loader(kernel_cmdline, monkeypatch, "absent", ["iommu=pt"])[0] == "exit", "nothing to take back"


def test_a_fresh_box_stages_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    now = situation(monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE)
    assert situations.decide(now, trial=True) == ("staged", "stage")
    assert situations.decide(now, trial=False) == ("pending", "commit")


def test_an_interrupted_run_finds_its_staged_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    first = situation(monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE)
    staged = SimpleNamespace(tokens=[*BASE, "pci=noacs", *first.trial_tokens], armed=True)
    again = situation(monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE,
                      staged=staged)
    assert situations.decide(again, trial=True) == ("staged", None)
    staged.armed = False
    assert situations.decide(again, trial=True) == ("staged", "stage")


def test_a_trial_that_an_earlier_version_staged_gets_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    first = situation(monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE)
    old = SimpleNamespace(tokens=[*BASE, "pci=noacs", "panic=30", MARK + first.trial_id], armed=True)
    again = situation(monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE,
                      staged=old)
    assert situations.decide(again, trial=True) == ("staged", "stage")


def test_a_running_trial_waits_for_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    now = situation(monkeypatch, ["pci=noacs"], running=[*BASE, "pci=noacs", MARK + "x"],
                    configured=[], generated=BASE)
    assert situations.decide(now, trial=True) == ("trial", None)


def test_a_committed_box_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*BASE, "pci=noacs"]
    now = situation(monkeypatch, ["pci=noacs"], running=both, configured=["pci=noacs"], generated=both)
    assert situations.decide(now, trial=True) == ("settled", None)


def test_a_failed_update_grub_heals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is written, grub.cfg is not: memory says done, the generated file says otherwise."""
    now = situation(monkeypatch, ["pci=noacs"], running=[*BASE, "pci=noacs"],
                    configured=["pci=noacs"], generated=BASE)
    assert situations.decide(now, trial=True) == ("trial", None)
    assert not now.committed


def test_another_entry_was_booted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = situation(monkeypatch, ["pci=noacs"], running=BASE, configured=["pci=noacs"],
                    generated=[*BASE, "pci=noacs"])
    assert situations.decide(now, trial=True) == ("pending", None)


def test_a_dropped_token_needs_a_trial_too(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*BASE, "pci=noacs,realloc"]
    now = situation(monkeypatch, ["pci=noacs"], running=both, configured=["pci=noacs,realloc"],
                    generated=both)
    assert now.dropped == ["pci=realloc"]
    assert situations.decide(now, trial=True) == ("staged", "stage")
    assert now.retired == ["pci=realloc"]


def test_a_dropped_token_that_is_also_somebody_elses_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*BASE, "iommu=pt", "iommu=pt"]
    now = situation(monkeypatch, [], running=both, configured=["iommu=pt"], generated=both)
    assert now.retired == []
    assert situations.decide(now, trial=True) == ("trial", None)


def test_pci_words_from_elsewhere_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["pci=realloc", *BASE, "pci=noacs,disable_acs_redir=pci:0:0"]
    now = situation(monkeypatch, ["pci=noacs", "pci=disable_acs_redir=pci:0:0"], running=both,
                    configured=["pci=noacs,disable_acs_redir=pci:0:0"], generated=both)
    assert situations.decide(now, trial=True) == ("settled", None)


def test_trial_ids_differ_by_what_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    one = situation(monkeypatch, ["a"], running=BASE, configured=[], generated=BASE)
    two = situation(monkeypatch, ["a"], running=BASE, configured=["b"], generated=BASE)
    assert one.trial_id != two.trial_id


@pytest.fixture()
def boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A /boot with a kernel and an initrd, both of an hour before this boot began."""
    monkeypatch.setattr(proof, "MEMORY", str(tmp_path / "trial-boot.json"))
    for name in ("vmlinuz-6.12.1", "initrd.img-6.12.1", "vmlinuz-6.12.2", "initrd.img-6.12.2"):
        (tmp_path / name).write_text(name)
    began = time.time() + 3600

    def unproven(release: str = "6.12.1", running: str = "6.12.1", booted: float = began) -> Any:
        return proof.unproven(f"/vmlinuz-{release}", [f"/initrd.img-{release}"], str(tmp_path), running, booted)

    return SimpleNamespace(
        folder=tmp_path, unproven=unproven, before_the_files=time.time() - 3600,
        note=lambda: proof.note("/vmlinuz-6.12.1", ["/initrd.img-6.12.1"], str(tmp_path)))


def written_since(said: Any, name: str) -> bool:
    return said.why is Unproven.WRITTEN_SINCE and name in said


def test_this_boot_proves_the_files_that_it_ran(boot: SimpleNamespace) -> None:
    assert boot.unproven() == ""
    said = boot.unproven("6.12.2")
    assert said.why is Unproven.OTHER_KERNEL and re.search(r"\b6\.12\.2\b.*\b6\.12\.1\b", said)


def test_a_file_that_was_written_since_is_proven_by_its_sum_alone(boot: SimpleNamespace) -> None:
    assert written_since(boot.unproven(booted=boot.before_the_files), "/vmlinuz-6.12.1")
    boot.note()
    assert boot.unproven(booted=boot.before_the_files) == "", "the same content, only touched"
    (boot.folder / "initrd.img-6.12.1").write_text("another")
    assert written_since(boot.unproven(booted=boot.before_the_files), "/initrd.img-6.12.1")
    # An older time stamp does not hide it: the change time cannot be set.
    os.utime(boot.folder / "initrd.img-6.12.1", (0, 0))
    assert written_since(boot.unproven(booted=boot.before_the_files), "/initrd.img-6.12.1")
    proof.forget()
    assert written_since(boot.unproven(booted=boot.before_the_files), "/vmlinuz-6.12.1")


def test_where_the_partition_is_known_a_noted_sum_goes_before_the_time(boot: SimpleNamespace) -> None:
    """FAT keeps no change time: a file that was put there with an old one looks older than this boot."""
    boot.note()
    assert boot.unproven() == ""
    (boot.folder / "vmlinuz-6.12.1").write_text("another, copied with its time")
    assert written_since(boot.unproven(), "/vmlinuz-6.12.1")


def test_a_file_that_is_not_found_proves_nothing(boot: SimpleNamespace) -> None:
    (boot.folder / "initrd.img-6.12.1").unlink()
    said = boot.unproven()
    assert said.why is Unproven.NO_FILE and "/initrd.img-6.12.1" in said
    assert proof.unproven("", [], "", "6", 1.0).why is Unproven.NO_FILE


def test_a_kernel_installed_meanwhile_gets_a_trial_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    running = [*BASE, "pci=noacs", MARK + "x"]
    now = situation(monkeypatch, ["pci=noacs"], running=running, configured=[], generated=BASE,
                    unproven=Refusal(Unproven.OTHER_KERNEL, "it would boot 6.12.2"))
    assert situations.decide(now, trial=True) == ("staged", "stage")
    assert situations.decide(now, trial=False) == ("pending", "commit"), "box_spec.boot.trial: false, knowingly"

    class FailedError(Exception):
        pass

    def fail_json(msg: str, code: str) -> None:
        raise FailedError(msg, code)

    written: list[str] = []
    loader = SimpleNamespace(commit=lambda *_: written.append("commit"))
    with pytest.raises(FailedError, match=r"\b6\.12\.2\b") as failed:
        steps.run_committed(SimpleNamespace(fail_json=fail_json, check_mode=False), loader, now)
    assert failed.value.args[1] == Unproven.OTHER_KERNEL.value and not written


STEPS = ["put the deadline off", "write the default entry", "take the trial's parameters back", "tell the guard",
         "forget how the last trial ended", "forget what was noted"]


@pytest.mark.parametrize("dies", [*STEPS, ""])
def test_a_commit_that_dies_leaves_the_guard_armed_until_the_entry_is_written(
        monkeypatch: pytest.MonkeyPatch, dies: str) -> None:
    """After each step the box has either the old default entry and an armed guard, or the new one, which this boot has
    proven. A guard that ends before the entry is written would leave an unproven boot running."""

    class DiedError(Exception):
        pass

    done: list[str] = []

    def step(name: str) -> Any:
        def act(*_arguments: Any) -> list[str]:
            if name == dies:
                raise DiedError
            done.append(name)
            return []
        return act

    running = [*BASE, "pci=noacs", MARK + "x"]
    now = situation(monkeypatch, ["pci=noacs"], running=running, configured=[], generated=BASE)
    monkeypatch.setattr(steps.trial_confirmation, "hold", step(STEPS[0]))
    monkeypatch.setattr(steps.trial_hang, "take_back", step(STEPS[2]))
    monkeypatch.setattr(steps.trial_confirmation, "confirm", step(STEPS[3]))
    monkeypatch.setattr(steps.trial_confirmation, "forget", step(STEPS[4]))
    monkeypatch.setattr(steps.proof, "forget", step(STEPS[5]))
    module = SimpleNamespace(check_mode=False)
    loader = SimpleNamespace(commit=step(STEPS[1]))
    if dies:
        with pytest.raises(DiedError):
            steps.run_committed(module, loader, now)
    else:
        assert steps.run_committed(module, loader, now) == ("settled", True, [])
    assert done == STEPS[:STEPS.index(dies)] if dies else done == STEPS
    guard_ended, entry_written = STEPS[3] in done, STEPS[1] in done
    assert entry_written or not guard_ended


def test_a_commit_that_was_not_confirmed_is_confirmed_by_the_next_play(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*BASE, "pci=noacs"]
    trial = ["BOOT_IMAGE=/vmlinuz", *both, MARK + "x", "tunecheck.confirm=1200", "panic=30", "hung_task_panic=1"]
    monkeypatch.setattr(steps.trial_confirmation, "confirmed", lambda: False)
    now = situation(monkeypatch, ["pci=noacs"], running=trial, configured=["pci=noacs"], generated=both)
    assert situations.decide(now, trial=True) == ("settled", "confirm")
    other = situation(monkeypatch, ["pci=noacs"], running=["quiet", *trial], configured=["pci=noacs"],
                      generated=both)
    assert situations.decide(other, trial=True) == ("settled", None), "another line ran: its guard ends this boot"
    monkeypatch.setattr(steps.trial_confirmation, "confirmed", lambda: True)
    now = situation(monkeypatch, ["pci=noacs"], running=trial, configured=["pci=noacs"], generated=both)
    assert situations.decide(now, trial=True) == ("settled", None)
