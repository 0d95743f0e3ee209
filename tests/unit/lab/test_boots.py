"""How often a lab box booted, out of its console."""

from __future__ import annotations

from tests.lab.boots import EMULATORS_OWN, Boots

_BOOT = "\n[    0.000000] Linux version 6.12.118\n[    0.000000] Command line: ro tunecheck.x=1\n{said}\n"


def _console(*said: str) -> str:
    return "BIOS\n" + "".join(_BOOT.format(said=each) for each in said)


def test_each_boot_counts_whatever_ended_it() -> None:
    assert Boots(_console("reboot: Restarting system", "Kernel panic - not syncing: VFS", "login:")) == 3


def test_a_boot_that_the_emulator_itself_ended_is_none() -> None:
    oops = f"[   11.814532] {EMULATORS_OWN}: 0000 [#1]\nKernel panic - not syncing: Fatal exception in interrupt"
    found = Boots(_console("reboot: Restarting system", oops, "login:"))
    assert found == 2 and "Fatal exception" in repr(found), "it is shown all the same"
    assert Boots(_console("reboot: Restarting system", oops)) == 2, "the last one is the boot that there is"
