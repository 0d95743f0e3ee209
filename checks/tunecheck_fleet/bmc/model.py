"""What is asked of a BMC, what came of it, and the words for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["BmcError", "Code", "Request", "System", "clean"]

_MOST = 120
_UNSHOWN = re.compile(r"[^ -~]+")


class Code(StrEnum):
    """Codes steer, sentences are for people."""

    USABLE = "usable"
    CYCLED = "cycled"
    SWITCHED_ON = "switched_on"
    #: The reset was sent and nothing came back: it may have been done, so it is not sent again.
    UNSURE = "unsure"
    BAD_SETTING = "bad_setting"
    NO_CREDENTIALS = "no_credentials"
    NO_LIBRARY = "no_library"
    UNREACHABLE = "unreachable"
    HANGING = "hanging"
    NO_TLS = "no_tls"
    UNTRUSTED = "untrusted"
    OTHER_CERTIFICATE = "other_certificate"
    UNAUTHORIZED = "unauthorized"
    NO_PRIVILEGE = "no_privilege"
    NOT_READY = "not_ready"
    NOT_REDFISH = "not_redfish"
    TOO_LARGE = "too_large"
    ELSEWHERE = "elsewhere"
    NO_SYSTEM = "no_system"
    SEVERAL_SYSTEMS = "several_systems"
    WRONG_SYSTEM = "wrong_system"
    NOT_COMPARABLE = "not_comparable"
    OFF = "off"
    NO_RESET = "no_reset"
    REFUSED = "refused"


#: The power of the system may have been changed.
SENT = frozenset({Code.CYCLED, Code.SWITCHED_ON, Code.UNSURE})


class BmcError(Exception):
    """Why the BMC is of no use, as a code and one sentence with the next step."""

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


@dataclass(frozen=True)
class Request:
    """What the inventory says, and what is known of the box. ``serials`` and ``uuid`` are the box's own words (DMI)."""

    address: str
    user: str = ""
    password: str = field(default="", repr=False)
    system: str = ""
    ca_file: str = ""
    fingerprint: str = ""
    seconds: float = 60
    serials: tuple[str, ...] = ()
    uuid: str = ""
    #: Declared in the inventory, where DMI says nothing that could be compared.
    serial: str = ""
    #: The box is up: a system that is off is another one.
    up: bool = False
    #: A power cycle without a person: a system that cannot be compared is refused.
    unattended: bool = False
    #: Of a power cycle: the identity that was confirmed.
    confirmed: str = ""


@dataclass(frozen=True)
class System:
    """One system behind a BMC, in the BMC's words."""

    id: str
    name: str
    model: str
    serial: str
    sku: str
    uuid: str
    power: str
    #: The reset that would be asked for: ForceRestart, PowerCycle, or ForceOff+On.
    reset: str

    @property
    def identity(self) -> str:
        """What a person confirms: the serial number, or what there is in its place."""
        return self.serial or self.uuid or self.id


def clean(said: object) -> str:
    """Return a foreign text as it may be shown: one line, ASCII, short."""
    text = _UNSHOWN.sub(" ", said if isinstance(said, str) else "" if said is None else str(said)).strip()
    return text if len(text) <= _MOST else text[:_MOST] + "..."
