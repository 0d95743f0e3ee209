"""Stands in for what an engine imports beside itself: every module that is neither of the standard library nor
installed, nor in the wheel, is made of empty classes. Enough to build a command-line parser; nothing computes."""

from __future__ import annotations

import abc
import importlib.abc
import importlib.machinery
import importlib.metadata
import re
import sys
import types
from collections.abc import Sequence
from typing import Any

__all__ = ["install"]

#: What a value is asked for while modules are read: each answers with the value itself, or with nothing.
_ITSELF = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod",
           "or", "ror", "and", "rand", "lshift", "rshift", "neg", "invert", "getitem", "enter", "setitem", "iadd",
           "ior")
_FALSE = ("lt", "contains", "bool")
_TRUE = ("gt", "ge", "le")
#: Compiled parts of the wheels, which a source tree lacks; and what looks into them, or patches what is not there.
_COMPILED = ("vllm._C", "vllm._moe_C", "vllm._version", "vllm.vllm_flash_attn", "vllm.cumem_allocator", "vllm._rust",
             "vllm.ir", "sglang.srt.utils.hf_transformers", "sglang.srt.layers.attention.fla")
#: Whose presence tells an engine that it is on another kind of machine: as modules, and as names of torch.
_ABSENT = ("torch_npu", "torch_musa", "torch_mlu", "torch_xla", "habana_frameworks", "mlx",
           "intel_extension_for_pytorch")
_OTHER = ("npu", "xpu", "hpu", "musa", "mps", "hip")
#: Not taken even where it is installed: it would only be of a version that does not fit.
_NEVER = ("torch", "transformers", "triton", "numpy", "PIL", "cv2", "ray", "flashinfer", "sgl_kernel", "scipy",
          "pandas", "fastapi", "starlette", "uvicorn", "opentelemetry", "prometheus_client", "zmq", "aiohttp",
          "openai", "httpx")


class _Kind(abc.ABCMeta):
    """An empty class: any attribute is another, any operator gives it back."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _made(name)
        setattr(cls, name, made)
        return made

    def __iter__(cls) -> Any:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __int__(cls) -> int:
        return 0

    def __index__(cls) -> int:
        return 0

    def __float__(cls) -> float:
        return 0.0

    def __hash__(cls) -> int:
        return id(cls)

    def __eq__(cls, other: object) -> bool:
        return cls is other


def _itself(self: Any, *_: Any, **__: Any) -> Any:
    return self


for _name in _ITSELF:
    setattr(_Kind, f"__{_name}__", _itself)
for _name in (*_FALSE, *_TRUE):
    if _name != "bool":
        setattr(_Kind, f"__{_name}__", lambda *_, answer=_name in _TRUE: answer)


def _call(self: Any, *given: Any, **named: Any) -> Any:
    # As a decorator it leaves alone what it decorates.
    return given[0] if len(given) == 1 and not named and callable(given[0]) else self


def _inner(self: Any, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _made(name)()


def _made(name: str) -> Any:
    body: dict[str, Any] = {
        "__new__": lambda cls, *_, **__: object.__new__(cls), "__init__": lambda self, *_, **__: None,
        "__init_subclass__": classmethod(lambda cls, **_: None), "__call__": _call, "__getattr__": _inner,
        "__iter__": lambda self: iter(()), "__len__": lambda self: 0, "__int__": lambda self: 0,
        "__index__": lambda self: 0, "__float__": lambda self: 0.0, "__str__": lambda self: "0.0.0",
        "__exit__": lambda self, *_: None, "__hash__": lambda self: id(self),
        "__eq__": lambda self, other: self is other,
        "__get_pydantic_core_schema__": classmethod(lambda cls, source, handler: _anything()),
        "__mro_entries__": lambda self, bases: (),
        **{f"__{each}__": _itself for each in _ITSELF},
        **{f"__{each}__": lambda *_, answer=each in _TRUE: answer for each in (*_FALSE, *_TRUE)}}
    return _Kind(name, (), body)


def _anything() -> Any:
    from pydantic_core import core_schema

    return core_schema.any_schema()


class _Module(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012 - what makes it a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _OTHER:
            raise AttributeError(name)
        made = _made(name)
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, engine: str) -> None:
        self._engine = engine

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or (top == self._engine and not name.startswith(_COMPILED)):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__version__ = "99.0.0"  # type: ignore[attr-defined]
        module.__file__ = "/nowhere"


class _First(_Finder):
    """Before what is installed: versions that do not fit would only break."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name.partition(".")[0] in _ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        never = name.partition(".")[0] in _NEVER or name.startswith(_COMPILED)
        return super().find_spec(name, path, target) if never else None


class _Version:
    cuda = "13.0"

    def __getattr__(self, name: str) -> None:
        """Of no other kind."""


def install(engine: str) -> None:
    # Alike for what parsers ask of it.
    sys.modules.setdefault("regex", re)
    sys.meta_path.insert(0, _First(engine))
    sys.meta_path.append(_Finder(engine))
    known = importlib.metadata.version

    def version(name: str) -> str:
        try:
            return known(name)
        except importlib.metadata.PackageNotFoundError:
            return "99.0.0"

    importlib.metadata.version = version
    import torch

    torch.version = _Version()
    torch.xpu = types.SimpleNamespace(is_available=lambda: False)
