"""Labels of pictures: boxes tight to the pixel, and how much of a thing can be seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from solid_scenes import AT_ORIGIN, LENSES, box, cast, cone, grid, labels_of, random_scene, scene_of

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import Labelling, distance_to, ground_truth
from simjudge.sim.capture.silhouette import pixels_alone
from simjudge.sim.engines.contract import Labels, SceneState
from simjudge.sim.sensors.camera.lens import lens_with_field

EVERYTHING = Labelling(0, 0)
NOW = SceneState(AT_ORIGIN)


def truth_of(scene, lens, labelling=EVERYTHING, **more):
    return ground_truth(scene, lens, NOW, labels_of(scene, lens), labelling, **more)


@pytest.mark.parametrize("model", LENSES)
@pytest.mark.parametrize("seed", range(6))
def test_random_scenes_against_trimesh(model, seed):
    lens, scene = LENSES[model], random_scene(seed)
    labels = labels_of(scene, lens)
    truth = ground_truth(scene, lens, NOW, labels, EVERYTHING)
    assert sorted(truth.objects.instance) == sorted(set(np.unique(labels.instance)) - {0})
    around = grid(-60, -40, 120, 80)
    for row, instance in enumerate(truth.objects.instance):
        thing = next(t for t in scene.things if t.instance == instance)
        y, x = np.nonzero(labels.instance == instance)
        assert truth.objects.box[row].tolist() == [x.min(), y.min(), x.max() + 1, y.max() + 1]
        assert truth.pixels[row] == len(x)
        assert truth.objects.class_id[row] == thing.class_id
        alone, _ = cast([thing], lens, around)
        count = np.count_nonzero(alone == 0)
        cut = (alone[0] == 0).any() or (alone[-1] == 0).any() or (alone[:, [0, -1]] == 0).any()
        if not cut:  # trimesh has seen all of it
            assert truth.objects.visible[row] == pytest.approx(len(x) / max(count, len(x)), abs=1.5 / max(count, 1))


@given(
    st.integers(1, 40),
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 39), st.integers(0, 29), st.integers(1, 3))),
)
def test_boxes_are_the_naive_least_and_most(width, height, dots):
    instance = np.zeros((height, width), np.uint16)
    for x, y, value in dots:
        instance[y % height, x % width] = value
    things = [box(str(n), (0.1, 0.1, 0.1), Pose((1, 0, 0)), n, n) for n in (1, 2, 3)]
    labels = Labels(instance.astype(np.uint8), instance, np.ones(instance.shape, np.float32))
    lens = lens_with_field("pinhole", (width, height), 60)
    truth = ground_truth(scene_of(*things), lens, NOW, labels, EVERYTHING, masks=True)
    for row, value in enumerate(truth.objects.instance):
        columns = [x for x in range(width) for y in range(height) if instance[y, x] == value]
        rows = [y for x in range(width) for y in range(height) if instance[y, x] == value]
        assert truth.objects.box[row].tolist() == [min(columns), min(rows), max(columns) + 1, max(rows) + 1]
        assert np.array_equal(truth.objects.masks.to_image(row, width, height), instance == value)
    assert len(truth) == len(set(np.unique(instance)) - {0})


# A pinhole of 100 px and 90 degrees: at a depth of 5 m, a pixel is 0.1 m wide.
SQUARE = lens_with_field("pinhole", (100, 100), 90)


def panel(name, y0, y1, z0, z1, depth=5.0, instance=1):
    """A thin plate across the view, its near face at a depth."""
    size = (1e-3, y1 - y0, z1 - z0)
    return box(name, size, Pose((depth + 5e-4, (y0 + y1) / 2, (z0 + z1) / 2)), 1 if instance else 0, instance)


def test_a_panel_covers_the_pixels_that_it_is_long():
    truth = truth_of(scene_of(panel("p", -2, 1, 0, 1.5)), SQUARE)
    # y is to the left: from 1 m left to 2 m right, from 1.5 m up to the horizon.
    assert truth.objects.box.tolist() == [[40, 35, 70, 50]]
    assert truth.pixels.tolist() == [30 * 15]
    assert truth.objects.visible.tolist() == [1.0]


def test_half_hidden_is_half_visible():
    hidden = scene_of(panel("p", -2, 2, -1, 1), panel("before it", -1, 0, -1, 1, 2.5, instance=0))
    truth = truth_of(hidden, SQUARE)  # seen from the origin, the nearer one hides twice its own width
    assert truth.pixels.tolist() == [20 * 20]
    assert truth.objects.visible.tolist() == [0.5]
    assert truth.objects.box.tolist() == [[30, 40, 50, 60]]


def test_cut_by_the_picture_s_edge_is_partly_visible():
    truth = truth_of(scene_of(panel("p", 3, 7, 0, 1)), SQUARE)  # of 4 m, 2 m are within the view
    assert truth.objects.box.tolist() == [[0, 40, 20, 50]]
    assert truth.objects.visible.tolist() == [0.5]


def test_pieces_of_one_thing_are_one_object():
    left, right = panel("p", 1, 2, 0, 1), panel("p/2", -2, -1, 0, 1)
    truth = truth_of(scene_of(left, right, panel("before it", 0.4, 1.1, -1, 1, 2.5, instance=0)), SQUARE)
    assert truth.objects.instance.tolist() == [1]
    assert truth.objects.box.tolist() == [[60, 40, 70, 50]]
    assert truth.objects.visible.tolist() == [0.5]


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_the_poses(seed):
    random = np.random.default_rng(seed)
    height, (place, eye) = random.uniform(0.2, 2), random.uniform(-5, 5, (2, 3))
    turn, camera_turn = random.normal(size=(2, 4))
    thing = cone("c", 0.3, height, Pose(tuple(place), tuple(turn)), 1, 1)  # its frame is in the middle of its foot
    centre = place + Rotation.from_quat(turn).apply([0, 0, height / 2])
    found = distance_to([(thing.mesh, thing.pose)], Pose(tuple(eye), tuple(camera_turn)))
    assert found == pytest.approx(np.sqrt(((centre - eye) ** 2).sum()), rel=1e-9)


def test_the_middle_of_several_pieces_is_that_of_the_whole():
    turned = Pose.from_euler(1, 2, 3, yaw=0.7)
    left = box("p", (0.2, 1, 0.4), turned, 1, 1)
    right = box("p/2", (0.2, 1, 0.4), turned @ Pose((0, 3, 0.6)), 1, 1)
    centre = turned.position + Rotation.from_euler("z", 0.7).apply([0, 1.5, 0.3])
    found = distance_to([(left.mesh, left.pose), (right.mesh, right.pose)], AT_ORIGIN)
    assert found == pytest.approx(np.linalg.norm(centre), rel=1e-9)


def test_the_distance_is_along_the_ray_and_not_the_depth():
    truth = truth_of(scene_of(panel("p", 3, 4, -1, 1)), SQUARE)
    assert truth.objects.distance == pytest.approx([np.hypot(5.0005, 3.5)], rel=1e-9)


def test_what_is_worth_a_label():
    scene = scene_of(
        panel("wide", -1, 1, 0, 0.3), panel("seen", -1, 1, 1, 3, instance=2), panel("cut", 4, 9, -2, -1, instance=3)
    )
    everything = truth_of(scene, SQUARE)
    assert everything.objects.instance.tolist() == [1, 2, 3]
    assert everything.objects.visible.tolist() == [1, 1, 0.2]
    kept = [(Labelling(3, 0), [1, 2, 3]), (Labelling(3.5, 0), [2, 3]), (Labelling(0, 0.21), [1, 2]), (Labelling(), [2])]
    for labelling, instances in kept:
        assert truth_of(scene, SQUARE, labelling).objects.instance.tolist() == instances
    for size, visible in ((-1, 0), (0, 1.1), (np.nan, 0), (0, np.nan)):
        with pytest.raises(UsageError):
            Labelling(size, visible)


def test_moved_things_are_looked_for_where_they_are():
    thing = panel("p", -1, 1, 0, 1)
    there = Pose((5.0005, 4.5, 0.5))
    moved = scene_of(panel("p", 3.5, 5.5, 0, 1))
    truth = ground_truth(
        scene_of(thing), SQUARE, SceneState(AT_ORIGIN, {"p": there}), labels_of(moved, SQUARE), EVERYTHING
    )
    assert truth.objects.visible.tolist() == [0.75]


@pytest.mark.parametrize("model", LENSES)
def test_wide_thin_things_bulge_through_a_lens(model):
    """Between the corners of a long strip, a lens shows it where no corner is."""
    lens = LENSES[model]
    strip = box("strip", (0.001, 2.4, 0.06), Pose((2, 0, 0.9)), 1, 1)
    seen, _ = cast([strip], lens, grid(-60, -40, 120, 80))
    expected = np.count_nonzero(seen == 0)
    assert expected > 12
    assert abs(pixels_alone([[(strip.mesh, strip.pose)]], AT_ORIGIN, lens)[0] - expected) <= 1


def test_a_thing_through_the_camera_s_plane_ends_where_the_unlimited_picture_does():
    floor = box("floor", (200, 200, 0.001), Pose((0, 0, -0.5)), 1, 1)
    # A 90 degree lens of 100 px: 80 degrees reach 283.6 px to each side, and below the horizon all is floor.
    count = pixels_alone([[(floor.mesh, floor.pose)]], AT_ORIGIN, SQUARE)[0]
    assert count == pytest.approx(2 * 283.6 * 283.6, rel=0.01)
    behind = box("behind", (1, 1, 1), Pose((-3, 0, 0)), 1, 1)
    assert pixels_alone([[(behind.mesh, behind.pose)]], AT_ORIGIN, SQUARE)[0] == 0


def test_large_things_are_counted_on_fewer_pixels():
    lens = lens_with_field("pinhole", (4000, 3000), 90)
    ball = cone("c", 1.0, 1.5, Pose((2, 0, -0.5)), 1, 1)
    fine = pixels_alone([[(ball.mesh, ball.pose)]], AT_ORIGIN, lens)[0]
    coarse = pixels_alone([[(ball.mesh, ball.pose)]], AT_ORIGIN, lens_with_field("pinhole", (400, 300), 90))[0]
    assert fine / 100 == pytest.approx(coarse, rel=0.01)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(LENSES)))
def test_alone_nothing_hides_a_thing(seed, model):
    """Seen alone and whole, a thing's own pixels are all there are."""
    lens = LENSES[model]
    random = np.random.default_rng(seed)
    x = random.uniform(2, 4)
    pose = Pose((x, random.uniform(-0.4, 0.4) * x, random.uniform(-0.2, 0.2) * x), tuple(random.normal(size=4)))
    scene = scene_of(cone("c", 0.2, 0.4, pose, 2, 5))
    truth = truth_of(scene, lens)
    assert truth.objects.visible[0] >= 1 - 1.01 / truth.pixels[0]
