"""A reset of the GPUs, where the proof after a stall failed and watch.gpu_reset allows it.

NVSwitch boxes are left alone: a GPU that is reset by itself there has to train its links and to register with the
fabric again, which takes down the others with it where it fails. What cannot be told is a no. The reset itself may hang
in the driver: it has a deadline, and nothing waits for it after that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ProbeError, TrialError
from ..host import Host
from ..trials import lock

__all__ = ["HELPS", "GpuReset"]

#: What preflight says ("check/code") of GPUs that a reset may bring back. Wrong data is not among them: who computes
#: wrongly once is for a person to look at.
HELPS = ("gpu-recovery/reset-needed", "gpu-recovery/drain-and-reset-needed", "trial-hang/wedged", "trial-hang/hung",
         "trial-hang/hung-by-p2p", "trial-hang/hung-without-p2p", "gpu-ghost/suspected-wedge",
         "gpu-ghost/stuck-or-wedged")
#: What it says where a reset is too little.
_TOO_LITTLE = ("gpu-recovery/reboot-needed", "gpu-recovery/system-reboot-needed", "gpu-recovery/bus-reset-needed",
               "gpu-recovery/imex-recovery-needed", "gpu-recovery/p2p-drain-needed")
#: Units of ours that hold the GPUs open; they are stopped for the reset, and started again.
_HOLDERS = ("tunecheck-watch.service", "nvidia-persistenced.service")
_FABRIC = "nvidia-fabricmanager.service"
_PCI = "/sys/bus/pci/devices"
_NVIDIA, _OTHER_BRIDGE = "0x10de", "0x0680"      # class of an NVSwitch: bridge, of another kind
#: In seconds. A reset of eight boards takes 10 to 20; one that hangs is left behind.
_RESET, _COMMAND, _STOP = 180.0, 10.0, 40.0
_SLACK = 2.0
#: With NVLinks among more GPUs than two, something that is not seen may switch them.
_BRIDGED = 2


class GpuReset:
    """``opened`` gives a host that is closed again before anything is reset: its NVML holds the GPUs open, too.
    ``proof`` tells what preflight said last ("check/code", each), and how many seconds ago, None for never."""

    def __init__(self, host: Host, opened: Callable[[], Any],
                 proof: Callable[[], tuple[Sequence[str], float | None]]) -> None:
        self._host, self._opened, self._proof = host, opened, proof

    def wanted(self, seconds: float) -> tuple[str, ...]:
        """What preflight says of GPUs that a reset may bring back; () where it says nothing of the kind, or that a
        reset is too little. ``seconds`` ago the start that was refused began: an older verdict is none of it."""
        codes, ago = self._proof()
        if ago is None or not 0 <= ago <= seconds + _SLACK:
            return ()
        return () if any(each in _TOO_LITTLE for each in codes) else tuple(each for each in codes if each in HELPS)

    def cannot(self) -> str:
        """Why the GPUs of this box are not reset; "" where they may be."""
        try:
            switches = [bdf for bdf in self._host.list(_PCI) if self._is(bdf, "vendor", _NVIDIA)
                        and self._is(bdf, "class", _OTHER_BRIDGE)]
        except ProbeError:
            return "the PCI devices cannot be read, so nobody knows whether there are NVSwitches"
        if switches:
            return f"NVSwitches are on this box ({switches[0]}); reset all GPUs by hand, or reboot it"
        try:
            if self._active(_FABRIC):
                return "a fabric manager runs on this box: NVSwitches; reset all GPUs by hand, or reboot it"
        except ProbeError as error:
            return f"systemd does not tell whether a fabric manager runs, as with NVSwitches ({error}); reboot the box"
        with contextlib.closing(self._opened()) as asked:
            try:
                gpus = asked.nvml(_COMMAND).get("gpus", [])
            except ProbeError as error:
                return f"NVML does not tell how the GPUs are linked and who uses them ({error}); reboot the box"
        return next((why for each in gpus if (why := _cannot(each, len(gpus)))), "" if gpus else
                    "NVML lists no GPU; reboot the box")

    def holders(self) -> tuple[str, ...]:
        """Those of our units that are active and hold the GPUs open."""
        found = []
        for unit in _HOLDERS:
            with contextlib.suppress(ProbeError):
                if self._active(unit):
                    found.append(unit)
        return tuple(found)

    def _active(self, unit: str) -> bool:
        return self._host.run(("systemctl", "is-active", "--quiet", "--", unit), _COMMAND).returncode == 0

    def run(self, holders: Sequence[str]) -> str:
        """Stop those units, reset all GPUs, start them again. "" where that went well, else what went wrong."""
        try:
            for unit in holders:
                self._host.run(("systemctl", "stop", "--", unit), _STOP)
            done = self._host.run(("nvidia-smi", "--gpu-reset"), _RESET)
        except ProbeError as error:
            return str(error)
        finally:
            for unit in holders:
                with contextlib.suppress(ProbeError):
                    self._host.run(("systemctl", "start", "--no-block", "--", unit), _COMMAND)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).split("\n")
            return next((line.strip()[:200] for line in said if line.strip()), f"exit code {done.returncode}")
        with contextlib.suppress(TrialError):       # its mark says that trials wait for a reset: this was one
            lock.clear_wedged()
        return ""

    def _is(self, bdf: str, name: str, value: str) -> bool:
        return self._host.read_bytes(f"{_PCI}/{bdf}/{name}").decode("ascii", "replace").startswith(value)


def _cannot(gpu: Any, count: int) -> str:
    values = gpu.get("values", {}) if isinstance(gpu, dict) else {}
    fabric, links, bdf = values.get("fabric_state"), values.get("nvlinks_active"), gpu.get("bdf", "a GPU")
    if fabric not in (None, "not_supported"):
        return f"{bdf} belongs to a fabric of NVSwitches; reset all GPUs by hand, or reboot it"
    if fabric is None and links and count > _BRIDGED:
        return f"{bdf} has NVLinks, and the driver does not tell whether NVSwitches are behind them; reboot the box"
    if values.get("mig_mode") == "enabled":
        return f"{bdf} is in MIG mode: its instances would be gone; reset it by hand"
    if processes := values.get("processes"):
        return f"{bdf} is used by pid {processes[0].get('pid')}; end it, and start the unit"
    return ""
