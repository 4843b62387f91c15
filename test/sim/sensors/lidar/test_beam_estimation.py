"""Beams estimated from simulated turns with known tables: points are dropped, noisy, of several turns."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.sensors.lidar.beam_estimation import estimate_beams
from simjudge.sim.sensors.lidar.lidar import Lidar, lidar_beams, unit_directions
from simjudge.sim.sensors.lidar.lidar_calibration import turn_distance
from simjudge.sim.sensors.lidar.measured_turns import MeasuredTurn

RAD = math.radians
DELAYS = (0.0, 2.304e-6, 9.216e-6, 6.912e-6, 11.52e-6)
TIMED = Lidar(
    "timed",
    rate=10,
    columns=900,
    elevation=tuple(map(RAD, (-20, -7.5, -7.1, 0.3, 11))),
    range=(0.5, 100),
    window=0.1,
    clockwise=True,
    start=RAD(100),
    ring_azimuth=tuple(map(RAD, (-4.2, 1.4, 4.2, -1.4, 0))),
    ring_delay=DELAYS,
)
UNTIMED = Lidar(
    "untimed",
    rate=20,
    columns=400,
    elevation=tuple(map(RAD, (-25, -12, -5.0, -4.67, -4.33, 2))),
    range=(0.5, 100),
    field_of_view=RAD(160),
    window=160 / 360 / 20,
    clockwise=True,
    start=RAD(80),
    ring_azimuth=tuple(map(RAD, (0, 0, -4.17, 0, 4.17, 0))),
)


def turns_of(lidar, count=1, *, timed=True, numbered=True, seen=0.6, noise=0.005, begin=0.3, numbers=None, seed=1):
    """Turns as a device would record them: ranges at random, each begins at another azimuth."""
    random = np.random.default_rng(seed)
    beams = lidar_beams(lidar)
    made = []
    for k in range(count):
        rows = np.nonzero(random.random(len(beams)) < seen)[0]
        size = len(rows)
        azimuth = beams.azimuth[rows] + RAD(0.1) * k + RAD(noise) * random.normal(size=size)
        elevation = beams.elevation[rows] + RAD(noise) * random.normal(size=size)
        points = unit_directions(azimuth, elevation) * random.uniform(2, 80, size)[:, None]
        ring = beams.ring[rows] if numbers is None else np.array(numbers)[beams.ring[rows]]
        time = begin + beams.time[rows] + 5e-8 * random.normal(size=size)
        made.append(
            MeasuredTurn(
                f"turn {k}",
                points,
                np.zeros(size),
                ring if numbered else None,
                np.maximum.accumulate(time) if timed else None,
            )
        )
    return made


def degrees(values):
    return np.degrees(np.array(values))


@pytest.mark.parametrize(
    "lidar",
    [
        TIMED,
        replace(TIMED, clockwise=False, start=RAD(-170)),
        replace(TIMED, columns=1100, ring_azimuth=(), ring_delay=()),
        replace(TIMED, head_deviation=tuple(RAD(0.1) * np.sin(np.linspace(0, 2 * np.pi, 37)))),
        # 1801.5 columns would fit into a turn: these are as many as fit, at their own steps.
        replace(TIMED, columns=1801, field_of_view=RAD(360 / 1801.5 * 1800), window=1801 * 55.3e-6, rate=10.0),
        replace(TIMED, columns=500, field_of_view=RAD(120), window=1 / 30),
    ],
)
def test_points_with_times_tell_all(lidar):
    turns = turns_of(lidar, 2, numbers=(7, 3, 9, 0, 2))  # the device's numbers are in no order
    made = estimate_beams(turns)
    assert degrees([ring.elevation for ring in made.rings]) == pytest.approx(degrees(lidar.elevation), abs=0.002)
    azimuth = degrees(lidar.ring_azimuth or (0.0,) * 5)
    assert degrees([ring.azimuth for ring in made.rings]) == pytest.approx(azimuth, abs=0.002)
    assert [ring.delay for ring in made.rings] == pytest.approx(list(lidar.ring_delay or (0.0,) * 5), abs=7e-8)
    assert (made.columns, made.clockwise) == (lidar.columns, lidar.clockwise)
    assert made.period == pytest.approx(lidar.window / lidar.columns, rel=1e-6)
    assert math.degrees(made.field_of_view) == pytest.approx(math.degrees(lidar.field_of_view), abs=0.01)
    assert math.degrees(made.start) == pytest.approx(math.degrees(lidar.start), abs=0.02)
    deviation = degrees(made.head_deviation or (0.0,) * 37)
    assert deviation == pytest.approx(degrees(lidar.head_deviation or (0.0,) * 37), abs=0.012)
    for ring, true in zip(made.rings, lidar.elevation, strict=True):
        assert abs(ring.elevation - true) < 3 * ring.interval(ring.elevation_spread)
        assert math.degrees(ring.elevation_spread) == pytest.approx(0.005, rel=0.15)


@pytest.mark.parametrize(
    "lidar",
    [
        UNTIMED,
        replace(UNTIMED, clockwise=False, start=RAD(-80)),
        replace(UNTIMED, columns=720, field_of_view=2 * math.pi, window=0.05),
    ],
)
@pytest.mark.parametrize("repeats", [1, 2])  # two returns of a beam: columns come twice
def test_points_without_times_or_rings(lidar, repeats):
    turns = []
    for turn in turns_of(lidar, 3, timed=False, numbered=False, seen=0.8, noise=0.003):
        column = lidar_beams(lidar).column
        assert len(column) >= len(turn)
        turns.append(turn if repeats == 1 else doubled(turn))
    made = estimate_beams(turns, rate=20.0)
    assert degrees([ring.elevation for ring in made.rings]) == pytest.approx(degrees(lidar.elevation), abs=0.001)
    assert degrees([ring.azimuth for ring in made.rings]) == pytest.approx(degrees(lidar.ring_azimuth), abs=0.002)
    assert all(math.isnan(ring.delay) for ring in made.rings)
    assert (made.columns, made.clockwise) == (lidar.columns, lidar.clockwise)
    assert math.degrees(made.step) == pytest.approx(
        math.degrees(lidar.field_of_view) / (399 if lidar.columns == 400 else 720), abs=1e-5
    )
    assert math.degrees(made.start) == pytest.approx(math.degrees(lidar.start), abs=0.01)
    assert any("firing times" in note for note in made.notes)
    assert any("beyond the field" in note for note in made.notes) == (not lidar.full_turn)


def doubled(turn):
    """Points of a column, then the same points again, as with two returns."""
    change = np.concatenate(([True], np.diff(turn.elevation) < 0))
    blocks = np.split(turn.points, np.nonzero(change)[0][1:])
    return MeasuredTurn(
        turn.name, np.concatenate([each for block in blocks for each in (block, block)]), np.zeros(2 * len(turn))
    )


def test_the_distance_is_that_of_every_point_from_its_beam():
    """Against a plain loop over points, with the true lidar and one whose beams are 0.1 degrees higher, 1 us later."""
    turns = turns_of(TIMED, 2, noise=0.02, seen=0.05)
    made = estimate_beams(turns)
    higher = replace(
        TIMED,
        elevation=tuple(each + RAD(0.1) for each in TIMED.elevation),
        ring_delay=tuple(each + 1e-6 for each in DELAYS),
    )
    for lidar, least in ((TIMED, 0.0), (higher, 0.05)):
        found = turn_distance(lidar, made, turns)
        beams = lidar_beams(lidar)
        row = 0
        for k, turn in enumerate(turns):
            back = made.turn_start[k] - made.start
            for n in range(0, len(turn), 7):
                time = turn.time[n] - made.turn_begin[k]
                of_ring = np.nonzero(beams.ring == turn.ring[n])[0]
                nearest = of_ring[np.argmin(np.abs(beams.time[of_ring] - time))]
                real = unit_directions(turn.azimuth[n] - back, turn.elevation[n])
                cosine = real @ unit_directions(beams.azimuth[nearest], beams.elevation[nearest])
                assert found.angle[row + n] == pytest.approx(math.acos(min(cosine, 1.0)), abs=1e-7)
                assert found.time[row + n] == pytest.approx(abs(time - beams.time[nearest]), abs=1e-12)
            row += len(turn)
        assert math.degrees(found.angle.mean()) > least


def test_elevations_of_points_that_were_moved_form_no_rings():
    points = np.random.default_rng(0).normal(size=(5000, 3))
    with pytest.raises(SimjudgeError, match="elevations form no rings"):
        estimate_beams([MeasuredTurn("t", points, np.zeros(5000))], rate=10.0)


@pytest.mark.parametrize(("timed", "rate", "says"), [(True, 10.0, "leave out --rate"), (False, None, "give --rate")])
def test_the_rate_is_told_once(timed, rate, says):
    with pytest.raises(UsageError, match=says):
        estimate_beams(turns_of(TIMED, timed=timed), rate=rate)


def test_rings_that_the_device_numbers_are_not_counted_by_a_person():
    with pytest.raises(UsageError, match="leave out --rings"):
        estimate_beams(turns_of(TIMED), rings=5)


def test_how_many_rings_a_person_may_say():
    """Two rings of 0.04 degrees apart are one to the rule of gaps."""
    close = replace(UNTIMED, elevation=tuple(map(RAD, (-25, -12, -5.0, -4.67, -4.63, 2))))
    turns = turns_of(close, timed=False, numbered=False, noise=0.001)
    assert len(estimate_beams(turns, rate=20.0).rings) == 5
    made = estimate_beams(turns, rings=6, rate=20.0)
    assert degrees([ring.elevation for ring in made.rings]) == pytest.approx(degrees(close.elevation), abs=0.001)


def test_points_out_of_the_order_of_firing_tell_less():
    (turn,) = turns_of(UNTIMED, timed=False, numbered=False)
    order = np.lexsort((turn.azimuth, turn.elevation.round(2)))
    made = estimate_beams([MeasuredTurn("t", turn.points[order], turn.rounding[order])], rate=20.0)
    assert any(note.startswith("direction and ring azimuths beyond one column") for note in made.notes)
    assert degrees([ring.elevation for ring in made.rings]) == pytest.approx(degrees(UNTIMED.elevation), abs=0.001)


def test_rings_of_few_points_are_left_out_and_counted():
    (turn,) = turns_of(TIMED)
    ring = turn.ring.copy()
    ring[:9] = 99
    made = estimate_beams([replace(turn, ring=ring)])
    assert len(made.rings) == 5
    assert dict(made.losses.counts) == {"points of rings with fewer than 10": 9}


def in_steps(turn, step, jitter, random):
    """A turn whose head trembles by `jitter` from column to column, its azimuth stored in steps; degrees."""
    beams = lidar_beams(UNTIMED)
    head = beams.azimuth - np.array(UNTIMED.ring_azimuth)[beams.ring]
    column = np.unique(head, return_inverse=True)[1]
    phase = random.uniform(-step / 2, step / 2)
    trembling = phase + jitter * random.normal(size=column.max() + 1)
    azimuth = beams.azimuth + np.radians(step * np.rint(trembling / step) if step else trembling)[column]
    return replace(turn, points=10 * unit_directions(azimuth, beams.elevation), rounding=np.zeros(len(beams)))


@pytest.mark.parametrize(("step", "said"), [(0.05, True), (0.0, False), (0.005, False)])
def test_coarse_steps_of_stored_azimuths_are_named(step, said):
    """A head that trembles by 0.012 degrees would be met to 0.03; stored in steps of 0.05 degrees it cannot be."""
    random = np.random.default_rng(3)
    turns = [in_steps(turn, step, 0.012, random) for turn in turns_of(UNTIMED, 9, timed=False, numbered=True, seen=2)]
    found = estimate_beams(turns, rate=20)
    notes = [note for note in found.notes if note.startswith("azimuths better than")]
    assert len(notes) == said
    far = np.percentile(np.degrees(turn_distance(UNTIMED, found, turns).angle), 95)
    if said:
        assert "than 0.05 degrees: they are stored in such steps" in notes[0]
        assert far == pytest.approx(0.05, abs=0.002)
    else:
        assert far < 0.03
