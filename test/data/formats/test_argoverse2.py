"""Argoverse 2: a log written column by column, and the real sweep with the counts of its own annotations."""

import numpy as np
import pyarrow as pa
import pytest
from public_data import PUBLIC_DATA, needs
from pyarrow import feather

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.cloud_writing import points_in_boxes

SHARED = PUBLIC_DATA / "real_lidar/argoverse2_sweep"
STAMPS = (315966265259836000, 315966265360032000)
STILL = {"qw": [1.0, 1.0], "qx": [0.0, 0.0], "qy": [0.0, 0.0], "qz": [0.0, 0.0]}


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    feather.write_feather(pa.table(columns), path)


def log(root):
    for k, stamp in enumerate(STAMPS):
        x = np.array([k + 1, 2, 3], np.float16)
        bytes_each = {"intensity": np.array([1, 2, 255], np.uint8), "laser_number": np.array([0, 31, 63], np.uint8)}
        write(
            root / "sensors" / "lidar" / f"{stamp}.feather",
            x=x,
            y=x,
            z=x,
            **bytes_each,
            offset_ns=np.array([0, 50, 100_000_000], np.int32),
        )
    write(
        root / "city_SE3_egovehicle.feather",
        timestamp_ns=STAMPS,
        **STILL,
        tx_m=[10.0, 11.0],
        ty_m=[0.0, 0.0],
        tz_m=[0.0, 0.0],
    )
    write(
        root / "annotations.feather",
        timestamp_ns=STAMPS,
        track_uuid=["b", "a"],
        category=["BUS", "DOG"],
        length_m=[1.0, 2.0],
        width_m=[1.0, 2.0],
        height_m=[1.0, 9.0],
        **STILL,
        tx_m=[1.0, 2.0],
        ty_m=[1.0, 2.0],
        tz_m=[1.0, 2.0],
    )
    return root


def test_a_log_into_a_recording(tmp_path):
    done = sj.convert(log(tmp_path / "log"), tmp_path / "a.mcap")
    assert not done.losses
    clouds = sj.read_clouds(tmp_path / "a.mcap")
    assert clouds.stamp.tolist() == list(STAMPS)
    assert clouds[1].table.tolist() == [(2, 2, 2, 1, 0, 0), (2, 2, 2, 2, 31, 50), (3, 3, 3, 255, 63, 100_000_000)]
    assert clouds.boxes.cloud.tolist() == [0, 1]
    assert [clouds.class_names[i] for i in clouds.boxes.class_id.tolist()] == ["BUS", "DOG"]
    assert clouds.boxes.instance.tolist() == [1, 0]
    assert [pose.position[0] for pose in clouds.poses] == [10, 11]
    text = sj.info(tmp_path / "log").summary.text()
    assert "argoverse2, 2 clouds" in text
    assert "100 ms" in text
    # One sweep of the log, with what belongs to it.
    one = sj.read_clouds(tmp_path / "log" / "sensors" / "lidar" / f"{STAMPS[1]}.feather")
    assert (len(one), one.losses.counts) == (1, {"boxes of a sweep that is not there": 1})


def test_what_is_wrong(tmp_path):
    root = log(tmp_path / "log")
    file = root / "sensors" / "lidar" / f"{STAMPS[0]}.feather"
    write(file, x=[1.0], y=[1.0])
    assert sj.convert(root, tmp_path / "a.mcap").losses.counts == {"clouds that cannot be read": 1}
    (root / "annotations.feather").write_bytes(b"no feather")
    with pytest.raises(SimjudgeError, match=r"annotations\.feather: is not a feather file"):
        sj.read_clouds(root)


@needs("real_lidar/argoverse2_sweep")
def test_points_in_the_boxes_of_a_real_sweep():
    """Their annotations count the points in each of 81 boxes."""
    clouds = sj.read_clouds(SHARED)
    counted = feather.read_table(SHARED / "annotations.feather")["num_interior_pts"].to_numpy()
    ours = points_in_boxes(clouds[0].table, clouds.boxes, np.arange(81))
    assert ours == counted.tolist()
