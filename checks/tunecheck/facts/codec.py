"""Facts as JSON and back, by their types alone: a new dataclass of facts needs nothing here.

Understood are frozen dataclasses, also generic ones (``Fact[int]``), text, int, float, bool, None, tuples, lists, sets,
mappings, optional values, unions of plain values, enumerations, literals, and ``Any`` for plain JSON. An object has its
fields by name; a field that has its default is left out; a mapping whose keys are no texts is a list of [key, value].
Each type is looked at once per process. Decoding is strict: nothing unknown, nothing of another type.
"""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import enum
import functools
import operator
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from ..host.absence_of_text import stored_reason
from ..model.absence import Absence, Reason
from ..model.fact import Fact, absent
from .hints import hints
from .shapes import (
    FLOAT,
    Shape,
    enumeration,
    fixed,
    inside,
    lacks,
    literal,
    many,
    mapping,
    plain,
    plain_or_none,
    same,
    unknown,
    wrong,
)

__all__ = ["decode", "encode", "shape", "used"]

_PLAIN = (str, int, bool, float)
_MISSING = dataclasses.MISSING


def encode(kind: Any, value: Any) -> Any:
    """Return ``value``, which is of type ``kind``, as plain JSON data."""
    return shape(kind).encode(value)


def decode(kind: Any, data: Any) -> Any:
    """Return the value of type ``kind`` that ``encode`` wrote as ``data``. DamagedError says where the data does not
    fit."""
    return shape(kind).decode(data)


_known: dict[Any, Shape] = {}
#: Name -> schema of every dataclass looked at so far, for the JSON Schema's $defs.
definitions: dict[str, dict[str, Any]] = {}


def shape(kind: Any) -> Shape:
    """Return how values of type ``kind`` are written and read. TypeError for a type that facts cannot have."""
    found = _known.get(kind)
    if found is None:
        found = _known[kind] = _looked_at(kind)
    return found


def used(kind: type) -> dict[str, Any]:
    """Return the $defs of a JSON Schema for a document that holds ``kind``: the schema of ``kind`` and those that it
    refers to, by name."""
    shape(kind)
    found: dict[str, Any] = {}
    wanted = [_name(kind)]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = definitions[name]
            wanted += _references(found[name])
    return dict(sorted(found.items()))


def _references(schema: object) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else []
        return own + [name for value in schema.values() for name in _references(value)]
    return [name for value in schema for name in _references(value)] if isinstance(schema, list) else []


def _looked_at(kind: Any) -> Shape:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return Shape(same, same, {})
    if kind is None or kind is types.NoneType:
        return plain(types.NoneType, "null")
    if kind is Reason:      # its code is a field beside it: _record
        return Shape(str, Reason, {"type": "string"}, str)
    if kind in _PLAIN:
        return FLOAT if kind is float else plain(kind, {str: "string", int: "integer", bool: "boolean"}[kind])
    if origin is typing.Union or origin is types.UnionType:
        return _union(arguments)
    if origin is typing.Literal:
        return literal(arguments)
    if dataclasses.is_dataclass(origin or kind):
        return _record(kind, origin or kind, arguments)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return enumeration(kind)
    return _collection(kind, origin or kind, arguments)


def _union(arguments: tuple[Any, ...]) -> Shape:
    rest = [argument for argument in arguments if argument is not types.NoneType]
    optional = len(rest) < len(arguments)
    if len(rest) == 1:
        inner = shape(rest[0])
        into, out = inner.encode, inner.decode
        if rest[0] is Reason:
            return Shape(lambda value: None if value is None else str(value), same,
                          {"anyOf": [inner.schema, {"type": "null"}]}, str, optional=True)
        if inner.raw is not None and into is same:
            return plain_or_none(inner.raw, {"anyOf": [inner.schema, {"type": "null"}]})
        return Shape(lambda value: None if value is None else into(value),
                      lambda data: None if data is None else out(data), {"anyOf": [inner.schema, {"type": "null"}]},
                      inner=out)
    if not all(argument in _PLAIN for argument in rest):
        raise TypeError(f"a fact cannot be one of {arguments}: only plain values may differ in type")
    kinds = {*rest, *([types.NoneType] if optional else [])}

    def checked(data: Any) -> Any:
        if type(data) in kinds:
            return data
        raise wrong(data, "another type of value")

    return Shape(same, checked, {"anyOf": [shape(argument).schema for argument in arguments]})


def _collection(kind: Any, origin: Any, arguments: tuple[Any, ...]) -> Shape:
    if origin in (dict, Mapping, abc.MutableMapping) and len(arguments) == 2:
        return mapping(shape(arguments[0]), shape(arguments[1]))
    if origin is tuple and arguments and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        return fixed([shape(argument) for argument in arguments])
    make = {tuple: tuple, list: list, abc.Sequence: tuple, abc.Collection: tuple, set: set, frozenset: frozenset,
            abc.Set: frozenset}.get(origin)
    if make is None or not arguments:
        raise TypeError(f"facts cannot hold {kind}: give the types of what is in it, or extend facts/codec.py")
    return many(shape(arguments[0]), make, make in (set, frozenset))


def _record(kind: Any, made: Any, arguments: tuple[Any, ...]) -> Shape:
    """Return the shape of a dataclass. Its functions are made as source text, as dataclasses makes __init__: they run a
    thousand times for every snapshot."""
    bound = dict(zip(getattr(made, "__parameters__", ()), arguments, strict=False))
    fields = [item for item in dataclasses.fields(made) if item.init]
    types_of = hints(made)
    shapes = {item.name: shape(_filled(types_of[item.name], bound)) for item in fields}
    name = _name(kind)
    names: dict[str, Any] = {"made": made, "new": object.__new__, "put": object.__setattr__, "wrong": wrong,
                             "ValueError": ValueError, "absent": _absent, "inside": inside, "lacks": lacks,
                             "unknown": unknown,
                             "at": "" if made is Fact else f"{made.__name__}: "}
    into, out = [], []
    for index, item in enumerate(fields):
        form = shapes[item.name]
        names[f"e{index}"], names[f"d{index}"], names[f"r{index}"] = form.encode, form.decode, form.raw
        default = item.default if item.default_factory is _MISSING else item.default_factory()
        names[f"v{index}"] = default
        value = f"value.{item.name}" if form.encode is same else f"e{index}(value.{item.name})"
        put = f"result[{item.name!r}] = {value}"
        into.append(put if default is _MISSING else f"if value.{item.name} != v{index}: {put}")
        out += _reading(index, item, form, default, names, types_of[item.name])
        if types_of[item.name] == Reason | None:        # {"reason": text, "absence": code}
            names["reason_of"] = stored_reason
            into.append(f"if value.{item.name} is not None: result['absence'] = value.{item.name}.absence.value")
            out += [f"if x{index} is not None:", "  code = data.get('absence')", "  if code is not None: more -= 1",
                    f"  x{index} = reason_of(x{index}, code)"]
    source = "def encode(value):\n result = {}\n " + "\n ".join(into) + "\n return result\n"
    source += ("def decode(data):\n try:\n  if type(data) is not dict: raise wrong(data, 'an object')\n"
               f"  more = len(data) - {len(fields)}\n  " + "\n  ".join(out)
               + "\n  if more: raise unknown()\n"
               " except ValueError as error: raise inside(at, error) from None\n")
    arranged = ", ".join(f"{item.name!r}: x{index}" for index, item in enumerate(fields))
    if hasattr(made, "__post_init__") or "__slots__" in vars(made):
        source += f" return made(**{{{arranged}}})\n"
    else:
        source += f" it = new(made)\n put(it, '__dict__', {{{arranged}}})\n return it\n"
    exec(source, names)      # made of our own field names only
    definitions[name] = {"type": "object", "additionalProperties": False,
                         "required": [item.name for item in fields if item.default is _MISSING
                                      and item.default_factory is _MISSING],
                         "properties": {item.name: shapes[item.name].schema for item in fields} | (
                             {"absence": enumeration(Absence).schema} if made is Fact else {})}
    return Shape(names["encode"], names["decode"], {"$ref": f"#/$defs/{name}"})


def _reading(index: int, item: dataclasses.Field[Any], form: Shape, default: Any, names: dict[str, Any],
             hint: Any) -> list[str]:
    """Return the lines of source text that read one field of ``data`` into the variable x<index>."""
    names[f"n{index}"] = item.name
    if default is not _MISSING:
        lost = f"x{index} = v{index}"
    elif typing.get_origin(hint) is Fact:       # written before there was this fact: no evidence, which is said
        lost = f"x{index} = absent(n{index})"
    else:
        lost = f"raise lacks({item.name!r})"
    lines = [f"if {item.name!r} not in data:", "  more += 1", f"  {lost}", "else:",
             f"  x{index} = data[{item.name!r}]"]
    if form.raw is not None:
        unless = f"x{index} is not None and " if form.optional else ""
        lines.append(f"  if {unless}type(x{index}) is not r{index}: raise wrong(x{index}, r{index}.__name__)")
    elif form.inner is not None:
        names[f"i{index}"] = form.inner
        lines.append(f"  if x{index} is not None: x{index} = i{index}(x{index})")
    elif form.decode is not same:
        lines.append(f"  x{index} = d{index}(x{index})")
    return lines


def _absent(name: str) -> Fact[Any]:
    return absent(name, Absence.OLDER.because("not in this snapshot: it was made by an older tunecheck"))


def _filled(hint: Any, bound: Mapping[Any, Any]) -> Any:
    """Return the type ``hint`` with its type parameters filled in: ``T | None`` is ``int | None`` in Fact[int]. A
    parameter that nobody bound is Any."""
    if isinstance(hint, TypeVar):
        return bound.get(hint, Any)
    arguments = typing.get_args(hint)
    if not bound or not arguments:
        return hint
    filled = tuple(_filled(argument, bound) for argument in arguments)
    if filled == arguments:
        return hint
    origin = typing.get_origin(hint)
    return functools.reduce(operator.or_, filled) if origin in (typing.Union, types.UnionType) else origin[filled]


def _name(kind: Any) -> str:
    """Return the name of a type in the schema: ``Fact_tuple_Device`` for ``Fact[tuple[Device, ...]]``."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Ellipsis or kind is types.NoneType:
        return ""
    first = getattr(origin or kind, "__name__", str(origin or kind))
    module = sys.modules.get(getattr(kind, "__module__", ""), None)
    where = module.__name__.rpartition(".")[2] + "." if module and dataclasses.is_dataclass(kind) else ""
    return where + "_".join(filter(None, [first, *(_name(argument) for argument in arguments)]))
