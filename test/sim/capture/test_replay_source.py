"""Which frames are replayed: those of the real camera that have poses, or a steady rate where there are no pictures."""

from pathlib import Path

import numpy as np
import pose_samples as samples
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.data.rosbag2 import write_recording
from simjudge.geometry.trajectories import MotionLimits
from simjudge.sim.capture.replay_plan import ReplayOptions, _select_frames, read_source

SECOND, START = samples.SECOND, samples.START
EVERY = 100_000_000
POSES = [START + i * EVERY for i in range(31)]


def image(stamp, width=8, height=6):
    return samples.new(
        "sensor_msgs/msg/Image",
        header=samples.header(stamp, "lens"),
        height=height,
        width=width,
        encoding="mono8",
        is_bigendian=0,
        step=width,
        data=np.zeros(width * height, np.uint8),
    )


def drive(folder, pictures, poses=POSES, delay=0, camera="/cam"):
    """Poses on /pose and pictures at some times; both are recorded `delay` and 0 after the poses' time."""
    rows = [("/pose", stamp, samples.pose_stamped(stamp, samples.turning((stamp - START) / SECOND))) for stamp in poses]
    rows += [(camera, stamp - delay, image(stamp)) for stamp in pictures]
    return samples.write_messages(folder / "drive", rows)


def read(path, camera_rate=10.0, around=(0, 0), limits=None, **options):
    return read_source(ReplayOptions(path, **options), camera_rate, around, limits or MotionLimits())


def test_one_frame_for_each_picture(tmp_path):
    pictures = [START + 30_000_000 + i * 33_333_333 for i in range(60)]
    found = read(drive(tmp_path, pictures))
    assert found.stamp.tolist() == pictures
    assert found.frame_name[0] == "1700000000_030000000"
    assert (found.sizes, bool(found.losses)) == ({(8, 6)}, False)
    assert found.poses_from == "/pose (geometry_msgs/msg/PoseStamped) map -> (its body)"


def test_a_pose_with_a_wrong_stamp_asks_for_no_frames_of_years(tmp_path):
    """A first pose with stamp 0 makes 54 years of frames: refused before any memory is asked for."""
    bag = samples.write_messages(
        tmp_path / "bag", [("/pose", stamp, samples.pose_stamped(stamp, samples.turning(0))) for stamp in [0, *POSES]]
    )
    with pytest.raises(SimjudgeError, match=r"ask for 17000000031 frames at 10 Hz.*no pose is between 0.000 s and 17"):
        read(bag)


@pytest.mark.parametrize("seed", range(10))
def test_thinning_is_that_of_all_times_due(seed):
    """Pictures with pauses: the frames nearest to each time that is due, as if every time were looked at."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random(200) < 0.05, rng.integers(1, 20 * SECOND, 200), rng.integers(1, SECOND // 10, 200))
    stamps, rate = START + np.cumsum(steps), float(rng.uniform(1, 40))
    found = _select_frames(stamps, ReplayOptions(Path("x"), rate=rate), thin=True)
    due = stamps[0] + np.arange(int((stamps[-1] - stamps[0]) * rate / SECOND) + 1) * (SECOND / rate)
    nearest = [int(np.argmin(np.abs(stamps - each))) for each in due.tolist()]
    assert found.tolist() == sorted(set(nearest))


def test_names_of_a_data_set_stay(tmp_path):
    frames = FrameSet.build(
        "x",
        [[8, 6]] * 3,
        frame_name=["a", "b", "c"],
        stamp=POSES[3:6],
        images=ArrayImages([np.zeros((6, 8, 3), np.uint8)] * 3),
    )
    messages = {stamp: samples.pose_stamped(stamp, samples.turning((stamp - START) / SECOND)) for stamp in POSES}
    bag = tmp_path / "x.mcap"
    write_recording(frames, bag, extra_messages=lambda index: [("/pose", messages[POSES[3 + index]])])
    found = read(bag)
    assert (list(found.frame_name), found.stamp.tolist()) == (["a", "b", "c"], POSES[3:6])


def test_pictures_outside_the_poses_are_counted(tmp_path):
    bag = drive(tmp_path, [START - 1, START, POSES[-1], POSES[-1] + 1])
    found = read(bag)
    assert found.stamp.tolist() == [START, POSES[-1]]
    assert found.losses.lines() == [
        f"1 frame before the first pose of {bag}: /pose: {bag}: frame 1699999999_999999999",
        f"1 frame after the last pose of {bag}: /pose: {bag}: frame 1700000003_000000001",
    ]


def test_other_clocks_are_an_error_with_the_offset_that_helps(tmp_path):
    """The camera's stamps count from its start, 1000 s late; both were recorded at the same time."""
    stamps = [1000 * SECOND + i * EVERY for i in range(5)]
    bag = drive(tmp_path, stamps, delay=1000 * SECOND - (START + SECOND))
    with pytest.raises(
        SimjudgeError, match=r"--time-offset 1699999001\.000 .*by the times at which both were recorded"
    ):
        read(bag)
    found = read(bag, offset=START + SECOND - 1000 * SECOND)
    assert found.stamp.tolist() == stamps


def test_without_pictures_the_cameras_rate(tmp_path):
    found = read(drive(tmp_path, []), camera_rate=30.0, around=(0, 10_000_000))
    assert found.sizes is None
    assert found.stamp[0] == START
    assert found.stamp[-1] <= POSES[-1] - 10_000_000 < found.stamp[-1] + SECOND / 30
    np.testing.assert_allclose(np.diff(found.stamp), SECOND / 30, atol=1)
    assert len(read(drive(tmp_path / "again", []), camera_rate=30.0, rate=5.0).stamp) == 16
    with pytest.raises(UsageError, match=r"--time-offset moves the stamps of pictures, and .* has none"):
        read(drive(tmp_path / "more", []), offset=5)


def test_poses_from_a_text_file(tmp_path):
    text = tmp_path / "poses.txt"
    text.write_text("".join(f"{(START + i * EVERY) / SECOND:.1f} {i} 0 0 0 0 0 1\n" for i in range(8)))
    bag = drive(tmp_path, POSES[:5], poses=[])
    found = read(bag, poses=str(text))
    assert (found.stamp.tolist(), found.poses_from) == (POSES[:5], str(text))
    alone = read(text, camera_rate=5.0)
    assert (len(alone.stamp), alone.sizes) == (4, None)
    with pytest.raises(UsageError, match="--parent and --child choose frames of tf"):
        read(bag, poses=str(text), parent="map")
    with pytest.raises(UsageError, match="holds one trajectory; leave out --poses /pose"):
        read(text, poses="/pose")


def test_what_is_no_source(tmp_path):
    (tmp_path / "x.png").write_bytes(b"")
    with pytest.raises(SimjudgeError, match=r"x\.png: neither a recording nor a text file of poses"):
        read(tmp_path / "x.png")
    with pytest.raises(SimjudgeError, match="is not a topic of poses in it; there are /pose"):
        read(drive(tmp_path, POSES), poses="/odom")
    rows = [(topic, START + i, image(START + i)) for topic in ("/left", "/right") for i in range(2)]
    rows += [("/pose", stamp, samples.pose_stamped(stamp, samples.turning(0))) for stamp in POSES]
    two = samples.write_messages(tmp_path / "two", rows)
    with pytest.raises(SimjudgeError, match="several image topics"):
        read(two)
    assert len(read(two, image_topic="/left").stamp) == 2


def test_a_part_of_it(tmp_path):
    bag = drive(tmp_path, POSES)
    assert read(bag, start=1.0).stamp.tolist() == POSES[10:]
    assert read(bag, start=1.0, duration=0.5).stamp.tolist() == POSES[10:15]
    assert read(bag, camera_rate=5.0).stamp.tolist() == POSES  # that is for recordings without pictures
    assert read(bag, rate=5.0).stamp.tolist() == POSES[::2]
    assert read(bag, rate=3.0).stamp.tolist() == [POSES[i] for i in (0, 3, 7, 10, 13, 17, 20, 23, 27, 30)]
    assert read(bag, rate=300.0).stamp.tolist() == POSES
    with pytest.raises(UsageError, match=r"no frame is there; the frames are from 0 s to 3\.000 s"):
        read(bag, start=4.0)


def test_jitter_does_not_change_how_many_are_kept(tmp_path):
    jitter = np.random.default_rng(0).integers(-9_000_000, 9_000_000, 60)
    pictures = [START + 40_000_000 + i * 33_333_333 + int(jitter[i]) for i in range(60)]
    kept = read(drive(tmp_path, pictures), rate=10.0).stamp
    assert len(kept) == 20
    assert np.abs(np.diff(kept) - EVERY).max() < 3e7


def test_the_way_through_tf_and_its_gaps(tmp_path):
    moves = [(stamp, "odom", "base_link", samples.turning((stamp - START) / SECOND)) for stamp in POSES]
    rows = [("/tf", row[0], samples.transforms(row)) for row in moves if not POSES[10] < row[0] < POSES[20]]
    bag = samples.write_messages(tmp_path / "tf", rows)
    with pytest.raises(SimjudgeError, match=r"has no pose for 1 s .* raise --max-gap, or leave such frames out"):
        read(bag)
    found = read(bag, limits=MotionLimits(skip_gaps=True))
    assert found.stamp.tolist() == [*POSES[:11], *POSES[20:]]
    assert found.losses.counts == {f"frames in gaps of {bag}: /tf odom -> base_link": 9}
    assert found.poses_from == "/tf (tf2_msgs/msg/TFMessage) odom -> base_link"
