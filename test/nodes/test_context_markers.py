"""Markers of judged objects: in the colours of the overlay, where the things are."""

import dataclasses

import numpy as np
import pytest
from random_frames import made

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

from simjudge.judging.live.judge import LiveJudge
from simjudge.method.method import Method
from simjudge.nodes.context_markers import context_markers
from simjudge.nodes.messages import make_header
from simjudge.questions.watch import OUTSIDE_COLOUR, context_colours
from simjudge.sim.driving.cones import camera_model_of
from simjudge.sim.sensors.camera.calibration import plain_calibration

HEAD = make_header(5, "camera")
FOCAL, CENTRE = 500.0, (319.5, 239.5)


def judged_frame(distance):
    found = LiveJudge(made(1), Method(theta=0.3)).add_frame(made(2, frames=1))
    frames = found.frames
    count = len(frames.objects)
    objects = dataclasses.replace(frames.objects, distance=np.resize(np.asarray(distance, float), count))
    overlap = np.arange(count) != 1
    return dataclasses.replace(found, frames=dataclasses.replace(frames, objects=objects), in_overlap=overlap)


def lens():
    matrix = np.array([[FOCAL, 0, CENTRE[0]], [0, FOCAL, CENTRE[1]], [0, 0, 1]])
    return camera_model_of(plain_calibration("c", (640, 480), "plumb_bob", matrix, np.zeros(5)))


def named(array, namespace):
    return [marker for marker in array.markers if marker.ns == namespace and marker.action == marker.ADD]


def places(marker):
    return np.array([(point.x, point.y, point.z) for point in marker.points])


def test_boxes_stand_at_their_distance_and_project_onto_their_labels():
    judged = judged_frame([2.0, 3.0, 5.0, 8.0])
    edges, faces = named(context_markers(HEAD, judged, lens()), "boxes")
    for marker, per_box in ((edges, 8), (faces, 6)):
        points = places(marker)
        np.testing.assert_allclose(
            np.linalg.norm(points, axis=1), np.repeat(judged.frames.objects.distance, per_box), rtol=1e-9
        )
        # A naive pinhole: pixel edges count from the picture's corner, half a pixel before the first one's centre.
        pixels = FOCAL * points[:, :2] / points[:, 2:] + np.array(CENTRE) + 0.5
        for row, box in enumerate(judged.frames.objects.box):
            own = pixels[row * per_box : (row + 1) * per_box]
            np.testing.assert_allclose([*own.min(0), *own.max(0)], box, atol=1e-6)


def test_colours_are_those_of_the_overlay():
    judged = judged_frame([2.0])
    array = context_markers(HEAD, judged, lens())
    expected = context_colours(judged) / 255
    edges, faces = named(array, "boxes")
    for marker, per_box, opaque in ((edges, 8, True), (faces, 6, False)):
        shown = np.array([(c.r, c.g, c.b) for c in marker.colors])
        np.testing.assert_allclose(shown, np.repeat(expected, per_box, 0), atol=1e-6)
        assert all((c.a == 1.0) == opaque for c in marker.colors)
    np.testing.assert_allclose(expected[1], np.array(OUTSIDE_COLOUR) / 255)
    assert [text.text for text in named(array, "legend")] == ["W1: 0", "0.25", "0.5 or more", "no like context"]
    for row, text in enumerate(named(array, "numbers")):
        assert text.text.endswith(f"performance {judged.assignment.performance[row]:.2f}")


@pytest.mark.parametrize("with_lens", [True, False])
def test_what_is_at_an_unknown_distance_stands_before_the_camera(with_lens):
    judged = judged_frame([np.nan, 0.0])
    edges = places(named(context_markers(HEAD, judged, lens() if with_lens else None), "boxes")[0])
    if with_lens:
        np.testing.assert_allclose(np.linalg.norm(edges, axis=1), 1.0)
    else:
        assert set(edges[:, 2]) == {1.0}
        np.testing.assert_allclose(edges[0, :2] * 640 + (320, 240), judged.frames.objects.box[0, :2])


def test_rviz_finds_no_marker_twice_and_no_empty_list():
    judged = judged_frame([2.0])
    empty = dataclasses.replace(
        judged,
        frames=dataclasses.replace(judged.frames, objects=judged.frames.objects.take(np.arange(0))),
        w1=judged.w1[:0],
        in_overlap=judged.in_overlap[:0],
    )
    for frame in (judged, empty):
        markers = context_markers(HEAD, frame, lens()).markers
        assert markers[0].action == markers[0].DELETEALL
        keys = [(marker.ns, marker.id) for marker in markers]
        assert len(set(keys)) == len(keys)
        lists = [m for m in markers if m.type in (m.LINE_LIST, m.TRIANGLE_LIST) and m.action == m.ADD]
        assert all(m.points and len(m.points) == len(m.colors) for m in lists)
