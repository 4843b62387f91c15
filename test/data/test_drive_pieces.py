"""Where a drive is broken, and where it is not."""

import numpy as np
import pytest

from simjudge.core.errors import Losses
from simjudge.data.drive_logs import count_breaks, drive_pieces


def pieces(time, x):
    position = np.stack([x, np.zeros(len(x))], 1)
    losses = Losses()
    count_breaks("drive", time, position, losses)
    return [(rows.start, rows.stop) for rows in drive_pieces(time, position)], dict(losses.counts)


@pytest.mark.parametrize("rate", [1, 5, 20, 100])
@pytest.mark.parametrize("speed", [0.0, 0.3, 2.0, 30.0])
def test_a_steady_drive_is_whole_at_any_rate_and_speed(rate, speed):
    random = np.random.default_rng(0)
    time = np.arange(200) / rate + random.uniform(0, 0.3 / rate, 200)
    assert pieces(time, speed * time + random.normal(0, 0.003, 200)) == ([(0, 200)], {})


def test_starting_stopping_and_braking_hard_are_no_jumps():
    time = np.arange(600) / 20
    speed = np.concatenate([np.zeros(100), np.full(200, 8.0), np.zeros(100), np.linspace(0, 25, 100), np.zeros(100)])
    assert pieces(time, np.cumsum(speed) / 20) == ([(0, 600)], {})


def test_a_hole_breaks_a_drive_that_moves_and_one_that_stands():
    time = np.concatenate([np.arange(100), np.arange(130, 200)]) / 20
    for x in (time, np.zeros(170)):
        assert pieces(time, x) == ([(0, 100), (100, 170)], {"holes in drives": 1})


def test_a_few_lost_messages_are_a_hole_only_where_the_car_moves_on():
    time = np.delete(np.arange(200), np.arange(100, 106)) / 20
    assert pieces(time, 0.5 * time)[1] == {}
    assert pieces(time, 5.0 * time)[1] == {"holes in drives": 1}


def test_a_jump_there_and_back_leaves_its_instant_alone():
    time = np.arange(200) / 20
    x = time.copy()
    x[80] += 100
    assert pieces(time, x) == ([(0, 80), (80, 81), (81, 200)], {"jumps in drives": 2})


def test_times_that_repeat_or_run_back_break_a_drive():
    time = np.arange(200) / 20
    time[100:] -= 3
    assert pieces(time, np.arange(200) / 20) == ([(0, 100), (100, 200)], {"clocks of drives that jump back": 1})
    assert pieces(np.zeros(3), np.arange(3.0))[0] == [(0, 1), (1, 2), (2, 3)]


def test_a_drive_of_one_instant_is_one_piece():
    assert pieces(np.zeros(1), np.zeros(1)) == ([(0, 1)], {})
