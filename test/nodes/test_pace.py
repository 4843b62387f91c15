"""The time of a recording as it goes by, and its messages in order of time."""

import time
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.data.rosbag2.storage import Place, Stored
from simjudge.nodes.pace import Pace

SECOND = 1_000_000_000


def near(seconds):
    return pytest.approx(seconds * SECOND, abs=0.15 * SECOND)


@pytest.mark.parametrize("rate", [0.5, 1.0, 4.0])
def test_time_goes_by_at_the_rate(rate):
    pace = Pace(rate)
    pace.start(10 * SECOND)
    time.sleep(0.3)
    assert pace.now() == near(10 + 0.3 * rate)


def test_a_wait_ends_when_due_or_when_it_took_too_long():
    pace = Pace(2.0)
    pace.start(0)
    started = time.monotonic()
    assert pace.wait(SECOND // 2, longest=5)
    assert time.monotonic() - started == pytest.approx(0.25, abs=0.1)
    assert not pace.wait(100 * SECOND, longest=0.05)
    assert pace.wait(0, longest=0)


def test_a_pause_stops_time_and_a_wait_goes_on_after_it():
    pace = Pace(1.0)
    pace.start(0)
    pace.pause(on=True)
    held = pace.now()
    time.sleep(0.2)
    assert pace.now() == held
    assert not pace.wait(held, longest=0.05), "nothing is due while time stands still"
    reached = []
    waiting = Thread(target=lambda: reached.append(pace.wait(held + SECOND // 5, longest=5)))
    waiting.start()
    time.sleep(0.3)
    assert not reached
    pace.pause(on=False)
    waiting.join(5)
    assert reached == [True]
    assert pace.now() == near(held / SECOND + 0.2)


def test_a_new_rate_holds_from_now_on():
    pace = Pace(1.0)
    pace.start(0)
    time.sleep(0.2)
    pace.set_rate(10.0)
    time.sleep(0.2)
    assert pace.now() == pytest.approx(2.2 * SECOND, abs=0.5 * SECOND)


def stored(time, number):
    return Stored("/t", time, b"", Place(0, 0, number, 0))


@settings(deadline=None)  # the first example imports rclpy
@given(st.lists(st.integers(0, 50)), st.integers(0, 60))
def test_messages_come_in_order_of_time_as_far_as_the_window_reaches(times, window):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    from simjudge.nodes.play_node import in_time_order  # noqa: PLC0415

    messages = [stored(time, number) for number, time in enumerate(times)]
    ordered = list(in_time_order(messages, window))
    assert sorted(ordered) == sorted(messages)
    if window >= 50:
        assert ordered == sorted(messages, key=lambda m: (m.time, m.place.start))
