"""Runs inside one of the trees that lab.waiting.both compares, with its code: makes its inputs, times its stages.

    python -P inside.py carried FOLDER HOSTS | judge | history FILE HOSTS NIGHTS | record FILE | stalls COUNT

Older code refuses the snapshots and histories of newer code, so each tree makes its own, of the same machines
(tests/unit/facts/big.py). Modules have other names in older trees: the first that is there is taken. Prints JSON.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

STAGES = ("unpack", "rules", "flatten", "whole", "judged")
_GROUP = 250


def moved(*names: str) -> Any:
    """The first of these modules that this tree has."""
    for name in names[:-1]:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    return import_module(names[-1])


def snapshots(count: int) -> list[bytes]:
    return list(moved("lab.bench.judge", "lab.bench_judge").snapshots(count))


def carried(folder: str, hosts: str) -> None:
    """HOSTS snapshots of eight-GPU boxes, for `tunecheck audit --from FOLDER`."""
    every = moved("lab.bench.judge", "lab.bench_judge").snapshots(int(hosts))
    for number, content in enumerate(every):
        group = Path(folder) / f"rack{number // _GROUP:03d}"
        group.mkdir(parents=True, exist_ok=True)
        (group / f"box{number:05d}.json").write_bytes(content)
    print("null")


def judge() -> None:
    """CPU seconds of each stage of one snapshot, of 16 snapshots each the least of four rounds: {set: {stage: [...]}}.
    "whole" is what an audit does with an answer, "judged" one snapshot through judge_many."""
    stored = moved("tunecheck.facts.snapshot_file", "tunecheck.facts.stored")
    flatten = moved("tunecheck.facts.registry.flatten").flatten
    rules = moved("tunecheck.rules")
    seen = moved("tunecheck_fleet.read", "tunecheck.fleet.read").seen
    answer = moved("tunecheck_fleet.model", "tunecheck.fleet.model").Answer
    many = moved("tunecheck.rules.batch", "tunecheck.rules.many").judge_many
    two = moved("tests.unit.fleet.snapshots").snapshot_of
    found: dict[str, dict[str, list[float]]] = {}
    for name, contents in (("8 GPUs", snapshots(16)), ("2 GPUs", [two(f"box{number}") for number in range(16)])):
        least: dict[str, list[float]] = {stage: [9.0] * len(contents) for stage in STAGES}
        for _ in range(4):      # the first one imports, and fills what is kept for a process
            gc.collect()
            gc.disable()
            for number, content in enumerate(contents):
                times = [time.process_time()]
                kept = stored.unpack(content)
                times.append(time.process_time())
                rules.judge(rules.Case(kept.snapshot, kept.frozen), "preflight")
                times.append(time.process_time())
                flatten(kept)
                times.append(time.process_time())
                of_fleet = seen(answer("box", "boxes", "ok", content))
                times.append(time.process_time())
                for _ in many([content]):
                    pass
                times.append(time.process_time())
                assert of_fleet.status in ("ok", "partial"), of_fleet.reason
                for stage, (before, after) in zip(STAGES, pairwise(times), strict=True):
                    least[stage][number] = min(least[stage][number], after - before)
            gc.enable()
        found[name] = least
    print(json.dumps(found))


def history(place: str, hosts: str, nights: str) -> None:
    """A history of nights with planted faults; the last night is now. The name of a host on which nothing happened."""
    store_of = moved("tunecheck_fleet.store.store", "tunecheck.fleet.store").Store
    made = moved("tests.unit.fleet.nights")
    fleet, now, count = made.evidence(int(hosts)), [0.0], int(nights)
    begun = time.time() - (count + 1) * made.NIGHT
    with store_of(place, clock=lambda: now[0]) as store:
        for night in range(1, count + 1):
            now[0] = begun + night * made.NIGHT
            head = store.begin("inventory", fleet.asked())
            for said in fleet.night(night):
                store.put(head.id, said)
            store.finish(head.id)
    print(json.dumps(fleet.untouched[0]))


def record(file: str) -> None:
    """A recording of the eight-GPU box."""
    big, gather = moved("tests.unit.facts.big"), moved("tunecheck.facts.snapshot").gather
    recorder = moved("tunecheck.host.recording").RecordingHost(big.eight_gpus().host())
    spec = big.big_spec()
    recorder.keep("/etc/tunecheck/spec.json", spec.to_json().encode())
    gather(recorder, spec.spec, True)
    Path(file).write_bytes(recorder.packed(redact=True))
    print("null")


def stalls(count: str) -> None:
    """COUNT ranks stopped in the soak: of each the seconds from the signal until the GPUs were proven, and until the
    report; whether the right rank was blamed and the GPUs proven usable."""
    bench = moved("lab.bench.stalls", "lab.bench_stalls")
    with bench._session() as session:
        trials = bench._trials(session, signal.SIGSTOP, int(count), os.environ.get("BENCH_NCCL"))
    print(json.dumps([{"proven": each.proven, "report": each.seconds, "stalled_after": each.stalled_after,
                       "right": each.right, "usable": each.usable} for each in trials]))


if __name__ == "__main__":
    {each.__name__: each for each in (carried, judge, history, record, stalls)}[sys.argv[1]](*sys.argv[2:])
