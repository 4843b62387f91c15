"""Placements: from tables, along paths and at random."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scene_files import scene_file, thing
from scipy.spatial.distance import pdist

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.ground import Floor, headings
from simjudge.sim.scene.model import Collider, Surface, Thing, box, plane
from simjudge.sim.scene.placements import scatter
from simjudge.sim.scene.read import read_scene

COURSE = {
    "waypoints": [[-3, 0], [-1, 0.6], [1, -0.6], [3, 0]],
    "width": 0.9,
    "spacing": 0.5,
    "left": "green_cone",
    "right": "red_cone",
}
TABLE = {"rows": "0 0 0 0\n1 0 0.5 0\n2 0 1 0\n0 1 0 1\n1 1 0.5 1\n", "kinds": {0: "red_cone", 1: "green_cone"}}


def read(tmp_path, name="cones", seed=0, **placement):
    return read_scene(scene_file(tmp_path, placements={name: placement}, things__crate=None, things__first=None), seed)


def places(things):
    return np.array([each.pose.position for each in things])


def test_a_table(tmp_path):
    scene = read(tmp_path, table=TABLE)
    assert [each.name for each in scene.labelled()] == [f"cones_{key}" for key in ("0_0", "0_1", "0_2", "1_0", "1_1")]
    assert [each.class_id for each in scene.labelled()] == [1, 1, 1, 2, 2]
    assert thing(scene, "cones_1_1").pose.position == (0.5, 1, 0)
    elsewhere = read(tmp_path, table=TABLE | {"at": [-1, 1], "yaw": 90})
    assert thing(elsewhere, "cones_1_1").pose.position == pytest.approx((-2, 1.5, 0))


def test_a_table_from_a_file_with_a_slip(tmp_path):
    (tmp_path / "cones.csv").write_text(TABLE["rows"].replace("2 0 1 0", "2 0 100 0"))
    table = {"file": "cones.csv", "kinds": TABLE["kinds"]}
    with pytest.raises(SimjudgeError, match=r"cones\.csv:3: id 2, colour 0 at x 100, y 0 is .*a slip\?"):
        read(tmp_path, table=table)
    assert len(read(tmp_path, table=table | {"leave_out": [[2, 0]]}).labelled()) == 4
    right = read(tmp_path, table=table | {"correct": [[2, 0, 1, 0]]})
    assert thing(right, "cones_0_2").pose.position == (1, 0, 0)
    assert len(read(tmp_path, table=table | {"leave_out": [2, 0]}).labelled()) == 2  # an id alone: all that have it


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": None}, r"placements\.cones\.table: a table needs one of file, rows; none is given"),
        ({"rows": "1 2\n"}, r"mine\.yaml: placements\.cones\.table\.rows:1: '1 2': id, colour"),
        ({"rows": "1 7 0 0\n"}, r"rows:1: no kind for colour 7 in .*placements\.cones\.table\.kinds"),
        ({"kinds": None}, r"table\.kinds: fields are needed"),
        ({"kinds": {0: "cone", 1: "red_cone"}}, r"table\.kinds\.0: there is no 'cone'"),
        ({"leave_out": [[9, 9]]}, r"table\.leave_out\[0\]: there is no row \[9, 9\]"),
        ({"correct": [[9, 9, 0, 0]]}, r"table\.correct\[0\]: there is no row \[9, 9\]"),
        ({"correct": [[0, 0, 0]]}, r"table\.correct\[0\]: \[id, colour, x, y\] is needed"),
        ({"collumns": 1}, r"table\.collumns: no such field"),
    ],
)
def test_a_table_that_is_wrong(tmp_path, changes, message):
    table = {key: value for key, value in (TABLE | changes).items() if value is not None}
    with pytest.raises(SimjudgeError, match=message):
        read(tmp_path, table=table)


def test_a_path_has_red_on_the_right_and_green_on_the_left(tmp_path):
    scene = read(tmp_path, path=COURSE)
    line = scene.course.centre_line
    angle = headings(line)
    for cone in scene.labelled():
        x, y, _ = cone.pose.position
        distance = np.linalg.norm(line - [x, y], axis=1)
        near = int(np.argmin(distance))
        step = np.array([x, y]) - line[near]
        left = math.cos(angle[near]) * step[1] - math.sin(angle[near]) * step[0]
        assert left == pytest.approx(0.45 if cone.class_id == 2 else -0.45, abs=0.005)
    for class_id in (1, 2):
        at = places(each for each in scene.labelled() if each.class_id == class_id)
        gaps = np.linalg.norm(np.diff(at, axis=0), axis=1)
        assert np.all((gaps > 0.4) & (gaps <= 0.5 + 1e-9))
    assert scene.course.width == 0.9
    start = scene.course.start()
    assert start.position == pytest.approx((-3, 0, 0))
    assert start.angles()[0] == pytest.approx(angle[0], abs=0.02)
    assert start.angles()[0] > 0.1


def test_cones_begin_and_end_later_than_the_line(tmp_path):
    straight = COURSE | {"waypoints": [[-3, 0], [3, 0]], "lead_in": 0.6, "lead_out": 1.0}
    scene = read(tmp_path, path=straight)
    assert places(scene.labelled())[:, 0].min() == pytest.approx(-2.4, abs=0.011)
    assert places(scene.labelled())[:, 0].max() == pytest.approx(2.0, abs=0.011)
    assert scene.course.centre_line[0] == pytest.approx([-3, 0])
    moved = read(tmp_path, path=straight | {"jitter": 0.05})
    off = places(moved.labelled())[:, :2] - places(scene.labelled())[:, :2]
    assert 0.02 < np.abs(off).max() <= 0.05


def test_a_closed_path_has_its_pieces_along_it(tmp_path):
    turn = np.linspace(0, 2 * math.pi, 13)[:-1]
    circle = (2 * np.stack([np.cos(turn), np.sin(turn)], 1)).tolist()
    scene = read(tmp_path, path=COURSE | {"waypoints": circle, "closed": True, "facing": "along"})
    assert scene.course.closed
    assert np.array_equal(scene.course.centre_line[0], scene.course.centre_line[-1])
    for class_id, radius in ((2, 1.55), (1, 2.45)):  # counter-clockwise: the left is inside
        pieces = [each for each in scene.labelled() if each.class_id == class_id]
        assert len(pieces) == math.ceil(2 * math.pi * radius / 0.5 - 0.01)
        at = places(pieces)
        assert np.hypot(at[:, 0], at[:, 1]) == pytest.approx(np.full(len(at), radius), abs=5e-3)
        gaps = np.linalg.norm(np.diff(np.concatenate([at, at[:1]]), axis=0), axis=1)
        assert np.ptp(gaps) < 0.01
        along = np.array([piece.pose.angles()[0] for piece in pieces]) - np.arctan2(at[:, 1], at[:, 0])
        assert np.cos(along - math.pi / 2) == pytest.approx(np.ones(len(at)), abs=1e-3)


def test_a_path_without_cones_is_a_course_all_the_same(tmp_path):
    only_line = {key: value for key, value in COURSE.items() if key not in {"left", "right"}}
    scene = read(tmp_path, path=only_line)
    assert scene.labelled() == ()
    assert scene.course.centre_line[-1] == pytest.approx([3, 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 5}, r"path: the path turns about .* m, less than half its width"),
        ({"spacing": 0}, r"path\.spacing: a number above 0"),
        ({"left": "blue_cone"}, r"path\.left: there is no 'blue_cone'"),
        ({"lead_in": 5, "lead_out": 5}, r"path\.lead_in: nothing of the path is left"),
        ({"closed": True, "lead_in": 1}, r"path\.lead_in: a closed path has neither start nor end"),
        ({"facing": "up"}, r"path\.facing: there is no .up.; there are along, any"),
        ({"jitter": 1}, r"path\.jitter: a number from 0 to 0.225"),
        ({"sine": {"from": [0, 0], "to": [1, 0], "amplitude": 1, "periods": 1}}, r"; waypoints and sine are given"),
    ],
)
def test_a_path_that_is_wrong(tmp_path, changes, message):
    with pytest.raises(SimjudgeError, match=message):
        read(tmp_path, path=COURSE | changes)


def test_a_path_that_crosses_itself(tmp_path):
    eight = {"start": [0, 0, 0], "pieces": [{"left": 360, "radius": 1}, {"right": 360, "radius": 1}]}
    path = {key: value for key, value in COURSE.items() if key != "waypoints"} | {"arcs": eight}
    with pytest.raises(SimjudgeError, match=r"path: the path crosses its own side near x"):
        read(tmp_path, path=path)


def test_cones_in_a_wall(tmp_path):
    crate = {"box": [0.4, 0.3, 0.2], "at": [1, 0], "yaw": 30}
    with pytest.raises(SimjudgeError, match=r"table\.rows:3: what is placed at x 1.00, y 0.00 would stand in crate"):
        read_scene(scene_file(tmp_path, placements={"cones": {"table": TABLE}}, things__crate=crate))
    line = COURSE | {"waypoints": [[-1, -0.45], [3, -0.45]]}
    with pytest.raises(SimjudgeError, match=r"placements\.c\.path: what is placed .* would stand in crate"):
        read_scene(scene_file(tmp_path, placements={"c": {"path": line}}, things__crate=crate))


def test_two_paths(tmp_path):
    with pytest.raises(SimjudgeError, match=r"placements\.b\.path: a second path; a scene has one course"):
        read_scene(scene_file(tmp_path, placements={"a": {"path": COURSE}, "b": {"path": COURSE}}, things__first=None))


def test_random_ones_keep_their_distance_and_are_as_many_of_each_kind(tmp_path):
    strewn = {
        "kinds": ["red_cone", "green_cone"],
        "count": 41,
        "spacing": 0.35,
        "clear": 0.2,
        "keep_out": [[0, 0, 1, 1]],
    }
    scene = read_scene(scene_file(tmp_path, placements={"cones": {"random": strewn}}), 5)
    cones = [each for each in scene.labelled() if each.name != "first"]
    at = places(cones)[:, :2]
    assert pdist(places(scene.labelled())).min() >= 0.35  # from the one that stood there, too
    assert np.all((at >= [-3, -2]) & (at <= [3, 2]))
    assert not np.any(np.all((at > 0) & (at < 1), axis=1))
    assert sorted(Counter(cone.class_id for cone in cones).values()) == [20, 21]
    # Not first all of one kind, then all of the other.
    assert len({tuple(cone.class_id for cone in cones[k : k + 2]) for k in range(0, 40, 2)}) > 1
    assert len({round(cone.pose.angles()[0], 3) for cone in cones}) > 30
    crate = thing(scene, "crate")
    corners = np.abs(crate.pose.to_body(places(cones))[:, :2]) - [0.2, 0.15]
    assert np.all(np.max(corners, axis=1) > 0.2)


def test_large_ones_stand_clear_of_small_ones_whatever_the_spacing(tmp_path):
    placements = {
        "crates": {"random": {"kinds": ["crate"], "count": 5, "spacing": 0.1}},
        "cones": {"random": {"kinds": ["red_cone"], "count": 60, "spacing": 0.1, "clear": 0.05}},
        "row": {"path": COURSE},
    }
    kinds = {"crate": {"box": [0.6, 0.4, 0.3]}}
    scene = read_scene(scene_file(tmp_path, placements=placements, kinds__crate=kinds["crate"]))
    crates = [each for each in scene.things if each.name.startswith("crates")]
    assert len(crates) == 5
    assert pdist(places(crates)).min() >= math.hypot(0.6, 0.4)
    for crate in crates:
        local = np.abs(crate.pose.to_body(places(scene.labelled()))[:, :2]) - [0.3, 0.2]
        assert np.all(np.max(local, axis=1) > 0.04)


def test_random_ones_with_counts(tmp_path):
    strewn = {"kinds": {"red_cone": 3, "green_cone": 9}, "spacing": 0.3, "yaw": 0, "area": [-1, -1, 0, 1]}
    scene = read(tmp_path, random=strewn)
    assert Counter(each.class_id for each in scene.labelled()) == {1: 3, 2: 9}
    assert {each.pose.orientation for each in scene.labelled()} == {(0, 0, 0, 1)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"count": 3000},
            r"random: 3000 things 0.3 m apart do not fit into \[-3.0, -2.0, 3.0, 2.0\]: there was room for",
        ),
        ({"area": [0, 0, 0, 1]}, r"random\.area: \[x0, y0, x1, y1\] with x0 < x1"),
        ({"kinds": {"red_cone": 2}}, r"random\.count: kinds has the counts"),
        ({"kinds": []}, r"random\.kinds: a list that is not empty"),
        ({"kinds": ["cone"]}, r"random\.kinds: there is no 'cone'"),
        ({"count": 2.5}, r"random\.count: a whole number"),
        ({"keep_out": [[0, 0, 1]]}, r"random\.keep_out\[0\]: \[x0, y0"),
        ({"spacing": None}, r"random\.spacing: a number above 0 is needed"),
    ],
)
def test_random_ones_that_are_wrong(tmp_path, changes, message):
    strewn = {"kinds": ["red_cone"], "count": 5, "spacing": 0.3} | changes
    with pytest.raises(SimjudgeError, match=message):
        read(tmp_path, random={key: value for key, value in strewn.items() if value is not None})


def test_random_ones_need_an_area(tmp_path):
    random = {"kinds": ["red_cone"], "count": 5, "spacing": 0.3}
    with pytest.raises(SimjudgeError, match=r"random\.area: \[x0, y0, x1, y1\] is needed, here or for the scene"):
        read_scene(scene_file(tmp_path, placements={"c": {"random": random}}, area=None))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 80), st.floats(0.05, 1.0))
def test_scattered_points_are_apart_and_inside(seed, count, spacing):
    random = np.random.default_rng(seed)
    points = scatter(count, (0, -1, 4, 2), spacing, lambda p: p[:, 0] < 3, random)
    assert len(points) <= count
    assert np.all((points >= [0, -1]) & (points <= [3, 2]))
    assert pdist(points).min(initial=np.inf) >= spacing
    if count * spacing**2 < 2:  # far from full
        assert len(points) == count


def test_scattered_points_are_even():
    random = np.random.default_rng(1)
    points = scatter(4000, (0, 0, 4, 2), 1e-4, lambda p: np.ones(len(p), bool), random)
    counts, _, _ = np.histogram2d(points[:, 0], points[:, 1], [4, 2], [[0, 4], [0, 2]])
    assert np.all(np.abs(counts - 500) < 5 * math.sqrt(500))


def test_in_the_way_is_what_stands_on_the_floor():
    def stood(name, mesh, **more):
        return Thing(name, mesh, Surface(), **more)

    solid = {"collider": Collider("hull")}
    things = [
        stood("crate", box(2, 1, 1), pose=Pose.from_euler(1, 1, yaw=math.pi / 4), **solid),
        stood("lamp", box(1, 1, 0.1), pose=Pose.from_euler(-1, -1, 2), **solid),
        stood("stripe", box(9, 9, 0.001), **solid),
        stood("wall", plane(2, 1), pose=Pose.from_euler(-2, 0, 0.5, pitch=math.pi / 2), **solid),
        stood("ghost", box(9, 9, 1)),
    ]
    floor = Floor(things)
    assert floor.at(1, 1, 0) == "crate"
    assert floor.at(-1, -1, 0) is None
    assert floor.at(-1.9, 0, 0.11) == "wall"
    assert floor.at(-1.9, 0, 0.09) is None
    floor.add([stood("cone", box(0.1, 0.1, 0.1), pose=Pose.from_euler(-1, -1), motion="free", mass=1.0)])
    assert floor.at(-1, -0.9, 0.06) == "cone"
    assert floor.circles == pytest.approx(np.array([[-1, -1, 0.1 / math.sqrt(2)]]))
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 3, (500, 2))
    local = things[0].pose.to_body(np.column_stack([points, np.zeros(500)]))
    inside = (np.abs(local[:, 0]) < 1) & (np.abs(local[:, 1]) < 0.5)
    assert np.mean(floor.blocked(points, 0) == inside) > 0.99  # a millimetre thicker
