"""``tunecheck audit``: ask every box of an inventory, keep what it says as history, judge the fleet."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from tunecheck.cli import completed

from ..hooks import hooked
from .shared_options import judged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tunecheck.spec.frozen import Frozen

    from ..judge import JudgeOptions
    from ..run import Done, Source
    from ..store import Store

__all__ = ["audit"]

#: From so many hosts on, what ssh's key exchange costs is worth a line.
_MANY = 20


@click.command()
@click.option("-i", "--inventory", metavar="PATH", help="Ansible inventory (folder, file or host list).")
@click.option("--limit", metavar="PATTERN", shell_complete=completed.hosts,
              help="Only these hosts, as for ansible-playbook -l.")
@click.option("--from", "source", metavar="FOLDER",
              help="Take snapshots that were carried here, HOST.json or GROUP/HOST.json, in place of asking. With -i: "
              "those of its hosts; else a host of the last audit of FOLDER that has no file now counts as missing.")
@click.option("--gone", multiple=True, metavar="HOST",
              help="With --from: this host of the last audit is gone for good. May be given again.")
@click.option("--desired", type=click.Choice(["inventory", "box"]), default="inventory", show_default=True,
              help="Judge with the inventory's spec where it has one, or with the box's own.")
@click.option("--with-check-diff", is_flag=True,
              help="Also run the roles with --check --diff on boxes that fail, as a second witness.")
@click.option("--source", "asking", type=click.Choice(["auto", "live", "timer"]), default="auto", show_default=True,
              help="A snapshot made now, the one that the box's own timer left, or whichever there is.")
@click.option("--max-age", metavar="TIME", help="How old the timer's snapshot may be, or with --from a file before its "
              "host counts as incomplete; default: 1h, with --from 7d.")
@click.option("--timeout", metavar="TIME", default="90s", show_default=True, help="How long one box may take.")
@click.option("--forks", type=click.IntRange(1, 1000), metavar="N",
              help="How many boxes at a time; default: one more than processors, 3 more for each while boxes wait.")
@click.option("--ssh-kex", type=click.Choice(["curve25519"]),
              help="Ask for this key exchange first; see: tunecheck fleet doctor.")
@click.option("--new", is_flag=True, help="Begin anew, also where an audit was cut off less than 6 hours ago.")
@hooked
@judged
def audit(inventory: str | None, limit: str | None, source: str | None, gone: tuple[str, ...], desired: str,
          with_check_diff: bool,
          asking: Any, max_age: str | None, timeout: str, forks: int | None, ssh_kex: str | None, new: bool,
          webhook: str | None, webhook_secret: str | None, webhook_as: str, link: str, store_url: str | None,
          baseline: str, verbose: bool, fail_on: tuple[str, ...], max_missing: str, **outputs: Any) -> None:
    """Ask every box of an inventory what it is now, keep the answers, and say who drifted, from what and since when.
    Run it every night; the others read what it kept (--store says where).

    Boxes are only read. Exit code 1: --fail-on matched; 2: bad usage, or no host answered; 3: more than --max-missing
    hosts were silent or partial; 130: Ctrl-C, 143: SIGTERM; what had arrived is kept and the next run asks the
    rest."""
    from ..hooks import hook_of, posted
    from ..judge import JudgeOptions, allowed_missing, report
    from ..key import VARIABLE
    from ..store import open_store
    from ..which_audit import of_other_limits
    from .interrupted_audit import tell_at_interrupt
    from .shared_options import check_places, finish

    wanted = check_places(outputs)
    allowed_missing(max_missing, 1)
    options = JudgeOptions(baseline=baseline)
    hook = hook_of(webhook, webhook_secret, webhook_as, link)
    where = _source(inventory, limit, source, with_check_diff, gone, asking=asking, max_age=max_age, timeout=timeout,
                    forks=forks, ssh_kex=ssh_kex)
    if with_check_diff:
        from ..check_diff import check_play

        check_play()
    specs = _looked_at(store_url, where, desired, gone, options)
    with open_store(store_url) as store:
        tell_at_interrupt(store, store_url, where.scope)
        if not store.audits(1):
            key = " (with fleet.key beside it)" if store.db.sqlite and VARIABLE not in os.environ else ""
            _progress(f"the first audit: its history is kept in {store.where}{key}, until you remove it")
        done = _asked(store, where, specs, resume=not new, gone=gone, options=options)
        found = report(store, done.audit.id, options)
        if with_check_diff and inventory is not None:
            from ..check_diff import ask, targets

            found = report(store, done.audit.id, replace(options, claims=ask(inventory, targets(found))))
        found = replace(found, notes=(*done.notes, *of_other_limits(store, done.audit.id), *found.notes))
        finish(found, wanted, verbose, fail_on, max_missing, lambda: posted(hook, found, store, _progress))


def _source(inventory: str | None, limit: str | None, folder: str | None, check_diff: bool, gone: tuple[str, ...], *,
            asking: Any, max_age: str | None, timeout: str, forks: int | None, ssh_kex: Any) -> Source:
    from tunecheck.errors import Misuse, UsageError
    from tunecheck.util.durations import seconds

    from ..folder import MAX_AGE_S, Folder
    from ..run import Source
    from . import time_options

    if inventory is None and folder is None:
        raise UsageError("audit needs the boxes to ask: -i INVENTORY, or --from FOLDER with their snapshots",
                         Misuse.LEFT_OUT)
    if inventory is None and (limit is not None or check_diff):
        option = "--limit" if limit is not None else "--with-check-diff"
        raise UsageError(f"{option} needs -i INVENTORY, whose hosts it is about", Misuse.LEFT_OUT)
    if gone and (folder is None or inventory is not None):
        raise UsageError("--gone is for --from FOLDER alone: of an inventory, take the host out of it",
                         Misuse.DOES_NOT_BELONG)
    age = None if max_age is None else time_options.age(max_age, "--max-age")
    if folder is not None:
        for option, given in (("--source", asking != "auto"), ("--forks", forks is not None),
                              ("--ssh-kex", ssh_kex is not None)):
            if given:
                raise UsageError(f"{option} is about boxes that are asked, and with --from none is; leave it out",
                                 Misuse.DOES_NOT_BELONG)
        return Source(inventory, limit, Folder.read(folder, MAX_AGE_S if age is None else age))
    from ..collect import Options

    return Source(inventory, limit, None, Options(
        forks=forks, deadline=seconds("--timeout", timeout), source=asking, max_age=3600.0 if age is None else age,
        ssh_kex=ssh_kex))


def _looked_at(store_url: str | None, source: Source, desired: str, gone: tuple[str, ...],
               options: JudgeOptions) -> Mapping[str, Frozen]:
    """The specs of the hosts. What is wrong with the inputs is found here, before a history is made: a slip leaves
    nothing behind."""
    import tempfile  # start-up time: a slip in the options needs none of it

    from ..run import check
    from ..store import history_is_there, open_store

    _, variables = source.asked()
    specs = _specs(desired, variables)
    if not history_is_there(store_url):
        with tempfile.TemporaryDirectory(prefix="tunecheck-") as place, open_store(f"{place}/fleet.db") as empty:
            check(empty, source, gone, options)
    return specs


def _asked(store: Store, source: Source, specs: Mapping[str, Frozen], resume: bool, gone: tuple[str, ...],
           options: JudgeOptions) -> Done:
    from ..run import audit as run

    done = run(store, source, lambda _: specs, _progress, resume, gone, options)
    if not done.whole:
        raise KeyboardInterrupt
    if source.options is not None and done.audit.asked >= _MANY and sys.stderr.isatty():
        from ..collect.kex import advice, client

        if hint := advice(client(), done.audit.asked, source.options.ssh_kex):
            _progress(hint)
    return done


def _specs(desired: str, variables: Mapping[str, Mapping[str, Any]]) -> dict[str, Frozen]:
    if desired == "box":
        return {}
    from ..desired import declared

    return declared(variables)


def _progress(line: str) -> None:
    from tunecheck.report.style import fitted

    click.echo(fitted(f"tunecheck: {line}", sys.stderr), err=True)
