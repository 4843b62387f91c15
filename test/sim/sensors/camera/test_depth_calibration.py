"""Noise and holes that were planted in a depth camera are found, by other means than those that simulate them."""

import tracemalloc

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.camera import depth_calibration
from simjudge.sim.sensors.camera.depth_calibration import calibrate_depth


def recorded(seed=0, images=60, *, constant=0.001, quadratic=0.0012, share=0.04, edges=0.0, still=True):
    """A leaning wall with a box before it, in whole millimetres: an independent simulation in plain NumPy."""
    random = np.random.default_rng(seed)
    truth = np.tile(np.linspace(1.2, 4.5, 128), (96, 1))
    truth[30:60, 40:70] = 0.8
    beside = np.zeros(truth.shape, bool)  # within 2 px of the box's outline, inside and outside
    beside[28:62, 38:72] = True
    beside[32:58, 42:68] = False
    out = []
    for number in range(images):
        depth = truth + (0 if still else 0.01 * number)
        depth = depth + random.normal(size=truth.shape) * (constant + quadratic * depth**2)
        lost = np.kron(random.random((48, 64)) < share, np.ones((2, 2))).astype(bool)
        lost |= beside & (random.random(truth.shape) < edges)
        out.append(np.where(lost, np.nan, np.rint(depth * 1000) / 1000).astype(np.float32))
    return out


def test_what_was_planted_is_within_the_intervals():
    found = calibrate_depth("planted", recorded(2, edges=0.6))
    assert found.constant.low <= 0.001 <= found.constant.high
    assert found.quadratic.low <= 0.0012 <= found.quadratic.high
    assert found.quadratic.high - found.quadratic.low < 0.0002
    assert found.holes.low <= 0.04 <= found.holes.high
    assert found.hole_size == 2
    assert found.edge_holes.low <= 0.6 <= found.edge_holes.high
    assert found.edge_width == 2


def test_the_fitted_camera_looks_like_the_images_that_were_not_fitted():
    for row in calibrate_depth("planted", recorded(edges=0.6)).judged:
        assert row.simulated == pytest.approx(row.recorded, rel=0.1), row.what


def test_all_is_the_same_whether_images_are_worked_on_at_once_or_by_rows(monkeypatch):
    images = recorded(edges=0.6)
    whole = calibrate_depth("planted", images)
    monkeypatch.setattr(depth_calibration, "_AT_ONCE", 60 * 128 * 7)
    rows = calibrate_depth("planted", images)
    assert [*rows.constant, *rows.quadratic] == pytest.approx([*whole.constant, *whole.quadratic])
    assert (rows.holes, rows.edge_holes, rows.notes) == (whole.holes, whole.edge_holes, whole.notes)


def test_memory_is_a_few_times_that_of_the_images():
    """Float64 copies of all images at once took 27 bytes a depth, beside the 4 of the images."""
    images = [np.tile(image, (4, 4)) for image in recorded(edges=0.6, images=40)]
    tracemalloc.start()
    calibrate_depth("planted", images)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 14 * sum(image.size for image in images)


def test_edges_that_lose_nothing_have_no_filter():
    found = calibrate_depth("planted", recorded())
    assert found.edge_holes is None
    assert [step.name for step in found.steps] == ["axial_noise", "holes"]


def test_one_depth_cannot_tell_both_parts_of_the_noise():
    random = np.random.default_rng(0)
    images = [np.float32(2 + random.normal(size=(64, 64)) * 0.008) for _ in range(40)]
    found = calibrate_depth("wall", images)
    assert found.constant.value == 0
    assert found.quadratic.value == pytest.approx(0.002, rel=0.03)
    assert "cannot be told apart" in found.notes[0]


@pytest.mark.parametrize("quadratic", [0.0004, 0.0007])
def test_near_noise_that_whole_millimetres_hide_does_not_hide_the_noise_of_what_is_far(quadratic):
    random = np.random.default_rng(0)
    truth = np.tile(np.linspace(0.4, 4.0, 400), (96, 1))
    images = []
    for _ in range(40):
        depth = truth + random.normal(size=truth.shape) * quadratic * truth**2
        images.append((np.rint(depth * 1000) / 1000).astype(np.float32))
    found = calibrate_depth("stereo", images)
    assert found.quadratic.value == pytest.approx(quadratic, rel=0.03)
    assert found.constant.value < 0.1e-3
    assert any("below what whole millimetres tell" in note for note in found.notes)


def test_noise_that_a_device_smooths_in_time_is_said():
    images = recorded(share=0.0)
    smooth = [np.mean(images[k : k + 4], axis=0, dtype=np.float32) for k in range(50)]
    assert any("filters in time" in note for note in calibrate_depth("smooth", smooth).notes)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (recorded(images=6), "x: 6 depth images are too few; 10 are needed"),
        ([*recorded(images=10), np.ones((3, 4), np.float32)], "x: depth images of unlike sizes: 4x3, 128x96"),
        ([np.full((8, 8), np.nan, np.float32)] * 12, "x: no pixel has a depth"),
        (recorded(still=False), "camera and scene must stand"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(images, words):
    with pytest.raises(SimjudgeError, match=words):
        calibrate_depth("x", images)
