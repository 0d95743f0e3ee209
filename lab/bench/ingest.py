"""What does a push cost the receiver? Real `tunecheck ingest` processes, one connection per host, this machine's cores.

    .venv/bin/python -m lab.bench.ingest [--hosts 300]

CPU time of the receiver's process per host, first and unchanged, with and without TLS: until the answer (request,
check, inbox on disk), and with the audit that is written of it (facts, rules, store). Nothing is judged: the figures
are for sizing a control node.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.unit.fleet.receiver import Receiver, make_pki, receiver, snapshot, tokens

_TICK = os.sysconf("SC_CLK_TCK")


def measure(hosts: int, tls: bool) -> list[str]:
    """One line per round: what one host costs, in ms."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        known = tokens(state, [f"gpu{number:04}" for number in range(hosts)])
        pki = make_pki(Path(folder)) if tls else None
        with receiver(state, pki, store=Path(folder) / "fleet.db") as found:
            for number, kind in enumerate(("first", "unchanged"), 1):
                content = snapshot(600 - 60 * number)
                begun, at = _cpu(found), time.monotonic()
                with ThreadPoolExecutor(16) as pool:
                    answers = list(pool.map(lambda each, body=content: found.post(body, each).status_code,
                                            known.values()))
                if set(answers) != {200}:
                    raise SystemExit(f"bench_ingest: not every push was taken: {sorted(set(answers))}\n{found.log}")
                wall = time.monotonic() - at
                taken = _cpu(found) - begun
                _wait(found, f"audit #{number} written")
                whole = _cpu(found) - begun
                lines.append(f"{'TLS' if tls else 'plain':6}{kind:10}{taken / hosts * 1e3:6.2f} ms until the answer,"
                             f"{whole / hosts * 1e3:7.2f} ms with the audit; {hosts / wall:.0f} pushes/s")
        return [f"{len(content)} B a snapshot, {hosts} hosts", *lines] if not tls else lines


def _cpu(found: Receiver) -> float:
    fields = Path(f"/proc/{found.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _wait(found: Receiver, text: str) -> None:
    until = time.monotonic() + 300
    while text not in found.log:
        if time.monotonic() > until or found.process.poll() is not None:
            raise SystemExit(f"bench_ingest: no {text!r}:\n{found.log[-2000:]}")
        time.sleep(0.1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=300)
    given = parser.parse_args()
    for tls in (False, True):
        print("\n".join(measure(given.hosts, tls)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
