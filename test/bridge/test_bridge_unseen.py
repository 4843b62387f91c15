"""A PyChrono without its sensor module: motion is recorded, and a camera is refused by the true reason."""

import math
import sys
from types import ModuleType, SimpleNamespace

import pytest

from simjudge.bridge.chrono import ChronoBridge
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording


def vector(x, y, z):
    return SimpleNamespace(x=x, y=y, z=z)


class World:
    """A system and the body in it, which goes at 2 m/s along x, turned left by 90 degrees."""

    time = 0.0

    def GetChTime(self):  # noqa: N802 - Chrono's name
        return self.time

    def GetPos(self):  # noqa: N802 - Chrono's name
        return vector(2 * self.time, 0, 0)

    def GetRot(self):  # noqa: N802 - Chrono's name
        return SimpleNamespace(e0=math.sqrt(0.5), e1=0.0, e2=0.0, e3=math.sqrt(0.5))

    def GetFrameRefToAbs(self):  # noqa: N802 - Chrono's name
        return self

    def GetPosDt(self):  # noqa: N802 - Chrono's name
        return vector(2, 0, 0)

    def GetPosDt2(self):  # noqa: N802 - Chrono's name
        return vector(0, 0, 0)

    GetAngVelParent = GetAngAccParent = GetPosDt2


@pytest.fixture
def world(monkeypatch):
    package, core = ModuleType("pychrono"), ModuleType("pychrono.core")
    package.__path__ = []
    core.ChVector3d = tuple
    monkeypatch.setitem(sys.modules, "pychrono", package)
    monkeypatch.setitem(sys.modules, "pychrono.core", core)
    for name in ("sensor", "vehicle"):
        monkeypatch.setitem(sys.modules, f"pychrono.{name}", None)
    return World()


def test_motion_is_recorded_without_cameras(world, tmp_path):
    out = tmp_path / "drive.mcap"
    with ChronoBridge(world, out=out) as bridge:
        bridge.vehicle(world)
        while bridge.ok(duration=0.1):
            world.time += 0.02
            bridge.step(0.02)
    moves = [message for _, message in decoded_messages(Recording(out), {"/vehicle/odometry"}, Losses())]
    assert [move.pose.pose.position.x for move in moves] == pytest.approx([0.04, 0.08, 0.12, 0.16, 0.2])
    assert moves[0].twist.twist.linear.y == pytest.approx(-2)


def test_a_camera_is_refused_by_the_true_reason(world, tmp_path):
    bridge = ChronoBridge(world, out=tmp_path / "drive.mcap")
    bridge.vehicle(world)
    for ask in (lambda: bridge.scene, lambda: bridge.camera(camera="plain"), bridge.lidar, lambda: bridge.adopt(None)):
        with pytest.raises(SimjudgeError, match=r"no sensor module \(pychrono.sensor: ModuleNotFoundError"):
            ask()
    bridge.close()
