"""An audit from its first host to its last: ask, keep each answer as it comes, take up what was cut off."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.at_first_use import dataclass
from tunecheck.util.interrupt import held, let_through
from tunecheck.util.suggestions import did_you_mean, nearest

from .model import Answer, AuditHead, Seen
from .overlap import Beside
from .scope import named, of_carried
from .store.audit_queries import ANSWERED
from .store.sanitize import plain

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tunecheck.spec.frozen import Frozen

    from .collect import Options
    from .folder import Folder
    from .judge import JudgeOptions
    from .store import Store

__all__ = ["RESUME_S", "Done", "Source", "audit"]

_SPEC = ("box_spec", "box_spec_host")
#: An audit that was cut off longer ago is not taken up: its first hosts would be from another day.
RESUME_S = 6 * 3600.0


@dataclass(frozen=True)
class Source:
    """Where answers come from: boxes of ``inventory`` under ``limit``, asked as ``options`` say, or files in ``folder``
    (with an inventory: of its hosts)."""

    inventory: str | None = None
    limit: str | None = None
    folder: Folder | None = None
    options: Options | None = None

    @cached_property
    def listed(self) -> dict[str, Any]:
        """What the inventory says: it is asked once, which takes seconds."""
        from tunecheck.spec.inventory import listing

        from .collect.inventory import absolute, limit_of

        assert self.inventory is not None
        return listing(absolute(self.inventory), limit_of(self.limit))

    @property
    def scope(self) -> str:
        """Which hosts these are, in words. Of paths the absolute one: who types another spelling, or the same one in
        another working directory, has to be told what is missing since the last time. A link is a place of its own:
        `latest` leads elsewhere every night."""
        inventory, limit = self.inventory or "", self.limit or ""
        if limit.startswith("@"):
            limit = f"@{_place(limit[1:])}"
        return plain(named(inventory if "," in inventory or not inventory else _place(inventory), limit,
                           _place(self.folder.path) if self.folder else ""), 2000)

    def asked(self) -> tuple[tuple[tuple[str, str], ...], dict[str, dict[str, Any]]]:
        """Every (host, group), by name; and what the inventory, where there is one, declares of each host's spec: its
        variables of those names."""
        if self.inventory is None:
            assert self.folder is not None
            return self.folder.asked(), {}
        from tunecheck.spec.inventory import variables_of

        from .collect.inventory import asked_of

        asked = asked_of(self.listed, self.inventory, self.limit)
        variables = variables_of(self.listed)
        return asked, {host: {name: variables[host][name] for name in _SPEC if name in variables[host]}
                       for host, _ in asked}

    def notes(self, asked: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
        """What is to be said of the source itself; ``asked`` as of ``asked()``."""
        if self.folder is None:
            return ()
        return tuple(self.folder.notes(() if self.limit else {host for host, _ in asked}))

    def collect(self, wanted: Mapping[str, str], sink: Callable[[Answer], None],
                asked: tuple[tuple[str, str], ...]) -> bool:
        """Give the answers of the hosts ``wanted`` (host -> group) to ``sink``; whether all of them came. ``asked`` is
        what ``asked()`` said: a host that has left the inventory meanwhile is asked no more."""
        if self.folder is not None:
            for answer in self.folder.answers(wanted):
                sink(answer)
            return True
        from .collect import Options, collect

        assert self.inventory is not None
        only = frozenset(wanted) & {host for host, _ in asked}
        if not only:
            return True
        # A list of all hosts would say nothing.
        options = replace(self.options or Options(), only=only if len(only) < len(asked) else None)
        return not collect(self.inventory, self.limit, options, sink, asked).interrupted


@dataclass
class Done:
    """``new``: hosts that answered now; ``kept``: those that had answered an earlier run of the same audit.
    ``notes``: what is to be said of the source."""

    audit: AuditHead
    kept: int = 0
    new: int = 0
    whole: bool = False
    notes: tuple[str, ...] = ()


def check(store: Store, source: Source, gone: Collection[str], options: JudgeOptions) -> None:
    """Refuse what audit() would refuse with this history, before it records anything."""
    from .key import fleet_key

    source, _ = _with_absent(store, source, gone)
    fleet_key(store)
    options.check(store, {host for host, _ in source.asked()[0]})


def audit(store: Store, source: Source, specs: Callable[[Mapping[str, Mapping[str, Any]]], Mapping[str, Frozen]],
          say: Callable[[str], None], resume: bool = True, gone: Collection[str] = (),
          options: JudgeOptions | None = None) -> Done:
    """Run one, or what is left of one. ``specs`` gives the specs to judge hosts with, in place of their own; it is told
    what the inventory declares of each. ``say`` gets one line where an earlier one is taken up. ``gone``: hosts that a
    folder need not have any more. ``options``: what it will be judged with, refused before anything is recorded. When
    this returns everything that came is in the store, also where Ctrl-C cut it short (``whole`` is False then)."""
    source, note = _with_absent(store, source, gone)
    asked, variables = source.asked()
    spec_of = specs(variables)
    # What is kept is kept whole: an interrupt is raised where answers are waited for, or at the end.
    with held():
        return _held(store, source, asked, spec_of, say, resume, options, note)


def _held(store: Store, source: Source, asked: tuple[tuple[str, str], ...], spec_of: Mapping[str, Frozen],
          say: Callable[[str], None], resume: bool, options: JudgeOptions | None, note: tuple[str, ...]) -> Done:
    from .apart import Judge
    from .judge_workers import Judges, cores
    from .key import fleet_key
    from .snapshot_age import without_older

    key = fleet_key(store)
    head = store.resume(source.scope, RESUME_S) if resume else None
    if options is not None:
        options.check(store, {host for host, _ in asked}, head.id if head is not None else None)
    wanted = dict(store.pending(head.id) if head is not None else asked)
    if head is None:
        head = store.begin(source.scope, asked)
    done = Done(head, kept=head.asked - len(wanted), notes=(*note, *source.notes(asked)))
    if done.kept:
        say(f"audit #{head.id} was cut off: {done.kept} of {head.asked} hosts answered, asking the other {len(wanted)}")

    def put(seen: Future[Seen]) -> None:
        told = seen.result()
        store.put(done.audit.id, told)
        done.new += told.status in ANSWERED

    # Boxes that are asked answer more slowly than one judge judges; files are there at once.
    count = cores() if source.folder is not None and len(wanted) > 1 else 1
    with Judges(lambda: Judge(spec_of, key), count) as judges, Beside(put, ahead=count) as beside:
        newest = without_older(store, lambda answer: judges.seen(answer).key) if source.folder is not None else None

        def keep(answer: Answer) -> None:
            beside.do(judges.begin(answer, newest))

        try:
            if wanted:
                with let_through():
                    done.whole = source.collect(wanted, keep, asked)
            else:
                done.whole = True
        except KeyboardInterrupt:
            done.whole = False
    if done.whole:
        store.finish(head.id)
    return done


def _place(path: str) -> str:
    """The absolute path, however it was spelled; links stay."""
    return os.path.normpath(Path(path).absolute())


def _with_absent(store: Store, source: Source, gone: Collection[str]) -> tuple[Source, tuple[str, ...]]:
    """A folder cannot say who should be in it: who was in the last audit of it should; a note where there was none. An
    inventory says it. UsageError where one of ``gone`` is a mistake: somebody else would stay missing, or go unseen;
    and where nothing in a new folder is a snapshot."""
    if source.folder is None or source.inventory is not None:
        return source, ()
    carried = [head for head in store.audits() if head.finished is not None and of_carried(head.scope)]
    last = next((head for head in reversed(carried) if head.scope == source.scope), None)
    before: dict[str, str] = {}
    if last is not None:
        before = {state.host: state.group for state in store.hosts(last.id, bare=True)} | dict(store.pending(last.id))
    for host in sorted(gone):
        if host in source.folder.files:
            raise UsageError(f"--gone {host}: its file is there ({source.folder.files[host][1]}); take the file away, "
                             "or leave --gone out", Misuse.ALREADY)
        if last is None:
            raise UsageError(f"--gone {host}: {source.folder.path} was not audited yet, so that no host of it is "
                             "known; leave --gone out", Misuse.NOT_THERE)
        if host not in before:
            near = nearest(host, set(before) - set(source.folder.files), 3)
            raise UsageError(f"--gone {host}: the last audit of {source.folder.path} (#{last.id}) has no such host; "
                             + (did_you_mean(near, ", ") or "where it is gone already, leave --gone out"),
                             Misuse.NO_SUCH)
    if last is None:
        if not {*source.folder.files} & {*store.known_hosts()}:
            source.folder.refuse_others()
        return source, (f"first audit of {source.scope}: who is missing there cannot be told; the last one of a folder "
                        f"was #{carried[-1].id}, {carried[-1].scope}",) if carried else ()
    return replace(source, folder=source.folder.with_absent(
        (host, group) for host, group in before.items() if host not in gone)), ()
