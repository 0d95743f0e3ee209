"""An audit in a process of its own, to be killed: puts hosts and says so, one a line."""

from __future__ import annotations

import sys
import time

from tests.unit.fleet.store.stores import seen

from tunecheck_fleet.store import open_store

if __name__ == "__main__":
    place, count, asked = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    store = open_store(place, catalogue=1)
    head = store.begin("all", [(f"h{number}", "g") for number in range(asked)])
    print(head.id, flush=True)
    for number in range(count):
        store.put(head.id, seen(f"h{number}", {"x": number}))
        print(f"h{number}", flush=True)
    while True:
        time.sleep(60)
