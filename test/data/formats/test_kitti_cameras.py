"""The cameras of KITTI folders: images and calibration of the chosen one, against KITTI's own projection."""

import numpy as np
import pytest
from PIL import Image

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.sets import Topics

P = {
    0: "721.5377 0 609.5593 0 0 721.5377 172.854 0 0 0 1 0",
    2: "721.5377 0 609.5593 44.85728 0 721.5377 172.854 0.2163791 0 0 1 0.002745884",
    3: "721.5377 0 609.5593 -339.5242 0 721.5377 172.854 2.199936 0 0 1 0.002729905",
}
R0 = "0.9999239 0.00983776 -0.007445048 -0.009869795 0.9999421 -0.004278459 0.007402527 0.004351614 0.9999631"
VELO = (
    "0.007533745 -0.9999714 -0.000616602 -0.004069766 0.01480249 0.0007280733 -0.9998902 -0.07631618 "
    "0.9998621 0.00752379 0.01480755 -0.2717806"
)
CAR = "Car 0.00 0 -1.58 587.01 173.33 614.12 200.12 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59"
SIDES = {"object": "image_{0}", "tracking": "image_{0:02d}/0003", "sequence": "image_{0}", "raw": "image_{0:02d}/data"}
SCANS = {
    "object": "velodyne",
    "tracking": "velodyne/0003",
    "sequence": "velodyne",
    "raw": "velodyne_points/data",
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(params=SIDES)
def folder(request, tmp_path):
    """One scan and an image of cameras 0, 2 and 3 each, of a shade of its own."""
    root, layout = tmp_path / "kitti", request.param
    (root / SCANS[layout]).mkdir(parents=True)
    np.ones((4, 4), "<f4").tofile(root / SCANS[layout] / "000000.bin")
    for camera in P:
        (root / SIDES[layout].format(camera)).mkdir(parents=True)
        Image.new("L" if camera == 0 else "RGB", (1242, 375), camera * (1 if camera == 0 else 0x010101)).save(
            root / SIDES[layout].format(camera) / "000000.png"
        )
    rows = "".join(f"P{camera}: {text}\n" for camera, text in P.items()) + "P1: broken\n"
    rows += f"R0_rect: {R0}\nTr_velo_to_cam: {VELO}\n"
    if layout == "raw":
        words = VELO.split()
        rotation = " ".join(words[4 * row + column] for row in range(3) for column in range(3))
        write(root / "calib_velo_to_cam.txt", f"R: {rotation}\nT: {' '.join(words[3::4])}\n")
        write(
            root / "calib_cam_to_cam.txt",
            f"R_rect_00: {R0}\n" + "".join(f"P_rect_0{camera}: {text}\n" for camera, text in P.items()),
        )
    else:
        write(
            root / {"object": "calib/000000.txt", "tracking": "calib/0003.txt", "sequence": "calib.txt"}[layout], rows
        )
    if layout == "object":
        write(root / "label_2/000000.txt", f"{CAR}\n")
    return root


@pytest.mark.parametrize("camera", [None, *P])
def test_images_and_projection_are_those_of_the_camera(folder, camera):
    name = None if camera is None else f"image_{camera}"
    topics = None if name is None else Topics(name)
    clouds = sj.read_clouds(folder, topics)
    number = 2 if camera is None else camera
    assert clouds.frames.images.read(0)[0, 0].tolist() == [number] * 3
    assert sj.read(folder, topics=topics).images.read(0)[0, 0].tolist() == [number] * 3
    # A point in the lidar's frame, by KITTI's formula P R0 Tr x.
    point = np.array([20.0, 3.0, -1.0])
    full = np.eye(4)
    full[:3, :3] = np.array(R0.split(), float).reshape(3, 3)
    u, v, w = (
        np.array(P[number].split(), float).reshape(3, 4)
        @ full
        @ [*(np.array(VELO.split(), float).reshape(3, 4) @ [*point, 1]), 1]
    )
    ours = clouds.cameras[0].matrix @ clouds.cameras[0].pose.to_body(point)
    assert ours[:2] / ours[2] == pytest.approx([u / w, v / w], abs=0.05)
    labels = 1 if "label_2" in {each.name for each in folder.iterdir()} else 0
    assert len(clouds.frames.objects) == (labels if number == 2 else 0)
    assert clouds.frames.labelled.tolist() == [bool(labels) and number == 2]


def test_the_right_camera_is_half_a_metre_from_the_left_one(folder):
    left, right = (sj.read_clouds(folder, Topics(name)).cameras[0].pose for name in ("2", "image_03"))
    assert np.linalg.norm(np.subtract(left.position, right.position)) == pytest.approx(0.5327, abs=1e-3)


def test_another_camera_goes_into_a_recording_and_back(folder, tmp_path):
    sj.convert(folder, tmp_path / "d.mcap", topics=Topics("image_3"))
    before, after = sj.read_clouds(folder, Topics("image_3")), sj.read_clouds(tmp_path / "d.mcap")
    np.testing.assert_allclose(after.cameras[0].matrix, before.cameras[0].matrix)
    np.testing.assert_allclose(after.cameras[0].pose.position, before.cameras[0].pose.position, atol=1e-9)
    sj.convert(tmp_path / "d.mcap", tmp_path / "again", to="kitti")
    files = [file.relative_to(tmp_path / "again") for file in (tmp_path / "again").rglob("*") if file.is_file()]
    assert {file.parts[0] for file in files if file.suffix == ".png"} <= {"image_3", "image_03"}
    for file in files:
        assert (tmp_path / "again" / file).read_bytes() == (folder / file).read_bytes()


@pytest.mark.parametrize(
    ("topics", "kind", "words"),
    [
        (Topics("image_4"), UsageError, "give --image-topic image_0 to image_3 alone"),
        (Topics("image_2", "labels"), UsageError, "give --image-topic image_0 to image_3 alone"),
        (
            Topics("image_1"),
            SimjudgeError,
            "holds no images of camera 1; those that it holds: image_0, image_2, image_3",
        ),
    ],
)
def test_what_cannot_be_chosen_is_said(folder, topics, kind, words):
    with pytest.raises(kind, match=words):
        sj.read_clouds(folder, topics)


def test_without_camera_2_the_others_are_named(folder):
    for file in folder.rglob("image_*2/**/*.png"):
        file.unlink()
    with pytest.raises(SimjudgeError, match="no images of camera 2; choose one with --image-topic: image_0, image_3"):
        sj.read(folder)
