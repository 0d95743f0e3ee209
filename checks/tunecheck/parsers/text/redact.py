"""Replace what identifies a machine or its people: the same thing by the same placeholder, everywhere.

Host names, serial numbers, UUIDs, MAC and IP addresses, home directories. Never touched: PCI addresses, versions,
times, hexadecimal ids. The placeholders of addresses are those set aside for documentation (RFC 5737, RFC 3849).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from ...util.at_first_use import regex

__all__ = ["Redactor", "boot_placeholder", "serials_in"]

_HEX = "[0-9a-fA-F]"
_UUID = regex(rf"(?<![0-9A-Za-z]){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![0-9A-Za-z])")
_MACHINE_ID = regex(r"(?<![0-9A-Za-z])[0-9a-f]{32}(?![0-9A-Za-z])")
#: Vendor GUIDs that are the same on every machine, and names of files: EFI variables, GPT partition types.
_WELL_KNOWN = {"4a67b082-0a4c-41cf-b6c7-440b29bb8c4f", "8be4df61-93ca-11d2-aa0d-00e098032b8c",
               "c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "0fc63daf-8483-4772-8e79-3d69d8477de4"}
_SHORT_ID = regex(rf"(UUID=[\"']?|--fs-uuid(?: --?[\w=-]+){{0,8}} )"
                  rf"({_HEX}{{4}}-{_HEX}{{4}}|{_HEX}{{8}}-\d\d)(?![\w-])")
_MAC = regex(rf"(?<![0-9A-Za-z:.])(?:{_HEX}{{2}}:){{5,19}}{_HEX}{{2}}(?![0-9A-Za-z]|:{_HEX}|\.\d)")
_DASHED = regex(rf"(?<![0-9A-Za-z-])(?:{_HEX}{{2}}-){{5,7}}{_HEX}{{2}}(?![0-9A-Za-z-])")
_IN_NAME = regex(r"(?<=\benx)[0-9a-f]{12}(?![0-9A-Za-z])")
_GUID = regex(rf"(?<![0-9A-Za-z:.])(?:{_HEX}{{4}}:){{3}}{_HEX}{{4}}(?![0-9A-Za-z:.])")
_IPV6 = regex(rf"(?<![0-9A-Za-z:._-])"
              rf"(?:{_HEX}{{0,4}}:){{2,8}}{_HEX}{{0,4}}(?![0-9A-Za-z:_]|\.\d)")
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = regex(rf"(?<![0-9A-Za-z._-])(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9A-Za-z_]|\.\d|-\d)")
_SAYS_VERSION = regex(r"(?:version|release|firmware|bios)\W{0,4}$", re.IGNORECASE)
_HOME = regex(r"((?:/home/|/Users/))([^/\s:\"';,<>\0]{1,64})")
_BY_ID = regex(r"(?<=/dev/disk/by-id/)[^/\s\"';,]{1,200}")
_WORLD_WIDE = regex(r"(?<![0-9A-Za-z.])(?:(?:eui|naa)\.[0-9a-fA-F]{8,32}|(?:nqn|iqn)\.[0-9A-Za-z.:_-]{8,220})")
_SERIAL = regex(r"([Ss]erial[ _-]?(?:[Nn]umber|[Nn]o)\.?[\"']?\s{0,40}[:=]\s{0,8}[\"']?|\bS/N:?\s{1,4}"
                r"|\"serial\": \"|<serial>)([^\s\"',;<>]{3,64})")
_NO_SERIAL = regex(r"\[?N/A\]?|(?i:unknown|none|default|not)|0+"
                   r"|[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|serial-\d+")

#: Host names that are words of the field tell nothing about their owner, and replacing them everywhere would change
#: what a text says. Only the places that are nothing but a host name are replaced then.
_WORD = regex(r"(?:GPU|NIC|CPU|NV|eth|mlx5_|nvme|sd|vd|tty|ttyS)\d*|PIX|PXB|PHB|NODE|SYS"
              r"|(?i:localhost|linux|ubuntu|debian|fedora|rocky|alma|centos|arch|kernel|root|boot|host|box|lab|server|machine|amd|intel|nvidia|gpu|cpu"
              r"|systemd|grub|dmesg|journal|driver|module|default|user|test|docker|open|version|performance"
              r"|powersave|schedutil|tsc|hpet|dma|identity|enabled|disabled|off|yes|none|force|auto|pci|pcie|aer|acs"
              r"|error|memory|bridge|switch|port|device|quiet|splash|proprietary|integrity|model|speed|link)")
_LOCAL_DOMAINS = r"local|lan|internal|intern|home|localdomain|corp|private|test|arpa"


def boot_placeholder(boot_id: str) -> str:
    """Return what stands for a boot id. It is the same in every recording of one boot, so that counters can still be
    compared; a boot id is 122 random bits, so nobody finds it from this."""
    return "b0070000-0000-4000-8000-" + hashlib.sha256(b"tunecheck boot " + boot_id.strip().lower().encode(
        "utf-8", "replace")).hexdigest()[:12]


def serials_in(text: str) -> "set[str]":
    """Return the serial numbers that the text names as such."""
    found = _SERIAL.findall(text) if "erial" in text else ()
    return {value for _, value in found if not _NO_SERIAL.fullmatch(value)}


class Redactor:
    """Replaces names and numbers in texts. ``hosts`` are the machine's own names, the first the most important;
    ``serials`` numbers known beforehand, replaced wherever they stand; ``vocabulary`` words that a host name must not
    change."""

    def __init__(self, hosts: Collection[str] = (), serials: Collection[str] = (), boot_id: str = "",
                 vocabulary: Collection[str] = ()) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._fixed = {boot_id.strip().lower(): boot_placeholder(boot_id)} if boot_id.strip() else {}
        self._hosts = dict.fromkeys(name for name in hosts if name and name != "(none)")
        for name in self._hosts:
            self.host(name)
        self._names = [_host_pattern(name) for name in sorted(self._labels(), key=len, reverse=True)
                       if _distinct(name, vocabulary)]
        domains = {name.partition(".")[2] for name in self._hosts if name.count(".") > 1}
        self._domains = [_host_pattern(name) for name in sorted(domains, key=len, reverse=True)]
        known = sorted((value for value in serials if len(value) >= 8 and re.search(r"\d", value)), key=len,
                       reverse=True)
        self._serials = regex(r"(?<![0-9A-Za-z])(?:%s)(?![0-9A-Za-z])" % "|".join(map(re.escape, known[:1000]))
                              ) if known else None

    def _labels(self) -> "set[str]":
        return {label for name in self._hosts for label in (name, name.partition(".")[0])}

    def _number(self, kind: str, value: str) -> int:
        known = self._numbers.setdefault(kind, {})
        return known.setdefault(value, len(known) + 1)

    def host(self, name: str) -> str:
        """Replace a text that is nothing but a host name. A name with its domain is the same host."""
        return "host-%d" % self._number("host", name.lower().partition(".")[0]) if name.strip() else name

    def serial(self, value: str) -> str:
        """Replace a text that is nothing but a serial number."""
        if not value.strip() or _NO_SERIAL.fullmatch(value):
            return value
        return "serial-%d" % self._number("serial", value)

    def text(self, text: str, versions: bool = False) -> str:
        """Replace names and numbers in any text. ``versions``: what looks like an IPv4 address is a version here and
        stays."""
        text = _UUID.sub(lambda found: self._uuid(found.group()), text)
        text = _MACHINE_ID.sub(lambda found: self._uuid(_dashed(found.group())).replace("-", ""), text)
        if ":" in text:
            text = _MAC.sub(lambda found: self._mac(found.group(), ":"), text)
            text = _GUID.sub(lambda found: _groups("02", self._number("guid", found.group().lower()), 8, 4), text)
            text = _IPV6.sub(self._ipv6, text)
        if "-" in text:
            text = _DASHED.sub(lambda found: self._mac(found.group(), "-"), text)
        if "." in text and not versions:
            text = _IPV4.sub(self._ipv4, text)
        return self._words(text)

    def _words(self, text: str) -> str:
        for part, pattern, change in (
                ("UUID=", _SHORT_ID, self._short), ("--fs-uuid", _SHORT_ID, self._short),
                ("enx", _IN_NAME, self._plain_mac),
                ("erial", _SERIAL, lambda found: found.group(1) + self.serial(found.group(2))),
                ("S/N", _SERIAL, lambda found: found.group(1) + self.serial(found.group(2))),
                ("/home/", _HOME, self._user), ("/Users/", _HOME, self._user),
                ("/by-id/", _BY_ID, lambda found: self._word("disk", found.group())),
                (".", _WORLD_WIDE, lambda found: self._word("wwid", found.group()))):
            if part in text:
                text = pattern.sub(change, text)
        if self._serials is not None:
            text = self._serials.sub(lambda found: self.serial(found.group()), text)
        for pattern in self._names:
            text = pattern.sub(lambda found: self.host(found.group(1)), text)
        for pattern in self._domains:
            text = pattern.sub("example.com", text)
        return text

    def _uuid(self, value: str) -> str:
        value = value.lower()
        if value in _WELL_KNOWN or not value.strip("0-"):
            return value
        return self._fixed.get(value) or "00000000-0000-0000-0000-%012x" % self._number("uuid", value)

    def _short(self, found: "re.Match[str]") -> str:
        number = self._number("short", found.group(2).lower())
        # PARTUUID=12345678-02: the number of the partition stays.
        return found.group(1) + ("0000-%04x" % number if len(found.group(2)) == 9 else "%08x%s" % (
            number, found.group(2)[8:]))

    def _mac(self, value: str, mark: str) -> str:
        if not value.strip("0" + mark) or not value.strip("fF" + mark):
            return value
        return _groups("02", self._number("mac", value.lower().replace("-", ":")), value.count(mark) + 1, 2, mark)

    def _plain_mac(self, found: "re.Match[str]") -> str:
        raw = found.group()
        return self._mac(":".join(raw[at:at + 2] for at in range(0, 12, 2)), ":").replace(":", "")

    def _ipv4(self, found: "re.Match[str]") -> str:
        value = found.group()
        if value.startswith(("127.", "255.", "0.")) or _SAYS_VERSION.search(found.string, max(0, found.start() - 24),
                                                                           found.start()):
            return value
        number = self._number("ipv4", value)
        if number < 255:
            return "192.0.2.%d" % number
        return "198.%d.%d.%d" % (18 + (number >> 16 & 1), number >> 8 & 255, number & 255)      # RFC 2544

    def _ipv6(self, found: "re.Match[str]") -> str:
        if "::" not in found.group() and found.group().count(":") < 7:      # mostly a time
            return found.group()
        from ipaddress import IPv6Address

        for value in (found.group(), found.group()[:-1]):
            try:
                address = IPv6Address(value)
            except ValueError:
                continue
            if int(address) < 2 or address.is_multicast:        # :: and ::1 are on every machine
                return found.group()
            return "2001:db8::%x" % self._number("ipv6", address.compressed) + found.group()[len(value):]
        return found.group()

    def _user(self, found: "re.Match[str]") -> str:
        return found.group(1) + self._word("user", found.group(2))

    def _word(self, kind: str, value: str) -> str:
        return value if re.fullmatch(kind + r"-\d+", value) else "%s-%d" % (kind, self._number(kind, value))

    def user(self, name: str) -> str:
        """Replace a text that is nothing but the name of a home directory."""
        return self._word("user", name)


def _distinct(name: str, vocabulary: Collection[str]) -> bool:
    return (len(name) >= 3 and re.search(r"[A-Za-z]", name) is not None and name.lower() not in vocabulary
            and not _WORD.fullmatch(name))


def _host_pattern(name: str) -> "re.Pattern[str]":
    """Return a pattern that fits the name as a word of its own, with the domain behind it where one is."""
    return regex(rf"(?<![0-9A-Za-z_-])({re.escape(name)})(?:(?:\.[A-Za-z0-9-]{{1,63}}){{2,6}}"
                 rf"|\.(?:{_LOCAL_DOMAINS}))?(?![0-9A-Za-z_-])")


def _dashed(value: str) -> str:
    return "-".join((value[:8], value[8:12], value[12:16], value[16:20], value[20:]))


def _groups(first: str, number: int, octets: int, width: int, mark: str = ":") -> str:
    digits = first + "%0*x" % (octets * 2 - 2, number)
    return mark.join(digits[at:at + width] for at in range(0, len(digits), width))
