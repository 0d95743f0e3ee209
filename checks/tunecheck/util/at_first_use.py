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
        """As dataclasses.dataclass, without ``slots``. The methods are made with the first instance, or when somebody
        asks for the fields."""
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
                    delattr(cls, _FIELDS)
                    del cls.__init__
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

    def _dataclass(cls: type, eq: bool = True, frozen: bool = False, **others: bool) -> None:
        """Make the dataclass, with methods for printing and comparing that behave as those of dataclasses. That
        compiles a text for each of them, half of its time, and few classes are ever printed or compared."""
        if others or "__eq__" in vars(cls) or "__hash__" in vars(cls):
            dataclasses.dataclass(eq=eq, frozen=frozen, **others)(cls)
            return
        dataclasses.dataclass(repr=False, eq=False, frozen=frozen)(cls)
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
