"""What a box writes, taken apart: banners and anything else around the frame are ignored, nothing inside is trusted.

    tunecheck-1 <nonce> ok <length> <sha256 or ->       or: missing 0 -
    <base64 of gzip of: the snapshot, a line "#end <last complaint> rc=<exit code>">
The last word of one that is missing says what is: `-` tunecheck itself, `python` also what could run a collector.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib

from tunecheck_fleet.model import Status

__all__ = ["CAP", "NO_INPUT", "one_line", "unframed"]

#: The largest snapshot, unpacked: a box with eight GPUs has 60 KB.
CAP = 8 << 20
#: The exit code of the collector that was sent along and did not arrive (EX_NOINPUT of sysexits.h).
NO_INPUT = 66
_INSTALL = "install it: ansible-playbook playbooks/provision.yml -i inventory/NAME --tags install"
_MISSING = {"-": f"no tunecheck on the box; {_INSTALL}",
            "python": f"no tunecheck on the box and no Python >= 3.9 to run the collector with; {_INSTALL}"}
_NOT_ALONG = ("no tunecheck on the box, and the connection of this host takes no collector along: only ssh and local "
              f"do. State ansible_connection: ssh, or {_INSTALL}")
_ROOM = 4096        # for the closing line
_WORDS = 200
_BOUND = re.compile(r"^tunecheck-ssh (timeout|flood) (\d+)$", re.M)
_END = re.compile(rb"\n#end ([^\n]*)\n?\Z")
_CODE = re.compile(r"(?:^|\s)rc=(\d+)\s*$")


def unframed(text: str, nonce: str, cap: int = CAP) -> tuple[Status, bytes, str]:
    """The status, the content and the reason why there is none, of a box's standard output. ``cap``: the most bytes
    that the content may have."""
    # In front of what the box wrote is nothing: our own ssh says this instead of it.
    bound = _BOUND.match(text)
    if bound:
        if bound[1] == "timeout":
            return "timeout", b"", f"connected, but no answer within {bound[2]} s"
        return "garbled", b"", f"sent more than {bound[2]} KiB and was cut off"
    head = rf"^tunecheck-1 {re.escape(nonce)} (ok|missing) +(\d{{1,9}}) (\S{{1,64}})\r?$"
    frames = list(re.finditer(head, text, re.M))
    if not frames:
        return "garbled", b"", f"no snapshot in its answer: {one_line(text) or 'nothing'}"
    frame = frames[-1]
    if frame[1] == "missing":
        return "missing", b"", _MISSING.get(frame[3], _MISSING["-"])
    start = frame.end() + 1
    body = text[start:start + int(frame[2])].encode("ascii", "replace")
    if len(body) != int(frame[2]):
        return "garbled", b"", f"cut short: {len(body)} of {frame[2]} characters arrived"
    if frame[3] != "-" and hashlib.sha256(body).hexdigest() != frame[3]:
        return "garbled", b"", "damaged on the way: its checksum does not match"
    try:
        return _judged(_unpacked(base64.b64decode(body, validate=True), cap), cap)
    except (ValueError, binascii.Error) as error:
        return "garbled", b"", str(error)


def one_line(text: str) -> str:
    """Safe to show: printable ASCII, in one short line; of a long text its end, where programs put the reason."""
    plain = " ".join("".join(char if " " <= char <= "~" else " " for char in text[-8 * _WORDS:]).split())
    return plain if len(plain) <= _WORDS else f"...{plain[3 - _WORDS:]}"


def _unpacked(packed: bytes, cap: int) -> bytes:
    unpacker = zlib.decompressobj(31)
    try:
        content = unpacker.decompress(packed, cap + _ROOM)
    except zlib.error:
        raise ValueError("what it sent is not gzip, or damaged") from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError(f"what it sent is larger than {cap >> 20} MiB, or cut short")
    return content


def _judged(content: bytes, cap: int) -> tuple[Status, bytes, str]:
    end = _END.search(content, max(0, len(content) - _ROOM))
    if end is None:
        raise ValueError(f"what it sent is larger than {cap >> 20} MiB, or cut short")
    said = end[1].decode("utf-8", "replace")
    code = _CODE.search(said)
    if code is None or int(code[1]) == 0:
        return "ok", content[:end.start()], ""
    if int(code[1]) == NO_INPUT:
        return "missing", b"", _NOT_ALONG
    reason = one_line(said[:code.start()])
    if int(code[1]) in (124, 137):
        return "timeout", b"", f"the collector did not end on the box{': ' if reason else ''}{reason}"
    return "garbled", b"", f"the collector ended with {code[1]}: {reason or 'no word why'}"
