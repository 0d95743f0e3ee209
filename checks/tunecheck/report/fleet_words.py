"""Words of the fleet's report that `tunecheck explain` knows: PARTIAL, INCOMPLETE, SPLIT and others."""

from __future__ import annotations

__all__ = ["FLEET_WORDS"]

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
    "SPLIT": ("a group of hosts does not agree on a fact: no value has 80 % of them, so there is no verdict",
              "Look whether one of the values is meant, and write it into the inventory."),
    "CAUSE": ("one fact or check that is not as it should be, on however many hosts",
              "Causes that one thing brought stand together as one entry; -v shows each."),
    "ENTRY": ("one thing that happened, with every cause that it brought",
              "The last line counts entries, with -v causes."),
    "DRIFT": ("the last line: a cause counts, because something changed, differs from the fleet, is another machine, "
              "or is not what the desired state asks for", "--fail-on drift ends with exit code 1 on it."),
    "CLEAN": ("the last line: no cause counts on the hosts that answered", "Hosts that did not answer stand beside it: "
              "they are not called clean."),
    "NEW": ("a cause that no host had in the audit before", ""),
    "GROWN": ("a cause that some hosts have longer, and that is new on others", ""),
    "KNOWN": ("a cause that is open since an earlier audit",
              "It is drift until it is gone, approved, or waived."),
    "RESOLVED": ("a cause that is gone since the audit before", ""),
    "ACKNOWLEDGED": ("somebody is at work on it (tunecheck acknowledge)", "It is drift as before, without an alert."),
    "APPROVED": ("it differs from the others, and somebody said that this is right (tunecheck approve)",
                 "It is no drift."),
    "WAIVED": ("a waiver stands for it (tunecheck waive)", "It is shown and not counted."),
    "INTENDED": ("our own roles changed it, and neither the specification nor the other hosts object",
                 "It is no drift."),
    "STANDING": ("a warning that was there when the box was first heard, or since our own roles ran on it",
                 "It is no drift."),
    "FLAPPING": ("a value that changes back and forth from audit to audit", "Look for two programs that set it."),
}.items()}
