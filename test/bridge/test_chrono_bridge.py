"""A real PyChrono program with a bridge; skipped where PyChrono is absent."""

import signal

import numpy as np
import pytest

pytest.importorskip("pychrono", reason="PyChrono is not installed")
pytest.importorskip("pychrono.sensor", reason="this PyChrono has no sensor module", exc_type=ImportError)

import pychrono.core as chrono
import pychrono.sensor as sens

import simjudge
from simjudge.bridge.chrono import ChronoBridge, Pose
from simjudge.bridge.live_system import body_mesh, copy_material
from simjudge.core.errors import Losses, UsageError
from simjudge.data.rosbag2.cloud_writing import recorded_clouds
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.sim.sensors.camera.lens import lens_with_field

SIZE = (160, 120)
LENS = lens_with_field("pinhole", SIZE, 80)


def box(system, position, colour, *, side=0.4, moving=False):
    body = chrono.ChBodyEasyBox(side, side, side, 100, True, False)
    material = chrono.ChVisualMaterial()
    material.SetDiffuseColor(chrono.ChColor(*colour))
    body.GetVisualShape(0).AddMaterial(material)
    body.SetPos(chrono.ChVector3d(*position))
    body.SetFixed(not moving)
    system.AddBody(body)
    return body


@pytest.fixture
def world():
    """A carrier that flies along x at 2 m/s over nothing, a red and a green box ahead."""
    system = chrono.ChSystemNSC()
    system.SetGravitationalAcceleration(chrono.ChVector3d(0, 0, 0))
    carrier = box(system, (0, 0, 0), (0, 0, 1), side=0.1, moving=True)
    carrier.SetLinVel(chrono.ChVector3d(2, 0, 0))
    red, green = box(system, (3, -0.5, 0), (0.8, 0, 0)), box(system, (4, 0.6, 0.1), (0, 0.6, 0))
    return system, carrier, red, green


def run(system, bridge, seconds=0.2):
    bridge.scene.SetAmbientLight(chrono.ChVector3f(0.5, 0.5, 0.5))
    while bridge.ok(duration=seconds):
        system.DoStepDynamics(0.01)
        bridge.step(0.01)


def expected_box(camera_x, centre, side=0.4):
    """Edges of a box's corners, projected by the formula of a pinhole."""
    half = side / 2 * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    x, y, z = (half + centre - [camera_x, 0, 0]).T
    u = LENS.focal[0] * -y / x + SIZE[0] / 2
    v = LENS.focal[1] * -z / x + SIZE[1] / 2
    return [u.min(), v.min(), u.max(), v.max()]


def messages_of(path, topic):
    """Stamps and messages of a topic."""
    return [(stored.time, message) for stored, message in decoded_messages(Recording(path), {topic}, Losses())]


def depth_image(message):
    return np.frombuffer(bytes(message.data), np.float32).reshape(message.height, message.width)


def test_a_recording_of_a_program(world, tmp_path):
    system, carrier, red, green = world
    out = tmp_path / "drive.mcap"
    bridge = ChronoBridge(system, out=out)
    bridge.vehicle(carrier)
    bridge.label(red, "red")
    bridge.label(green, "green")
    bridge.camera(carrier, Pose((0.1, 0, 0)), size=SIZE, field_of_view=80, rate=10, depth={})
    bridge.imu(rate=50)
    run(system, bridge)
    depths = [depth_image(message) for _, message in messages_of(out, "/camera/depth/image_raw")]
    frames = simjudge.read(out)
    assert (frames.stamp // 1_000_000).tolist() == [100, 200]
    assert dict(frames.class_names) == {1: "red", 2: "green"}
    for row in range(len(frames.objects.box)):
        stamp = frames.stamp[frames.objects.frame[row]] / 1e9
        centre = {1: (3, -0.5, 0), 2: (4, 0.6, 0.1)}[frames.objects.class_id[row]]
        true = expected_box(0.1 + 2 * stamp, centre)
        assert frames.objects.box[row] == pytest.approx(true, abs=1.01)
        assert frames.objects.visible[row] == pytest.approx(1, abs=0.03)
    for depth, stamp in zip(depths, (0.1, 0.2), strict=True):
        x0, y0, x1, y1 = expected_box(0.1 + 2 * stamp, (3, -0.5, 0))
        assert depth[round((y0 + y1) / 2), round((x0 + x1) / 2)] == pytest.approx(3 - 0.2 - 0.1 - 2 * stamp, abs=2e-3)
    image = frames.images.read(0)
    x0, y0, x1, y1 = frames.objects.box[0].astype(int)
    assert (image[(y0 + y1) // 2, (x0 + x1) // 2].argmax()) == 0


def test_a_program_s_own_camera_is_adopted(world, tmp_path):
    """Its image is turned over, and its boxes are where its rays are; the same camera of the bridge's agrees."""
    system, carrier, red, green = world
    manager = sens.ChSensorManager(system)
    manager.scene.SetAmbientLight(chrono.ChVector3f(0.5, 0.5, 0.5))
    frame = chrono.ChFramed(chrono.ChVector3d(0.1, 0, 0))
    own = sens.ChCameraSensor(carrier, 10.0, frame, *SIZE, float(np.radians(80)))
    own.SetName("own")
    own.SetLag(0.03)
    own.PushFilter(sens.ChFilterRGBA8Access())
    manager.AddSensor(own)
    bridge = ChronoBridge(system, out=tmp_path / "drive.mcap", manager=manager)
    bridge.vehicle(carrier)
    bridge.label(red, "red")
    bridge.label(green, "green")
    notes = bridge.adopt(own)
    assert any("bottom first" in note for note in notes)
    while bridge.ok(duration=0.3):
        system.DoStepDynamics(0.01)
        manager.Update()
        bridge.step(0.01)
    frames = simjudge.read(tmp_path / "drive.mcap")
    assert len(frames) >= 2
    for row in range(len(frames.objects.box)):
        stamp = frames.stamp[frames.objects.frame[row]] / 1e9
        centre = {1: (3, -0.5, 0), 2: (4, 0.6, 0.1)}[frames.objects.class_id[row]]
        assert frames.objects.box[row] == pytest.approx(expected_box(0.1 + 2 * stamp, centre), abs=1.01)
    green_box = frames.objects.box[frames.objects.class_id == 2][0].astype(int)
    image = frames.images.read(0).astype(int)
    x, y = (green_box[0] + green_box[2]) // 2, (green_box[1] + green_box[3]) // 2
    assert image[y, x].argmax() == 1


def test_a_lidar_is_chrono_s_own(world, tmp_path):
    system, carrier, red, _ = world
    bridge = ChronoBridge(system, out=tmp_path / "drive.mcap")
    bridge.vehicle(carrier)
    bridge.label(red, "red")
    bridge.lidar(pose=Pose((0.1, 0, 0)), columns=181, field_of_view=90, range=(0.1, 50))
    run(system, bridge)
    recording = Recording(tmp_path / "drive.mcap")
    clouds = list(recorded_clouds(recording, {"/scan/points/ground_truth"}, Losses()))
    assert [cloud.stamp // 1_000_000 for cloud in clouds] == [0, 100, 200]
    for cloud in clouds:
        on_red = cloud.table["class_id"] == 1
        face = 3 - 0.2 - 0.1 - 2 * cloud.stamp / 1e9
        assert np.count_nonzero(on_red) >= 5
        assert cloud.table["x"][on_red].min() == pytest.approx(face, abs=1e-3)
        assert np.count_nonzero(~on_red) >= 3, "the green box is not labelled, and met"


def test_labels_on_a_shared_material_stay_apart(world):
    system, _, red, green = world
    shared = red.GetVisualShape(0).GetMaterial(0)
    green.GetVisualShape(0).SetMaterial(0, shared)
    bridge = ChronoBridge(system, ros=True)
    bridge.label(red, "red")
    bridge.label(green, "green")
    found = [body.GetVisualShape(0).GetMaterial(0).GetInstanceID() for body in (red, green)]
    bridge.close()
    assert found == [1, 2]
    assert shared.GetInstanceID() == 0


def test_a_copied_material_looks_the_same():
    first = chrono.ChVisualMaterial()
    first.SetDiffuseColor(chrono.ChColor(0.1, 0.2, 0.3))
    first.SetRoughness(0.25)
    first.SetMetallic(0.5)
    first.SetUseSpecularWorkflow(False)
    made = copy_material(chrono, first)
    for name in ("Roughness", "Metallic", "Opacity", "UseSpecularWorkflow", "FresnelMax", "EmissivePower"):
        assert getattr(made, f"Get{name}")() == getattr(first, f"Get{name}")(), name
    colour = made.GetDiffuseColor()
    assert pytest.approx((0.1, 0.2, 0.3)) == (colour.R, colour.G, colour.B)


def test_the_mesh_of_a_body_is_where_its_shapes_are():
    body = chrono.ChBody()
    body.AddVisualShape(chrono.ChVisualShapeBox(1, 2, 3), chrono.ChFramed(chrono.ChVector3d(10, 0, 0)))
    body.AddVisualShape(chrono.ChVisualShapeSphere(0.5), chrono.ChFramed(chrono.ChVector3d(0, 5, 0)))
    mesh, unseen = body_mesh(chrono, body)
    assert (mesh.vertices.min(0), mesh.vertices.max(0)) == (
        pytest.approx([-0.5, -1, -1.5]),
        pytest.approx([10.5, 5.5, 1.5]),
    )
    assert unseen == ()


def test_what_cannot_be_is_refused_in_one_line(world, tmp_path):
    system, carrier, red, _ = world
    with pytest.raises(UsageError, match="out"):
        ChronoBridge(system)
    with ChronoBridge(system, out=tmp_path / "drive.mcap") as bridge:
        with pytest.raises(UsageError, match="no vehicle"):
            bridge.camera(size=SIZE, field_of_view=80)
        with pytest.raises(UsageError, match="ChBody"):
            bridge.vehicle("carrier")
        bridge.vehicle(carrier)
        bridge.label(red, "red")
        with pytest.raises(UsageError, match="no visual shape"):
            bridge.label(chrono.ChBody(), "nothing")
        bridge.camera(size=SIZE, field_of_view=80, rate=10)
        with pytest.raises(UsageError, match="another name"):
            bridge.camera(size=SIZE, field_of_view=80, rate=10)
        with pytest.raises(UsageError, match="time stands still"):
            bridge.step(0.01)
        system.DoStepDynamics(0.02)
        with pytest.raises(UsageError, match=r"went on by 0\.02"):
            bridge.step(0.01)


def test_ctrl_c_ends_the_loop_with_a_whole_recording(world, tmp_path):
    system, carrier, red, _ = world
    bridge = ChronoBridge(system, out=tmp_path / "drive.mcap")
    bridge.vehicle(carrier)
    bridge.label(red, "red")
    bridge.camera(size=SIZE, field_of_view=80, rate=10)
    steps = 0
    while bridge.ok():
        system.DoStepDynamics(0.01)
        bridge.step(0.01)
        steps += 1
        if steps == 12:
            signal.raise_signal(signal.SIGINT)
    assert steps == 12
    assert len(simjudge.read(tmp_path / "drive.mcap")) == 1
