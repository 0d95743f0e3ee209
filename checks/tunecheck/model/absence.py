"""The reasons why there is no answer: a code that programs read, and a text for people.

The text may be worded anew at any time; nothing but the code steers. Texts of recordings and snapshots that were made
before there were codes are read in absence_of_text.py, and nowhere else.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Absence", "Reason"]


class Absence(Enum):
    """Why a fact has no value. The value is the code in documents."""

    #: The file, device or program does not exist: that is an answer.
    NOT_PRESENT = "not-present"
    #: No text of an import names it. A line that was lost looks like this, too.
    NOT_SHOWN = "not-shown"
    #: Nothing asked for it: there is no such device, or the spec leaves it alone.
    NOT_ASKED = "not-asked"
    #: It was not asked, because the NVIDIA driver is not loaded.
    NO_DRIVER = "no-driver"
    #: It was not asked, because the NVIDIA driver has none of the boards, or no second one.
    NO_BOARDS = "no-boards"
    #: Nobody looked yet, or the one answer that was given does not hold it.
    NOT_READ = "not-read"
    NO_PERMISSION = "no-permission"
    #: The device or driver has no such value.
    NOT_SUPPORTED = "not-supported"
    #: The program that would tell is not installed.
    NOT_INSTALLED = "not-installed"
    TIMED_OUT = "timed-out"
    #: The process that was asking was killed, crashed or stopped in the middle of its answer.
    CUT_OFF = "cut-off"
    #: NVML: the device does not answer any more (GPU_IS_LOST, RESET_REQUIRED).
    LOST = "lost"
    #: NVML: library and kernel module are of two versions.
    MISMATCH = "mismatch"
    #: The program or the driver answered with an error.
    FAILED = "failed"
    #: The operating system cannot read it: an input or output error, a directory, too large.
    UNREADABLE = "unreadable"
    NOT_UNDERSTOOD = "not-understood"
    #: There is a part of it only.
    INCOMPLETE = "incomplete"
    #: It does not follow from what this machine shows of itself.
    NOT_DERIVABLE = "not-derivable"
    #: The recording does not hold it.
    NOT_RECORDED = "not-recorded"
    #: No text of the import could tell it.
    NOT_IN_IMPORT = "not-in-import"
    #: The same, and only the machine itself can tell.
    ONLY_ON_HOST = "only-on-host"
    #: It was left out on purpose: names and serial numbers.
    LEFT_OUT = "left-out"
    #: The snapshot was made by an older tunecheck, or by a verb that reads less.
    OLDER = "older"
    NO_BOOT_LOADER = "no-boot-loader"
    #: systemd does not run here, as in a container.
    NO_SYSTEMD = "no-systemd"
    #: No kernel module is kept on this system.
    ELSEWHERE = "elsewhere"
    #: A file is there, and its name holds no version.
    NO_VERSION = "no-version"
    #: The kernel log begins after what is asked of it.
    LOG_TOO_SHORT = "log-too-short"
    #: It was stored as text, by a version without codes, in words that are not known.
    OTHER = "other"

    #: Enum's own is a call in Python, at every verdict that is grouped.
    __hash__ = object.__hash__

    def because(self, text: str) -> Reason:
        """Return a reason with this code and a text of its own."""
        return Reason(self, text)


_TEXTS = {Absence.NOT_PRESENT: "not present", Absence.NOT_ASKED: "not asked for", Absence.NOT_READ: "not read",
          Absence.NO_PERMISSION: "no permission", Absence.NOT_INSTALLED: "not installed", Absence.FAILED: "failed",
          Absence.NOT_RECORDED: "not recorded", Absence.NOT_IN_IMPORT: "not in the import",
          Absence.LEFT_OUT: "left out of a recording without names", Absence.NO_BOOT_LOADER: "no boot loader found",
          Absence.ELSEWHERE: "no kernel module is kept here",
          Absence.NO_VERSION: "its file's name holds no version",
          Absence.NOT_SHOWN: "not present in the import, which a line that was lost looks like, too",
          Absence.ONLY_ON_HOST: "not in the import, and no text shows it; on the box run: sudo tunecheck record"}


class Reason(str):
    """Why there is no answer: a text, which fits behind a colon ("timed out after 5 s"), with its code. Cut, joined or
    changed it is a plain text without a code, which the types of facts do not take."""

    __slots__ = ("absence",)
    absence: Absence

    def __new__(cls, absence: Absence, text: str = "") -> Reason:
        made = super().__new__(cls, text or _TEXTS.get(absence, absence.value))
        made.absence = absence
        return made

    def __getnewargs__(self) -> tuple[Absence, str]:  # type: ignore[override]
        return self.absence, str(self)
