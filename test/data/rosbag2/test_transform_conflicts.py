"""Two robots that publish one frame on one /tf: said with frames and numbers; one robot alone is not."""

from __future__ import annotations

import pytest
from bag_samples import TYPES, header, write_mcap

from simjudge.data.rosbag2.recorded_poses import describe_conflicts
from simjudge.data.rosbag2.recording import Recording
from simjudge.questions.info import info

STEP = 50_000_000


def transform(stamp, x, parent="odom", child="base_link"):
    new = TYPES.types
    moved = new["geometry_msgs/msg/Transform"](
        new["geometry_msgs/msg/Vector3"](x, 0.0, 0.0), new["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    )
    head = header(stamp)
    head.frame_id = parent
    one = new["geometry_msgs/msg/TransformStamped"](head, child, moved)
    return new["tf2_msgs/msg/TFMessage"]([one])


def conflicts(path, rows, topic="/tf"):
    write_mcap(path, [(topic, row[0], transform(*row)) for row in rows])
    return describe_conflicts(Recording(path))


def robot(begin, count=100, speed=2.0, shift=0):
    return [(STEP * (i + 1) + shift, begin + speed * i * 0.05) for i in range(count)]


def test_transforms_of_one_stamp_that_differ_are_counted(tmp_path):
    (line,) = conflicts(tmp_path / "a.mcap", [*robot(0.0), *robot(5.0)])
    assert line.startswith("/tf: transforms contradict each other (100 of base_link): several publishers of one frame")


def test_transforms_that_go_to_and_fro_between_two_places_are_counted(tmp_path):
    rows = sorted([*robot(0.0), *robot(5.0, shift=STEP // 2)])
    (line,) = conflicts(tmp_path / "a.mcap", rows)
    # Every transform but the first and the last lies between two of the other robot.
    assert "(198 of base_link)" in line


@pytest.mark.parametrize(
    "rows",
    [
        robot(0.0),
        robot(0.0, speed=19.0),
        [*robot(0.0, 50), *robot(60.0, 100)[50:]],
        [*robot(0.0), *robot(0.0)],
    ],
)
def test_one_robot_is_none_fast_or_moved_once_or_said_twice(tmp_path, rows):
    assert conflicts(tmp_path / "a.mcap", rows) == []


def test_two_parents_and_static_transforms_that_differ_are_said(tmp_path):
    rows = [(5, 0.1, "base_link", "camera"), (5, 0.1, "base_link", "camera"), (9, 0.4, "base_link", "camera")]
    (line,) = conflicts(tmp_path / "a.mcap", rows, "/tf_static")
    assert line.startswith("/tf_static: transforms contradict each other (1 of camera)")
    (line,) = conflicts(tmp_path / "b.mcap", [(5, 0.0, "odom", "base_link"), (6, 0.0, "map", "base_link")])
    assert line.startswith("/tf: base_link hangs below odom and map: several publishers")


def test_info_says_it(tmp_path):
    write_mcap(tmp_path / "a.mcap", [("/tf", row[0], transform(*row)) for row in [*robot(0.0), *robot(5.0)]])
    assert any("100 of base_link" in note for note in info(tmp_path / "a.mcap").notes)
