"""``tunecheck watch``: does what is served still give tokens, and can its GPUs still work?"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ..errors import Misuse, UsageError
from . import watch_options as options

if TYPE_CHECKING:
    from ..host import Host
    from ..spec.frozen import Watch
    from ..watch.ask import Asker
    from ..watch.door import Door
    from ..watch.model import Seen
    from ..watch.tell import Watched
    from ..watch.teller import Teller

__all__ = ["watch"]

#: In seconds: so long --once looks for a step of an engine that has requests.
_ONCE = 10.0


@click.command()
@click.option("--url", metavar="URL",
              help=f"The engine, by its address as a number; default: {options.URL}.")
@click.option("--unit", metavar="NAME", help="The systemd unit that serves: its state, its processes.")
@click.option("--pid", metavar="PID", help="In place of --unit: the first process of an engine that was started by "
              "hand, and all below it. The watch ends with it.")
@click.option("--container", metavar="NAME", help="In place of --unit: the container of podman or docker, by its name "
              "or id.")
@click.option("--api-key-file", metavar="FILE", help="A file that holds the engine's API key.")
@click.option("--ca", metavar="FILE", help="Certificates to trust, in PEM.")
@click.option("--interval", default="1s", metavar="TIME", help="From one look to the next; default: 1s.")
@click.option("--stall", default="120s", metavar="TIME", help="So long may requests run in vain; default: 120s.")
@click.option("--spin", default="30s", metavar="TIME", help="The same where the GPUs only wait; default: 30s.")
@click.option("--silent", default="30s", metavar="TIME", help="So long may the metrics not answer; default: 30s.")
@click.option("--accepted", metavar="FILE", help="What accept --keep left; with --unit /run/tunecheck/accepted.json.")
@click.option("--canary", metavar="TIME", help="Ask an idle engine a short question so often; 0: never; default: "
              "watch.canary_every of the specification, where an acceptance is known.")
@click.option("--once", is_flag=True, help="One verdict of a few looks, and its exit code.")
@click.option("--json", "as_json", is_flag=True, help="A document for each verdict that is told, one line each.")
@click.option("--prometheus", "prometheus_to", metavar="FILE", help="Keep metrics for node_exporter there.")
@click.option("--listen", metavar="ADDRESS:PORT", help="Answer /ready and /metrics there, as 127.0.0.1:9638.")
@click.option("--act", is_flag=True, help="Hand a stall to tunecheck-recover.service, which does what the "
              "specification's watch.on_stall allows.")
def watch(url: str | None, unit: str | None, pid: str | None, container: str | None, api_key_file: str | None,
          ca: str | None, interval: str, stall: str, spin: str, silent: str, accepted: str | None,
          canary: str | None, once: bool, as_json: bool, prometheus_to: str | None, listen: str | None,
          act: bool) -> None:
    """Watch a served model: tokens, GPUs, kernel messages, links. Reads only, without --act.

    A line for each change, until it is ended. With --once the exit code is 0 for serving and idle, 1 for degraded,
    stalled, lost and stopped, and 3 for loading and where it is not known."""
    from ..host import Unreadable
    from ..host.kmsg import KernelMessages
    from ..host.live import LiveHost
    from ..host.notify import alive, ready
    from ..host.nvml_samples import NvmlSampler
    from ..serving.accepted import PATH, read
    from ..util.durations import seconds
    from ..util.whole_file import check_writable
    from ..watch import tell
    from ..watch.canary import Canary
    from ..watch.loop import Clock
    from ..watch.loop import watch as looks
    from ..watch.model import Code, Limits, State
    from ..watch.sources import Sources, Target
    from ..watch.teller import Teller

    times = {name: seconds(f"--{name}", text) for name, text in (
        ("interval", interval), ("stall", stall), ("spin", spin), ("silent", silent))}
    if not 0.2 <= times["interval"] <= 60:
        raise UsageError(f"--interval {interval}: expected 0.2s to 60s, as in --interval 1s", Misuse.MALFORMED)
    for name in ("stall", "spin", "silent"):
        if times[name] < 2 * times["interval"]:
            raise UsageError(f"--{name} {times[name]:g}s: is less than two looks; expected at least "
                             f"{2 * times['interval']:g}s, or a shorter --interval", Misuse.MALFORMED)
    where = options.address(url if url is not None else options.URL)
    if act and (pid is not None or container is not None):
        named = "--pid" if pid is not None else "--container"
        raise UsageError(f"--act does not go with {named}: the recovery stops and starts the served unit, and nothing "
                         "that somebody else began; leave --act out, or give --unit", Misuse.DOES_NOT_BELONG)
    if act and (once or not unit):
        raise UsageError("--act is for a watch that goes on: give --unit with it, and leave --once out",
                         Misuse.DOES_NOT_BELONG if once else Misuse.LEFT_OUT)
    if prometheus_to is not None:
        check_writable(prometheus_to)
    if accepted is not None:
        read(accepted)
    with contextlib.ExitStack() as ending:
        host = LiveHost()
        ending.callback(host.close)
        policy = _policy(host)
        watched, supervisor = options.engine(host, where, unit, pid, container)
        every = 0.0 if once else options.canary_every(canary, accepted or watched.unit, policy)
        limits = Limits(times["stall"], times["spin"], times["silent"], interval=times["interval"],
                        floor=policy.token_floor, canary=every)
        target = Target(where, url is None and not watched.unit and supervisor is not None,
                        options.key(where, api_key_file), options.trusted(ca) if where.startswith("https") else None,
                        accepted=accepted or (PATH if watched.unit and (policy.token_floor or limits.canary) else ""),
                        by_unit=bool(watched.unit), boot_id=_boot(host))
        door = sampler = messages = asker = None
        if listen is not None:
            door = options.door(listen)
            ending.callback(door.close)
        if _has_driver(host):
            sampler = NvmlSampler(times["interval"])
            ending.callback(sampler.close)
        with contextlib.suppress(Unreadable):
            messages = KernelMessages()
            ending.callback(messages.close)
        output = os.fstat(1)
        if not once and os.isatty(2):
            beside_it = f" and {watched}" if supervisor is not None else ""
            click.echo(f"watch: asks {where}/metrics{beside_it}; a line for each change, Ctrl-C ends it", err=True)
        teller = Teller(as_json, prometheus_to, watched)
        if limits.canary:
            asker = Canary(where, target.key, ca, min(60.0, limits.stall / 2))
            ending.callback(asker.close)
        sources = Sources(host, target, sampler, messages, asker, supervisor)
        ending.callback(sources.close)
        beside = _Beside(host, watched, door, teller, ca) if act or door is not None else None
        for number, seen in enumerate(looks(sources, limits, alive, door or Clock())):
            if number == 0:
                ready()
            if number == 0 and seen.state is State.SERVING:
                continue        # one look cannot tell whether a counter moves
            if once:
                if number == 0 or (_undecided(seen) and number * times["interval"] < _ONCE):
                    continue
                seen = _decided(seen)
            teller.tell(seen)
            if beside is not None:
                beside.look(seen, act)
            if once and seen.engine.absence is not None:
                click.echo(f"watch: asked {where}/metrics; another engine: --url; what it runs as: --unit, --pid or "
                           "--container", err=True)
            if once or any(each.code is Code.PROCESS_ENDED for each in seen.reasons):
                raise SystemExit(tell.exit_code(seen.state))
            if _nobody_reads(output):
                return


class _Beside:
    """The actions that follow each look, beside telling it: what /ready answers, and who is asked to mend a stall."""

    def __init__(self, host: Host, watched: Watched, door: Door | None, teller: Teller, ca: str | None) -> None:
        from pathlib import Path

        from ..watch.ask import Asker
        from ..watch.timeline import Timeline

        self._watched, self._door = watched, door
        self._timeline = Timeline()
        self._asker: Asker = Asker(host, watched.unit, watched.url, _boot(host), teller.complain,
                                   ca=str(Path(ca).absolute()) if ca else "")

    def look(self, seen: Seen, act: bool) -> None:
        """Take the verdict of one look: answer /ready by it, and with ``act`` hand a stall on."""
        from ..watch import tell
        from ..watch.request import drained

        now, at = time.monotonic(), time.time()
        self._timeline.add(seen, at)
        if self._door is not None:
            found = drained()
            # Another run of the unit than the one that was drained may be asked again.
            out = found is not None and found.invocation in ("", seen.invocation)
            self._door.tell(seen.state, out, tell.metrics(seen, at))
            # Who asked during the look hears of a stall before systemd is asked, which may take seconds.
            self._door.answer()
        if act:
            self._asker.look(seen, tell.document(seen, at, now - seen.since, self._watched), self._timeline)


def _boot(host: Host) -> str:
    from ..facts.file_text import text

    return text(host, "/proc/sys/kernel/random/boot_id").value or ""


def _policy(host: Host) -> Watch:
    """Return the specification's section watch; its defaults where this box has no specification that can be used."""
    from ..errors import SpecError
    from ..facts.spec_file import read_spec
    from ..spec.frozen import Watch

    try:
        frozen = read_spec(host, None, False)
    except SpecError as error:
        click.echo(f"tunecheck watch: {error.problems[0]}; it watches with the defaults", err=True)
        return Watch()
    return frozen.spec.watch if frozen else Watch()


def _undecided(seen: Seen) -> bool:
    """Return whether it is not known yet that the engine moves: two looks may lie between two steps."""
    from ..watch.model import Code, State

    return (seen.state is State.SERVING and seen.frozen > 0) or any(
        each.code is Code.NO_PROGRESS_YET for each in seen.reasons)


def _decided(seen: Seen) -> Seen:
    """Return the verdict of one call: unknown where none of its looks saw a step."""
    from ..watch.model import Code, Reason, State

    if not _undecided(seen) or seen.state is State.UNKNOWN:
        return seen
    told = Reason(Code.NO_PROGRESS_YET, numbers=(("seconds", round(seen.frozen, 1)),))
    return replace(seen, state=State.UNKNOWN, reasons=(told, *seen.reasons))


def _nobody_reads(first: os.stat_result) -> bool:
    """Return whether standard output is a pipe whose reader went away. ``first``: what it was at the start; a write
    that found no reader has put /dev/null in its place since. A disk that is full has a reader all the same."""
    import select  # start-up time: the list of verbs needs this module, too

    if not (stat.S_ISFIFO(first.st_mode) or stat.S_ISSOCK(first.st_mode)):
        return False
    poller, now = select.poll(), os.fstat(1)
    poller.register(1, 0)
    return (now.st_dev, now.st_ino) != (first.st_dev, first.st_ino) or any(
        event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))


def _has_driver(host: Host) -> bool:
    """Return whether the NVIDIA driver is loaded: asking NVML without it would load it."""
    from ..host import Unreadable

    try:
        host.realpath("/sys/module/nvidia")
    except Unreadable:
        return False
    return True
