"""The time of a recording as it goes by, and its messages in order of time."""

import time
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.data.rosbag2.storage import MessageLocation, PlaybackClock, StoredMessage, sort_by_time

SECOND = 1_000_000_000


def near(seconds):
    return pytest.approx(seconds * SECOND, abs=0.15 * SECOND)


@pytest.mark.parametrize("rate", [0.5, 1.0, 4.0])
def test_time_goes_by_at_the_rate(rate):
    clock = PlaybackClock(rate)
    clock.start(10 * SECOND)
    time.sleep(0.3)
    assert clock.now() == near(10 + 0.3 * rate)


def test_a_wait_ends_when_due_or_when_it_took_too_long():
    clock = PlaybackClock(2.0)
    clock.start(0)
    started = time.monotonic()
    assert clock.wait(SECOND // 2, timeout=5)
    assert time.monotonic() - started == pytest.approx(0.25, abs=0.1)
    assert not clock.wait(100 * SECOND, timeout=0.05)
    assert clock.wait(0, timeout=0)


def test_a_pause_stops_time_and_a_wait_goes_on_after_it():
    clock = PlaybackClock(1.0)
    clock.start(0)
    clock.pause(on=True)
    held = clock.now()
    time.sleep(0.2)
    assert clock.now() == held
    assert not clock.wait(held, timeout=0.05), "nothing is due while time stands still"
    reached = []
    waiting = Thread(target=lambda: reached.append(clock.wait(held + SECOND // 5, timeout=5)))
    waiting.start()
    time.sleep(0.3)
    assert not reached
    clock.pause(on=False)
    waiting.join(5)
    assert reached == [True]
    assert clock.now() == near(held / SECOND + 0.2)


def test_a_new_rate_holds_from_now_on():
    clock = PlaybackClock(1.0)
    clock.start(0)
    time.sleep(0.2)
    clock.set_rate(10.0)
    time.sleep(0.2)
    assert clock.now() == pytest.approx(2.2 * SECOND, abs=0.5 * SECOND)


def stored(time, number):
    return StoredMessage("/t", time, b"", MessageLocation(0, 0, number, 0))


@given(st.lists(st.integers(0, 50)), st.integers(0, 60))
def test_messages_come_in_order_of_time_as_far_as_the_window_reaches(times, window):
    messages = [stored(time, number) for number, time in enumerate(times)]
    ordered = list(sort_by_time(messages, window))
    assert sorted(ordered) == sorted(messages)
    if window >= 50:
        assert ordered == sorted(messages, key=lambda m: (m.time, m.location.start))
