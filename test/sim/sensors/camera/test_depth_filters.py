"""Depth as a device measures it: steps, noise, shadows and holes against formulas and plain loops."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.camera import depth_filters
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.depth_filters import DepthCamera, DepthStep

FOCAL, BASELINE = 400.0, 0.05


def wall(depth, shape=(120, 160)):
    return np.full(shape, depth, np.float32)


def scene():
    """A near post before a far wall, a patch without any depth."""
    depth = wall(4.0, (20, 60))
    depth[:, 30:36] = 0.81
    depth[5:9, 10:14] = np.nan
    return depth


@pytest.mark.parametrize("subpixel", [1, 8, 32])
def test_depth_comes_in_the_steps_of_the_disparity(subpixel):
    true = np.linspace(0.3, 6, 4000, dtype=np.float32).reshape(40, 100)
    measured = depth_filters.disparity(true, baseline=BASELINE, subpixel=subpixel, focal=FOCAL)
    for z, got in zip(true.ravel()[::97].tolist(), measured.ravel()[::97].tolist(), strict=True):
        assert got == pytest.approx(FOCAL * BASELINE / (round(FOCAL * BASELINE / z * subpixel) / subpixel), rel=1e-6)
    # Half a step of disparity is z^2 / (2 f b subpixel) of depth, to first order.
    off = np.abs(measured - true) / (true**2 / (2 * FOCAL * BASELINE * subpixel))
    assert 0.9 < off.max() < 1.4 if subpixel > 1 else off.max() > 0.9


def test_noise_of_the_disparity_grows_as_the_square_of_the_depth():
    for z in (1.0, 2.0, 4.0):
        measured = depth_filters.disparity(wall(z), baseline=BASELINE, subpixel=1000, noise=0.05, focal=FOCAL, seed=2)
        assert measured.std() == pytest.approx(z**2 * 0.05 / (FOCAL * BASELINE), rel=0.03)


def test_what_is_too_far_for_the_disparity_is_nothing():
    measured = depth_filters.disparity(np.float32([[0.2, 900, np.nan]]), baseline=BASELINE, subpixel=8, focal=FOCAL)
    assert measured[0, 0] == pytest.approx(0.2)
    assert np.isnan(measured[0, 1:]).all()


@pytest.mark.parametrize("second", ["right", "left"])
def test_the_second_camera_sees_no_shadow_s_points(second):
    """A loop over all pairs of columns: a point is hidden behind a nearer one that comes to its place or past it."""
    depth = scene()
    found = depth_filters.stereo_shadow(depth, baseline=BASELINE, second=second, focal=FOCAL)
    for row in (0, 6):
        line = depth[row] if second == "right" else depth[row, ::-1]
        there = [x - FOCAL * BASELINE / z for x, z in enumerate(line.tolist())]
        expected = [
            np.isnan(z) or there[x] < 0 or any(there[other] <= there[x] for other in range(x + 1, 60))
            for x, z in enumerate(line.tolist())
        ]
        lost = np.isnan(found[row] if second == "right" else found[row, ::-1])
        assert lost.tolist() == expected
    # f b (1 / 0.81 - 1 / 4) = 19.7 columns of shadow beside the post, 5 at the edge of the image; seen from the right,
    # a column of the post itself is beyond the edge.
    assert np.isnan(found[0]).sum() == 19 + 5 + (second == "left")


def test_edges_lose_the_pixels_beside_them():
    found = np.isnan(depth_filters.edge_holes(scene(), width=2))[0]
    assert np.flatnonzero(found).tolist() == [28, 29, 30, 31, 34, 35, 36, 37]
    assert not np.isnan(depth_filters.edge_holes(scene(), jump=5.0)[0]).any()
    part = np.isnan(depth_filters.edge_holes(scene()[:4].repeat(200, 0), width=2, share=0.3, seed=4))
    assert part.mean() * 60 / 8 == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("size", [1, 5])
def test_holes_have_their_share_and_their_size(size):
    lost = np.isnan(depth_filters.holes(wall(1.0, (500, 500)), share=0.2, size=size, seed=3))
    assert lost.mean() == pytest.approx(0.2, abs=5 * np.sqrt(0.16 * size**2 / 250_000))
    changes = np.flatnonzero(np.diff(lost.astype(int), axis=1).any(axis=0)) % size
    assert len(set(changes.tolist())) == 1, "edges lie on one grid"


def test_axial_noise_follows_its_polynomial():
    for z in (0.5, 3.0):
        noisy = depth_filters.axial_noise(wall(z), constant=0.001, linear=0.002, quadratic=0.0015, seed=1)
        assert noisy.std() == pytest.approx(0.001 + 0.002 * z + 0.0015 * z**2, rel=0.03)
        assert noisy.mean() == pytest.approx(z, abs=1e-3)


def test_a_frame_s_seed_decides_and_nothing_is_made_of_nothing():
    steps = (
        DepthStep("disparity", {"baseline": BASELINE, "noise": 0.1}),
        DepthStep("holes", {"share": 0.1}),
        DepthStep("edge_holes", {}),
        DepthStep("axial_noise", {"constant": 0.01}),
    )
    device = DepthCamera(0.3, 3.5, steps)
    first, again, other = (device.measure(scene(), FOCAL, seed) for seed in ((1, 2), (1, 2), (1, 3)))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.isnan(first[5:9, 10:14]).all()
    assert first.dtype == np.float32
    assert np.nanmax(first) <= 3.5


def test_a_camera_s_file_takes_them(tmp_path):
    file = tmp_path / "rgbd.yaml"
    file.write_text(
        "{size: [40, 30], field_of_view: 70, rate: 30, depth: {range: [0.3, 6], filters:"
        " [{disparity: {baseline: 0.05, subpixel: 32, noise: 0.05}}, {stereo_shadow: {baseline: 0.05}}, edge_holes]}}"
    )
    assert [step.name for step in read_camera(file).depth.steps] == ["disparity", "stereo_shadow", "edge_holes"]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("{disparity: {baseline: 0}}", "filter disparity: baseline 0; a number above 0 is needed"),
        ("{disparity: {baseline: 0.05, noise: -1}}", "noise -1; a number of 0 or more"),
        ("{disparity: {base_line: 0.05}}", "no parameter 'base_line'.*baseline"),
        ("disparity", "filter disparity: baseline is missing"),
        ("{disparity: {baseline: wide}}", "baseline wide; a number above 0"),
        ("{stereo_shadow: {baseline: 0.05, second: above}}", "second 'above'; right or left"),
        ("{edge_holes: {share: 1.5}}", "share 1.5; a number from 0 to 1"),
        ("{edge_holes: {width: 1.5}}", "width 1.5; a whole number"),
        ("{holes: {share: 0.1, size: 0}}", "size 0; a whole number"),
        ("{axial_noise: {quadratic: -0.1}}", "quadratic -0.1"),
        ("disparty", "no filter of depth is called 'disparty'.*disparity"),
    ],
)
def test_bad_filters_are_refused(step, says, tmp_path):
    file = tmp_path / "rgbd.yaml"
    file.write_text(f"{{size: [8, 8], field_of_view: 70, rate: 30, depth: {{filters: [{step}]}}}}")
    with pytest.raises(SimjudgeError, match=says):
        read_camera(file)
