"""What is not known of GPUs is no news because there are fewer of them, or more: a lost GPU gives those behind it
another number, and one that comes back is not known as the others are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Problem, Seen, subject_key
from tunecheck_fleet.store import Store, open_store

_HOSTS = ("gpu1", "gpu2")
_ALL = tuple(range(4))


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock()) as store:
        yield store


def _found(number: int, address: int, outcome: str, code: str) -> Problem:
    name = f"GPU{number} 0000:{0x10 + address:02x}:00.0"
    return Problem("link-width", name, outcome, f"{name}: its own link alone", code=code,     # type: ignore[arg-type]
                   observed="x16")


def _night(store: Store, outcome: str = "unknown", code: str = "own-link-only", untold: tuple[str, ...] = (),
           **gpus: tuple[int, ...]) -> FleetReport:
    """Each host with these GPUs, by their place; all of them unless told otherwise."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    head = store.begin("inventory", [(host, "g") for host in _HOSTS])
    for host in _HOSTS:
        there = gpus.get(host, _ALL)
        store.put(head.id, Seen(
            host, "g", "ok", key=f"key {host}", hardware="hw", document=b"{}", tunecheck="0.1.0", spec=None,
            untold=untold, known={"gpu.count": len(there), "gpu.serials": [f"{host}-{each}" for each in there]},
            problems=tuple(_found(number, address, outcome, code) for number, address in enumerate(there))))
    store.finish(head.id)
    return report(store, head.id)


def _links(found: FleetReport) -> list[Cause]:
    return [cause for cause in found.causes if cause.fact == "link-width" and cause.state != "resolved"]


@pytest.mark.parametrize("outcome", ["unknown", "warn", "fail"])
@pytest.mark.parametrize("untold", [(), ("link-width",)])
@pytest.mark.parametrize("lost", _ALL)
def test_the_others_are_as_they_were(store: Store, lost: int, untold: tuple[str, ...], outcome: str) -> None:
    left = tuple(each for each in _ALL if each != lost)
    _night(store, outcome, untold=untold)
    for _ in range(3):
        found = _night(store, outcome, untold=untold, gpu2=left)
        assert {cause.state for cause in _links(found)} == {"known"} and not any(c.new_hosts for c in _links(found))
        assert {wave.since and wave.since.seen for cause in _links(found) for wave in cause.all_waves} == {1}


@pytest.mark.parametrize("untold", [(), ("link-width",)])
@pytest.mark.parametrize("lost", _ALL)
def test_one_that_comes_back_is_as_unknown_as_the_others(store: Store, lost: int, untold: tuple[str, ...]) -> None:
    left = tuple(each for each in _ALL if each != lost)
    _night(store, untold=untold, gpu2=left)
    found = _night(store, untold=untold)
    assert {(cause.state, cause.severity) for cause in _links(found)} == {("known", "low")}


@pytest.mark.parametrize("outcome", ["warn", "fail"])
def test_what_is_found_of_one_that_came_is_news(store: Store, outcome: str) -> None:
    _night(store, outcome, gpu2=_ALL[:3])
    assert {host for cause in _links(_night(store, outcome)) for host in cause.new_hosts} == {"gpu2"}


def test_what_cannot_be_told_any_more_is_news_without_another_number_of_gpus(store: Store) -> None:
    _night(store, gpu1=(), gpu2=())
    _night(store)
    assert {cause.severity for cause in _links(_night(store))} == {"medium"}


@pytest.mark.parametrize(("subject", "key"), [
    ("GPU5 0000:d1:00.0", "GPU 0000:d1:00.0"), ("GPU15 00010000:d1:00.0", "GPU 00010000:d1:00.0"),
    ("0000:d1:00.0", "0000:d1:00.0"), ("GPU5", "GPU5"), ("GPU5-GPU6", "GPU5-GPU6"), ("", ""),
    ("GPU5 0000:d1:00.0 x", "GPU5 0000:d1:00.0 x")])
def test_a_gpu_is_found_again_by_its_address(subject: str, key: str) -> None:
    assert subject_key(subject) == key
