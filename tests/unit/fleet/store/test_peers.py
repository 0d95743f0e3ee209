"""Which boxes are compared with which: a box that lost something stays among its like."""

from __future__ import annotations

import pytest

from tunecheck_fleet.store.groups.peers import peers


def _box(boards: str = "8 x H200", memory: int = 2048, core: str = "SYS-821GE, Xeon 8480+, x86_64") -> str:
    return f"{core}: {boards}, {memory} GiB"


@pytest.mark.parametrize(("odd", "usual"), [(1, 4), (1, 7), (1, 299), (2, 10), (4, 96)])
@pytest.mark.parametrize("less", [_box("7 x H200"), _box("no accelerator"), _box(memory=1920), _box("?")])
def test_what_can_be_lost_makes_no_class_also_where_it_was_never_there(odd: int, usual: int, less: str) -> None:
    rows = {number: ("g", hardware, hardware) for number, hardware in enumerate([_box()] * usual + [less] * odd)}
    assert set(peers(rows).values()) == {_box()}


@pytest.mark.parametrize(("odd", "usual"), [(2, 3), (2, 8), (3, 9), (3, 57), (6, 6), (40, 360)])
def test_many_boxes_that_came_with_another_size_are_a_class(odd: int, usual: int) -> None:
    few = _box("4 x H200")
    rows = {number: ("g", hardware, hardware) for number, hardware in enumerate([_box()] * usual + [few] * odd)}
    assert [peers(rows)[number] for number in rows] == [_box()] * usual + [few] * odd


def test_many_that_lost_one_stay_where_they_were_and_a_loss_is_no_way_into_another_class() -> None:
    rows = {number: ("g", _box("7 x H200" if number < 5 else "8 x H200"), _box()) for number in range(12)}
    assert len(set(peers(rows).values())) == 1
    mixed = {number: ("g", *[_box() if number < 9 else _box("4 x H200")] * 2) for number in range(15)}
    mixed[0] = ("g", _box("4 x H200"), _box())
    assert [peers(mixed)[number] for number in (0, 1, 14)] == [_box(), _box(), _box("4 x H200")]


def test_other_boards_processors_groups_and_old_words_are_other_classes() -> None:
    others = [("g", _box("8 x B200")), ("g", _box(core="SYS-821GE, EPYC 9575F, x86_64")), ("h", _box("7 x H200")),
              ("g", "SYS-821GE, 8 x H200, Xeon 8480+, 2048 GiB, x86_64")]
    rows = {number: (group, text, text) for number, (group, text) in enumerate([("g", _box())] * 9 + others)}
    assert [peers(rows)[number] for number in range(9, 13)] == [text for _, text in others]


def test_an_upgrade_leaves_one_class() -> None:
    first = [_box("4 x H200")] * 4 + [_box()] * 7 + [_box()]
    rows = {number: ("g", _box(), then) for number, then in enumerate(first)}
    rows[11] = ("g", _box("7 x H200"), _box())
    assert set(peers(rows).values()) == {_box()}


@pytest.mark.parametrize("core", ["?, ?, ?", "?, Xeon 8480+, x86_64", "SYS-821GE, ?, x86_64"])
@pytest.mark.parametrize("usual", [1, 4, 100])
def test_other_boards_tell_boxes_apart_also_where_the_rest_is_not_known(core: str, usual: int) -> None:
    def box(boards: str) -> tuple[str, str, str]:
        return ("g", *[f"{core}: {boards}, ?"] * 2)

    rows = dict(enumerate([box("8 x H200")] * usual + [box("2 x B200"), box("8 x H200 + 1 x B200"), box("7 x H200")]))
    found = peers(rows)
    assert len({found[0], found[usual], found[usual + 1]}) == 3
    assert usual == 1 or found[usual + 2] == found[0]
