"""Checks of labels and pictures."""

from __future__ import annotations

import math

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import ground_truth
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.testing.checks import EngineBuilder, engine_check
from simjudge.sim.testing.contract_scene import (
    AT,
    BACKGROUND,
    CAMERA,
    CAMERA_HEIGHT,
    CONE_HEIGHT,
    GREEN,
    GREEN_CONE,
    LENS,
    RED,
    RED_CONE,
    WALL,
    cone_middle,
    contract_scene,
    pixel_of,
)
from simjudge.sim.testing.expectations import expect, expect_near, expect_refused

CONES = {"green": (GREEN, GREEN_CONE), "red": (RED, RED_CONE)}


@engine_check("light", "Boxes are made from the label picture; an engine with another lens labels beside the object.")
def labels_are_where_the_lens_projects_things(build: EngineBuilder) -> None:
    labels = build(contract_scene()).labels(LENS, AT)
    shapes = [each.shape for each in labels]
    expect(shapes == [(64, 96)] * 3, f"three pictures of 64 rows and 96 columns; found {shapes}")
    types = [str(each.dtype) for each in labels]
    expect(types == ["uint8", "uint16", "float32"], f"uint8 classes, uint16 instances, float32 depth; found {types}")
    for name, (class_id, instance) in CONES.items():
        column, row = pixel_of(cone_middle(name))
        found = (int(labels.class_id[row, column]), int(labels.instance[row, column]))
        wanted = (class_id, instance)
        expect(found == wanted, f"class and instance {wanted} on the {name} cone; found {found}")
    instances = set(np.unique(labels.instance).tolist())
    expect(instances == {0, RED_CONE, GREEN_CONE}, f"the instances of the two cones alone; found {instances}")
    expect(np.array_equal(labels.class_id > 0, labels.instance > 0), "a class where there is an instance")


@engine_check("light", "A picture that is upside down or mirrored looks right on its own.")
def left_is_left_and_up_is_up(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    labels = engine.labels(LENS, AT)
    rows, columns = np.nonzero(labels.class_id == GREEN)
    expect(len(rows) and columns.max() < 47, "the green cone in the left half")
    expect(len(rows) and rows.min() > 31, "the green cone below the middle, as it is below the camera")
    red = np.nonzero(labels.class_id == RED)[1]
    expect(len(red) and red.min() > 48, "the red cone in the right half")
    expect(np.isinf(labels.depth[0]).all(), "nothing but background above the wall: depth inf in row 0")
    engine.set_pose("red", Pose((2, -0.6, CAMERA_HEIGHT + 0.1)))
    raised = engine.labels(LENS, SceneState(CAMERA, engine.poses()))
    rows = np.nonzero(raised.class_id == RED)[0]
    expect(len(rows) and rows.max() < 32, "the raised red cone above the middle")


@engine_check("light", "Boxes that are a few pixels too small or too large pass every other look.")
def labels_are_as_tall_as_they_should_be(build: EngineBuilder) -> None:
    rows, columns = np.nonzero(build(contract_scene()).labels(LENS, AT).class_id == GREEN)
    ends = [[2, 0.6, CONE_HEIGHT], [2 - 0.4 * CONE_HEIGHT, 0.6, 0]]
    top, foot = LENS.project(CAMERA.to_body(ends))[:, 1]
    expect(len(rows), "the green cone in the labels")
    expect_near(rows.min(), top, "upper row of the green cone, px", absolute=1.1)
    expect_near(rows.max(), foot, "lower row of the green cone, px", absolute=1.1)
    middle = LENS.project(CAMERA.to_body([2, 0.6, 0.1]))[0]
    expect_near(columns.mean(), middle, "mean column of the green cone, px", absolute=1.1)


@engine_check("light", "Depth is along the optical axis, not along the ray.")
def depth_is_along_the_optical_axis(build: EngineBuilder) -> None:
    depth = build(contract_scene()).labels(LENS, AT).depth
    for point in ((WALL, 0, 0.6), (WALL, 1.5, 0.7), (WALL, -2.2, 0.8)):
        column, row = pixel_of(np.array(point))
        expect_near(depth[row, column], WALL, "depth of the wall, m", absolute=2e-3)
    ray = LENS.rays()[-1, 48]
    expect_near(depth[-1, 48], CAMERA_HEIGHT / ray[1] * ray[2], "depth of the floor, m", relative=2e-3)


@engine_check("light", "Moving things and replayed poses are given with each instant.")
def things_are_seen_where_an_instant_has_them(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    column, row = pixel_of(cone_middle("green"))
    swapped = {"green": Pose((2, -0.6, 0)), "red": Pose((2, 0.6, 0))}
    found = int(engine.labels(LENS, SceneState(CAMERA, swapped)).class_id[row, column])
    expect(found == RED, f"class {RED} where the red cone was put; found {found}")
    red, green, _ = engine.render(LENS, [SceneState(CAMERA, swapped)])[row, column]
    expect(red > 2 * green, f"a red pixel where the red cone was put; found red {red:.3f}, green {green:.3f}")
    expect(engine.labels(LENS, AT).class_id[row, column] == GREEN, "the green cone back in its place")


@engine_check("light", "Noise, white balance and gamma are added later, to linear light.")
def pictures_are_linear_rgb(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    for rays in (1, 4):
        picture = engine.render(LENS, [AT], rays)
        found = (picture.shape, str(picture.dtype))
        expect(found == ((64, 96, 3), "float32"), f"float32 of 64 x 96 x 3; found {found}")
        expect(np.isfinite(picture).all() and (picture >= 0).all(), "finite radiance, 0 or more")
        expect_near(picture[0], np.tile(BACKGROUND, (96, 1)), "the background in row 0", absolute=0.01)
        for name, channel in (("red", 0), ("green", 1)):
            column, row = pixel_of(cone_middle(name))
            expect(picture[row, column].argmax() == channel, f"the {name} cone {name}; found {picture[row, column]}")


@engine_check("light", "The same command gives the same bytes.")
def pictures_come_out_the_same(build: EngineBuilder) -> None:
    one, other = (build(contract_scene()).render(LENS, [AT], 4) for _ in range(2))
    expect(one.tobytes() == other.tobytes(), "the same bytes from two engines with the same scene")


@engine_check("light", "A tone curve or an automatic exposure inside the engine would spoil every camera model.")
def more_light_is_brighter(build: EngineBuilder) -> None:
    dim, bright = (build(contract_scene(light)).render(LENS, [AT])[28:31, 40:56].mean() for light in (1.0, 2.0))
    expect(dim > 0.005, f"a wall that is lit; found {dim:.4f}")
    expect(1.2 * dim < bright < 2.2 * dim, f"1.2 to 2.2 times as bright with twice the lamp; found {bright / dim:.2f}")


@engine_check("light", "Motion blur is the mean of the instants of an exposure.")
def an_exposure_is_the_mean_of_its_instants(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    states = [
        SceneState(Pose((0, y, CAMERA_HEIGHT)).optical_frame(), {"red": Pose((2, y, 0))}) for y in (-0.1, 0.05, 0.3)
    ]
    each = np.mean([engine.render(LENS, [state]) for state in states], axis=0)
    expect_near(engine.render(LENS, states), each, "radiance of an exposure of three instants", absolute=2e-3)


@engine_check("light", "Hidden objects are left out by the share of them that is seen.")
def the_visible_share_is_that_of_two_label_pictures(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    hidden = SceneState(CAMERA, {"crate": Pose((1.0, 0.44, 0.17))})
    labels = engine.labels(LENS, hidden)
    truth = ground_truth(engine.scene, LENS, hidden, labels, Labelling(0, 0)).objects
    both = (labels, engine.labels(LENS, AT))
    together, alone = (np.bincount(each.instance.ravel(), minlength=8) for each in both)
    found = truth.instance.tolist()
    expect(found == [RED_CONE, GREEN_CONE], f"both cones labelled; found instances {found}")
    share = together[[RED_CONE, GREEN_CONE]] / alone[[RED_CONE, GREEN_CONE]]
    expect_near(truth.visible, share, "visible share of the cones", absolute=1.5 / alone[GREEN_CONE])
    expect(truth.visible[0] > 0.98, f"the red cone fully seen; found {truth.visible[0]:.2f}")
    expect(0.3 < truth.visible[1] < 0.8, f"a part of the green cone hidden; found {truth.visible[1]:.2f}")


@engine_check("light", "Results are shown over the distance of the objects.")
def the_distance_is_to_the_middle_of_a_thing(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    lying = Pose.from_euler(2.5, 0.6, 0.12, roll=math.pi / 2)
    for pose, centre in (
        (Pose((2, 0.6, 0)), (2, 0.6, CONE_HEIGHT / 2)),
        (lying, (2.5, 0.6 - CONE_HEIGHT / 2, 0.12)),
    ):
        state = SceneState(CAMERA, {"green": pose})
        truth = ground_truth(engine.scene, LENS, state, engine.labels(LENS, state), Labelling(0, 0)).objects
        found = truth.distance[truth.instance.tolist().index(GREEN_CONE)]
        expect_near(found, math.dist(centre, (0, 0, CAMERA_HEIGHT)), "distance of the green cone, m", absolute=1e-6)


@engine_check("light", "A picture of a wrong request must not look like one of a right request.")
def what_cannot_be_seen_is_refused(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    nobody = SceneState(CAMERA, {"nobody": Pose()})
    expect_refused(lambda: engine.render(LENS, [nobody]), "render with a body that is not in the scene")
    expect_refused(lambda: engine.labels(LENS, nobody), "labels with a body that is not in the scene")
    expect_refused(lambda: engine.render(LENS, []), "render without an instant")
    expect_refused(lambda: engine.render(LENS, [AT], 3), "render with 3 rays per pixel")
    expect_refused(lambda: engine.render(LENS, [AT], 0), "render with 0 rays per pixel")
