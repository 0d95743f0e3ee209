"""The registry word ForceP2P of NVIDIA's driver: how to set it, and what is left to do where it is set already. The
driver looks at it before its list of chipsets (p2p_letters), so a refusal beside it is a contradiction."""

from __future__ import annotations

from ...facts.kernel.modules import LOADED
from ...model.command import Command, typed
from ...parsers.nvidia.nvidia_params import c_number
from ...parsers.nvidia.registry_dwords import words
from ..context import Case

__all__ = ["WORD", "how", "override", "runs"]

WORD = "ForceP2P=0x211"
_INITRAMFS = "run `sudo update-initramfs -u`, on Fedora and Rocky `sudo dracut -f`, and reboot"
_PROVE = "then `sudo tunecheck p2p`: keep the word only where every check of it passes"
#: Overrides the driver's list of chipsets; whether transfers work then only a measurement says.
_SET = (f'write "options nvidia NVreg_RegistryDwords={WORD}" to a file of its own in /etc/modprobe.d, {_INITRAMFS}, or '
        f'by play (modules: {{nvidia: {{NVreg_RegistryDwords: "{WORD}"}}}} in box_spec); {_PROVE}')
_AGAIN = ("The driver looks at the word before its list, so see that these texts are of one load of the driver: take "
          "`nvidia-smi topo -p2p r`, `nvidia-smi topo -p2p w` and `cat /proc/driver/nvidia/params` again. Where they "
          "are, take the word out of /etc/modprobe.d and plan with copies through host memory")


def runs(case: Case) -> str:
    """Return the word of the loaded driver that allows reads and writes between boards, as it stands there; "" where
    there is none, or that is not known."""
    return next((word for word in _found(case, LOADED) if _allows(word)), "")


def override(case: Case) -> tuple[str | Command, ...]:
    """Return how the driver's list of chipsets is overridden, for boards that it refuses."""
    if word := runs(case):
        return typed("The driver's list of chipsets is overridden already, by {word} of the loaded driver "
                     "(/proc/driver/nvidia/params), and it refuses all the same: to set the word again changes nothing."
                     f" {_AGAIN}", word=word)
    return "Its list can be overridden: ", *how(case)


def how(case: Case) -> tuple[str | Command, ...]:
    """Return how the word is set, where the loaded driver does not have it."""
    if any(_allows(word) for word in _found(case, "modprobe.d")) and case.host.registry_dwords[LOADED].known:
        return typed(f"/etc/modprobe.d has {WORD} already, and the driver was loaded without it: {_INITRAMFS}; "
                     f"{_PROVE}")
    other = next(iter(_found(case, LOADED)), "")
    return (*typed(_SET), *(typed("; it takes the place of {other}", other=other) if other else ()))


def _found(case: Case, place: str) -> list[str]:
    """Return every ForceP2P of this place of registry_dwords."""
    fact = case.host.registry_dwords.get(place) if case.snapshot.host else None
    held = fact.value if fact is not None else None
    return [f"{name}={value}" for name, value in words(held or "") if name.lower() == "forcep2p"]


def _allows(word: str) -> bool:
    """Whether reads (bits 1:0) and writes (5:4) are allowed."""
    number = c_number(word.partition("=")[2]) or 0
    return number & 3 == 1 and number >> 4 & 3 == 1
