"""Random trees of transforms beside tf2: the same poses between stamps, and the same refusals.

tf2 is ROS's own (`tf2_ros`), where it is installed. A second answer, which needs no ROS, is worked out link by link.
"""

from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.geometry.transforms import LiveTransforms, TransformTree, exposure_poses

START = 1_700_000_000_000_000_000
SECOND = 10**9
LIMITS = MotionLimits(max_gap=5, max_speed=1e6, max_turn=1e6)
SEEDS = range(12)


@dataclass
class Link:
    parent: str
    child: str
    stamp: list[int]
    position: np.ndarray
    orientation: np.ndarray
    static: bool

    def rows(self):
        return zip(self.stamp, self.position.tolist(), self.orientation.tolist(), strict=True)

    def matrix(self, at):
        """The pose at a time, by SciPy's own Slerp over seconds since the start."""
        out = np.eye(4)
        if self.static:
            out[:3, :3], out[:3, 3] = Rotation.from_quat(self.orientation[0]).as_matrix(), self.position[0]
            return out
        seconds = (np.array(self.stamp) - START) / SECOND
        now = (at - START) / SECOND
        out[:3, :3] = Slerp(seconds, Rotation.from_quat(self.orientation))(now).as_matrix()
        out[:3, 3] = [np.interp(now, seconds, column) for column in self.position.T]
        return out


def random_links(seed):
    """Six frames below one root: links that stand, and links with rates of their own that move and turn quickly."""
    rng = np.random.default_rng(seed)
    links = []
    for number in range(1, 7):
        parent, static = f"f{rng.integers(0, number)}", bool(rng.random() < 0.4)
        count = 1 if static else int(rng.integers(3, 9))
        stamp = [START] if static else sorted({START + int(t * SECOND) for t in rng.uniform(0.2, 2.8, count - 2)})
        if not static:
            stamp = [START, *stamp, START + 3 * SECOND]
        turned = Rotation.random(len(stamp), random_state=rng.integers(1 << 30)).as_quat()
        links.append(Link(parent, f"f{number}", stamp, rng.normal(0, 2, (len(stamp), 3)), turned, static))
    return links


def random_questions(seed):
    rng = np.random.default_rng(1000 + seed)
    for _ in range(25):
        parent, child = rng.choice(7, 2, replace=False)
        yield f"f{parent}", f"f{child}", START + int(rng.integers(0, 3 * SECOND))


def tree_of(links):
    tree = TransformTree("tf")
    for link in links:
        for stamp, position, orientation in link.rows():
            tree.add(link.parent, link.child, stamp, tuple(position), tuple(orientation), static=link.static)
    return tree


def our_matrix(tree, parent, child, at):
    path = tree.trajectory(parent, child, Losses(), LIMITS)
    if len(path) == 1:  # links that stand alone
        return path.pose(0).matrix()
    return TrajectoryInterpolator(path, LIMITS).poses([at])[0].matrix()


def worked_out(links, parent, child, at):
    """From the root to both frames by matrices."""
    by_child = {link.child: link for link in links}

    def in_root(frame):
        out = np.eye(4)
        while frame in by_child:
            out = by_child[frame].matrix(at) @ out
            frame = by_child[frame].parent
        return out

    return np.linalg.inv(in_root(parent)) @ in_root(child)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_link_is_interpolated_by_itself(seed):
    links = random_links(seed)
    tree = tree_of(links)
    for parent, child, at in random_questions(seed):
        np.testing.assert_allclose(
            our_matrix(tree, parent, child, at), worked_out(links, parent, child, at), atol=1e-6
        )  # SciPy's Slerp has times as floats


@pytest.mark.parametrize("seed", SEEDS)
def test_live_transforms_are_the_same_as_all_of_them(seed):
    links = random_links(seed)
    tree = tree_of(links)
    for parent, child, at in random_questions(seed):
        live = LiveTransforms("tf", parent, child, LIMITS)
        for link in links:
            for stamp, position, orientation in link.rows():
                live.add(link.parent, link.child, stamp, Pose(tuple(position), tuple(orientation)), static=link.static)
        found = exposure_poses(live, at, at, LIMITS)
        if found is not None:
            wanted = our_matrix(tree, parent, child, at)
            np.testing.assert_allclose(found.poses([at])[0].matrix(), wanted, atol=1e-12)


def test_a_lever_turns_on_an_arc():
    """A camera a metre ahead of a car that turns by a quarter: halfway it is on the circle, not on the chord."""
    tree = TransformTree("tf")
    tree.add("car", "camera", START, (1, 0, 0), (0, 0, 0, 1), static=True)
    for seconds, yaw in ((0, 0), (1, 90)):
        turn = tuple(Rotation.from_euler("z", yaw, degrees=True).as_quat().tolist())
        tree.add("map", "car", START + seconds * SECOND, (0, 0, 0), turn, static=False)
    path = tree.trajectory("map", "camera", Losses(), LIMITS)
    for moved, offset in ((path, 0), (path.shifted(7 * SECOND), 7 * SECOND)):
        (half,) = TrajectoryInterpolator(moved, LIMITS).poses([START + offset + SECOND // 2])
        assert half.position == pytest.approx((np.sqrt(0.5), np.sqrt(0.5), 0), abs=1e-12)
        # The recorded ones are given back.
        assert moved.pose(1).position == pytest.approx((0, 1, 0), abs=1e-12)


class Tf2:
    """tf2's own buffer with the same transforms."""

    def __init__(self, links):
        tf2_ros = pytest.importorskip("tf2_ros", reason="tf2_ros is not installed: it comes with a ROS 2 installation")
        transform_stamped = import_module("geometry_msgs.msg").TransformStamped
        duration, time = import_module("rclpy.duration").Duration, import_module("rclpy.time").Time
        self.errors = (tf2_ros.LookupException, tf2_ros.ConnectivityException, tf2_ros.ExtrapolationException)
        self._time = time
        self._buffer = tf2_ros.Buffer(cache_time=duration(seconds=1000))
        for link in links:
            for stamp, position, orientation in link.rows():
                message = transform_stamped()
                message.header.frame_id, message.child_frame_id = link.parent, link.child
                message.header.stamp = time(nanoseconds=stamp).to_msg()
                for name, value in zip("xyz", position, strict=True):
                    setattr(message.transform.translation, name, value)
                for name, value in zip("xyzw", orientation, strict=True):
                    setattr(message.transform.rotation, name, value)
                put = self._buffer.set_transform_static if link.static else self._buffer.set_transform
                put(message, "test")

    def matrix(self, parent, child, at):
        found = self._buffer.lookup_transform(parent, child, self._time(nanoseconds=at)).transform
        place, turn = found.translation, found.rotation
        return Pose((place.x, place.y, place.z), (turn.x, turn.y, turn.z, turn.w)).matrix()

    def matrix_or_none(self, parent, child, at):
        try:
            return self.matrix(parent, child, at)
        except self.errors:
            return None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_as_tf2(seed):
    links = random_links(seed)
    theirs, tree = Tf2(links), tree_of(links)
    for parent, child, at in random_questions(seed):
        np.testing.assert_allclose(
            our_matrix(tree, parent, child, at),
            theirs.matrix(parent, child, at),
            atol=1e-9,
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_tf2_refuses_is_refused(seed):
    """Times before the first transform and after the last of a moving link, unknown frames, frames that do not meet."""
    links = random_links(seed)
    links.append(Link("island", "palm", [START], np.zeros((1, 3)), np.array([[0, 0, 0, 1.0]]), static=True))
    theirs, tree = Tf2(links), tree_of(links)
    outside = [
        (parent, child, at)
        for parent, child, _ in random_questions(seed)
        for at in (START - 1, START - SECOND, START + 3 * SECOND + 1, START + 60 * SECOND)
    ]
    for parent, child, at in [*outside, ("f0", "nothing", START), ("f0", "palm", START)]:
        wanted = theirs.matrix_or_none(parent, child, at)
        if wanted is None:
            with pytest.raises(SimjudgeError):
                our_matrix(tree, parent, child, at)
        else:
            np.testing.assert_allclose(our_matrix(tree, parent, child, at), wanted, atol=1e-9)


def test_what_tf2_takes_and_we_refuse():
    """A gap that is too long, and a frame that changes its parent: tf2 believes both."""
    still = np.array([[0, 0, 0, 1.0]] * 2)
    gap = Link("map", "car", [START, START + 60 * SECOND], np.array([[0, 0, 0], [60.0, 0, 0]]), still, static=False)
    theirs, tree = Tf2([gap]), tree_of([gap])
    middle = START + 30 * SECOND
    assert theirs.matrix("map", "car", middle)[0, 3] == pytest.approx(30)
    path = TrajectoryInterpolator(tree.trajectory("map", "car", Losses(), LIMITS), LIMITS)
    assert path.in_gap([middle]).all()
    with pytest.raises(SimjudgeError, match="one publisher too many"):
        tree.add("odom", "car", START, (0, 0, 0), (0, 0, 0, 1), static=False)
