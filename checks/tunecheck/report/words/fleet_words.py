"""Words of the fleet's report that `tunecheck explain` knows: PARTIAL, INCOMPLETE, SPLIT and others; and the names of
what happened (tunecheck_fleet/events/folds.py). What is a technical term too (ACS, ECC, MIG, firmware) has that
page."""

from __future__ import annotations

import re

__all__ = ["EVENT_WORDS", "FLAP_CHANGES", "FLAP_DAYS", "FLEET_WORDS", "event_name"]

#: A value is flapping where it changed there and back, and there again: so often, within so many days. What broke once
#: and was mended changed there and back.
FLAP_CHANGES, FLAP_DAYS = 3, 30

_ALL = "All words of the report: docs/fleet-outputs.md."
#: Word -> (in words, what to do or to know, no check to read on).
FLEET_WORDS = {word: (f"a word of the fleet's report (tunecheck audit, drift, fleet): {what}", f"{more} {_ALL}".strip(),
                      "") for word, (what, more) in {
    "PARTIAL": ("the host answered, and something on it could not be read that should be",
                "What could be read is judged. The report says why, under INCOMPLETE; often the audit did not run as "
                "root on the box, or its snapshot is too old."),
    "INCOMPLETE": ("a host did not answer, or answered in part",
                   "Such a host is never called clean, and its values stay as they were. More of them than "
                   "--max-missing give exit code 3. A host that answered and does not know some facts is a NOTE, and "
                   "counts for neither."),
    "UNREACHABLE": ("the host did not answer at all", "The reason stands behind it; `tunecheck history --host HOST` "
                    "says since when."),
    "REFUSED": ("the host was reached, and did not let the audit in (ssh, sudo, or a file that may not be read)",
                "The reason stands behind it, with what to do."),
    "TIMEOUT": ("the host did not answer in time", "--timeout says how long one box may take; a box that ssh reached "
                "and that is slow has often a hung driver."),
    "MISSING": ("the host has no tunecheck that could answer", "The reason stands behind it. A host of the last audit "
                "of a folder that has no file now is UNREACHABLE, and --gone says that it is gone for good."),
    "GARBLED": ("what the host sent is no snapshot", "Try on the box: sudo tunecheck snapshot --json FILE."),
    "UNJUDGED": ("a check that could not be judged on the host, and never could: the evidence for it is missing",
                 "It is no drift and no pass; --fail-on unknown ends with exit code 1 on it. What was known once and "
                 "cannot be told any more is drift."),
    "SPLIT": ("a group of hosts does not agree on a fact: no value has 80 % of them, so there is no verdict",
              "Look whether one of the values is meant, and write it into the inventory. It is no drift; the last line "
              "counts it, and what was found to differ before stays open while more than half have one other value."),
    "CAUSE": ("one fact or check that is not as it should be, on however many hosts",
              "Causes that one thing brought stand together as one entry, and count as one; -v shows each below it."),
    "ENTRY": ("one thing that happened, with every cause that it brought",
              "Every count of a report is of entries, with -v, too."),
    "DRIFT": ("the last line: a cause counts, because something changed, differs from the fleet, is another machine, "
              "or is not what the desired state asks for", "--fail-on drift ends with exit code 1 on it."),
    "CLEAN": ("the last line: no cause counts on the hosts that answered", "Hosts that did not answer stand beside it: "
              "they are not called clean."),
    "NEW": ("a cause that no host had in the audit before",
            "That a host differs from the others is new where it began, also by their change or by a move of the host "
            "to another group."),
    "GROWN": ("a cause that some hosts have longer, and that is new on others", ""),
    "KNOWN": ("a cause that is open since an earlier audit",
              "What is wrong is drift until it is gone, approved, or waived. What could not be judged is none."),
    "RESOLVED": ("a cause that is gone since the audit before", ""),
    "ACKNOWLEDGED": ("somebody is at work on it (tunecheck acknowledge)", "It is drift as before, without an alert."),
    "APPROVED": ("it differs from the others, and somebody said that this is right (tunecheck approve)",
                 "It is no drift."),
    "WAIVED": ("a waiver stands for it (tunecheck waive)", "It is shown and not counted."),
    "INTENDED": ("our own roles changed it, and neither the specification nor the other hosts object",
                 "It is no drift."),
    "STANDING": ("a warning that was there when the box was first heard, or since our own roles ran on it",
                 "It is no drift."),
    "BASELINE": ("what an audit is compared with: the audit before it, unless --baseline or --since names another; "
                 "of one value, the one that a host began with, that our own roles brought, or that was approved last",
                 "A value that leaves it is drift until it is back, or approved: tunecheck approve ID."),
    "SINCE": ("when something came: after the first audit that stands there, which did not see it, and not later than "
              "the second, which did (#364..#365)",
              "before #12: it was so when the host was first heard, or could not be told until #12. Audits count, not "
              "the times of snapshots that were carried to them. The option --since says what to compare with: a day, "
              "or audit:N."),
    "CANNOT BE TOLD NOW": ("a check found something on the host before, and the last audit holds no evidence of it: it "
                           "may still be so", "It is open until the check can look again and finds it no more. The "
                           "finding says what is missing, and what to do."),
    "ROLLOUT": ("many hosts of a group changed to one value between the same two audits",
                "It is drift until it is approved: tunecheck approve ID. Where our own roles did it, it is INTENDED."),
    "SILENT": ("hosts of a cause did not answer this audit: of them it is told as they were last heard",
               "It stays open, in the entry that it was in. Nobody knows whether it is still so."),
    "BY OUR OWN ROLES": ("a run of our own roles came with the change", "See INTENDED."),
    "AS THE SPECIFICATION ASKS": ("the change made the value what the specification asks for",
                                  "Nothing is to be put back: tunecheck approve ID takes it for good."),
    "IN CHANGE": ("our own roles are at work on the host: a trial boot is staged, or runs", ""),
    "NOTE": ("a line of what has to be known to trust the rest: how old answers are, who moved, which waivers are "
             "over", "It counts for nothing."),
    "NEXT": ("the first thing to do about what the report shows", ""),
    "FLAPPING": (f"a value that changed there and back, and there again: at least {FLAP_CHANGES} changes between "
                 f"audits within {FLAP_DAYS} days",
                 "Look for two programs that set it. What changed once and was put back is not flapping."),
}.items()}

_GPUS = re.compile(r"\d+ GPUS? (FEWER|MORE|REPLACED)(?:, \d+ REPLACED)?")
_BY_COUNT = {"FEWER": "GPU LOST", "MORE": "GPU ADDED", "REPLACED": "GPU REPLACED"}
_WHOLE = "The causes that it brought stand in the same entry, with one id; `tunecheck fleet -v` shows each below it."
#: Name -> (in words, what to do or to know, the check to read on).
EVENT_WORDS = {name: (f"an entry of the fleet's report (tunecheck audit, drift, fleet): {what}",
                      f"{more} {_WHOLE}".strip(), check) for name, (what, more, check) in {
    "CLONED IMAGE": ("two hosts say that they are one machine, or one has another machine's id",
                     "Give the clone an id of its own (docs/fleet.md).", ""),
    "GPU LOST": ("the host has fewer GPUs than before, or than most of its group",
                 "Look in its kernel log for Xid 79 and \"fallen off the bus\"; where lspci does not list the board, "
                 "at its seat and power. Facts that count GPUs change with it, and are right again with the GPU.",
                 "accelerator-count"),
    "GPU ADDED": ("the host has more GPUs than before, or than most of its group",
                  "Where that is meant: tunecheck approve ID; and the number in the inventory (accelerators.count).",
                  "accelerator-count"),
    "GPU REPLACED": ("a GPU is gone, and one with another serial number (or UUID) is in its place",
                     "A list that only got shorter is a lost GPU. Where it is meant: tunecheck approve ID. Where a "
                     "board was before: tunecheck history --gpu SERIAL.", ""),
    "KERNEL": ("another kernel runs", "Its modules and parameters changed with it.", "kernel-pending"),
    "KERNEL PARAMETER": ("the kernel command line is another one, or not as the specification asks for", "",
                         "cmdline-token"),
    "DRIVER": ("another NVIDIA driver is loaded, or not the one that the specification asks for",
               "What the command of that name does: tunecheck driver --help.", "driver-version"),
    "PROCESSORS LOST": ("fewer processors are online than before, or than there are", "", "cpu-lost"),
    "PROCESSORS GAINED": ("more processors are online than before", "Where that is meant: tunecheck approve ID.",
                          "cpu-lost"),
    "PROCESSOR FREQUENCY": ("the processors' frequency governor changed", "", "cpu-governor"),
    "MEMORY": ("the amount of the host's memory changed", "A module may have failed: see the BMC's event log.", ""),
    "POWER LIMIT": ("the power limit of GPUs changed", "", "gpu-power-limit"),
    "LINK": ("a PCIe link has other lanes or another generation", "", "link-width"),
    "ROW REMAP": ("rows of a GPU's memory wait to be replaced, or could not be", "", "gpu-recovery"),
    "PERSISTENCE": ("the persistence mode of GPUs changed", "", "gpu-persistence"),
    "NO KERNEL LOG": ("several checks could not be judged, as the kernel log was not read", "",
                      "kernel-log-complete"),
    "NO NVML": ("several checks could not be judged, as NVIDIA's driver did not answer", "", "nvml-answers"),
    "NO PCI DEVICES": ("several checks could not be judged, as the list of PCI devices was not read", "",
                       "accelerator-count"),
    "MISSING SOURCE": ("several checks could not be judged, as one file, text or answer that all of them read is "
                       "missing", "", ""),
}.items()}


def event_name(words: str) -> str:
    """"GPU LOST" for "1 GPU FEWER", which is how a report says how many; other words as they are."""
    counted = _GPUS.fullmatch(words)
    return _BY_COUNT[counted[1]] if counted else words
