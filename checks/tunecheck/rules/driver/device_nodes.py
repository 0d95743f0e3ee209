"""device-nodes: /dev has the nodes that CUDA opens, for every GPU and for every user.

Judged by what `ls -l /dev/nvidia*` shows."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import EVERY, Check, Family, Heading
from ..context import Case
from ..nvidia.posted_gpus import gpu_count_text

CHECK = Check(
    "device-nodes", "/dev has the nodes that CUDA opens", Heading.ACCELERATORS, 70, Family.DRIVER, EVERY,
    of_posts=True,
)
_ID = CHECK.id
CODES = {
    "no-node": "There is no /dev/nvidia*.",
    "node-missing": "A device node that CUDA opens is missing.",
    "closed": "A device node can be opened by root or by a group alone.",
}
_MAKE = Remedy.of("run: ", run("sudo nvidia-modprobe -c 0 -u"), ", of the package nvidia-modprobe, or start "
                  "nvidia-persistenced; in a container, hand the GPUs in by CDI: --device nvidia.com/gpu=all")
_DRIVER = Remedy.typed("see `sudo journalctl -k -b -g 'nvrm|nvidia|nouveau'`: without nodes the driver is not loaded, "
                       "or found no GPU")


def judge(case: Case) -> Iterator[Finding]:
    found = case.snapshot.posted.device_nodes
    if found is None:
        return
    source, shown = "ls -l /dev/nvidia*", ", ".join(sorted(found.nodes)) or "none"
    needed = ("nvidiactl", "nvidia-uvm")
    closed = sorted(name for name, mode in found.nodes.items() if name in needed or name[6:].isdigit()
                    if "rw" not in mode[6:8])
    missing = [name for name in needed if name not in found.nodes]
    if found.none:
        yield Finding(_ID, "no-node", "/dev", "fail", "effective", "there is no /dev/nvidia*", "none",
                      "nvidia0, nvidiactl, "
                      "nvidia-uvm", (source,), _DRIVER)
    elif missing or not found.gpus:
        lost = ", ".join([*missing, *([] if found.gpus else ["nvidia0 or any other GPU's"])])
        yield Finding(_ID, "node-missing", "/dev", "unknown" if len(found.nodes) < 2 else "fail", "effective",
                      f"{lost} is not among "
                      f"the nodes in the text ({shown}): CUDA does not start without it", shown,
                      "nvidiactl, nvidia-uvm and one node for each GPU", (source,), _MAKE)
    elif closed:
        yield Finding(_ID, "closed", ", ".join(closed), "warn", "effective",
                      f"{', '.join(closed)} can be opened by root or a "
                      "group alone", shown, "rw-rw-rw-, or the user in that group", (source,),
                      Remedy("see NVreg_DeviceFileMode in /etc/modprobe.d (default 0666), or put the user into the "
                             "node's group"))
    else:
        count = f"{found.gpus} GPU{'' if found.gpus == 1 else 's'}"
        gpus = gpu_count_text(case)
        yield Finding(_ID, "ok", "/dev", "pass", "effective", f"nvidiactl, nvidia-uvm and nodes for {count} are there"
                      + (f" ({gpus})" if gpus else ""), shown, "", (source,))
