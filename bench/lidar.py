"""Times of a lidar: rays in the lab beside other libraries' on the same triangles, turns, wide beams, objects."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from render import Row, seconds

from simjudge.core.arrays import FloatArray
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.detectors.clouds.cuboid_detection import detect_cuboids
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.sensor_feed import LidarCapture, SensorEvent
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.engines.contract import STANDING, Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_file import read_sensors

AT = Pose.from_euler(0.3, -0.2, 0.4, yaw=0.7)
RINGS, COLUMNS = 16, 1800
_TIMES = 20


def turn() -> tuple[FloatArray, FloatArray]:
    """Origins and directions of a VLP-16's turn at a standstill."""
    elevation = np.radians(np.linspace(-15, 15, RINGS))
    azimuth = np.arange(COLUMNS) * (2 * np.pi / COLUMNS)
    e, a = (each.ravel() for each in np.meshgrid(elevation, azimuth))
    directions = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], 1) @ AT.rotation_matrix().T
    return np.tile(AT.position, (len(directions), 1)), directions


def rays(engine: Engine) -> Iterator[Row]:
    """Nanoseconds a ray, ours and others'."""
    origins, directions = turn()
    times = np.zeros(len(origins))
    makers = {"Open3D": ("open3d", open3d_caster), "trimesh, Embree": ("embreex", trimesh_caster)}
    casters = {"ours": lambda: engine.cast_timed_rays(origins, directions, times, STANDING)} | {
        name: make(engine, origins, directions)
        for name, (module, make) in makers.items()
        if importlib.util.find_spec(module) is not None
    }
    # In turn, so that other work on the machine falls on all of them.
    runs = [[seconds(cast, 1) for cast in casters.values()] for _ in range(_TIMES)]
    took = dict(zip(casters, np.min(runs, 0), strict=True))
    ours, per_ray = took["ours"], 1e9 / len(origins)
    others = [
        f"{name}: {took[name] * per_ray:.0f} ns, {took[name] / ours:.2f} of ours"
        if name in took
        else f"{name}: not installed"
        for name in makers
    ]
    what = f"rays of a VLP-16 turn in the lab ({len(origins):,})"
    yield what, f"{ours * per_ray:.0f} ns each", "fastest", "; ".join(others)


def open3d_caster(engine: Engine, origins: FloatArray, directions: FloatArray) -> Callable[[], object]:
    """Open3D's RaycastingScene on the engine's triangles; NumPy's arrays in and out, as ours."""
    o3d = importlib.import_module("open3d")
    scene = o3d.t.geometry.RaycastingScene()
    for thing in engine.things:
        vertices = thing.pose.to_world(thing.mesh.vertices).astype(np.float32)
        scene.add_triangles(o3d.core.Tensor(vertices), o3d.core.Tensor(thing.mesh.faces.astype(np.uint32)))

    def cast() -> object:
        found = scene.cast_rays(o3d.core.Tensor(np.hstack([origins, directions]).astype(np.float32)))
        return found["t_hit"].numpy(), found["geometry_ids"].numpy(), found["primitive_normals"].numpy()

    return cast


def trimesh_caster(engine: Engine, origins: FloatArray, directions: FloatArray) -> Callable[[], object]:
    """The first hits by trimesh with Embree, on the engine's triangles."""
    trimesh = importlib.import_module("trimesh")
    meshes = [
        trimesh.Trimesh(thing.pose.to_world(thing.mesh.vertices), thing.mesh.faces, process=False)
        for thing in engine.things
    ]
    caster = importlib.import_module("trimesh.ray.ray_pyembree").RayMeshIntersector(trimesh.util.concatenate(meshes))
    return lambda: caster.intersects_location(origins, directions, multiple_hits=False)


def turns(engine: Engine) -> Iterator[Row]:
    """Whole turns with motion and noise, as messages; and beams of nine rays."""
    spec = next(spec for spec in read_sensors("vlp16") if isinstance(spec, LidarSpec))
    # 5 m/s and 1 rad/s, keyframes 10 ms apart, as a drive has them.
    ends = np.linspace(-0.1, 0.0, 11)
    moving = Keyframes.build(ends, [[Pose.from_euler(0.3 + 5 * t, -0.2, 0.4, yaw=0.7 + t)] for t in ends])
    types = standard_types().types
    messages = SensorMessages(lambda name: types[name], [spec])

    def one(lidar: LidarSpec) -> Callable[[], object]:
        capture = LidarCapture(engine, lidar.model())
        return lambda: list(messages.messages([SensorEvent(0, 10**8, spec, capture.capture(10**8, moving))]))

    whole = seconds(one(spec), _TIMES)
    yield "a whole VLP-16 turn: motion, noise, PointCloud2 and truth", f"{1 / whole:.0f} a second", "30 a second", ""
    lidar = replace(spec.model(), divergence=(3e-3, 3e-3))
    single, wide = (seconds(one(replace(spec, lidar=replace(lidar, samples=n))), 5) for n in (1, 2))
    yield "the same with 9 rays a beam, beside 1", f"{wide / single:.1f} times", "at most 3 times", ""


def objects(engine: Engine) -> Iterator[Row]:
    """A turn through ground, clusters and cuboids, and what others take for a part of it."""
    origins, directions = turn()
    distance = engine.cast_timed_rays(origins, directions, np.zeros(len(origins)), STANDING).distance
    distance = distance + 0.01 * np.random.default_rng(0).standard_normal(len(distance))
    points = directions * distance[:, None]
    ring = np.tile(np.arange(RINGS), COLUMNS)
    ours = seconds(lambda: detect_cuboids(points, ring), _TIMES)
    seen = points[np.isfinite(points[:, 0])]
    others = []
    if importlib.util.find_spec("open3d") is None:
        others.append("Open3D: not installed")
    else:
        took = seconds(lambda: open3d_clusters(seen), 3)
        others.append(f"Open3D's plane and DBSCAN alone: {took / ours:.1f} of ours")
    found = detect_cuboids(points, ring).cuboids
    what = f"a VLP-16 turn ({len(seen):,} points) through ground, clusters and {len(found)} cuboids"
    yield what, f"{1e3 * ours:.0f} ms", "50 ms", "; ".join(others)


def open3d_clusters(points: FloatArray) -> object:
    """Open3D's RANSAC plane and DBSCAN of the rest, with the settings of ours."""
    o3d = importlib.import_module("open3d")
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    _, inliers = cloud.segment_plane(0.2, 3, 100)
    return cloud.select_by_index(inliers, invert=True).cluster_dbscan(0.8, 1)


def rows() -> Iterator[Row]:
    """The lines of the benchmark's table."""
    engine = make_engine("default", read_scene("lab"))
    try:
        yield from rays(engine)
        yield from turns(engine)
    finally:
        engine.close()
    street = make_engine("default", read_scene("street"))
    try:
        yield from objects(street)
    finally:
        street.close()


if __name__ == "__main__":
    begin = time.perf_counter()
    for row in rows():
        print(*row, sep="; ")
    print(f"{time.perf_counter() - begin:.0f} s")
