"""``tunecheck accept``: is what this server serves counted, right and fast enough?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import Misuse, ProbeError, TunecheckError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from ..recipes.frozen import Recipe
    from ..serving.client import Client
    from ..serving.measured import Measured
    from ..serving.plan import Plan

__all__ = ["accept"]

_KEY = "TUNECHECK_API_KEY"


@click.command()
@click.option("--base", "--url", "base", metavar="URL",
              help="The server, as http://127.0.0.1:30000; default: the recipe's port here.")
@click.option("--model", default="", metavar="NAME", help="Its name there; default: the recipe's, or the first.")
@click.option("--api", type=click.Choice(["chat", "completions"]), default="chat", help="Which API; default: chat.")
@click.option("--api-key-file", metavar="FILE", help=f"A file that holds the API key; or set {_KEY}.")
@click.option("--recipe", "recipe_file", metavar="FILE",
              help="What is expected; default: /etc/tunecheck/recipe.json, unless --base is given.")
@click.option("--profile", type=click.Choice(["full", "boot"]), default="full",
              help="boot: canaries and one run of 256 tokens; full: 3 of 1000 and the ladders.")
@click.option("--wait-ready", metavar="TIME", help="How long to wait for the server (20m); boot: the recipe's time.")
@click.option("--ladder", metavar="LIST", help="Prompt tokens to time the first token at; default: 4K,16K,57K,max.")
@click.option("--concurrency", metavar="LIST", help="Also so many streams at once: 1,4,16.")
@click.option("--sustain", metavar="TIME", help="Keep each --concurrency and --rate up for so long, with percentiles.")
@click.option("--rate", metavar="LIST", help="Requests a second of an open loop: 0.5,2; with --sustain.")
@click.option("--slo", multiple=True, metavar="NAME=TIME",
    help="ttft, itl or e2e within which a request counts as good.")
@click.option("--load-words", type=click.IntRange(0, 200000), default=0, metavar="COUNT",
              help="Words of filler in each prompt of the load.")
@click.option("--scale", type=click.FloatRange(0.01, 1.0), default=1.0, metavar="FACTOR",
              help="Shrink prompts of ladder and canaries, for small models.")
@click.option("--deadline", "deadlines", multiple=True, metavar="NAME=TIME",
              help="connect, first, between or whole: 10s, 5m, 1m, 30m by default.")
@click.option("--header", "headers", multiple=True, metavar="TEXT", help='One more "Name: value" for every request.')
@click.option("--field", "fields", multiple=True, metavar="NAME=JSON",
              help="One more field of every request, such as chat_template_kwargs.")
@click.option("--ca", metavar="FILE", help="Certificates to trust, in PEM.")
@click.option("--allow-plain-http", "plain", is_flag=True, help="Send the key over plain HTTP to another machine.")
@click.option("--golden", "golden_to", metavar="FILE",
              help="Write the figures as a golden candidate, with the box's facts.")
@click.option("--judge", "judged", multiple=True, metavar="FILE",
              help="Judge a published file or an earlier --json, and ask no server; -: standard input.")
@click.option("--keep", "keep_to", metavar="FILE",
              help="Leave there what tunecheck watch holds the engine to; none where it is not accepted.")
@click.option("--json", "json_to", is_flag=False, flag_value="-", metavar="[FILE]",
              help="Write JSON to FILE; without FILE to standard output, in place of the report.")
@click.option("--junit", "junit_to", metavar="FILE", help="Write JUnit XML, for CI.")
@click.option("--html", "html_to", metavar="FILE", help="Write a report for the browser, one file, offline.")
@click.option("-v", "--verbose", is_flag=True, help="Show every finding, also what was not judged.")
def accept(judged: tuple[str, ...], **given: Any) -> None:
    """Accept or refuse a served model, by honest counting.

    Tokens are what the engine's usage says, speed is wall time, text has to make sense."""
    from ..report.exporters import check_outputs

    keep = given.pop("keep_to")
    wanted: dict[str, str | None] = {kind: given.pop(f"{kind}_to") for kind in ("json", "junit", "html", "golden")}
    check_outputs(wanted)
    if judged:
        if given["base"] is not None:
            raise UsageError("--judge and --base exclude each other: files are judged, or a server; drop one of them",
                             Misuse.DOES_NOT_BELONG)
        if keep is not None:
            raise UsageError("--keep is of a server that was asked; leave --judge out", Misuse.DOES_NOT_BELONG)
        _judge(judged, given["recipe_file"], given["verbose"], {**wanted, "golden": None})
    loads = Loads(*(given.pop(name) for name in ("sustain", "rate", "slo", "load_words")))
    ways = Ways(*(given.pop(name) for name in ("headers", "fields", "ca", "plain", "deadlines")))
    _measure(wanted=wanted, ways=ways, loads=loads, keep=keep, **given)


class Loads(NamedTuple):
    """The options of a load, as given."""

    sustain: str | None
    rate: str | None
    slo: tuple[str, ...]
    words: int


class Ways(NamedTuple):
    """The options of how the server is reached, as given."""

    headers: tuple[str, ...]
    fields: tuple[str, ...]
    ca: str | None
    plain: bool
    deadlines: tuple[str, ...]


def _measure(base: str | None, model: str, api: str, api_key_file: str | None, recipe_file: str | None, profile: str,
             wait_ready: str | None, ladder: str | None, concurrency: str | None, scale: float, verbose: bool,
             ways: Ways, loads: Loads, keep: str | None, wanted: Mapping[str, str | None]) -> None:
    """Ask the server, judge, report; leaves through SystemExit with the verdict's code."""
    from ..app.report_acceptance import report
    from ..serving.plan import plan_for
    from ..serving.reach import address
    from ..util.durations import seconds

    if wanted["golden"] is not None and (wanted["golden"] == "-" or profile != "full"):
        raise UsageError("--golden: expected a file, and --profile full", Misuse.DOES_NOT_BELONG)
    recipe, digest = _recipe(recipe_file, needed=base is None)
    if keep is not None:
        _forget(keep)
    plan = _loaded(plan_for(profile, recipe, ladder, concurrency, scale), loads)
    where = address(base if base is not None else f"http://127.0.0.1:{recipe.serve.port if recipe else 0}")
    ready = seconds("--wait-ready", wait_ready) if wait_ready else (
        recipe.serve.ready_seconds if recipe and profile == "boot" else 0)
    client = _client(where, model or (recipe.serve.name if recipe else ""), api, api_key_file, ways)
    from ..host.notify import refused
    from ..serving.session import Session
    from ..serving.session import wait_ready as wait

    try:
        wait(client, ready, _waiting)
        door, sample = _sampler(where, plan)
        with door:
            seen = Session(client, plan, recipe.max_context if recipe else None, _progress, sample).measure()
    except TunecheckError as error:
        refused(f"not accepted: {error}")
        raise
    finally:
        client.close()
    try:
        report(seen, recipe, digest, where, None, verbose, wanted)
    except SystemExit as left:
        if keep is not None and not left.code:
            _keep(keep, seen, plan, recipe, digest, client)
        raise


def _forget(path: str) -> None:
    """Remove an earlier acceptance: it says nothing of what is asked now. UsageError where it cannot be removed."""
    from pathlib import Path

    from ..util.interrupt import held
    from ..util.left_behind import taken_away

    try:
        with held():
            Path(path).unlink()
            taken_away.append(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UsageError(f"--keep {path}: cannot be replaced ({error.strerror}); expected a file in a folder that "
                         "you may write", Misuse.UNWRITABLE) from None


def _keep(path: str, seen: Measured, plan: Plan, recipe: Recipe | None, digest: str | None, client: Client) -> None:
    """Write the acceptance for the watch. A disk that takes nothing refuses no model: the watch then says that it knows
    of no acceptance."""
    from pathlib import Path

    from ..app.report_acceptance import here
    from ..serving import accepted, keep

    found = keep.of(seen, plan, recipe, digest or "", client.model, client.api, str(here()["boot_id"] or ""))
    try:
        if found is not None:
            Path(path).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            accepted.write(path, found)
    except OSError as error:
        click.echo(f"tunecheck accept: {path}: cannot be written ({error.strerror}); the watch will judge no speed",
                   err=True)


def _judge(files: tuple[str, ...], recipe_file: str | None, verbose: bool, wanted: Mapping[str, str | None]) -> None:
    """Judge each file as a server is judged, and leave with the worst one's exit code."""
    from ..app.report_acceptance import report
    from ..serving.files import read

    for kind, place in wanted.items():
        if place is not None and len(files) > 1:
            raise UsageError(f"--{kind}: judge one file at a time for it", Misuse.DOES_NOT_BELONG)
    recipe, digest = _recipe(recipe_file, needed=False)
    codes = []
    for path in files:
        try:
            report(read(path), recipe, digest, "", path, verbose, wanted)
        except SystemExit as left:
            codes.append(left.code)
    raise SystemExit(next((code for code in (1, 3) if code in codes), 0))


def _recipe(path: str | None, needed: bool) -> tuple[Recipe | None, str | None]:
    if path is None and not needed:
        return None, None
    from ..recipes.stored import PATH, load_recipe

    try:
        return load_recipe(path or PATH)
    except UsageError as error:
        if path is not None:
            raise
        raise UsageError(f"{error}; or give --base URL to measure without a recipe", Misuse.MALFORMED) from None


def _client(base: str, model: str, api: str, api_key_file: str | None, ways: Ways) -> Client:
    from ..serving import reach
    from ..serving.client import Client, Deadlines, Reach

    how = Reach(reach.headers(ways.headers), reach.fields(ways.fields), ways.ca, ways.plain)
    return Client(base, model, reach.key(api_key_file), api, Deadlines(**reach.limits(ways.deadlines)), how)


def _loaded(plan: Plan, loads: Loads) -> Plan:
    """Return the plan with its load: what --concurrency names is then sustained, not asked once."""
    from dataclasses import replace

    from ..serving.plan import limits_of, load_for, rates_of
    from ..util.durations import seconds

    if loads.sustain is None:
        rates_of(loads.rate), limits_of(loads.slo)      # what is wrong in itself is said before what is missing
        if loads.rate or loads.slo or loads.words:
            raise UsageError("--rate, --slo and --load-words are of a load; give --sustain 2m too",
                             Misuse.DOES_NOT_BELONG)
        return plan
    lasts = seconds("--sustain", loads.sustain)
    if not lasts:
        raise UsageError(f"--sustain {loads.sustain}: expected more than 0 s, as in 2m", Misuse.MALFORMED)
    return replace(plan, concurrency=(), load=load_for(lasts, plan.concurrency, loads.rate, loads.slo, loads.words))


def _sampler(base: str, plan: Plan) -> tuple[AbstractContextManager[Any], Callable[[], Mapping[str, Any] | None]]:
    """Return a context, and a function that looks at the GPUs. They are looked at only where the server runs on this
    machine and a load is asked for."""
    from contextlib import closing, nullcontext

    from ..serving.reach import own_machine

    if plan.load is None or not own_machine(base):
        return nullcontext(), lambda: None
    from ..host.live import LiveHost
    from ..serving.devices import looks

    door = LiveHost()
    return closing(door), looks(door)


def _waiting(text: str) -> None:
    """Tell that the server is not ready yet. As ExecStartPost it raises ProbeError where the main process of the unit
    has ended: systemd 252 would let us wait on."""
    from pathlib import Path

    main = os.environ.get("MAINPID", "")
    if main.isdigit() and not Path("/proc", main).exists():
        raise ProbeError("the engine ended before it was ready; look at: journalctl -u tunecheck-inference")
    _progress(text)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"tunecheck: {text}", err=True)
