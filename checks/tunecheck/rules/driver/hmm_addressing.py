"""hmm-addressing: heterogeneous memory management (HMM) is off where the spec switches it off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...facts.nvidia.nvml import Gpu
from ...model.finding import Finding
from ..check import DRIVER, Check, Family, Heading
from ..codes import NOT_DECLARED
from ..context import Case
from ..nvidia.from_nvml import Verdict, each, word

CHECK = Check(
    "hmm-addressing", "HMM is off where the spec switches it off",
    Heading.GPUS, 20, Family.DRIVER, DRIVER, judges=("gpu.addressing",),
)
_ID = CHECK.id
CODES = {
    "hmm-on": "HMM is on, though the specification switches it off.",
}
_FIX = ("reboot, or load nvidia_uvm anew while nothing uses it; still HMM: see module-parameter (an initramfs with an "
        "older modprobe.d?)")


def judge(case: Case) -> Iterator[Finding]:
    declared = [str(values["uvm_disable_hmm"]) for name, values in case.spec.modules.items()
                if name.replace("-", "_") == "nvidia_uvm" and "uvm_disable_hmm" in values]
    off = bool(declared) and declared[0] in ("1", "Y", "y")

    def look(gpu: Gpu) -> Verdict:
        mode = word(gpu, "addressing_mode", "none", "HMM", "ATS")
        words = f"the addressing mode is {mode}"
        if not off:
            return Verdict(NOT_DECLARED, "skip", f"{words}; the spec does not switch HMM off", mode)
        if mode == "HMM":
            return Verdict("hmm-on", "fail", f"{words}, though the spec sets uvm_disable_hmm", mode, "not HMM", _FIX,
                           True)
        return Verdict("ok", "pass", words, mode, "not HMM")

    for finding in each(case, _ID, look):
        text = finding.text if finding.outcome == "skip" else f"the spec does not switch HMM off; {finding.text}"
        yield finding if off else replace(finding, outcome="skip", code=NOT_DECLARED, text=text)
