"""Gaps in the numbers of messages: counted for each publisher, repeats told, a publisher that starts again is new."""

import pytest

from simjudge.nodes.qos import MessageGaps


def gaps_of(rows, publishers=1):
    """What is missing before each message, given its number, its time, and its publisher where rclpy names it."""
    gaps = MessageGaps(lambda: publishers)
    out = []
    for number, sent, *who in rows:
        info = {"publication_sequence_number": number, "source_timestamp": sent}
        out.append(gaps.missing_before(info | ({"publisher_gid": {"data": list(who[0])}} if who else {})))
    return out


@pytest.mark.parametrize(
    ("rows", "publishers", "missing"),
    [
        ([(7, 70), (8, 80), (11, 110), (12, 120)], 1, [0, 0, 2, 0]),
        ([(7, 70), (8, 80), (8, 80), (7, 70), (9, 90)], 1, [0, 0, -1, -2, 0]),
        ([(500, 70), (501, 80), (1, 90), (2, 95), (4, 99)], 1, [0, 0, 0, 0, 1]),
        ([(5, 50), (9, 60)], 2, [0, 0]),
        ([(5, 50, b"a"), (90, 51, b"b"), (6, 52, b"a"), (92, 53, b"b")], 2, [0, 0, 0, 1]),
        ([(5, 50, b"a"), (1, 60, b"b"), (2, 70, b"b")], 1, [0, 0, 0]),
    ],
)
def test_what_is_missing(rows, publishers, missing):
    assert gaps_of(rows, publishers) == missing


def test_a_middleware_without_numbers_tells_nothing():
    gaps = MessageGaps(lambda: 1)
    assert [gaps.missing_before({}), gaps.missing_before({"publication_sequence_number": None})] == [0, 0]
