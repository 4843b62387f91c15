"""Two streams matched while they come in: exact, bounded, never across passes, and as the batch pairing does it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simjudge.data.frame_sequences import pair_stamps
from simjudge.judging.live.stream_matching import (
    DUPLICATE,
    NO_PARTNER,
    BackwardJump,
    MatchedMessages,
    MatchingLimits,
    StreamMatcher,
    UnmatchedMessage,
)

FOREVER = MatchingLimits(wait=1e9, max_waiting=10**6, jump_ns=10**12)


def run(arrivals, limits=FOREVER, step=0.0):
    """Events of (side, stamp) arrivals; each item is its own arrival number."""
    matcher = StreamMatcher(limits)
    events = []
    for number, (side, stamp) in enumerate(arrivals):
        events += matcher.add(side, stamp, (side, stamp, number), number * step)
    return events + matcher.finish(), matcher


def pairs(events):
    return sorted((e.first[1], e.second[1]) for e in events if isinstance(e, MatchedMessages))


def left(events, reason=NO_PARTNER):
    return sorted((e.side, e.stamp) for e in events if isinstance(e, UnmatchedMessage) and e.reason == reason)


arrivals = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 40)), max_size=80)


@given(arrivals)
def test_equal_stamps_whatever_the_order(given_arrivals):
    events, _ = run(given_arrivals)
    sets = [{stamp for side, stamp in given_arrivals if side == wanted} for wanted in (0, 1)]
    assert pairs(events) == sorted((s, s) for s in sets[0] & sets[1])
    assert left(events) == sorted([(0, s) for s in sets[0] - sets[1]] + [(1, s) for s in sets[1] - sets[0]])
    assert len(left(events, DUPLICATE)) == len(given_arrivals) - len(sets[0]) - len(sets[1])
    assert len(events) == len(pairs(events)) + len(left(events)) + len(left(events, DUPLICATE))


@given(arrivals)
def test_the_first_message_of_a_stamp_counts(given_arrivals):
    events, _ = run(given_arrivals)
    first = {}
    for number, key in enumerate(given_arrivals):
        first.setdefault(key, number)
    for event in events:
        if isinstance(event, MatchedMessages):
            assert event.first[2] == first[0, event.stamp]
            assert event.second[2] == first[1, event.stamp]


@given(
    st.sets(st.integers(1, 200), max_size=25),
    st.sets(st.integers(1, 200), max_size=25),
    st.integers(0, 20),
    st.lists(st.booleans(), min_size=50, max_size=50),
)
def test_streams_in_order_are_paired_as_the_batch_does_it(first, second, tolerance, turns):
    queues = [sorted(first), sorted(second)]
    mixed = []
    for lap in turns:
        side = int(lap) if queues[int(lap)] else 1 - int(lap)
        if queues[side]:
            mixed.append((side, queues[side].pop(0)))
    events, _ = run(mixed, MatchingLimits(tolerance, 1e9, 10**6, 10**12))
    a, b = sorted(first), sorted(second)
    i, j = pair_stamps(a, b, tolerance)
    assert pairs(events) == sorted((a[x], b[y]) for x, y in zip(i, j, strict=True))


@given(arrivals, st.integers(0, 5), st.integers(1, 4))
@example([(0, 12), (0, 1), (0, 12), (0, 13)], 0, 3)  # one stamp in two passes that turn out to be one
def test_nothing_is_lost_or_used_twice_with_little_room(given_arrivals, tolerance, most):
    events, matcher = run(given_arrivals, MatchingLimits(tolerance, 3.0, most, 10), step=1.0)
    used = [n for e in events if isinstance(e, MatchedMessages) for n in (e.first[2], e.second[2])]
    assert len(used) == len(set(used))
    assert len(used) + sum(isinstance(e, UnmatchedMessage) for e in events) == len(given_arrivals)
    assert all(abs(a - b) <= tolerance for a, b in pairs(events))
    assert matcher.waiting(0) == matcher.waiting(1) == 0


def test_waiting_is_bounded_by_count():
    matcher = StreamMatcher(MatchingLimits(wait=1e9, max_waiting=3))
    events = [e for stamp in range(1, 10) for e in matcher.add(0, stamp, None, 0.0)]
    assert left(events) == [(0, s) for s in range(1, 7)]
    assert matcher.waiting(0) == 3


def test_waiting_is_bounded_by_time():
    matcher = StreamMatcher(MatchingLimits(wait=2.0))
    matcher.add(0, 100, None, 0.0)
    matcher.add(0, 200, None, 1.0)
    assert matcher.expire(1.9) == []
    assert matcher.expire(2.5) == [UnmatchedMessage(0, 100, NO_PARTNER)]
    assert matcher.expire(3.0) == [UnmatchedMessage(0, 200, NO_PARTNER)]


def test_a_stream_that_lags_behind_is_waited_for_while_it_goes_on():
    matcher = StreamMatcher(MatchingLimits(wait=2.0))
    for stamp in range(1, 21):
        matcher.add(0, stamp, None, stamp * 0.1)
    events = [event for stamp in range(1, 11) for event in matcher.add(1, stamp, None, stamp * 1.0)]
    assert [type(event) for event in events] == [MatchedMessages] * 10
    assert matcher.expire(11.9) == []
    assert left(matcher.expire(12.0)) == [(0, stamp) for stamp in range(11, 21)]


def test_out_of_order_is_counted_and_still_matched():
    events, matcher = run([(0, 100), (0, 90), (1, 90), (1, 100)])
    assert pairs(events) == [(90, 90), (100, 100)]
    assert matcher.out_of_order == [1, 0]


SECOND = 10**9


def test_a_jump_back_begins_a_new_pass_and_passes_never_mix():
    # Detections lag behind: those of the first pass still come in after the ground truth has jumped.
    stamps = [s * SECOND for s in range(1, 6)]
    order = [(0, s) for s in stamps] + [(1, s) for s in stamps[:3]] + [(0, s) for s in stamps[:4]]
    order += [(1, s) for s in stamps[3:]] + [(1, s) for s in stamps]
    events, _ = run(order, MatchingLimits(wait=1e9))
    jumps = [e for e in events if isinstance(e, BackwardJump)]
    assert [(j.side, j.lap, j.before, j.stamp) for j in jumps] == [
        (0, 1, 5 * SECOND, SECOND),
        (1, 1, 5 * SECOND, SECOND),
    ]
    matched = [e for e in events if isinstance(e, MatchedMessages)]
    assert [(m.lap, m.stamp) for m in matched if m.lap == 0] == [(0, s) for s in stamps]
    assert [(m.lap, m.stamp) for m in matched if m.lap == 1] == [(1, s) for s in stamps[:4]]
    assert all((m.first[2] >= 8) == (m.lap == 1) for m in matched)
    assert left(events) == [(1, 5 * SECOND)]


def test_a_stream_that_begins_after_the_jump_joins_the_pass():
    stamps = [s * SECOND for s in range(1, 6)]
    events, _ = run(
        [(0, s) for s in stamps] + [(0, stamps[0]), (1, stamps[0]), (0, stamps[1]), (1, stamps[1])],
        MatchingLimits(wait=1e9),
    )
    assert [(m.lap, m.stamp) for m in events if isinstance(m, MatchedMessages)] == [(1, SECOND), (1, 2 * SECOND)]


def test_a_jump_that_one_stream_does_not_notice_does_not_part_them_for_good():
    # The last detection came half a second before the loop's end: its own jump back is no second long.
    first = [SECOND, SECOND + 1_400_000_000]
    order = [(0, first[0]), (1, first[0]), (0, first[1])]
    order += [(0, SECOND + 1), (1, SECOND + 1), (0, SECOND + 2), (1, SECOND + 2)]
    events, _ = run(order, MatchingLimits(wait=1e9))
    assert pairs(events) == [(SECOND, SECOND), (SECOND + 1, SECOND + 1), (SECOND + 2, SECOND + 2)]


@given(st.permutations(range(1, 25)), st.sets(st.tuples(st.integers(0, 1), st.integers(1, 24))), st.randoms())
def test_equal_stamps_are_matched_whatever_jumps_each_stream_makes(frames, lost, random):
    queues = [[(side, s * SECOND) for s in frames if (side, s) not in lost] for side in (0, 1)]
    order = []
    while any(queues):
        order.append(random.choice([queue for queue in queues if queue]).pop(0))
    events, _ = run(order, MatchingLimits(wait=1e9))
    both = {s for s in frames if not {(0, s), (1, s)} & lost}
    assert pairs(events) == [(s * SECOND, s * SECOND) for s in sorted(both)]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize("lag", [0, 2])
def test_one_wrong_stamp_does_not_part_the_streams(side, at, lag):
    stamps = [s * SECOND for s in range(10, 20)]
    order = [(0, s) for s in stamps[:lag]]
    order += [each for n, s in enumerate(stamps[lag:]) for each in ((0, s), (1, stamps[n]))]
    order += [(1, s) for s in stamps[len(stamps) - lag :]]
    order.insert([n for n, each in enumerate(order) if each[0] == side][at], (side, SECOND))
    events, _ = run(order, MatchingLimits(wait=1e9))
    assert len([e for e in events if isinstance(e, BackwardJump)]) == 1
    assert pairs(events) == [(s, s) for s in stamps]
    assert left(events) == [(side, SECOND)]


@pytest.mark.parametrize("tolerance", [0, 5])
def test_the_nearest_come_together(tolerance):
    events, _ = run([(0, 100), (1, 104), (1, 101), (0, 200), (1, 200)], MatchingLimits(tolerance, 1e9))
    assert pairs(events) == [(100, 101), (200, 200)] if tolerance else [(200, 200)]
