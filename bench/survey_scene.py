"""How near a scene that `simjudge sim reconstruct` made is to the one that was surveyed: krc, of which all is known.

`python bench/survey_scene.py [FOLDER]`: a VLP-16 drives along the course at 5 m/s, its scans are reconstructed, and a
lidar without noise looks at both scenes from the same poses. FOLDER keeps survey.mcap and the scene.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import trimesh

from simjudge.core.arrays import FloatArray
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet
from simjudge.data.sets import write_clouds
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.questions.reconstruct.run import Reconstruction, reconstruct
from simjudge.sim.capture.sensor_feed import CapturedScan, LidarCapture
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Mesh, Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.lidar.scan import POINT, Scan
from simjudge.sim.sensors.sensor_file import read_sensors

SPEED, HEIGHT, LENGTH, REACH = 5.0, 1.8, 110.0, 30.0
SECOND = 1_000_000_000


def pose_at(seconds: float) -> Pose:
    """Where the lidar is on its way."""
    return Pose((SPEED * seconds, 0.0, HEIGHT))


def keyframes(seconds: float, turn: float) -> Keyframes:
    """The lidar's motion during a turn that ends at an instant."""
    return Keyframes.build([-turn, 0.0], [[pose_at(seconds - turn)], [pose_at(seconds)]])


def scan_of(capture: LidarCapture, seconds: float, sensor: Keyframes) -> CapturedScan:
    """A scan that no filter loses."""
    found = capture.capture(round(seconds * SECOND), sensor)
    if found is None:
        raise SystemExit("a filter of the lidar loses scans")
    return found


def surveyed(scene: Scene, lidar: Lidar, every: int = 1) -> CloudSet:
    """Scans of a scene from a drive along it, with labels and poses."""
    capture = LidarCapture(make_engine("mujoco", scene), lidar)
    times = np.arange(1, round(LENGTH / SPEED * lidar.rate) + 1, every) / lidar.rate
    tables, rows = [], []
    for number, seconds in enumerate(times.tolist()):
        found = scan_of(capture, seconds, keyframes(seconds, 1 / lidar.rate))
        scan, table = found.scan, np.zeros(len(found.scan), POINT)
        table["x"], table["y"], table["z"] = scan.points.T
        table["intensity"], table["ring"], table["time"] = scan.intensity, scan.ring, scan.time
        tables.append(table)
        boxes = found.boxes
        for k in range(len(boxes)):
            turned = Pose.from_matrix(np.hstack([boxes.rotation[k], boxes.centre[k][:, None]]))
            rows.append(
                (number, boxes.class_id[k], boxes.instance[k], *boxes.centre[k], *turned.orientation, *boxes.size[k])
            )
    table = np.array(rows, np.float64).reshape(-1, 13)
    cloud, class_id, instance = table[:, :3].astype(np.int64).T
    labels = CloudBoxes(cloud, class_id, instance, table[:, 3:6], table[:, 6:10], table[:, 10:])
    return CloudSet(
        "survey",
        [f"{n:06d}" for n in range(len(times))],
        np.rint(times * SECOND).astype(np.int64),
        lambda index: Cloud(tables[index], where=f"scan {index}"),
        boxes=labels,
        labelled=np.ones(len(times), np.bool_),
        class_names=dict(scene.class_names),
        poses=[pose_at(seconds) for seconds in times.tolist()],
    )


def by_beam(scan: Scan, lidar: Lidar, quantity: FloatArray) -> FloatArray:
    """A quantity of each return by ring and column; NaN where there is none."""
    out = np.full((len(lidar.elevation), lidar.columns), np.nan)
    out[scan.ring, scan.column] = quantity
    return out


def compare(true: Scene, made: Scene, lidar: Lidar, out: list[str]) -> None:
    """Ranges and intensities of one lidar in both scenes, by what it hits in the true one."""
    captures = [LidarCapture(make_engine("mujoco", scene), lidar) for scene in (true, made)]
    gaps, kinds, light, only = [], [], [], []
    for seconds in np.arange(1.0, 21.0, 1.0).tolist():
        # Beside the surveyor's way and turned: other beams than those of the survey.
        pose = Pose.from_euler(SPEED * seconds + 0.37, 0.4, HEIGHT - 0.2, yaw=0.013)
        found = [scan_of(capture, seconds, Keyframes.build([0.0], [[pose]])) for capture in captures]
        ranges = [by_beam(each.scan, lidar, each.scan.range) for each in found]
        power = [by_beam(each.scan, lidar, each.scan.intensity) for each in found]
        kind = by_beam(found[0].scan, lidar, found[0].class_id.astype(np.float64))
        near = ranges[0] <= REACH
        gaps.append((ranges[1] - ranges[0])[near])
        light.append((power[1] - power[0])[near])
        kinds.append(kind[near])
        only.append(np.isnan(ranges[0]) & (ranges[1] <= REACH))
    gap, kind, power = np.concatenate(gaps), np.concatenate(kinds), np.concatenate(light)
    out.append("| beams that meet | beams | no return | median | 95 % | within 5 cm | intensity, median of 100 |")
    out.append("| --- | --- | --- | --- | --- | --- | --- |")
    for name, chosen in [
        ("all", np.ones(len(kind), bool)),
        *((true.class_names.get(int(k), "-"), kind == k) for k in np.unique(kind)),
    ]:
        size = np.abs(gap[chosen])
        met = size[np.isfinite(size)]
        out.append(
            f"| {name} | {len(size)} | {100 * np.isnan(size).mean():.1f} % | {100 * np.median(met):.1f} cm | "
            f"{100 * np.quantile(met, 0.95):.1f} cm | {100 * (met < 0.05).mean():.1f} % | "
            f"{np.nanmedian(np.abs(power[chosen])):.1f} |"
        )
    out.append("")
    out.append(f"returns within {REACH:g} m in the reconstruction alone: {sum(int(part.sum()) for part in only)}")


def things_of(scene: Scene, names: set[str]) -> trimesh.Trimesh:
    """The meshes of some classes as one."""
    parts = []
    for thing in scene.things:
        if scene.class_names.get(thing.class_id) in names:
            mesh: Mesh = thing.mesh
            parts.append(trimesh.Trimesh(thing.pose.to_world(mesh.vertices), mesh.faces, process=False))
    return trimesh.util.concatenate(parts)


def distances(true: Scene, made: Scene, names: set[str], out: list[str]) -> None:
    """Distances of points of each surface from the other, by trimesh."""
    meshes = [things_of(scene, names) for scene in (true, made)]
    for one, other, words in ((0, 1, "true to made"), (1, 0, "made to true")):
        points, _ = trimesh.sample.sample_surface(meshes[one], 20_000, seed=1)
        apart = np.concatenate(
            [trimesh.proximity.closest_point(meshes[other], part)[1] for part in np.array_split(points, 20)]
        )
        out.append(
            f"| {', '.join(sorted(names))} | {words} | {100 * np.median(apart):.1f} cm | "
            f"{100 * np.quantile(apart, 0.95):.1f} cm | {100 * apart.mean():.1f} cm |"
        )


def describe(made: Reconstruction, out: list[str]) -> None:
    """What was made."""
    table = made.table()
    out.append(f"| {' | '.join(table.columns)} |")
    out.append("| --- " * len(table.columns) + "|")
    out += [f"| {' | '.join(row)} |" for row in table.rows]
    out += ["", *made.sentences(), ""]


def main() -> None:
    """Run it all."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    true = read_scene("krc")
    vlp16 = next(spec.model() for spec in read_sensors("vlp16"))
    recording = folder / "survey.mcap"
    if not recording.exists():
        write_clouds(surveyed(true, vlp16), recording)
    out: list[str] = []
    made = reconstruct(recording, folder / "course", log=out.append)
    describe(made, out)
    clean = Lidar("clean", 10, vlp16.columns, vlp16.elevation, (0.4, 100.0), intensity=vlp16.intensity)
    scene = read_scene(made.scene)
    compare(true, scene, clean, out)
    out += ["", "| classes | from, to | median | 95 % | mean |", "| --- | --- | --- | --- | --- |"]
    for names in ({"orange barrier", "white barrier"}, {"cone"}, {"pole"}):
        if names & {scene.class_names.get(thing.class_id) for thing in scene.things}:
            distances(true, scene, names, out)
    sys.stdout.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
