"""How to boot so that ACS leaves peer traffic on its direct path. Every check gives a box the same instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model.command import Command, addresses, run, typed
from ...model.finding import Place, Remedy
from ...parsers.kernel.cmdline import merge
from ...parsers.kernel.param_conflicts import clash, split
from ...spec.frozen import Spec, declared_tokens
from ..context import Case
from ..running_words import against, runs
from . import boot_remedies
from .acs_line import EVERY_PORT, replaced, runs_without_effect
from .acs_log import heard
from .iommu_remedies import switched_off
from .loader_edit import place
from .redirect_gain import no_gain

__all__ = ["GUEST_PORTS", "before_the_play", "boot_fix", "clear_now", "declared_line", "line_fix"]

GUEST_PORTS = ("this is a virtual machine: its hypervisor made these ports up; the ACS bits that decide are those of "
               "its host, where they stay on for ATS and between machines")

_ACS_WORD = "disable_acs_redir="
_EVERY = " (pci:0:0 means every port, Linux 4.19 and later)"
#: For a virtual machine, where no port between the accelerators can be seen.
_ELSEWHERE = Remedy("clear ACS redirect on the machine that runs this virtual machine", place=Place.HYPERVISOR)
_LOOK = Remedy.typed("see which ports are on the way (`sudo tunecheck topo -v`), and what ACS does there: `tunecheck "
                     "explain acs-redirect`")


def boot_fix(case: Case, by_play: bool = True) -> Remedy:
    """Return how to boot so that ACS redirects nothing: the words for the command line and how to put them there.
    ``iommu=pt`` turns ACS on, so it never comes without the ACS option, but where the driver refuses peer access. It
    replaces words that switch the IOMMU off: these cost the threads beyond 255 and keep no ACS bit clear."""
    # `tunecheck topo` does not read the command line.
    off = (switched_off(case) if case.snapshot.host else None) or []
    gain = no_gain(case)
    needless = gain.fix if gain and gain.refused else None
    between = needless is None and _has_ports(case)
    if not off and not between:
        return _ELSEWHERE if case.guest else needless or _LOOK
    inert = runs_without_effect(case) if between else []
    after = _after(case, off, between)
    # What else the line lacks is the same edit and the same reboot.
    lacking = boot_remedies.lacking(case, after) if by_play else []
    wanted = [*(["iommu=pt"] if off else []), *lacking, *([EVERY_PORT] if between and not inert else [])]
    words = [word for word in dict.fromkeys(wanted) if not runs(case, word)]
    if not off and (inert or not words):
        return _no_second_boot(case, inert or [EVERY_PORT], by_play)
    old, kept = replaced(case) if EVERY_PORT in words else ([], [])
    # By hand the same words go as before the play: what contradicts the line as it will be.
    option = [EVERY_PORT] if between and case.frozen else []
    declared = [*declared_tokens(after), *option] if by_play else ["iommu=pt"] if off else []
    rivals, rest = boot_remedies.holding(case, against(case, declared))
    away = list(dict.fromkeys([*off, *rivals, *old]))
    # Words of one token of the line are one token again.
    rest = [word for word in rest if word not in off and word not in words]
    words = merge([*kept, *rest, *words]) if kept or rest else words
    if not words:
        by_hand = replace(boot_remedies.remove(case, away), ansible_tags=("acs",))
    else:
        by_hand = _boot_with(case, words, away, between and not inert)
    if case.frozen is None or not by_play:
        return by_hand
    tags = "acs,cmdline" if off or lacking else "acs"
    return case.play(tags if between else "cmdline", True, before_the_play(case, after, off, old, option), by_hand)


def _has_ports(case: Case) -> bool:
    """Whether there are real ports between the accelerators, and they are to be kept clear. The ports of a virtual
    machine are not the real ones; where accelerators are handed to guests, the same bits keep these apart."""
    if case.guest or (case.spec.accelerators.kernel_driver == "vfio-pci" and case.spec.acs.peer_redirect == "leave"):
        return False
    return bool(case.snapshot.topology.path_ports()) or not case.snapshot.topology.accelerators.known


def _after(case: Case, off: Sequence[str], between: bool) -> Spec:
    """Return the specification that makes the play boot as the fix by hand does: with iommu=pt in place of the words
    ``off``, and then with the ACS option."""
    spec = case.spec
    if not off:
        return spec
    kept = tuple(word for word in spec.kernel.cmdline if word not in off
                 and not any(clash(part, "iommu=pt") for part in split(word)))
    acs = replace(spec.acs, peer_redirect="off") if between and case.frozen else spec.acs
    return replace(spec, iommu="pt" if case.frozen else spec.iommu, kernel=replace(spec.kernel, cmdline=kept), acs=acs)


def _boot_with(case: Case, words: list[str], away: list[str], between: bool) -> Remedy:
    instead = f" in place of {' '.join(away)}" if away else ""
    ports = typed("; by address or id of ports: `tunecheck explain acs-persistence`") if between else ()
    return Remedy.of(f"boot with {' '.join(words)}{instead}{_EVERY if between else ''}: put it into {place(case)}",
                     *boot_remedies.written(case, words, away), *ports, ansible_tags=("acs",) if between else (),
                     needs_reboot=True)


def _no_second_boot(case: Case, inert: list[str], by_play: bool) -> Remedy:
    """Return what to do where the running command line has the ACS options already, and a port redirects all the same:
    the same words at the next boot would do the same."""
    by_hand = heard(case, inert) or Remedy.of(*typed(
        "{words} is on the running command line and did not act on these ports, or something turned ACS redirect on "
        "later: another boot with it changes nothing. `sudo dmesg` tells which: it has a line of each port on which it "
        "acted (\"Configured ACS to\", before Linux 6.11 \"disabled ACS redirect\"), and \"Can't parse\" where the "
        "kernel could not read it. Where such a line is there, look for what wrote the register after it: a script or "
        "a unit with setpci, or the firmware at a port's reset", words=" ".join(inert)), ansible_tags=("acs",))
    if case.frozen is None or not by_play:
        return by_hand
    unit = "" if case.spec.acs.at_boot_unit else "set box_spec.acs.at_boot_unit: true (it clears the bits after boot)"
    return case.play("acs", False, unit, by_hand)


def line_fix(case: Case) -> Remedy:
    """Return how the command line gets everything that is declared and that it lacks, and loses what contradicts it, in
    one edit. ``iommu=pt`` turns ACS redirect on, so where the specification wants that off, the line has the ACS option
    as well."""
    lacking, running = boot_remedies.lacking(case), case.host.kernel.cmdline.value or ()
    if "iommu=pt" in lacking and case.spec.acs.peer_redirect == "off" and not case.guest \
            and case.snapshot.topology.path_ports() and not any(_ACS_WORD in word for word in running):
        return boot_fix(case)
    return declared_line(case, case.spec)


def declared_line(case: Case, after: Spec, unwanted: Sequence[str] = ()) -> Remedy:
    """Return how the command line gets what this specification declares and that it lacks, in place of what contradicts
    it and of the words ``unwanted``, in one edit by hand or by play."""
    away, rest = boot_remedies.holding(case, [*against(case, declared_tokens(after)), *unwanted])
    put = boot_remedies.lacking(case, after)
    put = merge([*rest, *put]) if rest else put
    by_hand = boot_remedies.add(case, put, away) if put else boot_remedies.remove(case, away) if away else None
    return case.play("cmdline", True, before_the_play(case, after, unwanted), by_hand)


def before_the_play(case: Case, after: Spec | None = None, off: Sequence[str] = (), old: Sequence[str] = (),
                    option: Sequence[str] = ()) -> tuple[str | Command, ...]:
    """Return what to change so that the play boots without the words ``off``, the ACS options ``old`` that another one
    replaces, and any that contradicts what is declared: what the specification asks for in the inventory, what somebody
    else wrote by hand, as no play removes that. Every check gives a box the same instruction. ``after``: the
    specification as the inventory then has it; ``option``: what the play puts there beside it."""
    spec = case.spec
    after = after or spec
    replaced_words = {word for token in old for word in split(token)}
    rivals = [word for word in against(case, [*declared_tokens(after), *option])
              if word not in replaced_words]
    words = [*rivals, *(word for word in (*off, *old) if not set(split(word)) & set(rivals))]
    ours = [word for word in spec.kernel.cmdline if word not in after.kernel.cmdline]
    others = [word for word in words if not boot_remedies.is_the_plays(case, word)]
    steps: list[tuple[str | Command, ...]] = []
    if after.iommu != spec.iommu:
        steps.append((f'set box_spec.iommu: "{after.iommu}"',))
    if after.acs != spec.acs:
        steps.append((f'set box_spec.acs.peer_redirect: "{after.acs.peer_redirect}"',))
    if ours:
        steps.append(typed("take {words} out of box_spec.kernel.cmdline", words=" ".join(ours)))
    if others:
        steps.append(boot_remedies.taken_off(case, others))
    return tuple(part for number, step in enumerate(steps) for part in (*([" and "] if number else []), *step))


def clear_now(ports: list[str]) -> Command:
    """Return the command that clears the redirect bits of every one of these ports until their next reset. setpci(8)
    takes several devices, each with what is written to it."""
    return run("setpci", *(word for port in addresses(ports) for word in ("-s", port, "ECAP_ACS+6.w=0:2c")))
