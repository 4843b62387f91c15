"""`simjudge sim reconstruct`: a known scene, surveyed by a lidar and reconstructed, is the same to a lidar."""

import json
import sys

import laspy
import numpy as np
import pytest
import trimesh
import yaml
from cloud_samples import cloud_set, table
from support import processes

from simjudge.core.errors import Losses, SimjudgeError, UsageError, no_log
from simjudge.data.clouds import Cloud, CloudBoxes
from simjudge.data.formats.pcd import write_pcd
from simjudge.data.sets import write_clouds
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.objects.survey_cloud import SurveyReading, read_survey
from simjudge.questions.reconstruct.run import reconstruct
from simjudge.sim.capture.sensor_feed import LidarCapture
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.mesh_files import read_mesh
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarNoise

SCENE = """
classes: {1: crate, 2: pole}
things:
  floor: {plane: [60, 40], surface: {reflectance: 0.3}}
  crate: {box: [1.6, 1.0, 1.2], at: [6, 3], yaw: 20, class: crate, surface: {reflectance: 0.7}}
  pole: {cylinder: {radius: 0.04, height: 2.5}, at: [9, -3], class: pole, surface: {reflectance: 0.5}}
  wall: {box: [0.3, 6, 2], at: [14, 0], surface: {reflectance: 0.2}}
"""
TURN = np.radians(np.linspace(-16, 14, 31))
LIDAR = Lidar("roof", 10, 1200, tuple(TURN.tolist()), (0.4, 40.0), window=0.1, noise=LidarNoise((0.01, 0.0)))
SPEED = 4.0


def pose_at(seconds):
    return Pose.from_euler(SPEED * seconds - 2, -0.5, 1.6, yaw=0.05)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A recording of a lidar that drives through the scene, with labels."""
    folder = tmp_path_factory.mktemp("survey")
    (folder / "true.yaml").write_text(SCENE)
    scene = read_scene(folder / "true.yaml")
    capture = LidarCapture(make_engine("mujoco", scene), LIDAR)
    tables, rows, poses = [], [], []
    for number in range(20):
        seconds = 1 + number * 0.2
        found = capture.capture(
            round(seconds * 1e9), Keyframes.build([-0.1, 0.0], [[pose_at(seconds - 0.1)], [pose_at(seconds)]])
        )
        scan = found.scan
        tables.append(table(scan.points, scan.intensity, time=scan.time.astype(np.float32)))
        poses.append(pose_at(seconds))
        for k in range(len(found.boxes)):
            turned = Pose.from_matrix(np.hstack([found.boxes.rotation[k], found.boxes.centre[k][:, None]]))
            ids = number, found.boxes.class_id[k], found.boxes.instance[k]
            rows.append((*ids, *found.boxes.centre[k], *turned.orientation, *found.boxes.size[k]))
    rows = np.array(rows)
    boxes = CloudBoxes(*rows[:, :3].astype(np.int64).T, rows[:, 3:6], rows[:, 6:10], rows[:, 10:])
    stamps = np.round((1 + np.arange(20) * 0.2) * 1e9)
    more = {"boxes": boxes, "class_names": scene.class_names, "labelled": np.ones(20, bool)}
    write_clouds(cloud_set(tables, poses, stamp=stamps, **more), folder / "survey.mcap")
    return folder


@pytest.fixture(scope="module")
def made(survey):
    return reconstruct(survey / "survey.mcap", survey / "course", far=25.0)


def ranges(scene, seconds):
    """What a lidar without noise, that stands still beside the survey's way, measures: ranges and intensities."""
    lidar = Lidar("roof", 10, 900, tuple(np.radians(np.linspace(-13, 9, 23)).tolist()), (0.4, 25.0))
    pose = Pose.from_euler(SPEED * seconds - 2, 0.1, 1.5, yaw=0.31)
    scan = LidarCapture(make_engine("mujoco", scene), lidar).capture(1, Keyframes.build([0.0], [[pose]])).scan
    out = np.full((2, 23, 900), np.nan)
    out[:, scan.ring, scan.column] = scan.range, scan.intensity
    return out


def test_a_lidar_measures_the_same_in_the_scene_and_in_its_reconstruction(survey, made):
    true, again = read_scene(survey / "true.yaml"), read_scene(made.scene)
    gaps, light = [], []
    for seconds in (1.2, 2.3, 3.4):
        real, virtual = ranges(true, seconds), ranges(again, seconds)
        # Where the floor was near enough to the survey.
        known = real[0] < 15
        gaps.append((virtual[0] - real[0])[known])
        light.append((virtual[1] - real[1])[known])
    gap, power = np.abs(np.concatenate(gaps)), np.abs(np.concatenate(light))
    assert np.isnan(gap).mean() < 0.01
    assert np.nanmedian(gap) < 0.01
    assert np.nanquantile(gap, 0.95) < 0.06
    assert np.nanmedian(power) < 0.02


def test_things_have_their_classes_and_places(made):
    things = {thing.name: thing for thing in made.things}
    kinds = sorted(thing.class_name for thing in made.things)
    assert kinds == ["crate", "object", "pole"]
    pole = next(thing for thing in made.things if thing.class_name == "pole")
    assert pole.post_width == pytest.approx(0.08, abs=0.015)
    assert pole.mesh.vertices[:, :2].mean(0) == pytest.approx([9, -3], abs=0.02)
    assert pole.mesh.vertices[:, 2].max() == pytest.approx(2.5, abs=0.1)
    assert pole.mesh.reflectance.mean() == pytest.approx(0.5, abs=0.06)
    crate = next(thing for thing in made.things if thing.class_name == "crate")
    wall = things[next(name for name in things if name.startswith("object"))]
    assert np.quantile(wall.mesh.vertices[:, 0], 0.1) == pytest.approx(13.85, abs=0.02)
    assert np.ptp(wall.mesh.vertices[:, 1]) == pytest.approx(6, abs=0.12)
    box = trimesh.creation.box((1.6, 1.0, 1.2), Pose.from_euler(6, 3, 0.6, yaw=np.radians(20)).matrix())
    apart = trimesh.proximity.closest_point(box, crate.mesh.vertices)[1]
    assert np.quantile(apart, 0.9) < 0.04


def test_the_ground_is_flat_and_what_was_filled_is_said(made):
    inner = made.ground.z[made.ground.seen]
    assert np.median(np.abs(inner)) < 0.006
    assert np.quantile(np.abs(inner), 0.95) < 0.03
    facts = json.loads((made.scene.parent / "reconstruction.json").read_text())
    assert facts["ground"]["filled"] == pytest.approx((~made.ground.seen).mean(), abs=1e-4)
    assert f"{100 * made.filled:.0f} % of them hold no point" in made.sentences()[0]
    assert made.ground.reflectance[made.ground.seen].mean() == pytest.approx(0.3, abs=0.03)


def test_the_way_of_the_lidar_is_a_course_to_drive(made):
    scene = read_scene(made.scene)
    assert scene.course.centre_line[0] == pytest.approx([2, -0.5], abs=0.1)
    assert np.ptp(scene.course.centre_line[:, 0]) == pytest.approx(15.2, abs=0.1)
    assert {thing.collider.kind for thing in scene.things if thing.name == "ground"} == {"ground"}


def test_motion_during_turns_is_taken_out_unless_asked_otherwise(survey, tmp_path):
    skewed = reconstruct(survey / "survey.mcap", tmp_path / "skewed", deskew=False, far=25.0)
    # Up to 0.4 m of motion puts the pole's points out of its label.
    assert [name.partition(" ")[0] for name in skewed.lost] == ["pole"]
    (line,) = skewed.warnings()
    assert line.startswith("1 of 2 labelled things, hit by fewer than 4 points each: pole")


def cube(count=40_000):
    """Points of a floor and of a cube of 1 m on it."""
    random = np.random.default_rng(0)
    floor = np.c_[random.uniform(-6, 6, (count, 2)), random.normal(0, 0.005, count)]
    floor = floor[~(np.abs(floor[:, :2]) < 0.5).all(1)]
    sides = trimesh.creation.box((1, 1, 1)).sample(8000, seed=1) + np.array([0, 0, 0.5])
    return np.concatenate([floor, sides[sides[:, 2] > 0.01]])


def test_a_single_cloud_with_colours_far_from_the_origin(tmp_path):
    points = cube()
    colour = np.where(points[:, 2:] > 0.1, [[200, 30, 20]], [[90, 90, 90]]).astype(np.uint8)
    far = points + np.array([500_000, 4_500_000, 200])
    trimesh.PointCloud(far, np.c_[colour, np.full(len(colour), 255, np.uint8)]).export(tmp_path / "site.ply")
    said = []
    made = reconstruct(tmp_path / "site.ply", tmp_path / "site", log=said.append)
    assert any("500000, 4500000, 200" in line for line in said)
    (thing,) = made.things
    assert thing.mesh.vertices.mean(0)[:2] == pytest.approx([0, 0], abs=0.3)
    assert np.median(thing.mesh.colour, axis=0) == pytest.approx([200, 30, 20], abs=2)
    assert thing.mesh.reflectance is None
    scene = read_scene(made.scene)
    red = next(part for part in scene.things if part.name.startswith("object"))
    assert red.surface.texture.reshape(-1, 3).max(0)[0] > 0.5


@pytest.mark.parametrize(
    ("kind", "most"), [("f4", 1), ("f4", 255), ("u1", 255), ("u2", 255), ("u2", 65_535), ("i4", 255)]
)
def test_colours_are_the_same_however_they_are_stored(tmp_path, kind, most):
    points = cube()
    cloud = np.zeros(len(points), [*((name, "f4") for name in "xyz"), *((c, kind) for c in ("red", "green", "blue"))])
    cloud["x"], cloud["y"], cloud["z"] = points.T
    cloud["red"], cloud["green"], cloud["blue"] = np.array([200, 100, 50]) / 255 * most
    cloud["blue"][0] = most
    write_pcd(tmp_path / "site.pcd", Cloud(cloud))
    found = read_survey(tmp_path / "site.pcd", SurveyReading(), Losses(), no_log).cloud.colour
    assert found.dtype == np.uint8
    assert np.median(found, axis=0) == pytest.approx([200, 100, 50], abs=1)


def test_intensities_that_are_all_zero_are_none(tmp_path):
    said = []
    write_pcd(tmp_path / "site.pcd", Cloud(table(cube(), 0.0)))
    found = read_survey(tmp_path / "site.pcd", SurveyReading(), Losses(), said.append).cloud
    assert found.reflected is None
    assert "no intensity above 0: each thing reflects a lidar's light as white paint does" in said[0]


def test_points_without_a_number_as_intensity_do_not_make_surfaces_dark(tmp_path):
    said = []
    points = cube(900)
    intensity = np.full(len(points), 60.0)
    intensity[::2] = np.nan
    write_pcd(tmp_path / "site.pcd", Cloud(table(points, intensity)))
    found = read_survey(tmp_path / "site.pcd", SurveyReading(), Losses(), said.append).cloud
    assert np.allclose(found.reflected, 0.6)
    assert f"note: {-(-len(points) // 2)} points of {len(points)} of" in said[0]
    assert "an intensity that is not a number: the median of the others is taken" in said[0]


def test_a_pcd_without_intensities_says_that_things_are_white(tmp_path):
    points = cube()
    cloud = np.zeros(len(points), [(name, "f4") for name in "xyz"])
    cloud["x"], cloud["y"], cloud["z"] = points.T
    write_pcd(tmp_path / "site.pcd", Cloud(cloud))
    said = []
    made = reconstruct(tmp_path / "site.pcd", tmp_path / "site", log=said.append)
    assert "no intensities" in said[0]
    content = yaml.safe_load(made.scene.read_text())
    assert "texture" not in content["things"]["ground"]["surface"]
    assert read_mesh(made.scene.parent / "meshes/ground.obj", materials=False).mesh.vertices[:, 2].max() < 0.05


def test_las_files_are_read_in_their_scale(tmp_path):
    points = cube()
    held = laspy.create(point_format=2)
    held.header.offsets, held.header.scales = [0, 0, 0], [0.001] * 3
    held.x, held.y, held.z = points.T
    held.intensity = np.full(len(points), 40_000, np.uint16)
    held.write(tmp_path / "site.las")
    made = reconstruct(tmp_path / "site.las", tmp_path / "site")
    assert len(made.things) == 1
    assert np.median(made.things[0].mesh.reflectance) == pytest.approx(40_000 / 65_535, abs=0.01)


def test_cells_that_had_to_be_larger_are_said(tmp_path, monkeypatch):
    write_pcd(tmp_path / "site.pcd", Cloud(table(cube())))
    made = reconstruct(tmp_path / "site.pcd", tmp_path / "site", cell=0.1)
    assert not any("coarser" in line for line in made.sentences())
    monkeypatch.setattr("simjudge.objects.survey_mesh.MOST_VOXELS", 4000)
    made = reconstruct(tmp_path / "site.pcd", tmp_path / "coarse", cell=0.1, ground_cell=1.0)
    assert "large things with coarser cells, to save memory: 1, up to 0.16 m" in made.sentences()


def test_a_cloud_without_points_or_in_another_unit_or_without_things_is_said(tmp_path):
    for name, points in (("nan", cube(500) * np.nan), ("mm", cube(500) * 1000), ("flat", cube(9000))):
        write_pcd(tmp_path / f"{name}.pcd", Cloud(table(points[points[:, 2] < 0.02] if name == "flat" else points)))
    with pytest.raises(SimjudgeError, match=r"nan\.pcd: holds no point to survey; coordinates must be in metres"):
        reconstruct(tmp_path / "nan.pcd", tmp_path / "out")
    with pytest.raises(SimjudgeError, match=r"the survey is 1\d+ m x 1\d+ m, .* or coordinates in metres"):
        reconstruct(tmp_path / "mm.pcd", tmp_path / "out")
    said = []
    made = reconstruct(tmp_path / "flat.pcd", tmp_path / "out", log=said.append)
    assert "nothing stands on the ground: the scene has no things" in made.sentences()
    assert "half of the points reflect less than 100 % of it" in said[0]


def test_what_cannot_be_reconstructed_is_said_and_nothing_is_written(tmp_path, monkeypatch):
    write_clouds(cloud_set([table(cube(500)), table(cube(500))]), tmp_path / "blind", "pcd")
    with pytest.raises(SimjudgeError, match="it is not known where its lidar was"):
        reconstruct(tmp_path / "blind", tmp_path / "out")
    (tmp_path / "bad.ply").write_text("ply\nformat ascii 1.0\nelement vertex 3\n")
    with pytest.raises(SimjudgeError, match="cannot be read as PLY"):
        reconstruct(tmp_path / "bad.ply", tmp_path / "out")
    with pytest.raises(UsageError, match="near 40 and far 30"):
        reconstruct(tmp_path / "bad.ply", tmp_path / "out", near=40.0)
    write_pcd(tmp_path / "wide.pcd", Cloud(table(np.concatenate([cube(), 500 + cube()]))))
    with pytest.raises(SimjudgeError, match=r"the ground has .* cells, over 4000000: give a larger --ground-cell"):
        reconstruct(tmp_path / "wide.pcd", tmp_path / "out", ground_cell=0.1, survey_cell=1.0)
    monkeypatch.setitem(sys.modules, "skimage.measure", None)
    write_pcd(tmp_path / "site.pcd", Cloud(table(cube())))
    with pytest.raises(UsageError, match=r"need scikit-image: pip install 'simjudge\[survey\]'"):
        reconstruct(tmp_path / "site.pcd", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_scans_without_times_are_used_and_the_note_says_so(tmp_path):
    poses = [Pose((0.1 * number, 0, 2)) for number in range(3)]
    write_clouds(cloud_set([table(pose.to_body(cube(9000))) for pose in poses], poses), tmp_path / "survey.mcap")
    said = []
    made = reconstruct(tmp_path / "survey.mcap", tmp_path / "course", cell=0.1, log=said.append)
    (line,) = (line for line in said if "motion" in line)
    assert line.startswith(
        "note: 3 of 3 scans are used without correction for the lidar's motion, because their points"
    )
    assert "no time field" in line
    assert not made.losses


@pytest.mark.parametrize(("clusters", "code", "word"), [(1, 0, ""), (200, 3, "warning: ")])
def test_a_scene_without_much_of_the_survey_ends_with_exit_code_3_and_one_without_little_does_not(
    tmp_path, clusters, code, word
):
    random = np.random.default_rng(1)
    middles = np.c_[np.arange(clusters) % 15 * 0.7 - 5, np.arange(clusters) // 15 * 0.7 - 5, np.full(clusters, 2.0)]
    small = (middles[:, None] + random.normal(0, 0.02, (clusters, 12, 3))).reshape(-1, 3)
    points = np.concatenate([cube(), small])
    write_pcd(tmp_path / "site.pcd", Cloud(table(points)))
    command = [*processes.SIMJUDGE, "reconstruct", tmp_path / "site.pcd", tmp_path / "site", "--cell", "0.1"]
    done = processes.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "left out" in line)
    count = int(line.removeprefix(f"{word}left out ").partition(" of ")[0])
    assert count == pytest.approx(12 * clusters, abs=4)
    assert f"in {clusters} cluster" in line
    assert "with fewer than 20 points (--survey-points)" in line
    facts = json.loads((tmp_path / "site/reconstruction.json").read_text())
    assert facts["losses"] == [line.removeprefix(f"{word}left out ")]


def test_the_command_prints_what_it_made(tmp_path):
    write_pcd(tmp_path / "site.pcd", Cloud(table(cube())))
    command = [*processes.SIMJUDGE, "reconstruct", tmp_path / "site.pcd", tmp_path / "site", "--cell", "0.1"]
    done = processes.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "object" in done.stdout
    assert "scene.yaml" in done.stderr
