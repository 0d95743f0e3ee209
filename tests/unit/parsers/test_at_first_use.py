"""Dataclasses and patterns that are made at first use are those that dataclasses and re would have made."""

import copy
import dataclasses
import importlib
import os
import pickle
import pkgutil
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field

import pytest

from tunecheck import facts, host, model, parsers, report, rules
from tunecheck.util import at_first_use
from tunecheck.util.at_first_use import dataclass, regex


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2
    names: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Named(Point):
    name: str = "a"


@dataclass
class Open:
    x: int

    def __post_init__(self) -> None:
        self.twice = 2 * self.x


def fresh(**options):
    @dataclass(**options)
    class Fresh:
        """Its own text."""

        x: int
        y: int = 2

    return Fresh


def as_dataclasses_makes_it(**options):
    @dataclasses.dataclass(**options)
    class Fresh:
        """Its own text."""

        x: int
        y: int = 2

    return Fresh


@pytest.mark.parametrize("options", [
    {}, {"frozen": True}, {"order": True}, {"eq": False}, {"frozen": True, "repr": False}])
def test_a_class_has_what_dataclasses_gives_it(options):
    ours, theirs = fresh(**options), as_dataclasses_makes_it(**options)
    ours(1)
    assert set(vars(ours)) == set(vars(theirs))
    assert [each.name for each in dataclasses.fields(ours)] == [each.name for each in dataclasses.fields(theirs)]
    assert ours.__doc__ == theirs.__doc__
    assert ours.__dataclass_params__.frozen == theirs.__dataclass_params__.frozen


@dataclass(frozen=True)
class Single:
    value: float
    seen: int = field(default=0, compare=False)
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Empty:
    pass


@dataclass
class OwnEqual:
    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnEqual) and abs(self.x) == abs(other.x)


def test_comparing_and_printing_are_as_usual():
    nan = float("nan")
    assert Single(nan) == Single(nan) and hash(Single(1.0)) == hash(Single(1.0, 3)) and Single(1.0) == Single(1.0, 3)
    assert Single(1.0) != Single(1.0, key="a") and Single(1.0) != Empty() and Empty() == Empty()
    assert len({Empty(), Empty(), Single(1.0)}) == 2
    assert Named(1) != Point(1) and Single(1.0).__eq__(1) is NotImplemented
    assert repr(Single(1.0, key="secret")) == "Single(value=1.0, seen=0)"
    assert OwnEqual(1) == OwnEqual(-1)
    for unhashable in (OwnEqual(1), Open(1), Point(1)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)
    ring = Open(1)
    ring.x = ring
    assert repr(ring) == "Open(x=...)"


def test_a_frozen_class_refuses_every_change_as_usual():
    @dataclass(frozen=True)
    class Checked:
        x: int
        names: list[int] = field(default_factory=list)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.x)

    one, other = Checked(1), Checked(x=1)
    assert one.twice == 2 and one == other and one.names is not other.names
    for change in (lambda: setattr(one, "x", 2), lambda: setattr(one, "other", 2), lambda: delattr(one, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError, match=r"cannot (assign to|delete) field"):
            change()
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'y'"):
        Checked(1, y=2)


@pytest.mark.parametrize("options", [{"init": False}, {"kw_only": True}])
def test_a_field_that_the_short_way_does_not_know_is_refused(options):
    @dataclass(frozen=True)
    class Odd:
        x: int = field(default=1, **options)

    with pytest.raises(TypeError, match="each field has to be one that __init__ takes"):
        Odd()


def test_instances_are_as_usual():
    one = Point(1, names={"a": 1})
    assert one == Point(1, 2, {"a": 1}) != Point(2)
    assert repr(Point(1)) == "Point(x=1, y=2, names={})"
    assert dataclasses.replace(one, y=3).y == 3
    assert dataclasses.asdict(one) == {"x": 1, "y": 2, "names": {"a": 1}}
    assert copy.deepcopy(one) == one == pickle.loads(pickle.dumps(one))
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 5
    assert Open(2).twice == 4
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        fresh()()


def test_who_asks_for_the_fields_first_gets_them():
    assert dataclasses.is_dataclass(fresh(frozen=True))
    assert [each.name for each in dataclasses.fields(fresh(frozen=True))] == ["x", "y"]


def test_a_subclass_first_makes_what_it_inherits():
    assert Named(1, name="b") == Named(1, 2, {}, "b")
    assert Point(1).y == 2


def test_threads_that_are_first_at_once_all_get_an_instance():
    for _ in range(50):
        kind, made = fresh(frozen=True), []
        start = threading.Barrier(8)

        def use(kind=kind, made=made, start=start):
            start.wait()
            made.append(kind(1))

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert made == [kind(1)] * 8


@pytest.mark.parametrize("options", [{"frozen": True}, {"frozen": False}, {"order": True}])
def test_a_thread_that_comes_while_the_class_is_made_waits_for_it(monkeypatch, options):
    kind, made, others = fresh(**options), dataclasses.dataclass, []

    def slowly(*args, **named):
        def of(cls):
            done = made(*args, **named)(cls)
            if not others:
                others.append(pool.submit(lambda: (kind(1), dataclasses.fields(kind))))
                time.sleep(0.05)
            return done
        return of

    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(dataclasses, "dataclass", slowly)
        kind(1)
        assert [each.result(20)[1] for each in others] == [dataclasses.fields(kind)]


def test_an_interrupt_in_the_midst_leaves_a_class_that_can_be_used(monkeypatch):
    kind = fresh(frozen=True)
    whole = dataclasses.dataclass

    def interrupted(**options):
        def make(cls):
            whole(**options)(cls)
            raise KeyboardInterrupt

        return make

    with monkeypatch.context() as patch:
        patch.setattr(dataclasses, "dataclass", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kind(1)
    assert kind(1) == kind(1, 2)


def test_a_child_of_a_thread_finds_no_lock_that_nobody_will_release():
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with at_first_use._lock:
            entered.set()
            leave.wait(0.2)

    other = threading.Thread(target=hold)
    other.start()
    entered.wait(20)
    pid = os.fork()
    if pid == 0:
        fresh(frozen=True)(1)
        os._exit(0)
    leave.set()
    other.join(20)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_pattern_answers_as_the_compiled_one():
    text = r"^(?P<name>\w+)=(\d+)$"
    ours, theirs = regex(text, re.MULTILINE), re.compile(text, re.MULTILINE)
    lines = "a=1\nb=22\nc"
    assert ours.findall(lines) == theirs.findall(lines)
    assert ours.sub(r"\2", lines) == theirs.sub(r"\2", lines)
    assert [found.span() for found in ours.finditer(lines)] == [found.span() for found in theirs.finditer(lines)]
    assert (ours.pattern, ours.flags, ours.groups, dict(ours.groupindex)) == (
        theirs.pattern, theirs.flags, theirs.groups, dict(theirs.groupindex))
    assert ours.search(lines).span() == theirs.search(lines).span()
    assert ours.match("c") is None
    assert ours.fullmatch("a=1")["name"] == "a"
    assert repr(ours) == repr(theirs)
    with pytest.raises(AttributeError):
        ours.finds(lines)


def test_every_pattern_and_dataclass_of_tunecheck_can_be_made():
    """Nothing tells at start-up any more that one cannot."""
    found = 0
    for folder in (model, parsers, facts, host, rules, report):
        for each in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            for thing in vars(importlib.import_module(each.name)).values():
                if isinstance(thing, type) and dataclasses.is_dataclass(thing):
                    found += bool(dataclasses.fields(thing))
                elif isinstance(thing, type(regex(""))):
                    found += bool(thing.search) and not isinstance(thing.search(""), str)
    assert found > 400


def test_a_wrong_pattern_is_told_at_first_use():
    with pytest.raises(re.error):
        regex("(").search("")
