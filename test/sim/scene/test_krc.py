"""The scenes krc and krc_stand_in: sizes and counts of the experiment, room to drive, what hides what."""

from collections import Counter

import numpy as np
import pytest

from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import read_vehicle

SIZES = {
    "orange barrier": (2.0, 0.6, 1.1),
    "white barrier": (2.0, 0.6, 1.1),
    "panel": (0.02, 1.8, 0.9),
    "cone": (0.38, 0.38, 0.7),
    "pole": (0.0254, 0.0254, 3.65),
    "channel": (0.1016, None, 0.041),
}
"""Metres: Morales et al. 2024 for barriers and poles, AISC for the width of a four-inch channel; others are ours."""


@pytest.fixture(scope="module")
def krc():
    return read_scene("krc")


def corners(scene, class_name):
    """All vertices of each thing of a class, in the world, by instance (by name where nobody counts)."""
    found = {}
    for thing in scene.things:
        if scene.class_names.get(thing.class_id) == class_name:
            key = thing.instance or thing.name
            found.setdefault(key, []).append(thing.pose.to_world(thing.mesh.vertices))
    return {key: np.concatenate(parts) for key, parts in found.items()}


def own_size(scene, class_name):
    """Along each thing's own axes, by name without its part; metres."""
    found = {}
    for thing in scene.things:
        if scene.class_names.get(thing.class_id) == class_name:
            found.setdefault(thing.name.split("/")[0], []).append(thing.mesh.vertices)
    return {name: np.ptp(np.concatenate(parts), axis=0) for name, parts in found.items()}


def test_counts_and_sizes(krc):
    counted = {thing.instance: krc.class_names[thing.class_id] for thing in krc.labelled()}
    assert Counter(counted.values()) == {"orange barrier": 6, "white barrier": 6, "panel": 2, "cone": 12, "pole": 11}
    for name, size in SIZES.items():
        for found in own_size(krc, name).values():
            for measured, wanted in zip(found, size, strict=True):
                assert wanted is None or measured == pytest.approx(wanted, abs=0.011)
    assert krc.background_class == 9
    assert all(thing.class_id for thing in krc.things)


def test_a_barrier_has_a_jersey_profile(krc):
    """Vertical foot, a slope of about 55 degrees, a steep upper face: half widths by height."""
    mesh = next(thing.mesh for thing in krc.things if thing.name.startswith("orange_barriers"))
    half = {z: np.abs(mesh.vertices[np.isclose(mesh.vertices[:, 2], z), 1]).max() for z in (0, 0.075, 0.33, 1.1)}
    assert half[0] == half[0.075] == pytest.approx(0.3)
    assert np.degrees(np.arctan2(0.33 - 0.075, half[0.075] - half[0.33])) == pytest.approx(55, abs=1)
    assert 0.05 < half[1.1] < half[0.33] < 0.15


def test_gates_are_orange_and_white_by_turns_on_both_sides(krc):
    gates = {}
    for name in ("orange barrier", "white barrier"):
        for points in corners(krc, name).values():
            x, y = points[:, :2].min(0) / 2 + points[:, :2].max(0) / 2
            gates.setdefault(round(float(x)), {})["left" if y > 0 else "right"] = name.split()[0]
    assert len(gates) == 6
    assert [gates[x]["left"] for x in sorted(gates)] == ["orange", "white"] * 3
    assert [gates[x]["right"] for x in sorted(gates)] == ["white", "orange"] * 3


@pytest.mark.parametrize("name", ["krc", "krc_stand_in"])
def test_nothing_stands_in_anything_else_nor_in_the_way(name):
    scene = read_scene(name)
    boxes = []
    for each in ("orange barrier", "white barrier", "panel", "cone", "pole"):
        boxes += [(points[:, :2].min(0), points[:, :2].max(0)) for points in corners(scene, each).values()]
    assert len(boxes) == 37
    for k, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:k]:
            assert np.any(low >= other_high) or np.any(high <= other_low)
    car = read_vehicle(scene.vehicle)
    half = (car.track + car.wheel_width) / 2 + 0.2
    for thing in scene.things:
        points = thing.pose.to_world(thing.mesh.vertices)
        if points[:, 2].max() > 0.05 and points[:, 0].min() < scene.course.centre_line[-1, 0]:
            assert points[:, 1].min() > half or points[:, 1].max() < -half, thing.name


def test_near_poles_hide_far_ones_at_places(krc):
    """The bearings of two poles cross while the camera drives by: found by walking, not by the layout's formula."""
    poles = np.array([points[:, :2].mean(0) for points in corners(krc, "pole").values()])
    camera = np.arange(0, 97, 0.02) + read_vehicle("compact").mounts["camera"].position[0]
    ahead = poles[:, 0, None] - camera
    bearing = np.where(ahead > 1, np.arctan2(poles[:, 1, None], ahead), np.nan)
    crossings = 0
    for one in range(len(poles)):
        for other in range(one):
            apart = np.sign(bearing[one] - bearing[other])
            crossings += np.count_nonzero(apart[1:] * apart[:-1] < 0)
    assert crossings >= 6


def test_the_stand_in_has_the_same_labelled_things_of_other_looks_and_trash(krc):
    other = read_scene("krc_stand_in")
    first, second = ({thing.name: thing for thing in scene.labelled()} for scene in (krc, other))
    assert first.keys() == second.keys()
    for name, thing in first.items():
        assert (thing.instance, thing.class_id, thing.pose) == (
            second[name].instance,
            second[name].class_id,
            second[name].pose,
        )
        assert np.array_equal(thing.mesh.vertices, second[name].mesh.vertices)
    orange, worn = (scene["orange_barriers_1"].surface for scene in (first, second))
    assert not np.array_equal(orange.texture, worn.texture)
    assert orange.reflectance > worn.reflectance
    trash = [thing for thing in other.things if thing.class_id == 0]
    assert len(trash) > 90
    assert not any(thing.class_id == 0 for thing in krc.things)
    again = read_scene("krc_stand_in", 1)
    assert [thing.pose for thing in again.things] != [thing.pose for thing in other.things]
