"""The way to a BMC: one origin, TLS that is always verified, one deadline for everything, answers of limited size.

sushy brings none of these but the verification by a CA; requests lets an adapter add them."""

from __future__ import annotations

import errno
import hashlib
import http.client
import re
import socket
import ssl
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from .model import BmcError, Code, Request

__all__ = ["Guarded", "check_settings"]

#: Systems of real BMCs are below 100 KiB.
MOST_BYTES = 2 * 1024 * 1024
#: Of one request, within the deadline of all.
REQUEST_SECONDS = 20.0
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def check_settings(request: Request) -> str:
    """Return the pinned fingerprint as 64 hexadecimal digits, "" without one; BmcError where a setting is unusable."""
    try:
        parts = urlsplit(request.address)
        port = parts.port
    except ValueError:
        parts, port = SplitResult("", "", "", "", ""), None
    if parts.username or parts.password:
        raise BmcError(Code.BAD_SETTING, "boot_trial_bmc_address holds a user or a password: write them into "
                       "boot_trial_bmc_user and boot_trial_bmc_password (ansible-vault), or into the environment")
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query or port == 0:
        raise BmcError(Code.BAD_SETTING, f"boot_trial_bmc_address is {request.address!r}; expected https://HOST or "
                       "https://HOST:PORT, without a path")
    if not request.user or not request.password:
        raise BmcError(Code.NO_CREDENTIALS, f"there is no {'user' if not request.user else 'password'} for the BMC "
                       f"{request.address}: set boot_trial_bmc_user and boot_trial_bmc_password (ansible-vault), or "
                       "TUNECHECK_BMC_USER and TUNECHECK_BMC_PASSWORD in the environment")
    fingerprint = re.sub(r"^sha-?256[:=]?\s*", "", request.fingerprint.strip().lower()).replace(":", "")
    if fingerprint and not _FINGERPRINT.fullmatch(fingerprint):
        raise BmcError(Code.BAD_SETTING, (
            "boot_trial_bmc_fingerprint is no SHA-256 fingerprint; expected 64 hexadecimal digits, with or without "
            "colons, as openssl x509 -noout -fingerprint -sha256 prints them"))
    if request.ca_file and not fingerprint:
        try:
            ssl.create_default_context(cafile=request.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise BmcError(Code.BAD_SETTING, (
                f"boot_trial_bmc_ca_file {request.ca_file} cannot be used ({error.strerror or error}); expected "
                "certificates in PEM, readable on the control node")) from None
    return fingerprint


class Guarded(HTTPAdapter):
    """Every request of the session passes here, those of redirects and of links in answers too."""

    def __init__(self, request: Request, fingerprint: str, seconds: float) -> None:
        self._request, self._fingerprint, self._seconds = request, fingerprint, seconds
        self._end = time.monotonic() + seconds
        self._origin = _origin(request.address)
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        # With a fingerprint urllib3 compares that in place of names and authorities.
        super().init_poolmanager(*args, **options, assert_fingerprint=self._fingerprint or None)

    def left(self) -> float:
        """Return how many seconds are left; BmcError where none is."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise self._hangs()
        return left

    def _hangs(self) -> BmcError:
        return BmcError(Code.HANGING, (
            f"the BMC {self._request.address} did not answer within {self._seconds:g} s. Log in to its page; where "
            "that hangs too, restart the BMC (ipmitool mc reset cold), or raise boot_trial_bmc_seconds"))

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        if _origin(request.url or "") != self._origin:
            raise BmcError(Code.ELSEWHERE, (
                f"the BMC {self._request.address} sends to another address ({(request.url or '')[:80]}), which gets no "
                "credentials: write the address that answers itself into boot_trial_bmc_address"))
        options |= {"stream": True, "timeout": min(REQUEST_SECONDS, self.left()),
                    "verify": not self._fingerprint and (self._request.ca_file or True)}
        try:
            answer = super().send(request, **options)
            self._read(answer)
        except requests.exceptions.SSLError as error:
            raise self._untrusted(error) from None
        except (requests.exceptions.ConnectTimeout, requests.exceptions.ConnectionError) as error:
            if not _timed_out(error):
                raise BmcError(Code.UNREACHABLE, (
                    f"the BMC {self._request.address} cannot be reached ({_why(error)}): is boot_trial_bmc_address "
                    f"right, and "
                    "does the control node reach the management network?")) from None
            raise self._hangs() from None
        except requests.exceptions.RequestException:
            raise self._hangs() from None
        return answer

    def _read(self, answer: requests.Response) -> None:
        """Read the body within both limits, so that the library finds it read."""
        parts, size = [], 0
        for part in answer.iter_content(64 * 1024):
            size += len(part)
            if size > MOST_BYTES:
                raise BmcError(Code.TOO_LARGE, (
                    f"the BMC {self._request.address} answers with more than {MOST_BYTES >> 20} MiB, which no "
                    f"Redfish service "
                    "does: is boot_trial_bmc_address the BMC's?"))
            parts.append(part)
            self.left()
        answer._content = b"".join(parts)

    def _untrusted(self, error: BaseException) -> BmcError:
        inner = _inner(error)
        failed = next((each for each in inner if isinstance(each, ssl.SSLCertVerificationError)), None)
        broken = next((each for each in inner if isinstance(each, ssl.SSLError)), None)
        # Another fingerprint is an error of urllib3 alone: TLS itself did not fail.
        if failed is None and broken is not None:
            reason = f" ({broken.reason})" if broken.reason else ""
            return BmcError(Code.NO_TLS, (
                f"{self._request.address} speaks no TLS that is still in use{reason}: is it the port of https? "
                "Otherwise renew the BMC's firmware. No credentials were sent"))
        seen = self._seen()
        if self._fingerprint:
            return BmcError(Code.OTHER_CERTIFICATE, (
                f"the BMC {self._request.address} shows another certificate than the pinned one (it has "
                f"{seen or 'none that can be read'}): compare it with the one on the BMC's own page; where it was "
                f"renewed, "
                "correct boot_trial_bmc_fingerprint. Nothing was sent to it"))
        return BmcError(Code.UNTRUSTED, (
            f"the certificate of the BMC {self._request.address} is not trusted "
            f"({failed.verify_message.rstrip('.') if failed else 'TLS failed'}"
            "): name its authority (boot_trial_bmc_ca_file), or compare the certificate with the one on the BMC's "
            "own page and "
            f"pin it{f' (boot_trial_bmc_fingerprint: {seen!r})' if seen else ''}. No credentials were sent"))

    def _seen(self) -> str:
        parts = urlsplit(self._request.address)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE      # only looked at
        try:
            with socket.create_connection((parts.hostname, parts.port or 443), timeout=5) as plain, \
                    context.wrap_socket(plain, server_hostname=parts.hostname) as tls:
                shown = tls.getpeercert(binary_form=True)
        except (OSError, ValueError):
            return ""
        return hashlib.sha256(shown).hexdigest() if shown else ""


def _origin(address: str) -> tuple[str, str, int]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _inner(error: BaseException) -> list[BaseException]:
    """Return the error and all that it was made of: requests and urllib3 wrap those of the operating system."""
    found: list[BaseException] = []
    left = [error]
    while left:
        each = left.pop(0)
        if each not in found:
            found.append(each)
            left += [part for part in (*each.args, getattr(each, "reason", None), each.__cause__, each.__context__)
                     if isinstance(part, BaseException)]
    return found


def _timed_out(error: requests.exceptions.RequestException) -> bool:
    late = (requests.exceptions.Timeout, ReadTimeoutError, TimeoutError)
    return any(isinstance(each, late) for each in _inner(error))


def _why(error: BaseException) -> str:
    inner = _inner(error)
    for kinds, meaning in (((ConnectionRefusedError,), "connection refused"),
                           ((socket.gaierror,), "its name is unknown"),
                           ((http.client.RemoteDisconnected, BrokenPipeError), "it closed the connection"),
                           ((ConnectionResetError,), "connection reset")):
        if any(isinstance(each, kinds) for each in inner):
            return meaning
    numbers = {each.errno for each in inner if isinstance(each, OSError)}
    return "no route to host" if errno.EHOSTUNREACH in numbers else \
        "no route to its network" if errno.ENETUNREACH in numbers else \
        "it closed the connection" if any(isinstance(each, ProtocolError) for each in inner) else "no connection"
