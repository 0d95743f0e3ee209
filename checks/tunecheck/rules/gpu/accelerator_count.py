"""accelerator-count: as many accelerators as declared, each of them answers, and the driver has them and no other."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.absence import Absence
from ...model.command import run
from ...model.finding import Finding, Place, Remedy
from ..check import EVERY, Check, Family, Heading
from ..codes import DEVICES_INCOMPLETE, MAYBE_ACCELERATOR, NO_ACCELERATOR, TREE_UNREAD, UNREAD
from ..context import Case
from ..errors import from_log
from ..nvidia import wanted_driver
from ..nvidia.posted_gpus import driver_count, driver_counts, gpu_count, gpu_count_text
from ..other_makers import ONLY_NVIDIA, others_text
from ..part_of_devices import GIVE_ALL, shown_by_a_part

CHECK = Check(
    "accelerator-count", "as many accelerators as declared, each answering",
    Heading.ACCELERATORS, 20, Family.GPU, EVERY, in_trial=True,
    judges=("pcie.accelerators", "pcie.answers", "gpu.count"), counts=("pcie.accelerators", "gpu.count"),
    misses=("driver-has-fewer", "not-in-tree", "not-in-driver", "left-since-boot", "does-not-answer"),
)
CODES = {
    "other-makers": "There are accelerators of other makers than NVIDIA. None of them is judged.",
    "differs": "There are more or fewer accelerators than the specification declares.",
    "driver-has-fewer": "The driver has fewer GPUs than the specification declares, and the PCI tree is not known.",
    "not-in-tree": "The driver has a GPU that the PCI tree lacks.",
    "not-in-list": "The driver has a GPU that a list of PCI devices lacks, and the list may be cut.",
    "not-in-driver": "The PCI tree has a GPU that the driver lacks.",
    "other-count-in-guest": "Of a virtual machine a text of the driver has another number of GPUs than the PCI tree.",
    "counts-differ": "Two texts of the driver have different numbers of GPUs.",
    "left-since-boot": "The kernel found a GPU at boot that is no longer in the PCI tree.",
    "does-not-answer": "An accelerator is listed and does not answer: its configuration space reads ff.",
}
_ID = CHECK.id
_LOOK = Remedy.typed("compare `lspci -nn` with box_spec.accelerators (pci_ids, count); a missing board is a matter of "
                     "power, seating or BIOS", place=Place.MACHINE)
_LOOK_WITHOUT = Remedy.typed("see `lspci -nn -d 10de:`; a missing board is a matter of power, seating or BIOS",
                             place=Place.MACHINE)
_LOOK_BESIDE = Remedy.typed(f"nothing has to be done where this machine has no NVIDIA GPU: {ONLY_NVIDIA}. Where it "
                            "should have one, see `lspci -nn -d 10de:`; a missing board is a matter of power, seating "
                            "or BIOS", place=Place.MACHINE)
_LOOK_GUEST = Remedy.typed("no GPU of NVIDIA's is in this virtual machine: ask the owner of its host to pass one "
                           "through. After that `lspci -nn -d 10de:` lists it in this virtual machine",
                           place=Place.HYPERVISOR)
_OF_TWO, _DIFFER = "other-count-in-guest", "counts-differ"
_ONE_MACHINE = Remedy.typed("take all texts inside the virtual machine, at one time: `sudo lspci -nnvvv`, `nvidia-smi "
                            "topo -m`, `nvidia-smi -q`; where they still differ, it lost a GPU: restart it")
_ONE_TIME = Remedy.typed("take them anew, on one machine and at one time: `nvidia-smi topo -m`, `nvidia-smi -q`; "
                         "where they still differ, a GPU is lost: look for Xid 79 in the kernel log (`sudo dmesg`)")
_GONE = Remedy("where all evidence is of the same boot, GPUs left the bus: look for Xid 79 in the kernel log, then "
               "power-cycle the host", (), True, Place.MACHINE)
#: Of a list that may be cut there is no fix of the machine.
_CUT_OR_GONE = Remedy.of(*GIVE_ALL.parts, "; where it was whole, the machine lost the board; what to do then: ",
                         run("tunecheck explain accelerator-count"))

#: Also what the fleet's report says of a host that has fewer GPUs than the night before.
LOST = Remedy.typed("look for Xid 79, \"fallen off the bus\" and RmInitAdapter in the kernel log (`sudo dmesg`); where "
                    "`lspci -nn -d 10de:` does not list the GPU, look at its seat and power; then reset or power-cycle",
                    place=Place.MACHINE, words_open_driver=True)
_LOST = Remedy.typed("look for Xid 79, \"fallen off the bus\" and RmInitAdapter in the kernel log (`sudo dmesg`), then "
                     "reset or power-cycle; or the texts are of two machines or times: take both anew, on one",
                     place=Place.MACHINE, words_open_driver=True)


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    accelerators, named = topology.accelerators, _named_by_driver(case)
    if accelerators.value is None:
        more = f"; NVML (nvidia-smi) names {len(named)} GPUs: {', '.join(named)}" if named else ""
        counted = gpu_count_text(case)
        more += f"; {counted}" if counted else ""
        unread = f"the PCI devices cannot be listed: {accelerators.why()}"
        least = gpu_count(case)
        # How many the driver has is what hosts are told apart by, so it is what was observed.
        differ, fewer = list(_counts_differ(case)), _fewer_than_declared(case, unread)
        if fewer is not None:
            yield fewer
        elif not differ:
            yield Finding(_ID, TREE_UNREAD, "accelerators", "unknown", "effective", f"{unread}{more}",
                          str(least) if least else "", evidence=(accelerators.source,), absence=accelerators.absence)
        yield from differ
        return
    ids = ", ".join(case.spec.accelerators.pci_ids) or "NVIDIA display or 3D controllers"
    wanted = case.spec.accelerators.count
    count = len(accelerators.value)
    expected = f"{wanted} of {ids}" if wanted is not None else f"at least one of {ids}"
    good = count == wanted if wanted is not None else count > 0
    names = ", ".join(device.bdf for device in accelerators.value) or "none"
    text = f"{count} accelerator{'' if count == 1 else 's'} found"
    text += f", not {wanted} ({names})" if count and not good else f" ({names})"
    beside = others_text(topology)
    if beside and not count:
        text += f", beside {beside}"
    maybe = topology.unidentified
    # Whatever the devices without ids are: too many stay too many, and too few stay too few.
    could_fit = maybe and (not count if wanted is None else count <= wanted <= count + len(maybe))
    missing = [bdf for bdf in named if topology.listed is not None and bdf not in topology.listed]
    others = list(_without_the_driver(case)) or list(_fewer_in_a_text(case)) or list(_counts_differ(case))
    others += _left_since_boot(case)
    # Where nobody said how many there have to be, "7 found" is no pass beside "of 8".
    contradicted = wanted is None and good and any(
        each.outcome == "fail" or each.code in (_OF_TWO, _DIFFER) for each in others)
    if topology.doubt and (fewer := _fewer_than_declared(case, f"the PCI tree may be a part: {text}")):
        yield fewer
    elif topology.doubt and missing:
        yield Finding(_ID, "not-in-list", ", ".join(missing), "unknown", "effective",
                      f"the list of PCI devices lacks {', '.join(missing)} of the driver's {len(named)} GPUs; "
                      f"{topology.doubt}; {text}", str(count), expected,
                      (accelerators.source, "NVML"), _CUT_OR_GONE, absence=Absence.INCOMPLETE)
    elif topology.doubt:
        yield shown_by_a_part(Finding(_ID, DEVICES_INCOMPLETE, "accelerators", "unknown", "effective", text, str(count),
                                      expected, (f"{accelerators.source}: {names}",)), topology.doubt)
    elif not could_fit and (not missing or not good) and not contradicted:
        code, outcome = ("ok", "pass") if good else ("differs" if count else NO_ACCELERATOR, "fail")
        yield Finding(_ID, code, "accelerators", outcome, "effective", text, str(count), expected,
                      (f"{accelerators.source}: {names}",), None if good else _LOOK if case.frozen else
                      _LOOK_BESIDE if beside and not count else
                      _LOOK_GUEST if case.guest and not count else _LOOK_WITHOUT)
    if beside:
        yield Finding(_ID, "other-makers", ", ".join(each.bdf for each in topology.others), "skip", "effective",
                      f"{beside}; {ONLY_NVIDIA}", evidence=(accelerators.source,))
    if maybe:
        names = ", ".join(each.bdf for each in maybe)
        yield Finding(_ID, MAYBE_ACCELERATOR, names, "unknown", "effective", f"not known what {names} is, an "
                      f"accelerator or not: {maybe[0].why}; {text}", str(count), expected,
                      tuple(each.why for each in maybe[:8]))
    if missing and not topology.doubt:
        yield Finding(_ID, "not-in-tree", ", ".join(missing), "fail", "effective", f"the driver has {len(named)} GPUs, "
                      f"of which the PCI tree lacks {len(missing)}: {', '.join(missing)}; {text}", str(count),
                      "every GPU of the driver in the PCI tree", (accelerators.source, "NVML"), _GONE)
    yield from others
    for index, device in enumerate(accelerators.value):
        if device.answers.value is False:
            yield Finding(_ID, "does-not-answer", device.bdf, "fail", "effective",
                          f"GPU{index} {device.bdf} is listed but does not answer (its configuration space reads ff): "
                          "it fell off the bus", "ffffffff", "an answering device", (device.answers.source,),
                          Remedy("look for Xid 79 or AER lines in the kernel log; power-cycle the host", (), True,
                                 Place.MACHINE))


def _fewer_than_declared(case: Case, tree: str) -> Finding | None:
    """Return the finding that the driver has fewer GPUs than the specification declares, by texts that name all of
    them: whatever the PCI tree would show, that is no pass. ``tree``: why that tree does not tell. None where any
    source shows as many; where another driver has the GPUs; where the declared number counts other makers' too."""
    wanted, counts = case.spec.accelerators.count, driver_counts(case)
    ids = case.spec.accelerators.pci_ids
    if (wanted is None or not counts or gpu_count(case) >= wanted or case.trial or not wanted_driver.needs_nvidia(case)
            or not all(each.startswith("10de:") for each in ids)):
        return None
    source, count = max(counts.items(), key=lambda each: each[1])
    named = _named_by_driver(case)
    names = f" ({', '.join(named)})" if len(named) == count else ""
    return Finding(_ID, "driver-has-fewer", "accelerators", "fail", "effective",
                   f"the driver has {count} of the {wanted} GPUs declared{names}, by {source}; {tree}", str(count),
                   f"{wanted} of {', '.join(ids) or 'NVIDIA GPUs'}", tuple(counts), LOST)


def _left_since_boot(case: Case) -> Iterator[Finding]:
    """Yield the finding about GPUs that the kernel found when it booted, and that are not in the PCI tree any more.
    Where the list of devices may be a part, only if the driver's list lacks them, too."""
    log = from_log.events(case) if case.snapshot.host else None
    topology, nvml = case.snapshot.topology, case.snapshot.nvml.value
    if log is None or topology.listed is None or not {device.bdf for device in topology.devices} <= set(log.boards):
        return      # numbered anew since, or a part of a log
    whole = nvml is not None and nvml.gpus and not any(who == "gpus" or who.startswith("gpu ") for who in nvml.errors)
    gone = [bdf for bdf in log.boards if bdf not in topology.listed and not (nvml and nvml.gpu(bdf))]
    if not gone or not topology.devices or (topology.doubt and not whole):
        return
    meant = case.spec.accelerators.count == len(topology.devices)
    tree_lacks = "the PCI tree and the driver lack" if whole else "the PCI tree lacks"
    yield Finding(_ID, "left-since-boot", ", ".join(gone), "warn" if meant else "fail", "effective",
                  f"the kernel found {len(log.boards)} GPUs of NVIDIA's at boot, of which {tree_lacks} {len(gone)}: "
                  f"{', '.join(gone)}",
                  str(len(topology.devices)), f"{len(log.boards)}, as at boot",
                  (case.host.kernel.log.source, topology.accelerators.source), _GONE)


def _without_the_driver(case: Case) -> Iterator[Finding]:
    """Yield findings about GPUs of the PCI tree that the driver lacks, where the specification wants NVIDIA's. A trial
    boot does not need a driver yet: the play may install it later."""
    gpus, nvml = wanted_driver.gpus(case), case.snapshot.nvml
    if case.trial or not gpus or not wanted_driver.needs_nvidia(case):
        return
    # A lost board has no address in NVML ("gpu 1"): it may be any of them.
    complete = nvml.value is not None and not any(key == "gpus" or key.startswith("gpu ") for key in nvml.value.errors)
    lacking, unread = [], []
    for gpu in gpus:
        if nvml.value is not None and nvml.value.gpu(gpu.bdf) is not None:
            continue
        if complete or gpu.driver.missing or gpu.driver.value not in (None, wanted_driver.NVIDIA):
            lacking.append(gpu.bdf)
        elif gpu.driver.value is None:
            unread.append(gpu)
    if lacking:
        yield Finding(_ID, "not-in-driver", ", ".join(lacking), "fail", "effective",
                      f"the driver has {len(gpus) - len(lacking)} of the {len(gpus)} GPUs in the PCI tree, not "
                      f"{', '.join(lacking)}", str(len(gpus) - len(lacking)), str(len(gpus)),
                      ("/sys/bus/pci/devices", nvml.source), wanted_driver.install(case))
    if unread:
        yield Finding(_ID, UNREAD, ", ".join(gpu.bdf for gpu in unread), "unknown", "effective",
                      f"not known whether the driver has {', '.join(gpu.bdf for gpu in unread)}: "
                      f"{unread[0].driver.why()}", "?", "", (unread[0].driver.source,),
                      absence=unread[0].driver.absence)


def _fewer_in_a_text(case: Case) -> Iterator[Finding]:
    """Yield the finding about a text of the driver that has fewer or more GPUs of NVIDIA's than the PCI tree has."""
    gpus, topology = wanted_driver.gpus(case), case.snapshot.topology
    found = driver_count(case)
    if found is None or not (gpus or case.guest):
        return
    source, count, least = found
    if count == len(gpus) or (least and count < len(gpus)):
        return
    text = f"the PCI tree has {len(gpus)} GPUs of NVIDIA's and {source} {count}"
    tree = f"in the tree: {', '.join(gpu.bdf for gpu in gpus)}"
    others = sum(gpu.driver.value not in (None, wanted_driver.NVIDIA) for gpu in gpus)
    if topology.doubt or topology.unidentified if count > len(gpus) else len(gpus) - others <= count:
        return      # the tree may be a part; or another driver has the rest
    if case.guest:      # its host has more: one of the texts may be of that
        yield Finding(_ID, _OF_TWO, "GPUs", "unknown", "effective", f"{source} has {count} GPUs, and the PCI tree of "
                      f"this virtual machine {len(gpus)}: the texts are of two machines, or a GPU is lost",
                      str(len(gpus)), str(count), (source,), _ONE_MACHINE)
    elif count > len(gpus):
        yield Finding(_ID, "not-in-tree", "GPUs", "fail", "effective", f"{text}: the tree lacks some; {tree}",
                      str(len(gpus)), f"{count}, as the driver has", (source,), _GONE)
    else:
        yield Finding(_ID, "not-in-driver", "GPUs", "fail", "effective", f"{text}: the driver lost "
                      f"{len(gpus) - others - count}, or never had it; {tree}", str(count), str(len(gpus)), (source,),
                      _LOST)


def _counts_differ(case: Case) -> Iterator[Finding]:
    """Yield the finding about texts of the driver that name all GPUs and do not have the same number of them."""
    counts = driver_counts(case)
    if len(set(counts.values())) < 2:
        return
    shown = ", ".join(f"{source} {count}" for source, count in sorted(counts.items(), key=lambda each: -each[1]))
    yield Finding(_ID, _DIFFER, "GPUs", "fail", "effective", f"the texts have different numbers of GPUs ({shown}): "
                  "they are of two machines or times, or a GPU is lost", shown, "the same number in each",
                  tuple(counts), _ONE_TIME)


def _named_by_driver(case: Case) -> list[str]:
    """Return the address of every GPU that NVML or the driver names, in address order."""
    nvml = case.snapshot.nvml.value
    return sorted({*case.snapshot.topology.unlisted, *(gpu.bdf for gpu in (nvml.gpus if nvml else ()))})
