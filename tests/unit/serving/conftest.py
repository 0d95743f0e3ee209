"""The engines that several tests share: llama.cpp's server (xllamacpp) with our own model, healthy and ill.

In every test, each finding has a code that its check declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.engine import models
from tests.engine.pace_proxy import Manner, Proxy
from tests.unit.serving.engines import Engine, engine

from tunecheck.model.acceptance_codes import CODES
from tunecheck.model.finding import Finding
from tunecheck.serving import figures


@pytest.fixture(autouse=True)
def declared_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    def finding(check: str, code: str, *rest: object) -> Finding:
        assert code in CODES[check], f"{check} gives {code}, which model/acceptance_codes.py does not declare"
        return Finding(check, code, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(figures, "Finding", finding)


@pytest.fixture(scope="session")
def good() -> Iterator[Engine]:
    pytest.importorskip("xllamacpp", reason="no engine: pip install xllamacpp")
    with engine(models.GOOD, slots="4", context="8192") as found:
        yield found


@pytest.fixture
def proxy(good: Engine) -> Iterator[Callable[..., Proxy]]:
    made: list[Proxy] = []

    def start(**manner: object) -> Proxy:
        made.append(Proxy(good.base, Manner(**manner)))  # type: ignore[arg-type]
        return made[-1]

    yield start
    for each in made:
        each.close()
