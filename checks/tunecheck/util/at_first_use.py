"""Dataclasses and patterns that are made when they are first used, not when their file is loaded.

A run of tunecheck loads 140 dataclasses and 330 patterns and uses a third of them. To make them all took 0.18 of the
0.45 s that a small `tunecheck preflight --from` needs (Python 3.11; lab/bench/startup.py). ``dataclass`` and
``regex`` are used like ``dataclasses.dataclass`` and ``re.compile``.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict

__all__ = ["dataclass", "regex"]

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

    def regex(text: str, flags: "int | re.RegexFlag" = 0) -> "re.Pattern[str]":
        """Return a pattern that is compiled when it is first used. A type checker sees a compiled pattern."""

else:
    import dataclasses
    import reprlib
    from operator import attrgetter

    _FIELDS = "__dataclass_fields__"
    _OF_A_PATTERN = ("findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "scanner", "search",
                     "split", "sub", "subn")
    _lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        # A child of a thread must not find the lock taken by another thread, which it does not have.
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

    def dataclass(cls: Any = None, **options: bool) -> Any:
        """As dataclasses.dataclass, without ``slots``, and with fields alone that __init__ takes (no InitVar, no
        ``kw_only``, no ``init=False``). The methods are made with the first instance, or when somebody asks for the
        fields."""
        if cls is None:
            return lambda each: dataclass(each, **options)
        later = _Later(cls, options)
        cls.__init__ = later.first
        setattr(cls, _FIELDS, later)
        return cls

    class _Later:
        """Stands for the fields of a class until these are made."""

        def __init__(self, cls: type, options: Dict[str, bool]) -> None:
            self._cls, self._options = cls, options

            def first(made: Any, *args: Any, **named: Any) -> None:
                self._make()
                cls.__init__(made, *args, **named)

            self.first: Callable[..., None] = first

        def __get__(self, made: object, cls: object = None) -> Any:
            self._make()
            return getattr(self._cls, _FIELDS)

        def _make(self) -> None:
            cls = self._cls
            with _lock:
                if vars(cls).get(_FIELDS) is not self:
                    return      # another thread was first
                before = set(vars(cls))
                try:
                    # Until the class is made both names lead here: another thread that uses the class waits.
                    # Without one, dataclasses writes a signature here, which costs as much as a method.
                    cls.__doc__ = cls.__doc__ or cls.__name__
                    _dataclass(cls, **self._options)
                except BaseException:
                    # An interrupt: whoever clears up after it may need the class.
                    for name in set(vars(cls)) - before:
                        delattr(cls, name)
                    cls.__init__ = self.first
                    setattr(cls, _FIELDS, self)
                    raise

    def _init_of(cls: type, frozen: bool) -> None:
        """Give the class the __init__ of a dataclass, in one step: the one of a subclass, which takes the same."""
        below = dataclasses.dataclass(repr=False, eq=False, frozen=frozen)(
            type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "__module__": cls.__module__}))
        below.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = below.__init__

    def _dataclass(cls: type, eq: bool = True, frozen: bool = False, **others: bool) -> None:
        """Make the dataclass, with methods for printing and comparing that behave as those of dataclasses. That
        compiles a text for each of them, half of its time, and few classes are ever printed or compared."""
        if others or "__eq__" in vars(cls) or "__hash__" in vars(cls):
            dataclasses.dataclass(init=False, eq=eq, frozen=frozen, **others)(cls)
            _init_of(cls, frozen)
            return
        if frozen and not any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:]):
            dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
            _freeze(cls)
        else:
            dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen)(cls)
            _init_of(cls, frozen)
        if "__repr__" not in vars(cls):
            cls.__repr__ = _repr
        if not eq:
            return
        # "__class__", equal in both, makes a tuple even of a single value: NaN equals itself there, as in theirs.
        values = attrgetter("__class__", *(each.name for each in dataclasses.fields(cls) if each.compare))

        def equal(one: object, other: object) -> bool:
            return values(one) == values(other) if other.__class__ is one.__class__ else NotImplemented

        cls.__eq__ = equal
        cls.__hash__ = (lambda made: hash(values(made))) if frozen else None

    def _freeze(cls: type) -> None:
        """Give a class of plain fields the __init__ of a frozen dataclass, and the refusal of every later change.
        dataclasses compiles three texts for that, which is most of what making a class costs; this is one."""
        of_class = dataclasses.fields(cls)
        if not all(each.init and not getattr(each, "kw_only", False) for each in of_class) or any(
                "InitVar" in str(kind) for kind in vars(cls).get("__annotations__", {}).values()):
            raise TypeError(f"{cls.__qualname__}: each field has to be one that __init__ takes by position")
        names = frozenset(each.name for each in of_class)
        cls.__dataclass_params__.frozen = True
        arguments, puts, known = ["self"], [], {"_put": object.__setattr__, "_NOT_GIVEN": object()}
        for number, each in enumerate(of_class):
            value = each.name
            if each.default_factory is not dataclasses.MISSING:
                known[f"_make{number}"] = each.default_factory
                arguments.append(f"{value}=_NOT_GIVEN")
                value = f"_make{number}() if {value} is _NOT_GIVEN else {value}"
            elif each.default is not dataclasses.MISSING:
                known[f"_default{number}"] = each.default
                arguments.append(f"{value}=_default{number}")
            else:
                arguments.append(value)
            puts.append(f" _put(self, {each.name!r}, {value})\n")
        if hasattr(cls, "__post_init__"):
            puts.append(" self.__post_init__()\n")
        exec(f"def __init__({', '.join(arguments)}):\n{''.join(puts) or ' pass'}", known)     # our own field names only
        cls.__init__ = known["__init__"]
        cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"

        def refuse_set(made: object, name: str, value: object) -> None:
            if type(made) is cls or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(cls, made).__setattr__(name, value)

        def refuse_delete(made: object, name: str) -> None:
            if type(made) is cls or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(cls, made).__delattr__(name)

        cls.__setattr__, cls.__delattr__ = refuse_set, refuse_delete

    @reprlib.recursive_repr()
    def _repr(made: Any) -> str:
        shown = (f"{each.name}={getattr(made, each.name)!r}" for each in dataclasses.fields(made) if each.repr)
        return f"{type(made).__qualname__}({', '.join(shown)})"

    class _Regex:
        """What a pattern has, each taken from the compiled one when it is first asked for."""

        def __init__(self, text: str, flags: int) -> None:
            self.pattern, self._flags = text, flags

        def __getattr__(self, name: str) -> Any:
            if name not in _OF_A_PATTERN:
                raise AttributeError(name)
            compiled = re.compile(self.pattern, self._flags)
            vars(self).update((each, getattr(compiled, each)) for each in _OF_A_PATTERN)
            return getattr(compiled, name)

        def __repr__(self) -> str:
            return repr(re.compile(self.pattern, self._flags))

    def regex(text: str, flags: int = 0) -> Any:
        """As re.compile; not for functions that want a re.Pattern, as re.sub does."""
        return _Regex(text, flags)
