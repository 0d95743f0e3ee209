"""Tell a webhook what is new and what is resolved, in at most ten lines. Nothing new: nothing is sent.

The address of a webhook is often its own secret, so that messages name only its host; the secret of the header is in no
message and no log at all.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tunecheck import __version__
from tunecheck.errors import Misuse, ProbeError, UsageError
from tunecheck.report.style import safe
from tunecheck.util.at_first_use import dataclass
from tunecheck.util.host_names import fold
from tunecheck.util.text import and_more

from ..entries import Entry, entries, gpus_of
from ..fleet_report import FleetReport
from .counts import verdict_line
from .document import audit_of, entry_of
from .entry_words import says, says_within, severity, title
from .text import kind

if TYPE_CHECKING:
    import httpx

__all__ = ["SECRET", "Hook", "check_hook", "check_link", "event", "post", "secret_of", "slack"]

#: The environment variable with the secret.
SECRET = "TUNECHECK_WEBHOOK_SECRET"
_LINES, _WIDTH, _SCOPE = 10, 200, 80
#: Characters of a sentence that stay in a line in any case.
_SAID = 40
#: Causes that the generic document tells in full, new and resolved each.
_MOST = 200
_HEADER = re.compile(r"([A-Za-z0-9-]{1,64}): ?([\x21-\x7e][\x20-\x7e]{0,4095})")
_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")
_RETRIED = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Hook:
    """Where to and how. ``manner``: "slack" posts {"text": ...}, "json" the event (tunecheck/fleet-event/1), "auto"
    the first to hooks.slack.com and the other to everybody else. ``secret``: a bearer token, or a whole header line
    "X-Token: abc". ``link``: where the reader finds the whole report. Seconds: for one attempt, and the waits between
    attempts."""

    url: str
    manner: str = "auto"
    secret: str = ""
    link: str = ""
    deadline: float = 10.0
    waits: tuple[float, ...] = (1.0, 4.0)


def secret_of(file: str | None) -> str:
    """The secret from a file, else from the environment; "" for none. UsageError where the file cannot be read."""
    if file is None:
        return os.environ.get(SECRET, "").strip()
    try:
        return Path(file).read_text(encoding="ascii")[:8192].strip()
    except OSError as error:
        raise UsageError(f"{file}: the webhook's secret cannot be read ({error.strerror})", Misuse.UNREADABLE) from None
    except ValueError:
        raise UsageError(f"{file}: the webhook's secret is not plain ASCII; expected one line, a token or a header "
                         "\"Name: value\"", Misuse.MALFORMED) from None


def check_hook(hook: Hook) -> None:
    """Refuse, before the audit, what could not be sent after it. The digest names hosts and their faults: in clear
    only to this machine itself."""
    _headers(hook.secret)
    try:
        parts = urlsplit(hook.url)
        name, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError("--webhook: not an address; expected https://host/path", Misuse.MALFORMED) from None
    if parts.scheme not in ("http", "https") or not name:
        raise UsageError("--webhook: not an address; expected https://host/path", Misuse.MALFORMED)
    if parts.username or parts.password:
        raise UsageError(f"--webhook: the address has a user or password in it; put the secret into {SECRET} or a file",
                         Misuse.MALFORMED)
    if parts.scheme == "http" and not _loopback(name):
        raise UsageError(f"--webhook: http://{safe(name)} is not encrypted; expected https://, or http:// to this "
                         "machine (127.0.0.1, ::1, localhost)", Misuse.NOT_ENCRYPTED)


def check_link(link: str, what: str = "where readers of the webhook find the HTML page") -> None:
    """It is for people, so that it may be http:// on their network. ``what`` it leads to."""
    try:
        parts = urlsplit(link)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and link.isprintable() and " " not in link
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"--link {safe(link[:80])}: not an address; expected https://host/path, {what}",
                         Misuse.MALFORMED)


def event(report: FleetReport, link: str = "") -> dict[str, Any] | None:
    """The document of a generic webhook; None where nothing is new and nothing resolved."""
    new, resolved = _new_and_resolved(report)
    if not new and not resolved:
        return None
    new_entries = [{**entry_of(entry), "news": list(entry.lead.new_hosts)} for entry in new[:_MOST]]
    resolved_entries = [entry_of(entry) for entry in resolved[:_MOST]]
    return {"schema": "tunecheck/fleet-event/1", "tunecheck": __version__, "audit": audit_of(report.audit),
            "verdict": verdict_line(report), "text": _digest(report, new, resolved, link), "link": link or None,
            "new": new_entries, "resolved": resolved_entries,
            "omitted": len(new) + len(resolved) - len(new_entries) - len(resolved_entries)}


def slack(report: FleetReport, link: str = "") -> dict[str, Any] | None:
    """The same for Slack and what understands its webhooks (Mattermost, Rocket.Chat): {"text": ...}. What is marked
    up there (<!channel>) is text here."""
    new, resolved = _new_and_resolved(report)
    if not new and not resolved:
        return None
    text = _digest(report, new, resolved, link)
    return {"text": text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}


def post(hook: Hook, report: FleetReport) -> str | None:
    """Send it: a note about what was sent, None where there was nothing to say. ProbeError in one sentence where it
    could not be delivered; the audit itself is unharmed by that."""
    check_hook(hook)
    where = urlsplit(hook.url).hostname or ""
    as_slack = hook.manner == "slack" or (hook.manner == "auto" and where == "hooks.slack.com")
    content = slack(report, hook.link) if as_slack else event(report, hook.link)
    if content is None:
        return None
    why = asyncio.run(_deliver(hook, content))
    if why:
        raise ProbeError(f"webhook {safe(where)}: not delivered: {why}")
    return f"webhook: {safe(where)}"


async def _deliver(hook: Hook, content: dict[str, Any]) -> str:
    """Why it was not delivered, "" where it was."""
    import httpx

    local = _loopback(urlsplit(hook.url).hostname or "")
    # Asked for directly on this machine; elsewhere the environment may name a proxy. Redirects are never followed: the
    # secret would go along.
    async with httpx.AsyncClient(follow_redirects=False, trust_env=not local, timeout=hook.deadline,
                                 headers={"User-Agent": f"tunecheck/{__version__}", **_headers(hook.secret)}) as client:
        why = ""
        for wait in (0.0, *hook.waits):
            await asyncio.sleep(wait)
            why, again = await _attempt(client, hook, content)
            if not again:
                return why
        return f"{why}, {len(hook.waits) + 1} times"


async def _attempt(client: httpx.AsyncClient, hook: Hook, content: dict[str, Any]) -> tuple[str, bool]:
    """Why it failed, and whether another attempt may help. The answer's body is not read: nobody asks for it."""
    import httpx

    try:
        async with asyncio.timeout(hook.deadline), client.stream("POST", hook.url, json=content) as answer:
            status = answer.status_code
    except TimeoutError:
        return f"no answer within {hook.deadline:g} s", True
    except httpx.TransportError as error:
        return f"{type(error).__name__}: {_without(hook, error)}", True
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return f"{type(error).__name__}: {_without(hook, error)}", False
    if 200 <= status < 300:
        return "", False
    if 300 <= status < 400:
        return f"HTTP {status}, a redirect, which is not followed; give the final address", False
    return f"HTTP {status}", status in _RETRIED


def _without(hook: Hook, error: Exception) -> str:
    text = str(error).replace(hook.url, "the address")
    return safe(text.replace(hook.secret, "the secret") if hook.secret else text)[:200]


def _headers(secret: str) -> dict[str, str]:
    if not secret:
        return {}
    if line := _HEADER.fullmatch(secret):
        return {line.group(1): line.group(2)}
    if _TOKEN.fullmatch(secret):
        return {"Authorization": f"Bearer {secret}"}
    raise UsageError(f"the webhook's secret ({SECRET} or its file) is no token and no header; expected one line of "
                     "plain ASCII such as X-Token: abc", Misuse.MALFORMED)


def _loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _new_and_resolved(report: FleetReport) -> tuple[list[Entry], list[Entry]]:
    """What is new on some host, and what is over; one entry for one thing that happened."""
    found = entries(report.causes)
    return ([entry for entry in found if entry.lead.counts and entry.lead.new_hosts],
            [entry for entry in found if kind(entry.lead) == "resolved"])


def _line(entry: Entry) -> str:
    """"NEW HIGH rack1 pcie.width: 16 -> 8 on gpu007 (since gpu003 #41)"."""
    lead = entry.lead
    grown = lead.state == "grown"
    word = "RESOLVED" if lead.state == "resolved" else f"{'GREW' if grown else 'NEW'} {severity(lead)}"
    gpus = gpus_of(entry) is not None
    text = f" on {fold(lead.new_hosts if grown else lead.hosts, 60)}"
    if grown:
        count = len(lead.hosts) - len(lead.new_hosts)
        text += f", beside {count} host{'s' * (count != 1)} that {'has' if count == 1 else 'have'} it" + (
            f" since #{lead.since.seen}" if lead.since is not None else "")
    text += f", and {len(entry.more)} more of it" if entry.more else ""
    # The hosts stand at the end: what is said before them is made shorter, and they are not cut off.
    head = f"{word} {lead.group} {f'{title(entry)}: ' if gpus else f'{lead.fact}: '}"
    room = _WIDTH - len(safe(f"{head}{text}"))
    said = says(entry)
    within = says_within(entry, room) if room > 0 else said
    if within is None:
        within = said if len(said) <= room else f"{said[:max(_SAID, room) - 3]}..."
    return f"{head if within else head[:-2]}{within}{text}"


def _digest(report: FleetReport, new: list[Entry], resolved: list[Entry], link: str) -> str:
    """At most ten lines: the verdict, the causes, how many more there are, the link."""
    lines = [_line(entry) for entry in (*new, *resolved)]
    room = _LINES - 1 - bool(link)
    if len(lines) > room:
        left = len(lines) - room + 1
        lines = [*lines[:room - 1], and_more(left, "")]
    # The end of a long path tells it from others; the verdict has to fit into the line behind it.
    scope = report.audit.scope
    where = scope if len(scope) <= _SCOPE else f"...{scope[3 - _SCOPE:]}"
    head = f"tunecheck audit #{report.audit.id}, {where}: {verdict_line(report)}"
    return "\n".join([*(_cut(safe(line)) for line in [head, *lines]), *([link] if link else [])])


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH - 3]}..."
