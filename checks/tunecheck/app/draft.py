"""An inventory drafted from what a box says about itself, for ``tunecheck init``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..parsers.pci.topology import RELATIONS, within
from .draft_counts import COUNT, counted
from .draft_name import taken
from .draft_peers import add_peers

if TYPE_CHECKING:
    from ..facts.kernel.boot import Boot
    from ..facts.pci.topology import Topology
    from ..facts.snapshot import HostFacts, Snapshot

__all__ = ["Draft", "drafted", "plain"]

#: "host-1" is what a recording without names calls its box.
_HOST = re.compile(r"(?!host-\d+$)[A-Za-z0-9][A-Za-z0-9-]{0,62}")
_HELD = "vfio-pci"
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,2}")
#: Characters that no sentence about a kernel command line reaches.
_WHOLE = 1 << 16
_ENGINES = (("docker", ("docker-ce", "docker.io", "moby-engine")), ("podman", ("podman",)))
#: How the cards are joined, as the names of profiles end, and in words.
_SHAPES = {"-switch": "below one switch", "-switches": "below several switches", "-direct": "on root ports"}
#: The profiles of GPUs that are passed through. They fit any board: what the real machine has to be, they leave open.
_GUEST, _HOST_OF_GUESTS = "passthrough-guest", "passthrough-host"
#: Where it is said which profile fits.
_FITS = "roles/box_spec/README.md"


@dataclass(frozen=True)
class Draft:
    """A drafted inventory. ``spec`` is the box_spec; ``change`` maps a path in it ("accelerators.count") to what is to
    be written there, and why the value is a guess; ``why`` maps one to what it was read from, where the profile says
    something else; ``observations`` are sentences about the box; ``driver`` is the
    version that is loaded, empty where none is, or where what the host says is no version: it goes into a file.
    ``contradictions`` are sentences about what runs now and contradicts this draft."""

    name: str
    named: bool
    spec: dict[str, Any]
    change: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    observations: tuple[str, ...] = ()
    driver: str = ""
    contradictions: tuple[str, ...] = ()


def drafted(snapshot: Snapshot, name: str | None = None, unnamed: str = "box1") -> Draft:
    """Return the draft of this box. ``name``: what the operator calls the box; without it its own host name, and
    ``unnamed`` for one that does not tell any, or tells one that no inventory can have."""
    own = (snapshot.hostname.value or "").split(".")[0]
    known = name is not None or (_HOST.fullmatch(own) is not None and not taken(own))
    change: dict[str, str] = {}
    why: dict[str, str] = {}
    accelerators = _accelerators(snapshot, change)
    profile = accelerators.pop("profile")
    spec: dict[str, Any] = {"profile": profile, "accelerators": accelerators}
    driver = (snapshot.host.driver.version.value if snapshot.host else None) or ""
    called = name or (own if known else unnamed)
    add_peers(snapshot, called, spec, change, why)
    return Draft(called, known, spec, change, why, tuple(_observations(snapshot)),
                 driver if _VERSION.fullmatch(driver) else "", tuple(_contradictions(snapshot, called, spec)))


def _accelerators(snapshot: Snapshot, change: dict[str, str]) -> dict[str, Any]:
    """Return the accelerators' part of the draft, together with the profile."""
    topology = snapshot.topology
    devices = topology.devices
    if not devices:
        passed = _passed_through(snapshot)
        why = topology.accelerators.why() if topology.accelerators.value is None else "no GPU is in the PCI tree"
        # Without a board nothing shows that one is passed through.
        choice = "keep this one, or choose one" if passed else f"choose one: {', '.join(_choice(snapshot))}; which fits"
        change["profile"] = f"{choice}: {_FITS}; {'this is a virtual machine, and ' if passed else ''}{why}"
        count, _, guess = counted(snapshot)
        if guess or not count:
            change["accelerators.count"] = guess or f"{COUNT}; {why}"
        return {"profile": passed, "count": count or 1}
    ids = sorted({device.ids for device in devices})
    fitting = _fitting(ids)
    made: dict[str, Any] = {"profile": _profile(snapshot, fitting), "count": len(devices)}
    if made["profile"] not in fitting:
        made["pci_ids"] = ids
    if made["profile"] is None:
        shape = _shape(topology)
        by_nvlink = _by_nvlink(snapshot)
        made["profile"] = "h200-hgx" if by_nvlink else f"rtx-pro-6000{shape}"
        fits = "H200 boards joined by NVLink" if by_nvlink else f"RTX PRO 6000 cards {_SHAPES[shape]}"
        change["profile"] = (f"none is made for {', '.join(ids)}; this one is for {fits}, and asks for what suits "
                             f"them: keep it, or choose one: {_FITS}")
        made["link_width"] = None
    if made["profile"].endswith(tuple(_SHAPES)) and _unshaped(topology):
        change.setdefault("profile", f"choose the ending -direct, -switch or -switches: {_FITS}; how the cards are "
                          "joined was not read")
    if topology.doubt or topology.unidentified:
        change["accelerators.count"] = f"{COUNT}; not every PCI device could be read"
    if _judges_relation(made["profile"]):
        made |= _relation(topology, made["profile"], change)
    return made


def _fitting(ids: Sequence[str]) -> list[str]:
    """Return the profiles that are made for all these boards."""
    from ..spec.profile_files import load, names

    return [name for name in names() if set(ids) <= set(load(name).values["accelerators"].get("pci_ids", ()))]


def _passed_through(snapshot: Snapshot) -> str | None:
    """Return the profile of a machine whose GPUs are passed through, by the same judgement as the checks'."""
    from ..rules.context import Case

    if any(device.driver.value == _HELD for device in snapshot.topology.devices):
        return _HOST_OF_GUESTS
    return _GUEST if Case(snapshot).guest else None


def _profile(snapshot: Snapshot, fitting: Sequence[str]) -> str | None:
    if passed := _passed_through(snapshot):
        return passed
    real = [name for name in fitting if not name.startswith("passthrough")]
    if len(real) < 2:
        return real[0] if real else None
    return _ending(real, _shape(snapshot.topology))


def _choice(snapshot: Snapshot) -> list[str]:
    """Return the profiles that may fit a box of which no board is known."""
    from ..spec.profile_files import names

    joined = [name for name in names() if name.endswith("-hgx")] if _by_nvlink(snapshot) else []
    return joined or list(names())


def _by_nvlink(snapshot: Snapshot) -> bool:
    """Return whether NVML or nvidia-smi topo -m says of any pair that it is joined by NVLink."""
    tables, nvml = (snapshot.topo_text.value, snapshot.posted.table.value), snapshot.nvml.value
    return any(word.startswith("NV") for table in tables if table is not None
               for word in table.relations.values()) or any(
        pair.get("p2p_nvlink") == 0 for pair in (nvml.pairs.values() if nvml is not None else ()))


def _shape(topology: Topology) -> str:
    if len(topology.devices) > 1 and all(_within(pair.relation.value, "PXB") for pair in topology.pairs):
        return "-switch"
    groups = topology.groups("PXB") or []
    return "-switches" if any(len(group) > 1 for group in groups) else "-direct"


def _unshaped(topology: Topology) -> bool:
    """Return whether the shape is a guess: of some pair it is not known how it is joined, or cards may be missing of
    which none but one is shown."""
    return any(pair.relation.value is None for pair in topology.pairs) or (
        len(topology.devices) < 2 and bool(topology.doubt or topology.unidentified))


def _ending(names: Sequence[str], suffix: str) -> str:
    return next((name for name in names if name.endswith(suffix)), names[0])


def _judges_relation(profile: str) -> bool:
    """Return whether the profile lets the relation of the boards be judged. NVSwitch joins the boards of an HGX,
    whatever the PCI tree is; a guest's tree is made up by its host."""
    return not profile.endswith("-hgx") and not profile.startswith("passthrough")


def _relation(topology: Topology, profile: str, change: dict[str, str]) -> dict[str, Any]:
    words = [pair.relation.value for pair in topology.pairs]
    if not words:
        return {"relation": None} if profile.endswith("-switch") else {}
    if None in words:
        change["accelerators.relation"] = ("the farthest relation of two cards (PIX, PXB, PHB, NODE, SYS), or null, "
                                            "which judges none; the PCI tree does not tell it")
        return {"relation": None}
    worst = max((word for word in words if word), key=RELATIONS.index)
    for inside in ("PXB", "NODE"):
        groups = topology.groups(inside) or []
        even = _one_size(groups) if groups else False
        if len(groups) > 1 and (even or profile.endswith("-switches")) and not profile.endswith("-switch"):
            if not even:
                sizes = ", ".join(str(len(group)) for group in groups)
                change["accelerators.groups"] = (f"the size that each group must have where a card is missing; else "
                                                 f"profile -direct and relation: {worst}; found groups of {sizes}")
            within_groups = [_word(topology, a, b) for group in groups for a, b in combinations(group, 2)]
            return {"groups": {"size": len(groups[0]) if even else None,
                               "inside": max(within_groups, key=RELATIONS.index), "across": worst}}
    return {"relation": worst}


def _one_size(groups: Sequence[Sequence[int]]) -> bool:
    return len({len(group) for group in groups}) == 1 and len(groups[0]) > 1


def _word(topology: Topology, a: int, b: int) -> str:
    return next(pair.relation.value or "SYS" for pair in topology.pairs if {pair.a, pair.b} == {a, b})


def _within(word: str | None, worst: str) -> bool:
    return word is not None and within(word, worst)


def _contradictions(snapshot: Snapshot, name: str, spec: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each kernel parameter of the draft that the running command line contradicts, by the rule of
    the check cmdline-conflict; in the last one what to do is said in that check's words, once for all of them. A draft
    without a profile asks for none."""
    from ..model.finding import Remedy
    from ..rules.boot import cmdline_conflict
    from ..rules.context import Case
    from ..rules.remedies.acs_remedies import before_the_play
    from ..spec import build

    if snapshot.host is None or spec["profile"] is None:
        return
    case, rivals = Case(snapshot, build(name, spec)), dict[str, list[str]]()
    for finding in cmdline_conflict.judge(case):
        if finding.code in cmdline_conflict.CODES:
            rivals.setdefault(finding.subject, []).append(finding.observed)
    for number, (declared, words) in enumerate(rivals.items(), 1):
        verb, gone = ("contradict", "they are") if len(words) > 1 else ("contradicts", "it is")
        # Half a command is no command.
        fix = f": {plain(Remedy.of(*before_the_play(case)).text, _WHOLE)}" if number == len(rivals) else ""
        yield (f"{plain(' '.join(words))} on this box's command line {verb} {declared} of this profile, and "
               f"site.yml refuses the box until {gone} gone{fix}")


def _observations(snapshot: Snapshot) -> list[str]:
    """Return sentences about what else the box says, for a comment and for the operator."""
    from ..rules.context import Case

    host, hypervisor = snapshot.host, Case(snapshot).hypervisor
    lines = [_gpus(snapshot)]
    if hypervisor:
        lines.append(f"virtual machine: {plain(hypervisor)}; its profile leaves to its host what only that can set")
    if host is None:
        return lines
    kernel = host.kernel.release.value or ""
    lines.append(f"kernel: {plain(kernel) or 'not known'}")
    lines.append(f"boot loader: {_loader(host.boot)}")
    if host.driver.version.value:
        lines.append(f"driver: {plain(host.driver.version.value)}"
                    + (f", {host.driver.flavour.value} modules" if host.driver.flavour.value else ""))
    lines.append(f"container engine: {_engines(host)}")
    return lines


def _gpus(snapshot: Snapshot) -> str:
    """Return how many GPUs there are and which, as far as the PCI tree or a text says it."""
    from ..rules.nvidia.posted_gpus import counted_names, given_names

    topology = snapshot.topology
    named = list(topology.names) if topology.devices else given_names(snapshot)
    names = sorted(set(named))
    shown = f" ({plain(counted_names(named)) if len(names) > 1 else plain(names[0])})" if names else ""
    if topology.devices:
        return f"GPUs: {len(topology.devices)}{shown}"
    tree = "no PCI tree is given" if topology.accelerators.value is None else "0 in the PCI tree"
    count, source, _ = counted(snapshot)
    if not count:
        return f"GPUs: {tree}" + (", and no text counts them whole" if topology.accelerators.value is None else "")
    return f"GPUs: {tree}; {source} names {count}{shown or ', but not which boards'}: add sudo lspci -nnvvv"


def _loader(boot: Boot) -> str:
    from ..facts.kernel.boot import Loader

    words = {Loader.GRUB: "GRUB", Loader.GRUBBY: "GRUB with entries (grubby)", Loader.SYSTEMD_BOOT: "systemd-boot",
             Loader.PROXMOX_BOOT: "systemd-boot with proxmox-boot-tool",
             Loader.PROXMOX_GRUB: "GRUB with proxmox-boot-tool, which site.yml does not drive"}
    why = plain((boot.generated.reason or "it is not in this snapshot").partition(";")[0])
    return words.get(boot.loader, f"not known ({why})")


def _engines(host: HostFacts) -> str:
    """Return which engines are installed, as the package manager lists them; "none" or "not known" else."""
    listed = host.packages.others.value
    if listed is None:
        return "not known"
    there = {package.name for package in listed}
    return ", ".join(name for name, packages in _ENGINES if there & set(packages)) or "none"


def plain(text: str, most: int = 120) -> str:
    """Return the text as one line of printable ASCII of at most so many characters, for a comment in YAML."""
    return re.sub(r"[^\x20-\x7e]", "?", text)[:most].strip()
