"""Values of the options of ``tunecheck watch``: each is what was asked for, or a UsageError."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Misuse, UsageError

if TYPE_CHECKING:
    import ssl

    from ..host import Host
    from ..spec.frozen import Watch
    from ..watch.door import Door
    from ..watch.run import Supervisor
    from ..watch.tell import Watched

__all__ = ["URL", "address", "canary_every", "door", "engine", "key", "trusted"]

URL = "http://127.0.0.1:30000"
_UNIT_SUFFIXES = (".service", ".scope")
#: In seconds.
_LEAST_CANARY = 5.0


def key(where: str, path: str | None) -> str:
    """Of the file or the environment. /metrics is asked once a second: not in clear over a network."""
    from ..serving.reach import key as key_of
    from ..serving.reach import own_machine

    found = key_of(path)
    if found and where.startswith("http:") and not own_machine(where):
        raise UsageError(f"--url {where}: the API key would go to another machine over plain HTTP, where everybody on "
                         "the way can read it; expected https, or an address of this machine as http://127.0.0.1:30000",
                         Misuse.NOT_ENCRYPTED)
    return found


def canary_every(given: str | None, accepted: str, policy: Watch) -> float:
    """Return the seconds between two canaries, 0 for none. ``accepted``: "" where there can be no acceptance, whose
    question is asked otherwise. UsageError for less than the least."""
    from ..util.durations import seconds

    if given is None:
        return float(policy.canary_every) if accepted else 0.0
    every = seconds("--canary", given)
    if 0 < every < _LEAST_CANARY:
        raise UsageError(f"--canary {given}: expected at least {_LEAST_CANARY:g}s, or 0 for never", Misuse.MALFORMED)
    return every


def door(listen: str) -> Door:
    """Return the door that answers at ``listen``: an address as a number, and a port. UsageError where that is none."""
    import ipaddress  # start-up time: the list of verbs needs this module, too

    from ..watch.door import Door

    host, _, port = listen.rpartition(":")
    try:
        return Door(str(ipaddress.ip_address(host.strip("[]"))), _port(port))
    except ValueError:
        raise UsageError(f"--listen {listen[:60]}: expected an address as a number and a port, as in --listen "
                         "127.0.0.1:9638", Misuse.MALFORMED) from None
    except OSError as error:
        raise UsageError(f"--listen {listen[:60]}: cannot be had ({error.strerror}); another program may listen there",
                         Misuse.IN_USE) from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise ValueError(text)
    return int(text)


def address(url: str) -> str:
    """Return scheme, host and port; /v1 behind them is what the API is below, and is left out. UsageError for the name
    of a host: it would have to be looked up, which nobody can bound."""
    import ipaddress
    import urllib.parse

    from ..serving.reach import with_scheme, without_v1

    with_scheme(url)
    # What stands before an @ may be a password.
    parts, shown = urllib.parse.urlsplit(url), url.rpartition("@")[2][:100]
    wrong = parts.hostname or ""
    try:
        if parts.hostname != "localhost":
            ipaddress.ip_address(parts.hostname or "")
        wrong = parts.netloc.rpartition("@")[2]
        port = parts.port
    except ValueError:
        raise UsageError(f"--url {shown}: {wrong[:60]!r}: expected an address as a number, and a port up to 65535, as "
                         f"in --url {URL}", Misuse.MALFORMED) from None
    more = ("@" if parts.username else f"{parts.scheme}:" if parts.scheme not in ("http", "https") else
            parts.path if without_v1(parts.path) else f"?{parts.query}" if parts.query else "")
    if more:
        raise UsageError(f"--url {shown}: {more[:60]!r}: expected http:// or https://, address and port alone, as in "
                         f"--url {URL}", Misuse.MALFORMED)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 80)}"


def engine(host: Host, where: str, unit: str | None, pid: str | None,
           container: str | None) -> tuple[Watched, Supervisor | None]:
    """Return what is watched, and who is asked of it. UsageError for more than one of the three, or for what is not
    there; ProbeError where that cannot be told."""
    from ..watch.container import container_of
    from ..watch.pid import process_of
    from ..watch.tell import Watched
    from ..watch.unit import Unit

    three = {"--unit": unit, "--pid": pid, "--container": container}
    given = [name for name, value in three.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} do not go together: an engine is one of them; expected the one "
                         "that it was started as", Misuse.DOES_NOT_BELONG)
    if pid is not None:
        return Watched(where, pid=int(pid) if pid.isdecimal() else 0), process_of(host, pid)
    if container is not None:
        return Watched(where, container=container), container_of(host, container)
    name = _unit(unit or "")
    return Watched(where, name), Unit(host, name) if name else None


def _unit(name: str) -> str:
    """Return a unit's whole name; systemd.unit(5) has what may be in one. UsageError for a text that is none."""
    import re

    if name and not re.fullmatch(r"[A-Za-z0-9:_.\\@-]{1,255}", name):
        raise UsageError(f"--unit {name[:60]}: is no name of a unit; expected one as tunecheck-inference.service",
                         Misuse.MALFORMED)
    return name if not name or name.endswith(_UNIT_SUFFIXES) else f"{name}.service"


def trusted(ca: str | None) -> ssl.SSLContext:
    import ssl

    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise UsageError(f"--ca {ca}: cannot be read ({error.strerror or 'no certificates in PEM'})",
                         Misuse.UNREADABLE) from None
