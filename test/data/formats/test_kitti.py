"""KITTI folders, made by the readme files of its development kits: read, into a recording, and back."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from public_data import PUBLIC_DATA, needs
from scipy.spatial.transform import Rotation

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.data.format_support.annotated_frames import CROWD
from simjudge.data.formats.kitti.dataset import read_kitti, read_kitti_clouds, read_scan
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.sets import read_set

SHARED = PUBLIC_DATA / "real_lidar/kitti_tracking_0000"
P2 = "721.5377 0 609.5593 44.85728 0 721.5377 172.854 0.2163791 0 0 1 0.002745884"
R0 = "0.9999239 0.00983776 -0.007445048 -0.009869795 0.9999421 -0.004278459 0.007402527 0.004351614 0.9999631"
VELO = (
    "0.007533745 -0.9999714 -0.000616602 -0.004069766 0.01480249 0.0007280733 -0.9998902 -0.07631618 "
    "0.9998621 0.00752379 0.01480755 -0.2717806"
)
IMU = (
    "0.9999976 0.0007553071 -0.002035826 -0.8086759 -0.0007854027 0.9998898 -0.01482298 0.3195559 "
    "0.002024406 0.01482454 0.9998881 -0.7997231"
)
CALIBRATION = "".join(f"P{k}: {P2}\n" for k in range(4)) + (
    f"R0_rect: {R0}\nTr_velo_to_cam: {VELO}\nTr_imu_to_velo: {IMU}\n\n"
)
TRACKING = (
    CALIBRATION.replace("R0_rect:", "R_rect")
    .replace("Tr_velo_to_cam:", "Tr_velo_cam")
    .replace("Tr_imu_to_velo:", "Tr_imu_velo")
)
CAR = "Car 0.00 0 -1.58 587.01 173.33 614.12 200.12 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59"
WALKER = "Pedestrian 0.30 1 0.21 423.17 173.67 433.17 224.03 1.60 0.38 0.30 -5.87 1.63 23.11 -0.03"
DONT_CARE = "DontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10"
OXTS = "{lat:.14f} 8.4{k}2 112.8 0.02 0.01 {yaw} " + " ".join(["0.5"] * 24)


def matrix(text, rows=3):
    out = np.eye(4)
    out[:rows, : len(text.split()) // rows] = np.array(text.split(), float).reshape(rows, -1)
    return out


def scan(seed, count=40):
    return np.random.default_rng(seed).normal(size=(count, 4)).astype("<f4") * 10


def scans(folder, names):
    folder.mkdir(parents=True)
    for seed, name in enumerate(names):
        scan(seed).tofile(folder / f"{name}.bin")


def pictures(folder, names):
    folder.mkdir(parents=True)
    for shade, name in enumerate(names):
        Image.new("RGB", (1242, 375), (shade, 9, 9)).save(folder / f"{name}.png")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def object_folder(root):
    names = [f"{k:06d}" for k in range(3)]
    scans(root / "velodyne", names)
    pictures(root / "image_2", names)
    labels = (f"{CAR}\n{DONT_CARE}\n", "", f"{WALKER}\n{CAR}\n{DONT_CARE}\n")
    for k, (name, text) in enumerate(zip(names, labels, strict=True)):
        write(root / "label_2" / f"{name}.txt", text)
        write(root / "calib" / f"{name}.txt", CALIBRATION.replace("-0.2717806", f"-0.27178{k}6"))
    return root


def oxts(count):
    return [OXTS.format(lat=49.01 + 1e-5 * k, k=k, yaw=0.1 * k) for k in range(count)]


def tracking_folder(root):
    names = [f"{k:06d}" for k in range(3)]
    scans(root / "velodyne" / "0003", names)
    pictures(root / "image_02" / "0003", names)
    rows = [f"0 -1 {DONT_CARE}", f"0 2 {CAR}", f"2 2 {CAR}", f"2 7 {WALKER}"]
    write(root / "label_02" / "0003.txt", "\n".join(rows) + "\n")
    write(root / "calib" / "0003.txt", TRACKING)
    write(root / "oxts" / "0003.txt", "\n".join(oxts(3)))
    return root


def odometry_folder(root):
    scans(root / "velodyne", ["000000", "000001"])
    pictures(root / "image_2", ["000000", "000001"])
    write(root / "calib.txt", "".join(f"P{k}: {P2}\n" for k in range(4)) + f"Tr: {VELO}\n")
    write(root / "times.txt", "0.000000e+00\n1.036224e-01\n")
    write(root / "poses.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n0.8 0 0.6 0.5 0 1 0 -0.02 -0.6 0 0.8 2.0\n")
    return root


def raw_folder(root):
    names = [f"{k:010d}" for k in range(2)]
    scans(root / "velodyne_points" / "data", names)
    pictures(root / "image_02" / "data", names)
    write(root / "velodyne_points" / "timestamps.txt", "2011-09-26 13:02:25.951199337\n2011-09-26 13:02:26.054523221\n")
    for name, row in zip(names, oxts(2), strict=True):
        write(root / "oxts" / "data" / f"{name}.txt", row + "\n")
    words = VELO.split()
    rotation = " ".join(words[4 * row + column] for row in range(3) for column in range(3))
    write(root / "calib_velo_to_cam.txt", f"calib_time: 15-Mar-2012\nR: {rotation}\nT: {' '.join(words[3::4])}\n")
    words = IMU.split()
    rotation = " ".join(words[4 * row + column] for row in range(3) for column in range(3))
    write(root / "calib_imu_to_velo.txt", f"R: {rotation}\nT: {' '.join(words[3::4])}\n")
    write(root / "calib_cam_to_cam.txt", f"corner_dist: 9.95e-02\nR_rect_00: {R0}\nP_rect_02: {P2}\n")
    return root


FOLDERS = {"object": object_folder, "tracking": tracking_folder, "odometry": odometry_folder, "raw": raw_folder}


def contents(root):
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()}


@pytest.fixture(scope="module", params=FOLDERS)
def folder(request, tmp_path_factory):
    return FOLDERS[request.param](tmp_path_factory.mktemp(request.param) / "kitti")


def test_into_a_recording_and_back_every_byte_is_the_same(folder, tmp_path):
    there = sj.convert(folder, tmp_path / "d.mcap")
    back = sj.convert(tmp_path / "d.mcap", tmp_path / "again", to="kitti")
    assert not there.losses
    assert not back.losses
    assert contents(tmp_path / "again") == contents(folder)


def test_a_recording_holds_what_the_folder_says(folder, tmp_path):
    sj.convert(folder, tmp_path / "d.mcap")
    before, after = read_kitti_clouds(folder), sj.read_clouds(tmp_path / "d.mcap")
    assert list(after.cloud_name) == list(before.cloud_name)
    assert after.stamp.tolist() == before.stamp.tolist()
    for k, cloud in enumerate(after):
        assert cloud.table.tobytes() == scan(k).tobytes()
        assert cloud.fields == ("x", "y", "z", "intensity")
    assert after.frames is not None
    assert after.frames.objects.box.tolist() == before.frames.objects.box.tolist()
    assert after.frames.objects.instance.tolist() == before.frames.objects.instance.tolist()
    assert (after.boxes is None) == (before.boxes is None)
    if before.boxes is not None:
        np.testing.assert_array_equal(after.boxes.centre, before.boxes.centre)
        assert after.labelled.tolist() == before.labelled.tolist()
    if before.poses:
        recorded = read_poses(tmp_path / "d.mcap", "/odom")
        assert recorded.losses.counts == {}
        assert recorded.trajectory.child_frame_id == (
            "lidar_link" if folder.parent.name.startswith("odo") else "imu_link"
        )
        np.testing.assert_allclose(recorded.trajectory.position, [pose.position for pose in before.poses])


def corners(centre, rotation, size):
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    return centre + (signs * size / 2) @ rotation.T


def test_boxes_by_the_formula_of_the_development_kit(tmp_path):
    """Corners as computeBox3D.m has them, in rectified camera 0, against ours in the lidar's frame."""
    clouds = read_kitti_clouds(object_folder(tmp_path / "kitti"))
    boxes = clouds.boxes
    assert boxes.cloud.tolist() == [0, 2, 2]
    assert [clouds.class_names[i] for i in boxes.class_id.tolist()] == ["Car", "Pedestrian", "Car"]
    for row, (k, text) in enumerate([(0, CAR), (2, WALKER), (2, CAR)]):
        h, w, length, *t, ry = (float(word) for word in text.split()[8:])
        x = np.array([1, 1, -1, -1, 1, 1, -1, -1]) * length / 2
        y = np.array([0, 0, 0, 0, -1, -1, -1, -1]) * h
        z = np.array([1, -1, -1, 1, 1, -1, -1, 1]) * w / 2
        turn = np.array([[np.cos(ry), 0, np.sin(ry)], [0, 1, 0], [-np.sin(ry), 0, np.cos(ry)]])
        expected = (turn @ np.stack([x, y, z])).T + t
        ours = corners(boxes.centre[row], Rotation.from_quat(boxes.orientation[row]).as_matrix(), boxes.size[row])
        velo = matrix(VELO.replace("-0.2717806", f"-0.27178{k}6"))
        in_camera = (matrix(R0) @ velo @ np.c_[ours, np.ones(8)].T).T[:, :3]
        for corner in expected:
            assert np.linalg.norm(in_camera - corner, axis=1).min() < 1e-5
    # Straight to the middle of the box, from camera 2.
    offset = np.linalg.solve(
        np.array(P2.split(), float).reshape(3, 4)[:, :3], np.array(P2.split(), float).reshape(3, 4)[:, 3]
    )
    distance = np.linalg.norm(np.array([-0.65, 1.71 - 1.65 / 2, 46.70]) + offset)
    assert clouds.frames.objects.distance[0] == pytest.approx(distance)


def test_a_point_is_seen_where_the_projection_of_kitti_puts_it(tmp_path):
    camera = read_kitti_clouds(object_folder(tmp_path / "kitti")).cameras[0]
    point = np.array([20.0, 3.0, -1.0])
    u, v, w = np.array(P2.split(), float).reshape(3, 4) @ matrix(R0) @ matrix(VELO) @ [*point, 1]
    ours = camera.matrix @ camera.pose.to_body(point)
    assert ours[:2] / ours[2] == pytest.approx([u / w, v / w], abs=0.05)


def test_poses(tmp_path):
    """Camera 0 of the second scan is 2 m ahead of the first, turned by -36.87 degrees about its y axis."""
    poses = read_kitti_clouds(odometry_folder(tmp_path / "kitti")).poses
    second = np.eye(4)
    second[:3] = [[0.8, 0, 0.6, 0.5], [0, 1, 0, -0.02], [-0.6, 0, 0.8, 2.0]]
    velo = matrix(VELO)
    np.testing.assert_allclose(poses[1].matrix(), np.linalg.inv(velo) @ second @ velo, atol=1e-5)
    assert poses[0].position == pytest.approx((0, 0, 0), abs=1e-12)
    tracked = read_kitti_clouds(tracking_folder(tmp_path / "tracking"))
    assert tracked.body == "imu_link"
    # 1e-5 degrees of latitude are 1.113 m.
    assert np.linalg.norm(np.array(tracked.poses[1].position)) > 1.1
    np.testing.assert_allclose(tracked.mount.inverse().matrix(), matrix(IMU), atol=1e-5)


def test_a_thing_that_is_not_in_the_image(tmp_path):
    root = object_folder(tmp_path / "kitti")
    write(root / "label_2" / "000000.txt", CAR.replace("587.01 173.33 614.12 200.12", "-1 -1 -1 -1") + "\n")
    clouds = read_kitti_clouds(root)
    assert (len(clouds.boxes), len(clouds.frames.objects), clouds.losses.counts) == (3, 2, {})


def test_the_images_are_a_set_like_any_other(tmp_path):
    frames = sj.read(object_folder(tmp_path / "kitti"))
    assert (len(frames), len(frames.objects), frames.labelled.tolist()) == (3, 3, [True] * 3)
    assert frames.class_names == {0: "Car", 3: "Pedestrian"}
    assert frames.objects.box[1].tolist() == [423.17, 173.67, 433.17, 224.03]
    sj.write(frames, tmp_path / "yolo", "yolo")
    found = sj.info(tmp_path / "kitti")
    assert (found.kind, found.losses.counts) == ("kitti", {})
    assert "3 clouds, 3 boxes in space" in found.summary.text()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("calib/000001.txt", CALIBRATION.replace("Tr_velo_to_cam:", "Tr_velo:"), "has no row Tr_velo_to_cam"),
        ("calib/000001.txt", CALIBRATION.replace(VELO, VELO[:-10]), "line 6: Tr_velo_to_cam needs 12 finite numbers"),
        ("calib/000001.txt", CALIBRATION.replace("0.9999239", "nan"), "line 5: R0_rect needs 9 finite numbers"),
        ("calib/000001.txt", CALIBRATION.replace("-0.9999714", "0.9999714"), "a transform's rotation is none"),
    ],
)
def test_calibrations_that_are_wrong(file, text, words, tmp_path):
    root = object_folder(tmp_path / "kitti")
    write(root / file, text)
    with pytest.raises(SimjudgeError, match=words) as caught:
        read_kitti_clouds(root)
    assert file in str(caught.value)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (CAR.rsplit(" ", 2)[0], "malformed label rows"),
        (f"{CAR} 0.5 0.5", "malformed label rows"),
        (CAR.replace("46.70", "far"), "malformed label rows"),
        (CAR.replace("46.70", "inf"), "malformed label rows"),
        (CAR.replace("587.01", "687.01"), "inverted boxes"),
    ],
)
def test_rows_that_are_wrong_are_counted(row, kind, tmp_path):
    root = object_folder(tmp_path / "kitti")
    write(root / "label_2" / "000000.txt", f"{WALKER}\n{row}\n")
    losses = read_kitti(root).losses
    assert losses.counts == {kind: 1, CROWD: 1}
    assert f"{root / 'label_2' / '000000.txt'}: line 2" in losses.lines()[0]


def test_scans_that_are_cut_and_labels_that_are_missing_are_counted(tmp_path):
    root = object_folder(tmp_path / "kitti")
    (root / "velodyne" / "000001.bin").write_bytes(b"x" * 33)
    (root / "label_2" / "000002.txt").rename(root / "label_2" / "000009.txt")
    lost = sj.convert(root, tmp_path / "d.mcap").losses
    assert lost.counts == {
        "clouds that cannot be read": 1,
        "scans without a label file": 1,
        "label files without a scan": 1,
    }
    assert "33 bytes are not a whole number of points of 16 bytes" in "".join(lost.lines())
    assert read_scan(root / "velodyne" / "000000.bin").table.shape == (40,)


def test_pictures_and_labels_without_scans(tmp_path):
    root = object_folder(tmp_path / "kitti")
    whole = read_kitti(root)
    shutil.rmtree(root / "velodyne")
    frames = read_set(root)
    assert frames.objects.box.tolist() == whole.objects.box.tolist()
    assert frames.objects.box[0].tolist() == [587.01, 173.33, 614.12, 200.12]
    assert frames.losses.counts == whole.losses.counts == {CROWD: 2}
    with pytest.raises(SimjudgeError, match="holds no scans"):
        sj.read_clouds(root)


def test_several_sequences(tmp_path):
    root = tracking_folder(tmp_path / "kitti")
    scans(root / "velodyne" / "0004", ["000000"])
    with pytest.raises(SimjudgeError, match=r"holds 2 sequences \(0003, 0004\); name one by its scans"):
        sj.read(root)
    assert len(sj.read_clouds(root / "velodyne" / "0003")) == 3


def test_boxes_changed_in_a_recording_become_new_labels(tmp_path):
    clouds = read_kitti_clouds(object_folder(tmp_path / "kitti"))
    moved = replace(clouds.boxes, centre=clouds.boxes.centre + np.array([1.0, 0, 0]))
    sj.write_clouds(replace(clouds, boxes=moved), tmp_path / "again", "kitti")
    again = read_kitti_clouds(tmp_path / "again")
    np.testing.assert_allclose(again.boxes.centre, moved.centre, atol=1e-4)
    np.testing.assert_allclose(again.boxes.size, moved.size)


def test_clouds_of_another_source(tmp_path):
    """A recording without KITTI's texts becomes numbered scans with tracks, stamps and the calibration that it has."""
    clouds = read_kitti_clouds(tracking_folder(tmp_path / "kitti"))
    bare = replace(clouds, files={}, stamp=np.array([5, 6, 7]) * 10**8)
    lost = sj.write_clouds(bare, tmp_path / "again", "kitti")
    assert lost.counts == {"images without a scan at their time": 3}
    again = read_kitti_clouds(tmp_path / "again")
    assert again.stamp.tolist() == [5 * 10**8, 6 * 10**8, 7 * 10**8]
    np.testing.assert_allclose(again.boxes.centre, clouds.boxes.centre, atol=1e-5)
    np.testing.assert_allclose(
        np.abs(np.einsum("ni,ni->n", again.boxes.orientation, clouds.boxes.orientation)), 1, atol=1e-4
    )
    assert again.boxes.instance.tolist() == [2, 2, 7]
    assert [cloud.table.tobytes() for cloud in again] == [cloud.table.tobytes() for cloud in clouds]


@needs("real_lidar/kitti_tracking_0000")
def test_a_real_sequence(tmp_path):
    """The first two of its 30 scans."""
    root = tmp_path / "kitti"
    (root / "velodyne").mkdir(parents=True)
    for file in sorted((SHARED / "velodyne").glob("*.bin"))[:2]:
        (root / "velodyne" / file.name).symlink_to(file.resolve())
    write(root / "calib.txt", (SHARED / "calib.txt").read_text())
    rows = [row for row in (SHARED / "label_02.txt").read_text().splitlines(keepends=True) if int(row.split()[0]) < 126]
    write(root / "label_02.txt", "".join(rows))
    write(root / "poses.txt", "".join((SHARED / "poses_cam0.txt").read_text().splitlines(keepends=True)[:2]))
    sj.convert(root, tmp_path / "d.mcap")
    clouds = sj.read_clouds(tmp_path / "d.mcap")
    assert len(clouds.boxes) == sum("DontCare" not in row for row in rows)
    sj.convert(tmp_path / "d.mcap", tmp_path / "again", to="kitti")
    assert contents(tmp_path / "again") == contents(root)


def test_a_row_of_16_columns_is_a_detectors(tmp_path):
    """The 16th is a score: such a row is no label."""
    pictures(tmp_path / "image_2", ["000000", "000001"])
    write(tmp_path / "label_2/000000.txt", f"{CAR}\n{WALKER} 0.87\n")
    write(tmp_path / "label_2/000001.txt", f"{CAR}\n")
    frames = read_kitti(tmp_path)
    assert [frames.class_name(k) for k in frames.objects.class_id] == ["Car", "Car"]
    assert "1 label row with a score, as a detector writes them: " in frames.losses.lines()[0]
    assert "000000.txt: line 2 (score 0.87)" in frames.losses.lines()[0]
    for name in ("000000", "000001"):
        write(tmp_path / f"label_2/{name}.txt", f"{CAR} 0.9\n")
    with pytest.raises(SimjudgeError, match=r"every label row ends with a score, .* put its files into results/data"):
        read_kitti(tmp_path)


@pytest.mark.parametrize("name", ["000000.bin", "n008__LIDAR_TOP__1.pcd.bin"])
def test_a_sweep_of_nuscenes_has_five_numbers_a_point(tmp_path, name):
    """34,688 points, which four by four would be 43,360."""
    points = np.random.default_rng(0).normal(size=(34_688, 5)).astype("<f4") * 10
    points[:, 3] = np.arange(34_688) % 256
    points[:, 4] = np.arange(34_688) % 32
    points.tofile(tmp_path / name)
    cloud = read_scan(tmp_path / name)
    assert len(cloud) == 34_688
    np.testing.assert_array_equal(cloud.table["y"], points[:, 1])
    assert cloud.table["ring"].dtype == np.uint16
    np.testing.assert_array_equal(cloud.table["ring"], points[:, 4])


def test_a_scan_of_kitti_whose_size_would_fit_both_has_four(tmp_path):
    points = scan(3, 100)
    points.tofile(tmp_path / "x.bin")
    np.testing.assert_array_equal(read_scan(tmp_path / "x.bin").table["intensity"], points[:, 3])
    np.zeros((100, 4), "<f4").tofile(tmp_path / "x.bin")
    assert len(read_scan(tmp_path / "x.bin")) == 100
