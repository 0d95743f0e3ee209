"""What the hosts of a cause have to do, all of it: whoever is told a part of a fix reboots a host once more for the
rest. Hosts that have to do the same stand together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from tunecheck.model.command import HOST, Command, limited, tagged, tags_of
from tunecheck.util.at_first_use import dataclass
from tunecheck.util.host_names import fold

from .own_command import own_command

__all__ = ["Fix", "Step", "fixes_of", "has_play", "on_hosts", "said", "together"]

#: What one text tells: sets of hosts that have a fix of their own, and steps of one fix.
_SETS, _STEPS = 3, 16
_LIMIT = re.compile(r" -l ([\w-]+(?:\.[\w-]+)*)")
_NONE = "no fix is known"
_ONE_REBOOT = " (1 reboot is enough for all of it)"


@dataclass(frozen=True)
class Step:
    """The remedy of a finding, and the commands in it."""

    remedy: str
    commands: tuple[Command, ...] = ()

    def limited(self, hosts: Sequence[str]) -> Step:
        """The same with its plays on these hosts."""
        return Step(*limited(self.remedy, self.commands, hosts)) if self.commands else self


@dataclass(frozen=True)
class Fix:
    """What each of these hosts has to do, in the order of its findings. No step: nobody knows."""

    hosts: tuple[str, ...]
    steps: tuple[Step, ...]


def fixes_of(told: Iterable[tuple[str, Step]]) -> tuple[Fix, ...]:
    """The fixes of what is told of each host, with its plays on that host: every host once, with each of its steps
    once."""
    lists: dict[str, list[Step]] = {}
    for host, step in told:
        lists.setdefault(host, []).append(step)
    of_host = {host: _joined(steps) for host, steps in lists.items()}
    alike: dict[tuple[str, ...], list[str]] = {}
    for host, steps in of_host.items():     # the same play on another host is the same step
        alike.setdefault(tuple(_without(host, step.remedy) for step in steps), []).append(host)
    return _fixes({tuple(hosts): of_host[hosts[0]] for hosts in alike.values()})


def _without(host: str, remedy: str) -> str:
    """The remedy without the limit of its plays where that is the host, or a word to fill in for its name. One pattern
    serves all: one of each of 10,000 hosts would be compiled for every cause."""
    return _LIMIT.sub(lambda limit: " -l" if limit[1] in (host, HOST) else limit[0], remedy)


def together(parts: Iterable[Sequence[Fix]], hosts: Sequence[str]) -> tuple[Fix, ...]:
    """What each of these hosts has to do for all of the parts, in their order."""
    of_host: dict[str, list[Fix]] = {host: [] for host in hosts}
    for fixes in parts:
        for fix in fixes:
            for host in fix.hosts:
                if host in of_host:
                    of_host[host].append(fix)
    # Mostly many hosts have the same few; of two ways to the same steps one is told.
    same: dict[tuple[int, ...], tuple[Step, ...]] = {}
    alike: dict[tuple[Step, ...], list[str]] = {}
    for host, found in of_host.items():
        key = tuple(map(id, found))
        if key not in same:
            same[key] = _joined([step.limited((HOST,)) for fix in found for step in fix.steps])
        alike.setdefault(same[key], []).append(host)
    return _fixes({tuple(found): steps for steps, found in alike.items()})


def on_hosts(fixes: Iterable[Fix], hosts: Collection[str]) -> tuple[Fix, ...]:
    """The same, of these hosts alone."""
    left = ((fix, tuple(host for host in fix.hosts if host in hosts)) for fix in fixes)
    return _fixes({own: fix.steps for fix, own in left if own})


def said(fixes: Sequence[Fix], reboot: bool) -> tuple[str, tuple[Command, ...]]:
    """All of it in one text, and the commands in that; where hosts have different fixes, each with its hosts.
    ``reboot``: it takes one."""
    several = len(fixes) > 1
    texts, commands = [], []
    for fix in fixes[:_SETS]:
        told = "; also: ".join([step.remedy for step in fix.steps[:_STEPS]]) or (_NONE if several else "")
        if len(fix.steps) > _STEPS:
            told += f"; and {len(fix.steps) - _STEPS} more, which the host tells: tunecheck preflight -v"
        told += _ONE_REBOOT * (reboot and len(fix.steps) > 1)
        texts.append(f"on {fold(fix.hosts)}: {told}" if several else told)
        commands += [each for step in fix.steps[:_STEPS] for each in step.commands]
    left = sum(len(fix.hosts) for fix in fixes[_SETS:])
    if left:
        texts.append(f"{left} more of these hosts ha{'ve' if left > 1 else 's'} another: "
                     f"{own_command('drift --host HOST')}")
    return "; ".join(texts), tuple(commands)


def has_play(step: Step, alone: bool = False) -> bool:
    """Whether a play is in it; ``alone``: and nothing else."""
    return any(tags_of(each) for each in step.commands) and (
        not alone or [step.remedy] == [f"run: {each.shown}" for each in step.commands])


def _fixes(steps: Mapping[tuple[str, ...], Iterable[Step]]) -> tuple[Fix, ...]:
    return tuple(Fix(hosts, tuple(step.limited(hosts) for step in each)) for hosts, each in steps.items())


def _joined(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Each once, in order, and what is a play alone behind the others. A play that differs from one of another step in
    its tags alone goes into that one."""
    if len(steps) == 1:     # so of most hosts, and of many thousands
        return tuple(step for step in steps if step.remedy)
    distinct = list(dict.fromkeys(step for step in steps if step.remedy))
    if len(distinct) < 2:
        return tuple(distinct)
    plays = [step for step in distinct if has_play(step, alone=True)]
    found = [step for step in distinct if step not in plays]
    for step in plays:
        place = next((place for place, other in enumerate(found) if any(
            _bare(each) == _bare(step.commands[0]) for each in other.commands if tags_of(each))), None)
        if place is None:
            found.append(step)
        else:
            found[place] = Step(*tagged(found[place].remedy, found[place].commands, tags_of(step.commands[0])))
    return tuple(found)


def _bare(play: Command) -> tuple[str, ...]:
    at = play.argv.index("--tags")
    return (*play.argv[:at], *play.argv[at + 2:])
