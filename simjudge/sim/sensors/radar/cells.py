"""A radar's cells: echoes spread over range, speed and direction, noise, and the cells above the threshold.

A reading may have a hundred million cells, nearly all of them with noise alone. Only cells that an echo reaches are
worked out: those of its main lobe, and for a strong one those along each axis through it, where its side lobes are
(where two axes meet, side lobes of side lobes are left out). A peak must be above the threshold, and by the guard above
the side lobes that stronger ones send along its axes. Cells of noise alone that are above the threshold are
drawn by number, place and strength: they are binomial, anywhere, and exponential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.sim.sensors.radar.echoes import Echoes, Indices
from simjudge.sim.sensors.radar.radar import Axis, Radar, first_null, point_spread

_MERGED = 4  # Parts of a cell along each axis, within which echoes of one thing are one
_FAINT = 0.05  # Side lobes weaker than this share of the noise are left out
Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True, eq=False, repr=False)
class Peaks(ShortRepr):
    """Cells above the threshold that are stronger than their neighbours. Columns of P, strongest not first."""

    place: FloatArray  # (P, 3), range, speed, direction cosine, between cells by a parabola through logs of power
    power: FloatArray  # (P,), over the noise's mean, at that place
    echo: IntArray  # int64 (P,), the echo that gives most of it; -1: noise alone

    def __len__(self) -> int:
        return len(self.power)


def merged(radar: Radar, echoes: Echoes, random: np.random.Generator) -> tuple[Echoes, Complex]:
    """Echoes of one thing that lie together as one, and their amplitudes, with random phases, in the noise's unit."""
    distance = np.linalg.norm(echoes.position, axis=1)
    places = np.stack([distance, echoes.speed, echoes.position[:, 1] / distance], 1)
    wave = np.sqrt(radar.signal(echoes.section, distance)) * np.exp(2j * math.pi * random.random(len(echoes)))
    steps = np.array([axis.step for axis in radar.axes]) / _MERGED
    keys = np.column_stack([echoes.thing, np.floor(places / steps).astype(np.int64)])
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    count = int(group.max(initial=-1)) + 1
    section = np.bincount(group, echoes.section, count).astype(np.float64)

    def mean(values: FloatArray) -> FloatArray:
        average: FloatArray = np.bincount(group, values * echoes.section, count) / section
        return average

    thing = np.zeros(count, np.int64)
    thing[group] = echoes.thing
    # In the cell that they are in: the mean of points above and below the radar would be nearer.
    far, up = mean(distance), mean(echoes.position[:, 2])
    left = mean(places[:, 2]) * far
    position = np.stack([np.sqrt(np.maximum(far**2 - left**2 - up**2, 0.0)), left, up], 1)
    amplitude = np.bincount(group, wave.real, count) + 1j * np.bincount(group, wave.imag, count)
    return Echoes(position, mean(echoes.speed), section, thing), amplitude


def spread(radar: Radar, echoes: Echoes, amplitude: Complex) -> tuple[IntArray, Complex, IntArray]:
    """The cells that echoes reach, in order, what arrives in each, and the echo that gives most of it."""
    distance = np.linalg.norm(echoes.position, axis=1)
    places = (distance, echoes.speed, echoes.position[:, 1] / distance)
    at = np.stack([(place - axis.low) / axis.step for place, axis in zip(places, radar.axes, strict=True)], 1)
    reach = math.ceil(first_null(radar.side_lobes))
    near = [np.arange(-reach, reach + 1)] * 3
    cells = [_deposit(radar, at, amplitude, near, np.arange(len(echoes)))]
    lobes = np.abs(amplitude) ** 2 * math.pow(10.0, -radar.side_lobes / 10)
    for row in np.flatnonzero(lobes > _FAINT).tolist():
        for k, axis in enumerate(radar.axes):
            # The whole axis, but for what is there already.
            steps = np.arange(axis.cells) - int(np.rint(at[row, k]))
            around = [*near]
            around[k] = steps[np.abs(steps) > reach]
            if axis.wraps:
                apart = (around[k] + axis.cells // 2) % axis.cells - axis.cells // 2
                around[k] = around[k][np.abs(apart) > reach]
            cells.append(_deposit(radar, at[row : row + 1], amplitude[row : row + 1], around, np.array([row])))
    cell, wave, source = (np.concatenate([found[k] for found in cells]) for k in range(3))
    reached, index = np.unique(cell, return_inverse=True)
    arrived = np.bincount(index, wave.real, len(reached)) + 1j * np.bincount(index, wave.imag, len(reached))
    order = np.argsort(np.abs(wave), kind="stable")
    strongest = np.zeros(len(reached), np.int64)
    strongest[index[order]] = source[order]  # the last that is written is the strongest
    return reached, arrived, strongest


def _deposit(
    radar: Radar, at: FloatArray, amplitude: Complex, around: list[IntArray], rows: IntArray
) -> tuple[IntArray, Complex, IntArray]:
    """Cells so many steps around echoes at places (E, 3) in cells, what arrives there, and of which echo (rows)."""
    number = np.zeros((len(rows), 1, 1, 1), np.int64)
    wave = amplitude[:, None, None, None]
    known = np.ones((len(rows), 1, 1, 1), np.bool_)
    for k, axis in enumerate(radar.axes):
        cell = np.rint(at[:, k]).astype(np.int64)[:, None] + around[k]
        apart = cell - at[:, k : k + 1]
        if axis.wraps:
            apart = (apart + axis.cells / 2) % axis.cells - axis.cells / 2
            cell = cell % axis.cells
        shape = [len(rows), 1, 1, 1]
        shape[1 + k] = len(around[k])
        number = number * axis.cells + cell.reshape(shape)
        known = known & ((cell >= 0) & (cell < axis.cells)).reshape(shape)
        wave = wave * point_spread(apart, radar.side_lobes).reshape(shape)
    source = np.broadcast_to(rows[:, None, None, None], known.shape)
    return number[known], wave[known], source[known]


def find_peaks(radar: Radar, echoes: Echoes, amplitude: Complex, random: np.random.Generator) -> Peaks:
    """Add noise to what arrives, and find what is above the threshold."""
    cell, wave, source = spread(radar, echoes, amplitude)
    noise = (random.normal(size=len(cell)) + 1j * random.normal(size=len(cell))) / math.sqrt(2)
    power = np.abs(wave + noise) ** 2
    above = np.flatnonzero(power >= radar.threshold)
    sizes = [axis.cells for axis in radar.axes]
    index = np.stack(np.unravel_index(cell[above], sizes), 1)
    highest = np.ones(len(above), np.bool_)
    beside: dict[tuple[int, int, int], FloatArray] = {}
    for across, along, aside in product((-1, 0, 1), repeat=3):
        steps = (across, along, aside)
        if any(steps):
            beside[steps] = _power_at(radar.axes, cell, power, index + steps)
            highest &= power[above] >= beside[steps]
    highest[highest] = _above_side_lobes(radar, index[highest], power[above][highest])
    top = above[highest]
    place, peak = index[highest].astype(np.float64), power[top].copy()
    for k in range(3):
        before, after = (beside[sign * (k == 0), sign * (k == 1), sign * (k == 2)][highest] for sign in (-1, 1))
        shift = _vertex(np.log(before), np.log(power[top]), np.log(after))
        place[:, k] += shift
        peak /= point_spread(shift, radar.side_lobes) ** 2
    # An echo of far less than what is there has no part in it: side lobes alone are of their echo all the same.
    strong = np.abs(wave[top]) ** 2 > 1.0
    return _with_false_alarms(radar, Peaks(place, peak, np.where(strong, source[top], -1)), cell, random)


def _above_side_lobes(radar: Radar, index: Indices, power: FloatArray) -> npt.NDArray[np.bool_]:
    """Which peaks (indices (P, 3)) are above the side lobes of all stronger ones, as a CFAR along each axis has it."""
    if radar.guard is None:
        return np.ones(len(power), np.bool_)
    reach, lobe = math.ceil(first_null(radar.side_lobes)), math.pow(10.0, -radar.side_lobes / 10)
    expected = np.zeros(len(power))
    for row in np.flatnonzero(power * lobe > _FAINT).tolist():
        far = np.zeros(len(power), np.int64)
        for k, axis in enumerate(radar.axes):
            apart = np.abs(index[:, k] - index[row, k])
            far += (np.minimum(apart, axis.cells - apart) if axis.wraps else apart) > reach
        expected[far == 1] += power[row] * lobe
    return power >= radar.threshold + expected * radar.guard


def _power_at(axes: tuple[Axis, ...], cell: IntArray, power: FloatArray, index: Indices) -> FloatArray:
    """The power in cells by their indices (N, 3); next to nothing where no echo reaches."""
    number, known = np.zeros(len(index), np.int64), np.ones(len(index), np.bool_)
    for k, axis in enumerate(axes):
        one = index[:, k] % axis.cells if axis.wraps else index[:, k]
        known &= (one >= 0) & (one < axis.cells)
        number = number * axis.cells + one
    row = np.minimum(np.searchsorted(cell, number), max(len(cell) - 1, 0))
    if not len(cell):
        return np.full(len(index), 1e-12)
    known &= cell[row] == number
    return np.where(known, np.maximum(power[row], 1e-12), 1e-12)


def _vertex(before: FloatArray, middle: FloatArray, after: FloatArray) -> FloatArray:
    """Where a parabola through three values has its top, in steps from the middle."""
    bend = before - 2 * middle + after
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(bend < 0, (before - after) / (2 * bend), 0.0)
    return np.clip(shift, -0.5, 0.5)


def _with_false_alarms(radar: Radar, peaks: Peaks, reached: IntArray, random: np.random.Generator) -> Peaks:
    """The peaks, and cells that no echo reaches and whose noise is above the threshold."""
    drawn = random.integers(0, radar.cells, random.binomial(radar.cells, math.exp(-radar.threshold)))
    drawn = drawn[~np.isin(drawn, reached)]
    count = len(drawn)
    index = np.stack(np.unravel_index(drawn, [axis.cells for axis in radar.axes]), 1)
    place = np.concatenate([peaks.place, index])
    power = np.concatenate([peaks.power, radar.threshold + random.exponential(size=count)])
    axes = radar.axes
    place = np.stack([axis.low + place[:, k] * axis.step for k, axis in enumerate(axes)], 1)
    return Peaks(place, power, np.concatenate([peaks.echo, np.full(count, -1)]))
