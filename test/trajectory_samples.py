"""Made runs of an estimator, and the text files that hold trajectories."""

import numpy as np
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from simjudge.geometry.poses import Trajectory

START = 1_700_000_000_000_000_000
RATE = 10.0


def trajectory(name, position, yaw, stamp):
    place = np.column_stack([position, np.zeros(len(position))]) if position.shape[1] == 2 else position
    return Trajectory(name, "map", "base", stamp, place, Rotation.from_euler("z", yaw[:, np.newaxis]).as_quat())


def made_run(seed, seconds=120.0, *, error=0.3, memory=2.0, drift=0.0):
    """Truth and estimate of a winding course at 2 m/s, with a position error that is forgotten over `memory`."""
    random = np.random.default_rng(seed)
    count, keep = int(seconds * RATE), float(np.exp(-1 / (RATE * memory)))
    along = np.arange(count) * 2.0 / RATE
    heading = 0.8 * np.sin(along / 12) + 0.4 * np.sin(along / 31)
    place = np.cumsum(2.0 / RATE * np.stack([np.cos(heading), np.sin(heading)], 1), 0)
    wander = lfilter([np.sqrt(1 - keep**2)], [1, -keep], random.normal(size=(count + 200, 3)), axis=0)[200:]
    stamp = START + (np.arange(count) * 1e9 / RATE).astype(np.int64)
    off = error * wander[:, :2] + drift * np.arange(count)[:, np.newaxis] / RATE
    return (
        trajectory(f"truth_{seed}", place, heading, stamp),
        trajectory(f"run_{seed}", place + off, heading + 0.01 * wander[:, 2], stamp),
    )


def _seconds(stamp):
    return f"{stamp // 10**9}.{stamp % 10**9:09d}"


def write_tum(path, held):
    """Stamp x y z qx qy qz qw, with all digits."""
    rows = zip(held.stamp.tolist(), held.position.tolist(), held.orientation.tolist(), strict=True)
    path.write_text("".join(f"{_seconds(s)} {' '.join(map(repr, [*p, *q]))}\n" for s, p, q in rows))
    return path


def write_euroc(path, held):
    """EuRoC's ground truth: nanoseconds, position, quaternion w x y z, velocity and biases."""
    head = "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []"
    rows = zip(held.stamp.tolist(), held.position.tolist(), held.orientation.tolist(), strict=True)
    lines = [f"{s},{','.join(map(repr, [*p, q[3], *q[:3]]))}" for s, p, q in rows]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def write_kitti(path, held):
    """KITTI's rows of 3 x 4 matrices, without stamps."""
    matrices = np.concatenate(
        [Rotation.from_quat(held.orientation).as_matrix(), held.position[:, :, np.newaxis]], axis=2
    )
    path.write_text("".join(" ".join(map(repr, row)) + "\n" for row in matrices.reshape(len(held), 12).tolist()))
    return path
