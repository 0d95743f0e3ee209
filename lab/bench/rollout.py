"""A rollout over boxes that reboot: real sshd processes on loopback, the real role boot_trial, a simulated reboot.

    PYTHONPATH=checks:. python3 -m lab.bench.rollout [--boxes 200] [--down 60] [--batch 50] [--forks 50]

Each box is an sshd whose port is closed for ``--down`` seconds, and that has another boot id afterwards. Three are
broken: one never comes back, one is not proven, one is back on its old boot entry. The roles before the reboot and the
work of the modules on a box are not in it (tests/rollout/boxes.py). Printed: wall time, processor time, the time that
boots and batches alone need, their ratio, and Ansible's summary. A batch needs one reboot; the one with the box that
never comes back needs as long as the play waits for it. Exit code 1 where another box than those three failed, or one
of them did not."""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from tests.rollout.boxes import COMES, LOST, OLD_ENTRY, UNPROVEN, Boxes, settled

#: Where the broken ones stand: all in the second batch.
_BROKEN = {1: LOST, 2: UNPROVEN, 3: OLD_ENTRY}


def _play(boxes: Boxes, batch: int) -> None:
    proven = {"block": [{"import_role": {"name": "boot_trial"}}],
              "rescue": [{"name": "Count it as failed", "ansible.builtin.fail": {"msg": "it failed"}}]}
    (boxes.folder / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "serial": [1, batch], "tasks": [proven]}]))


def _played(argv: list[str], folder: str, variables: dict[str, str]) -> tuple[str, resource.struct_rusage]:
    """What the play printed, and what it and its own processes used: the boxes' sshds are not among them."""
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(argv, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT) as play:
            _, status, used = os.wait4(play.pid, 0)
            play.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return output.read(), used


def _seconds(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=int, default=200)
    parser.add_argument("--down", type=float, default=60)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--forks", type=int, default=50)
    given = parser.parse_args()
    if given.boxes < 5:
        parser.error("--boxes: at least 5, of which three are broken")
    kinds = [_BROKEN.get(number, COMES) for number in range(given.boxes)]
    patience = int(given.down * 2)
    with tempfile.TemporaryDirectory(prefix="tunecheck-rollout-") as folder:
        boxes = Boxes(Path(folder), kinds, given.down)
        # A trial's own return to the old entry would be waited for as well: the lost box has none.
        lost = {boxes.boxes[1].name: settled(patience, patience + 1, on_trial=False)}
        boxes.say(settled(patience, patience + 1), **lost)
        _play(boxes, given.batch)
        argv, variables = boxes.command("--forks", str(given.forks))
        with boxes.running():
            began, load = time.monotonic(), os.getloadavg()[0]
            said, node = _played(argv, folder, variables)
            wall = time.monotonic() - began
        every = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = said.partition("PLAY RECAP")[2].lstrip(" *")
    failed = set(re.findall(r"(\w+)\s+: ok=\d+\s+changed=\d+\s+unreachable=\d+\s+failed=[1-9]", summary))
    batches = 1 + -(-(given.boxes - 1) // given.batch)
    alone = given.down * (batches - 1) + patience
    print(summary.strip())
    print(f"{given.boxes} boxes, batches of 1 and {given.batch}, {given.forks} forks, {given.down:g} s down: "
          f"wall {wall:.0f} s, processor of the control node {_seconds(node):.0f} s, with the boxes' "
          f"{_seconds(every):.0f} s, load before {load:.1f} on {len(os.sched_getaffinity(0))} processors")
    print(f"boots and batches alone: {alone:.0f} s; ratio {wall / alone:.2f}; failed: {' '.join(sorted(failed))}")
    return int(failed != {box.name for box in boxes.boxes if box.kind != COMES})


if __name__ == "__main__":
    raise SystemExit(main())
