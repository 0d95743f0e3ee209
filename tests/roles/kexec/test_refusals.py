"""Where no trial can be started by kexec: said before the first write, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import pytest
from ansible.module_utils.bootloader import BootloaderError, Why, kexec
from ansible.module_utils.gpu_modules import Held
from tests.roles.kexec.running_kernel import RELEASE, TOKENS, Box

_PERMANENT = "nvidia 1000 1 [permanent], Live 0x0\n"
REFUSALS: list[tuple[str, Callable[[Box], object], Enum, str]] = [
    ("no kexec-tools", lambda box: box.path("_TOOL").unlink(), Why.NO_KEXEC_TOOLS, "install kexec-tools"),
    ("kernel without kexec", lambda box: box.path("_KERNEL").unlink(), Why.NO_KEXEC, "kexec"),
    ("disabled", lambda box: box.path("kexec_load_disabled").write_text("1\n"), Why.KEXEC_DISABLED,
     "kernel.kexec_load_disabled is 1"),
    ("limit used up", lambda box: box.path("kexec_load_limit_reboot").write_text("0\n"), Why.KEXEC_DISABLED,
     "kernel.kexec_load_limit_reboot is 0"),
    ("locked down", lambda box: box.path("lockdown").write_text("none [integrity] confidentiality\n"),
     Why.KEXEC_LOCKED_DOWN, "CONFIG_KEXEC_SIG"),
    ("Xen", lambda box: box.path("_HYPERVISOR").write_text("xen\n"), Why.KEXEC_XEN, "Xen"),
    ("somebody else's kernel", lambda box: box.path("_KERNEL").write_text("1\n"), Why.KEXEC_TAKEN, "kexec --unload"),
    ("GPUs in use", lambda box: box.gpus(2, ("nvidia-persistenced", "python3")), Held.IN_USE, "python3 (pid 101)"),
    ("held by the kernel", lambda box: box.gpus(1, ()), Held.HELD, "nvidia_uvm (1 references)"),
    ("cannot be unloaded", lambda box: box.path("modules").write_text(_PERMANENT), Held.STAYS, "nvidia"),
    ("no module is unloaded", lambda box: box.path("modules").write_text("nvidia 1000 - - Live 0x0\n"), Held.STAYS,
     "nvidia"),
]


@pytest.mark.parametrize(("change", "why", "names"), [each[1:] for each in REFUSALS],
                         ids=[each[0] for each in REFUSALS])
def test_what_cannot_be_had_is_refused_before_the_first_write(
    box: Box, change: Callable[[Box], object], why: Enum, names: str,
) -> None:  # fmt: skip
    assert kexec.Kexec().refusal(TOKENS) is None
    change(box)
    found = kexec.Kexec().refusal(TOKENS)
    assert found.why is why and names in found
    assert box.traces() == [] and box.commands == []


def test_a_kernel_that_checks_signatures_loads_under_lockdown(box: Box) -> None:
    box.path("lockdown").write_text("none integrity [confidentiality]\n")
    (box.boot / f"config-{RELEASE}").write_text("CONFIG_KEXEC=y\nCONFIG_KEXEC_SIG=y\n")
    assert kexec.Kexec().refusal(TOKENS) is None


@pytest.mark.parametrize(("count", "users"), [(0, ()), (9, ("nvidia-persistenced",))])
def test_a_driver_that_the_daemon_alone_holds_is_no_reason(box: Box, count: int, users: tuple[str, ...]) -> None:
    box.gpus(count, users)
    assert kexec.Kexec().refusal(TOKENS) is None


@pytest.mark.parametrize("token", ["a=$b", "a=\"b", "a=b c"])
def test_what_only_grub_can_hand_over_is_refused(box: Box, token: str) -> None:
    found = kexec.Kexec().refusal([*TOKENS, token])
    assert found.why is Why.CHARACTER and repr(token) in found
    with pytest.raises(BootloaderError) as caught:
        kexec.Kexec().stage([*TOKENS, token])
    assert caught.value.why is Why.CHARACTER and box.traces() == []
