"""An item is begun at once, in order, one at a time; what goes wrong is told; the end waits."""

import threading

import pytest

from tunecheck_fleet.overlap import Beside


def test_items_are_done_in_order_and_the_end_waits():
    done = []
    with Beside(done.append) as beside:
        for item in range(50):
            beside.do(item)
    assert done == list(range(50))


def test_an_item_does_not_wait_for_the_next_one():
    begun = threading.Event()
    with Beside(lambda _: begun.set()) as beside:
        beside.do(1)
        assert begun.wait(20)


def test_only_one_is_under_way():
    first, let_go, seen = threading.Event(), threading.Event(), []

    def work(item):
        seen.append(item)
        if item == 1:
            first.set()
            let_go.wait(20)

    with Beside(work) as beside:
        beside.do(1)
        first.wait(20)
        other = threading.Thread(target=beside.do, args=(2,))
        other.start()
        other.join(0.2)
        assert other.is_alive() and seen == [1]
        let_go.set()
        other.join(20)
    assert seen == [1, 2]


@pytest.mark.parametrize("more", [True, False])
def test_what_goes_wrong_is_raised_by_the_next_call_or_the_end(more):
    def work(item):
        raise ValueError(f"no room for {item}")

    with pytest.raises(ValueError, match="no room for 1"), Beside(work) as beside:
        beside.do(1)
        if more:
            beside.do(2)


def test_after_an_interrupt_the_item_under_way_is_done():
    begun, let_go, done = threading.Event(), threading.Event(), []

    def work(item):
        begun.set()
        let_go.wait(20)
        done.append(item)

    with pytest.raises(KeyboardInterrupt), Beside(work) as beside:
        beside.do(1)
        begun.wait(20)
        threading.Timer(0.05, let_go.set).start()
        raise KeyboardInterrupt
    assert done == [1]
