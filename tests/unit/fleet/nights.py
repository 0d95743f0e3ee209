"""Nights of a made-up fleet with planted faults, and what a report and an alert of each night have to say.

Every state that a box can be in is the fake machine of tests/unit/facts/big.py (eight GPUs, 40 bridges) with a few
files changed, read and judged by the real code, once; a fleet of boxes in these states is told apart by its serials.
What is planted is kept apart from what the boxes say.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import PCI, Machine, config, driver
from tests.unit.fleet.same_answers import told_twice

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host import Completed
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Answer, Change, Seen
from tunecheck_fleet.outputs.webhook import event
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import Store

__all__ = ["NIGHT", "Fleet", "Planted", "Score", "audited", "evidence", "random_fleet"]

NIGHT = 86_400.0
_START = 1_800_000_000.0
_SPEC = big_spec()
_GPUS = [f"0000:{bus:02x}:00.0" for bus in (0x06, 0x0a, 0x26, 0x2a, 0x86, 0x8a, 0xa6, 0xaa)]


def _gpu(machine: Machine, number: int, **values: Any) -> None:
    assert machine.nvml is not None
    machine.nvml["gpus"][number]["values"].update(values)


def _every_gpu(machine: Machine, **values: Any) -> None:
    for number in range(len(_GPUS)):
        _gpu(machine, number, **values)


def _other_driver(machine: Machine) -> None:
    """Another driver, loaded: packages, module, libraries, firmware and what it calls itself."""
    driver(machine, "600.10.02")
    assert machine.nvml is not None
    machine.nvml = {**machine.nvml, "driver": "600.10.02", "library": "13.600.10.02"}


def _kernel(machine: Machine) -> None:
    """Another kernel runs, and in it ACS sends peer traffic up."""
    for path in list(machine.reads):
        if "/6.12.1/" in path:
            machine.file(path.replace("6.12.1", "6.14.0"), machine.reads[path])
    for path in list(machine.realpaths):
        if "/6.12.1/" in path:
            machine.realpaths[path.replace("6.12.1", "6.14.0")] = machine.realpaths[path].replace("6.12.1", "6.14.0")
    machine.file("/proc/sys/kernel/osrelease", "6.14.0\n")
    version = "595.71.05"
    machine.lists["/var/lib/dkms/nvidia"] = [version, "kernel-6.14.0-x86_64"]
    machine.lists[f"/var/lib/dkms/nvidia/{version}"] = ["6.14.0", "source"]
    argv = ("modinfo", "-k", "6.14.0", "nvidia")
    machine.runs[argv] = Completed(argv, 0, f"version:  {version}\nlicense:  Dual MIT/GPL\n", "")
    _redirect(machine)


def _redirect(machine: Machine) -> None:
    for bdf in machine.lists[PCI]:
        data = machine.reads[f"{PCI}/{bdf}/config"]
        if data[0x14E:0x150] == (0x0011).to_bytes(2, "little"):
            machine.file(f"{PCI}/{bdf}/config", data[:0x14E] + (0x001D).to_bytes(2, "little") + data[0x150:])


def _lost(machine: Machine) -> None:
    """The third GPU is not in the PCI tree any more."""
    bdf = _GPUS[2]
    machine.lists[PCI].remove(bdf)
    assert machine.nvml is not None
    machine.nvml = {**machine.nvml, "gpus": [gpu for gpu in machine.nvml["gpus"] if gpu["bdf"] != bdf],
                    "pairs": [pair for pair in machine.nvml["pairs"] if bdf not in (pair["a"], pair["b"])]}


def _link(machine: Machine) -> None:
    machine.file(f"{PCI}/{_GPUS[1]}/current_link_width", "8\n")
    machine.file(f"{PCI}/{_GPUS[1]}/config", config(port=0, able=256, width=8))


def _smt(machine: Machine) -> None:
    machine.file("/sys/devices/system/cpu/smt/control", "off\n")
    machine.file("/sys/devices/system/cpu/online", "0-7\n")


def _governor(machine: Machine) -> None:
    for path in list(machine.reads):
        if path.endswith("scaling_governor"):
            machine.file(path, "powersave\n")


#: State -> how the machine comes into it.
STATES: dict[str, Callable[[Machine], object]] = {
    "driver": _other_driver, "kernel": _kernel, "acs": _redirect, "gpu lost": _lost, "link": _link, "smt": _smt,
    "governor": _governor,
    "power": lambda machine: _every_gpu(machine, power_limit_mw=450000, power_limit_enforced_mw=450000),
    "remap": lambda machine: _gpu(machine, 4, remap_failed=True),
    "ecc": lambda machine: _every_gpu(machine, ecc_mode="disabled", ecc_pending="disabled"),
    "vbios": lambda machine: _gpu(machine, 3, vbios="98.02.60.00.01"),
    "persistence": lambda machine: _every_gpu(machine, persistence=False),
    "swappiness": lambda machine: machine.file("/proc/sys/vm/swappiness", "10\n"),
    "hung": lambda machine: machine.file("/proc/sys/kernel/hung_task_timeout_secs", "0\n"),
}
#: What is told of no machine, for the fake one has no such files.
_BIOS = {"platform.vendor": "Supermicro", "platform.product": "SYS-522GA", "platform.bios": "2.4",
         "platform.bios_date": "03/01/2026", "platform.memory": 1536}
_OLD_BIOS = {"platform.bios": "1.9", "platform.bios_date": "07/11/2025"}
_LESS_MEMORY = {"platform.memory": 1408}


#: Checks that fail on the fake machine, or cannot be told of it.
_UNTOLD = {"cdi-spec", "nccl-environment"}


@cache
def _state(marks: frozenset[str]) -> Seen:
    """A box in this state, as it is read and judged."""
    machine = driver(eight_gpus(0x0011))
    machine.gone("read", "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm")
    for name in sorted(marks):
        if name in STATES:
            STATES[name](machine)
    stored = Stored(gather(machine.host(), _SPEC.spec, True), _SPEC)
    said = seen(Answer("box", "g", "ok", packed(stored)))
    assert said.status in ("ok", "partial"), said.reason
    # What the fake machine fails from its beginning is not planted; its warnings stand.
    said = replace(said, problems=tuple(each for each in said.problems
                                        if each.outcome == "warn" or each.check not in _UNTOLD))
    assert marks or all(each.outcome == "warn" for each in said.problems), said.problems
    firmware = {**_BIOS, **(_OLD_BIOS if "old bios" in marks else {}),
                **(_LESS_MEMORY if "memory" in marks else {})}
    return replace(said, status="ok", reason="", known={**said.known, **firmware}, document=b"{}",
                   unknown={name: why for name, why in said.unknown.items()
                            if name not in firmware and not name.startswith(("identity.", "gpu.fabric"))})


@dataclass
class Hardware:
    """What a box is, whatever it is called."""

    machine: str
    board: str
    serials: list[str]
    marks: set[str] = field(default_factory=set)
    runs: tuple[Change, ...] = ()


@dataclass
class Planted:
    """Something that happened. ``leads``: facts or checks one of which the entry has to be called by. ``since``: host
    -> the night it came there. ``until``: the first night on which it is not so any more. ``silent``: nights on which
    the host says nothing."""

    name: str
    leads: tuple[str, ...]
    since: dict[str, int] = field(default_factory=dict)
    until: int | None = None
    gone: dict[str, int] = field(default_factory=dict)

    def hosts(self, night: int) -> frozenset[str]:
        if self.until is not None and night >= self.until:
            return frozenset()
        return frozenset(host for host, begun in self.since.items()
                         if begun <= night < self.gone.get(host, night + 1))

    def news(self, night: int) -> frozenset[str]:
        return frozenset(host for host in self.hosts(night) if self.since[host] == night)


_MARKS = {
    "driver": ("driver.loaded", "driver-version"), "kernel": ("kernel.running",), "smt": ("cpu.smt", "smt"),
    "link": ("link-width", "pcie.width"), "gpu lost": ("gpu.count", "accelerator-count"),
    "acs": ("acs-redirect", "acs.redirecting"), "power": ("gpu-power-limit", "gpu.power_limit"),
    "governor": ("cpu-governor", "cpu.governor"), "remap": ("gpu-ecc", "gpu.remap_failed"),
    "memory": ("platform.memory",), "old bios": ("platform.bios",), "ecc": ("gpu-ecc", "gpu.ecc"),
    "vbios": ("gpu.vbios",), "persistence": ("gpu-persistence", "gpu.persistence"),
    "swappiness": ("memory.swappiness",), "hung": ("kernel.hung_task_seconds",),
}


class Fleet:
    """``steps``: night -> what happens before it. Hosts are g00-000 and so on, groups of 40 (the last one is smaller,
    and one has four hosts)."""

    def __init__(self, hosts: int = 200, nights: int = 30, seed: int = 24) -> None:
        self.random = random.Random(seed)
        self.nights = nights
        self.groups: dict[str, str] = {}
        self.boxes: dict[str, Hardware] = {}
        self.silent: dict[str, set[int]] = {}
        self.garbled: dict[str, set[int]] = {}
        self.planted: list[Planted] = []
        self.steps: dict[int, list[Callable[[], None]]] = {}
        for number in range(hosts):
            group = 99 if number >= hosts - 4 else number // 40
            name = f"g{group:02d}-{number:04d}"
            self.groups[name] = f"rack{group:02d}"
            self.boxes[name] = Hardware(f"{number:032x}", f"SN{number:06d}",
                                        [f"13{number:06d}{gpu:02d}" for gpu in range(8)])
        self.untouched = [name for name in self.boxes if not name.startswith("g99")]
        self.random.shuffle(self.untouched)

    # -- what may happen ----------------------------------------------------------------------------------------------

    def at(self, night: int, step: Callable[[], None]) -> None:
        self.steps.setdefault(night, []).append(step)

    def take(self, count: int, group: str | None = None) -> list[str]:
        """Hosts of one group to which nothing happened yet."""
        groups = Counter(self.groups[name] for name in self.untouched)
        group = group or max(groups, key=lambda each: (groups[each], each))
        found = [name for name in self.untouched if self.groups[name] == group][:count]
        assert len(found) == count, (group, count)
        self.untouched = [name for name in self.untouched if name not in found]
        return found

    def mark(self, name: str, night: int, hosts: list[str], until: int | None = None, into: Planted | None = None,
             ) -> Planted:
        """The hosts come into the state ``name``; into an event that is there already, or one of its own."""
        planted = into
        if planted is None:
            planted = Planted(name, _MARKS[name], until=until)
            self.planted.append(planted)
        planted.since.update(dict.fromkeys(hosts, night))
        self.at(night, lambda: [self.boxes[host].marks.add(name) for host in hosts] and None)
        if until is not None:
            self.at(until, lambda: [self.boxes[host].marks.discard(name) for host in hosts] and None)
        return planted

    def rolled_out(self, name: str, night: int, hosts: list[str]) -> None:
        """Our own roles do it: no drift."""
        def step() -> None:
            for host in hosts:
                self.boxes[host].marks.add(name)
                self.boxes[host].runs = (Change(f"run {night}", _START + night * NIGHT - 3600, "committed"),)

        self.at(night, step)
        self.at(night + 1, lambda: [setattr(self.boxes[host], "runs", ()) for host in hosts] and None)

    def replaced_gpu(self, night: int, host: str) -> None:
        self.planted.append(Planted("GPU replaced", ("gpu.serials", "gpu.uuids"), {host: night}))
        self.at(night, lambda: self.boxes[host].serials.__setitem__(5, f"99{self.random.randrange(10**8):08d}"))

    def renamed(self, night: int, old: str, new: str) -> None:
        """The same machine under another name, which the inventory has from that night on, and which it calls itself
        then. It is told in a note: no drift."""
        def step() -> None:
            self.boxes[new] = self.boxes.pop(old)
            self.groups[new] = self.groups.pop(old)

        self.at(night, step)

    def swapped(self, night: int, one: str, other: str) -> None:
        """Two machines exchange their names: who looks for one finds the other."""
        def step() -> None:
            self.boxes[one], self.boxes[other] = self.boxes[other], self.boxes[one]

        self.planted.append(Planted("name swap", ("host.key",), {one: night, other: night}))
        self.at(night, step)

    def cloned(self, night: int, first: str, clone: str, board: bool = False) -> None:
        """``clone`` is set up from an image of ``first``; with ``board`` it tells that serial as well."""
        def step() -> None:
            self.boxes[clone].machine = self.boxes[first].machine
            if board:
                self.boxes[clone].board = self.boxes[first].board

        leads = ("host.key",) if board else ("identity.machine",)
        self.planted.append(Planted("clone", leads, {first: night, clone: night}))
        self.at(night, step)

    def quiet(self, host: str, first: int, last: int, garbled: bool = False) -> None:
        (self.garbled if garbled else self.silent).setdefault(host, set()).update(range(first, last + 1))

    # -- the nights ---------------------------------------------------------------------------------------------------

    def asked(self) -> list[tuple[str, str]]:
        return sorted(self.groups.items())

    def night(self, number: int) -> Iterator[Seen]:
        for step in self.steps.get(number, ()):
            step()
        yield from (self.said(host, number) for host in sorted(self.boxes))

    def said(self, host: str, number: int) -> Seen:
        group = self.groups[host]
        if number in self.silent.get(host, ()):
            return Seen(host, group, "unreachable", "no route to host")
        if number in self.garbled.get(host, ()):
            return Seen(host, group, "garbled", "not a usable snapshot: it is no JSON")
        box = self.boxes[host]
        state = _state(frozenset(box.marks))
        serials = [serial for place, serial in enumerate(box.serials) if place != 2 or "gpu lost" not in box.marks]
        return replace(
            state, host=host, group=group, key=f"{box.machine}/{box.board}", boot_id=f"boot {host}", changes=box.runs,
            known={**state.known, "identity.machine": box.machine, "identity.board": box.board,
                   "identity.hostname": host, "gpu.serials": serials,
                   "gpu.uuids": [f"GPU-{serial}" for serial in serials]})


# -- the score --------------------------------------------------------------------------------------------------------

@dataclass
class Score:
    """Of every night: planted events and whether the report has them, as one entry, with every host and its own since,
    and whether the alert tells exactly the news. Each list is of sentences."""

    events: int = 0
    alerts: int = 0
    hosts: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    wrong_since: list[str] = field(default_factory=list)
    alert_missed: list[str] = field(default_factory=list)
    alert_false: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [*self.missed, *self.false, *self.wrong_since, *self.alert_missed, *self.alert_false]

    def table(self) -> str:
        return "\n".join((
            "            seen  missed  false  wrong since",
            f"report  {self.events - len(self.missed):>8}{len(self.missed):>8}{len(self.false):>7}"
            f"{len(self.wrong_since):>8} of {self.hosts} hosts",
            f"alert   {self.alerts - len(self.alert_missed):>8}{len(self.alert_missed):>8}{len(self.alert_false):>7}"))


def audited(store: Store, fleet: Fleet, clock: list[float],
            each: Callable[[int, FleetReport], None] | None = None) -> Score:
    """Every night of the fleet, into the store, judged, and held against what is planted. ``clock[0]`` is what the
    store's clock tells."""
    score = Score()
    numbers: dict[int, int] = {}
    for night in range(1, fleet.nights + 1):
        clock[0] = _START + night * NIGHT
        answers = list(fleet.night(night))
        head = store.begin("inventory", fleet.asked())
        numbers[night] = head.id
        for answer in answers:
            store.put(head.id, answer)
        clock[0] += 60.0
        store.finish(head.id)
        found = report(store, head.id)
        _scored(score, fleet, night, found, numbers)
        score.false += [f"night {night}: told twice: {each}" for each in told_twice(found)]
        if each is not None:
            each(night, found)
    return score


def _scored(score: Score, fleet: Fleet, night: int, found: FleetReport, numbers: dict[int, int]) -> None:
    quiet = {host for table in (fleet.silent, fleet.garbled) for host, nights in table.items() if night in nights}
    for row in found.hosts:
        if (row.status not in ("ok", "partial")) != (row.host in quiet):
            score.false.append(f"night {night}: {row.host} is {row.status}")
    told = {(entry.lead.fact, frozenset(entry.lead.hosts)): entry.lead
            for entry in entries(found.causes) if entry.lead.counts}
    count = sum(entry.lead.counts for entry in entries(found.causes))
    posted = event(found)
    alerts = [(each["fact"], frozenset(host for wave in each["waves"] if wave["state"] == "new"
                                       for host in wave["hosts"])) for each in (posted or {"new": []})["new"]]
    matched = 0
    for planted in fleet.planted:
        hosts = planted.hosts(night)
        if hosts:
            score.events += 1
            lead = next((told[name, hosts] for name in planted.leads if (name, hosts) in told), None)
            if lead is None:
                score.missed.append(f"night {night}: {planted.name} on {sorted(hosts)}")
                continue
            matched += 1
            score.hosts += len(hosts)
            since = {host: wave.since for wave in lead.all_waves for host in wave.hosts}
            score.wrong_since += [
                f"night {night}: {planted.name} on {host} since {since[host]}" for host in sorted(hosts)
                if (since[host].seen if since[host] else None) != numbers[planted.since[host]]]      # type: ignore[union-attr]
        news = planted.news(night)
        if news:
            score.alerts += 1
            right = next(((name, news) for name in planted.leads if (name, news) in alerts), None)
            if right is None:
                score.alert_missed.append(f"night {night}: {planted.name} on {sorted(news)}")
            else:
                alerts.remove(right)
    score.alert_false += [f"night {night}: alert {fact} on {sorted(hosts)}" for fact, hosts in alerts]
    if matched != count:
        wanted = {(name, planted.hosts(night)) for planted in fleet.planted for name in planted.leads}
        score.false += [f"night {night}: {fact} on {sorted(hosts)}: {_words(lead)}"
                        for (fact, hosts), lead in told.items() if (fact, hosts) not in wanted] or [
            f"night {night}: {count} entries of {matched} events"]


def _words(cause: Cause) -> str:
    return f"{cause.authority} {cause.state} {cause.before} -> {cause.value} {cause.text} {cause.expected}"[:200]


# -- the scenarios ----------------------------------------------------------------------------------------------------

def evidence(hosts: int = 200, nights: int = 30) -> Fleet:
    """Two dozen kinds of faults in 30 nights, the shape of a month of a real fleet."""
    fleet = Fleet(hosts, nights)
    fleet.mark("driver", 3, fleet.take(3))
    fleet.mark("smt", 4, fleet.take(2))
    first = fleet.mark("link", 5, fleet.take(1, "rack00"))
    fleet.mark("link", 6, fleet.take(5, "rack00"), into=first)
    fleet.mark("kernel", 7, fleet.take(5))
    fleet.mark("gpu lost", 8, fleet.take(1), until=15)
    fleet.replaced_gpu(9, fleet.take(1)[0])
    fleet.mark("power", 10, fleet.take(2))
    fleet.mark("memory", 11, fleet.take(1))
    fleet.mark("remap", 12, fleet.take(1))
    fleet.mark("governor", 12, fleet.take(2), until=16)
    fleet.mark("old bios", 13, fleet.take(1))
    one, other = fleet.take(2)
    fleet.swapped(14, one, other)
    # A night with three new ones, beside eleven that are open.
    fleet.cloned(15, *fleet.take(2))
    fleet.cloned(15, *fleet.take(2), board=True)
    fleet.mark("acs", 15, fleet.take(2))
    host, = fleet.take(1)
    fleet.renamed(17, host, f"{host[:3]}-new1")
    for host in fleet.take(2):
        fleet.quiet(host, 6, 15)
    fleet.quiet(fleet.take(1)[0], 18, 18, garbled=True)
    # A part of a group: no majority says anything about it.
    fleet.mark("swappiness", 19, fleet.take(12))
    # A whole group of four.
    fleet.mark("persistence", 20, [name for name in fleet.groups if name.startswith("g99")])
    # A roll-out of another hand, in two waves.
    waves = fleet.mark("vbios", 21, fleet.take(3, "rack02"))
    fleet.mark("vbios", 22, fleet.take(4, "rack02"), into=waves)
    fleet.rolled_out("hung", 23, [name for name, group in fleet.groups.items() if group == "rack01"])
    fleet.mark("ecc", 24, fleet.take(1), until=27)
    return fleet


def random_fleet(seed: int, hosts: int = 48, nights: int = 8) -> Fleet:
    """A fleet to which a few things happen at any time, in one, two or three waves, some of them put right again."""
    fleet = Fleet(hosts, nights, seed)
    rng = fleet.random
    for name in rng.sample(sorted(_MARKS), 5):
        begun = rng.randrange(2, nights)
        group = "rack00"
        planted = fleet.mark(name, begun, fleet.take(rng.randrange(1, 3), group),
                             until=rng.choice((None, None, nights)) if begun < nights - 1 else None)
        if planted.until is None and begun < nights and rng.random() < 0.5:
            fleet.mark(name, rng.randrange(begun + 1, nights + 1), fleet.take(1, group), into=planted)
    if rng.random() < 0.5:
        fleet.replaced_gpu(rng.randrange(2, nights), fleet.take(1, "rack00")[0])
    if rng.random() < 0.5:
        fleet.cloned(rng.randrange(2, nights), *fleet.take(2, "rack00"), board=rng.random() < 0.5)
    first = rng.randrange(2, nights)
    fleet.quiet(fleet.take(1, "rack00")[0], first, rng.randrange(first, nights + 1))
    return fleet
