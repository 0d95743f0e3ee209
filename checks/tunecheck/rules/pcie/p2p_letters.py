"""What the letters of `nvidia-smi topo -p2p` mean, and what to do: one voice for every check about peer access.

nvml.h names the letters (nvmlGpuP2PStatus_t); src/nvidia/src/kernel/platform/p2p/p2p_caps.c of open-gpu-kernel-modules
595.45.04 gives them: ForceP2P decides before everything else (DR where its bits are 0), then a clique that a
hypervisor states, the I/O hubs (TNS), the chips of the boards (NS), the GPU itself (GNS), and last the chipset (CNS).
"""

from __future__ import annotations

from collections.abc import Iterable

from ...model.command import run, typed
from ...model.finding import Place, Remedy
from ..codes import OK
from ..context import Case
from ..nvidia.peer_access import OWN_REFUSES, asked_for, declared
from .force_p2p import WORD, how, override, runs

__all__ = ["ANY_TABLE", "DECLARE", "LETTER_WORDS", "TABLES", "UNDECLARED", "after_the_model", "asks_for_a_place",
           "code_of", "explained", "letter_meaning", "outcome_of", "tell_which", "unused"]

#: Overrides the driver's list of chipsets; whether transfers work then only a measurement says.
_FORCED = ('write "options nvidia NVreg_RegistryDwords=ForceP2P=0x211" to a file of its own in /etc/modprobe.d, run '
           "`sudo update-initramfs -u`, on Fedora and Rocky `sudo dracut -f`, and reboot, or by play "
           '(modules: {nvidia: {NVreg_RegistryDwords: "ForceP2P=0x211"}} in box_spec); then `sudo tunecheck p2p`: keep '
           "the word only where every check of it passes")
_CLIQUE = ("this is a virtual machine, which sees another PCI tree than its host: the host's owner has to state which "
           "GPUs of this guest may reach each other, with QEMU "
           "x-nv-gpudirect-clique=<0 to 15> on each vfio-pci device, one number for GPUs below one switch")
_ON_HOST = Remedy(_CLIQUE, place=Place.HYPERVISOR)
_GUESSED = ("CNS", "TNS", "NS")
_BY_MODEL = ("CNS", "GNS")
#: Of these a switch, a slot or a setting mends the reason, but not on a board that the driver refuses by its model.
_OF_OTHER_MODELS = ("CNS", "TNS", "DR")
_MODEL_FIRST = ("first find out the model of the boards (`nvidia-smi -L`): on GeForce neither a switch, a slot nor a "
                "setting helps, as NVIDIA's own driver refuses peer-to-peer there. On other boards: ")
_REFUSED = (f"{OWN_REFUSES}, below any chipset",
            Remedy("plan with copies through host memory or with boards that support it; or run an open kernel module "
                   "that is patched for it (no role installs one) and declare box_spec.driver.flavour: patched-p2p"))
#: The driver looks for a switch that joins both boards in the PCI tree that it sees itself; it asks no IOMMU and no ACS
#: (p2p_caps.c).
_BELOW_SWITCH = (
    "a switch joins these boards already, and the driver does not find it. See whether this is a virtual machine "
    "(`systemd-detect-virt`): there the host's owner has to state which GPUs may reach each other (QEMU "
    "x-nv-gpudirect-clique); whether all of these texts are of one machine and one boot, with no board moved since: "
    "take `nvidia-smi topo -m`, `nvidia-smi topo -p2p r` and `nvidia-smi topo -p2p w` again; and whether the loaded "
    "module is NVIDIA's own (`cat /proc/driver/nvidia/version`). ")
_ONE_SWITCH = ("put both boards below one PCIe switch: below a root complex the driver allows it only on CPUs it "
               "knows. ")
_INEFFECTIVE = ("the spec declares a driver that is patched to allow peer-to-peer on this GPU model, and the loaded "
                "one does not",
                Remedy.typed("see which module is loaded (`modinfo -n nvidia`; `cat /proc/driver/nvidia/version`), "
                             "build the patched one for this kernel and reboot; or take box_spec.driver.flavour: "
                             "patched-p2p out", (), True))
UNDECLARED = ("a patched module or ForceP2P is at work that the spec does not declare; NVIDIA's own driver refuses "
              "peer-to-peer on this GPU model")
#: What each table of `nvidia-smi topo -p2p` is about, by its letter (nvidia-smi topo --help).
TABLES = {"r": "reads", "w": "writes", "n": "NVLink", "a": "atomics", "p": "PCIe peer access"}
ANY_TABLE = " or ".join(", ".join(TABLES.values()).rsplit(", ", 1))
#: The same with "?": the text does not say which it is.
LETTER_WORDS = {**TABLES, "?": f"{ANY_TABLE} (which of them, the text does not say)"}
#: The same as the subject of a sentence.
_SUBJECTS = {"r": "peer-to-peer", "w": "peer-to-peer", "n": "NVLink", "a": "atomics", "p": "PCIe peer access",
             "?": "what the table is about"}
DECLARE = Remedy("state box_spec.driver.flavour: patched-p2p, so that an update that drops the patch fails here, or go "
                 "back to NVIDIA's own module", place=Place.INVENTORY)
#: The table is not of what the loaded driver runs with.
_OTHER_LOAD = Remedy.typed("the word that the loaded driver runs with allows it, so this table is of another load of "
                           "the driver: take `nvidia-smi topo -p2p r`, `nvidia-smi topo -p2p w` and `cat "
                           "/proc/driver/nvidia/params` again")
_UNUSED = "the driver accepts peer access and does not use it: see iommu-mode, bar1-size and p2p-access"

#: letter -> (meaning, with the subject of its table; remedy)
_WORDS: dict[str, tuple[str, Remedy]] = {
    "CNS": ("the driver does not support {what} on this chipset",
            Remedy.typed(_ONE_SWITCH, place=Place.MACHINE)),
    "GNS": ("the driver does not support {what} on this GPU model",
            Remedy("no setting makes the driver allow peer access here: plan with copies through host "
                   "memory, or with boards that support it")),
    "TNS": ("the driver does not support {what} across these I/O hubs",
            Remedy("move both boards below one root complex", place=Place.MACHINE)),
    "DR": ("the registry word ForceP2P forbids {what}: its bits for this direction, reads 1:0 or writes 5:4, are 0",
           Remedy.typed("see `grep RegistryDwords /proc/driver/nvidia/params`; take the word out of /etc/modprobe.d, "
                        "or write " + WORD + ", which allows reads and writes; then load the driver again")),
    "NS": ("{what} is not supported between these two boards",
           Remedy.typed("both must be of the same chip, without MIG and not handed through to different machines; "
                        "compare `nvidia-smi -L` and `nvidia-smi topo -p2p r`")),
}


#: As nvml.h names them: NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED and so on.
_CODES = {"CNS": "chipset-not-supported", "GNS": "gpu-not-supported", "TNS": "io-hub-not-supported",
          "DR": "disabled-by-regkey", "NS": "pair-not-supported"}


def explained(case: Case, word: str, patchable: bool | None, table: str = "r", near: bool = False
              ) -> tuple[str, Remedy | None]:
    """Return meaning and remedy of a letter for two boards, ("", None) for one that nvml.h does not have.
    ``patchable``: one of them is a board that NVIDIA's own driver refuses (Peers.by_model), so CNS and GNS mean the
    same there; None: the model of one is not known. ``table``: which of LETTER_WORDS it stands in; ``near``: the PCI
    tree shows both below one switch, so no fix asks for one."""
    if patchable and word in _BY_MODEL:
        return _INEFFECTIVE if declared(case) else _REFUSED
    meaning, remedy = _WORDS.get(word, ("", None))
    meaning = meaning.format(what=_SUBJECTS[table])
    if word == "CNS":
        remedy = Remedy.of(*typed(_ONE_SWITCH), *override(case), place=Place.MACHINE)
    forced = runs(case) if word in _OF_OTHER_MODELS and table in "rw?" else ""
    if forced:
        meaning += f", though the loaded driver runs with {forced}, which decides first and allows it"
        remedy = remedy if word == "CNS" else _OTHER_LOAD
    if case.guest and word in _GUESSED:
        return meaning, _ON_HOST
    if near and asks_for_a_place(word, patchable):
        meaning += f"{', and' if forced else ', though'} one PCIe switch joins both, below which it allows it"
        last = override(case) if runs(case) else ("If it is none of these, override the driver: ", *how(case))
        remedy = Remedy.of(*typed(_BELOW_SWITCH), *last, place=Place.MACHINE)
    if patchable and remedy is not None and not declared(case):
        return f"{meaning}; {OWN_REFUSES} as well", _REFUSED[1]
    if patchable is None and remedy is not None and word in _OF_OTHER_MODELS:
        return (meaning if near or forced else letter_meaning(word, table)), after_the_model(remedy)
    return meaning, remedy


def asks_for_a_place(word: str, patchable: bool | None) -> bool:
    """Whether the reason of this letter is where the boards are, so that a switch that joins them should end it."""
    return word == "TNS" or (word == "CNS" and not patchable)


def after_the_model(remedy: Remedy) -> Remedy:
    """Return a remedy that holds for all boards but GeForce, for boards of which the model is not known."""
    return Remedy.of(*typed(_MODEL_FIRST), *remedy.parts, place=remedy.place)


def letter_meaning(word: str, table: str = "r") -> str:
    """Return what a letter means on any board, for the legend below this table of LETTER_WORDS."""
    what = _SUBJECTS[table]
    if word == "OK":
        return f"the driver allows {what}; whether transfers are right and fast only a measurement says (tunecheck p2p)"
    if word not in _WORDS:
        return f"the driver does not say whether it allows {what}"
    model = "; on GeForce: on this GPU model, below any chipset" if word == "CNS" else ""
    return _WORDS[word][0].format(what=what) + model


def outcome_of(case: Case, word: str, patchable: bool | None) -> str:
    """Return the outcome of p2p-capability for a letter between two boards. What NVIDIA's driver refuses by model is no
    fault of this box, unless its spec says that it was changed. What the driver allows there by a change that the spec
    does not know ends with the next update."""
    if word == "OK":
        return "warn" if patchable and case.frozen is not None and not declared(case) else "pass"
    if word not in _WORDS:
        return "unknown"
    wanted = asked_for(case, final=word == "GNS" or bool(patchable))
    mild = not declared(case) if patchable and word in _BY_MODEL else not wanted
    return "warn" if mild else "fail"


def code_of(case: Case, word: str, patchable: bool | None) -> str:
    """The code of p2p-capability for a letter between two boards."""
    if word == "OK":
        return OK if outcome_of(case, word, patchable) == "pass" else "patch-not-declared"
    if patchable and word in _BY_MODEL:
        return "patch-without-effect" if declared(case) else "refused-by-model"
    return _CODES.get(word, "status-unknown")


def tell_which(given: Iterable[str]) -> Remedy:
    """Return what tells a table of `nvidia-smi topo -p2p` that has no command line. ``given``: the letters of the
    tables that are there. Plain peer access needs the tables of reads and of writes, which are to be taken anew where
    nobody knows what this one is."""
    letters = ", ".join(f"{letter}: {what}" for letter, what in TABLES.items())
    missing = [run("nvidia-smi topo -p2p", letter) for letter in "rw" if letter not in given]
    anew = [part for command in missing for part in (" and " if command is not missing[0] else "", command)]
    which = f"put the command line above the table, with its letter ({letters})"
    return Remedy.of(which, *(["; where nobody knows the letter, add the output of: ", *anew, ", with the command line "
                               f"above {'each' if len(missing) > 1 else 'it'}"] if missing else []))


def unused(case: Case, direct: bool) -> Remedy:
    """Return the remedy for peer access that is granted and measured to go through the host. ForceP2P is offered where
    the way goes through the CPU (not ``direct``), and only against such a measurement: it took a custom all-reduce from
    242 to 17 us on such boxes, and is contested behind a switch (rtx6kpro optimization/pcie-oneshot-allreduce.md,
    2026-05-17)."""
    if direct:
        return Remedy(_UNUSED)
    if runs(case):
        return Remedy(f"{_UNUSED}; ForceP2P is among the driver's registry words and does not help here: take it out "
                      "of /etc/modprobe.d")
    return Remedy.of(f"{_UNUSED}; where these are well, try: ", *how(case))
