"""`simjudge data filter` end to end: what is written, and that what it says it did is what it did."""

import json

import numpy as np
import pytest
from cloud_samples import cloud_set, table
from support import processes

import simjudge
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import read_set, write_clouds, write_set
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.chain import Step, filtered


def run(*arguments):
    return processes.run(
        [*processes.SIMJUDGE, "filter", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture
def source(tmp_path):
    """Four frames with pictures, labels and predictions, as a YOLO folder."""
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (24, 32, 3), np.uint8) for _ in range(4)]
    objects = Objects.build([0, 1, 3], [0, 1, 0], [[1, 2, 9, 9], [3, 3, 8, 8], [0, 0, 5, 5]])
    predictions = Predictions.build([0, 1], [0, 1], [[1, 2, 9, 8], [3, 3, 8, 8]], [0.9, 0.5])
    names = {0: "left", 1: "right"}
    stamp = [10, 20, 30, 40]
    images = ArrayImages(pictures)
    frames = FrameSet.build("s", [[32, 24]] * 4, objects, predictions, stamp=stamp, class_names=names, images=images)
    write_set(frames, tmp_path / "source", "yolo")
    return tmp_path / "source"


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        (["--blur", "2"], [("gaussian_blur", {"sigma": 2.0})]),
        (["--bayer", "RGGB"], [("bayer", {"pattern": "RGGB"})]),
        (["--white-balance", "0.65,1,1.4"], [("white_balance", {"red": 0.65, "green": 1.0, "blue": 1.4})]),
        (["--noise", "20", "--seed", "3"], [("gaussian_noise", {"sigma": 20.0})]),
        (
            ["--gamma", "1.5", "--noise", "4", "--vignetting", "30", "--blur", "1"],
            [
                ("gaussian_blur", {"sigma": 1.0}),
                ("vignetting", {"half_angle": 30.0}),
                ("gaussian_noise", {"sigma": 4.0}),
                ("gamma", {"exponent": 1.5}),
            ],
        ),
    ],
)
@pytest.mark.parametrize("target", ["folder", "out.mcap"])
def test_pictures_are_filtered_labels_kept_predictions_dropped(source, tmp_path, options, steps, target):
    out = tmp_path / target
    done = run(source, out, *(["--to", "yolo"] if target == "folder" else []), *options)
    assert done.returncode == 0, done.stderr
    before, after = read_set(source), read_set(out)
    seed = 3 if "--seed" in options else 0
    expected = filtered(before, [Step(name, given) for name, given in steps], seed)
    assert list(after.frame_name) == list(before.frame_name)
    assert after.predictions is None
    assert after.objects.class_id.tolist() == before.objects.class_id.tolist()
    assert after.objects.box.ravel().tolist() == pytest.approx(before.objects.box.ravel().tolist(), abs=1e-6)
    for i in range(4):
        assert np.array_equal(after.images.read(i), expected.images.read(i))
        assert not np.array_equal(after.images.read(i), before.images.read(i))
    told = json.loads((tmp_path / f"{target}.filter.json").read_text())
    assert [(f["name"], f["parameters"]) for f in told["filters"]] == steps
    assert told["seed"] == seed
    assert told["source"]["frames"] == 4
    assert told["losses"] == []


def test_what_the_record_says_gives_the_same_pictures_again(source, tmp_path):
    for name in ("first", "second"):
        run(source, tmp_path / name, "--to", "yolo", "--noise", "9", "--seed", "8")
    told = json.loads((tmp_path / "first.filter.json").read_text())
    again = filtered(read_set(source), [Step(**step) for step in told["filters"]], told["seed"])
    first, second = read_set(tmp_path / "first"), read_set(tmp_path / "second")
    for i in range(4):
        assert np.array_equal(first.images.read(i), second.images.read(i))
        assert np.array_equal(first.images.read(i), again.images.read(i))


def test_a_record_that_is_there_is_not_replaced(source, tmp_path):
    (tmp_path / "out.filter.json").write_text("mine")
    done = run(source, tmp_path / "out", "--to", "yolo", "--blur", "1")
    assert done.returncode == 1
    assert (
        "out.filter.json: exists already and is not an earlier output of this command; choose another name"
        in done.stderr
    )
    assert (tmp_path / "out.filter.json").read_text() == "mine"
    assert not (tmp_path / "out").exists()


def test_jpeg_is_stored_as_jpeg(source, tmp_path):
    assert run(source, tmp_path / "out", "--to", "yolo", "--jpeg", "70").returncode == 0
    assert len(list((tmp_path / "out").rglob("*.jpg"))) == 4
    assert not list((tmp_path / "out").rglob("*.png"))


def test_a_damaged_picture_is_left_out_counted_and_named(source, tmp_path):
    victim = sorted(source.rglob("*.png"))[1]
    victim.write_bytes(victim.read_bytes()[:-400])
    done = run(source, tmp_path / "out", "--to", "yolo", "--blur", "1")
    assert done.returncode == 3
    assert "left out 1 frame whose picture is damaged" in done.stderr
    assert victim.name in done.stderr
    assert len(read_set(tmp_path / "out")) == 3
    assert len(json.loads((tmp_path / "out.filter.json").read_text())["losses"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["SET", "o", "--to", "yolo"], 2, "no filter given"),
        (["SET", "o", "--to", "yolo", "--blur", "-1"], 2, "sigma -1"),
        (["SET", "o", "--to", "yolo", "--jpeg", "0"], 2, "quality 0"),
        (["SET", "o", "--to", "yolo", "--white-balance", "1,2"], 2, "give three gains as R,G,B"),
        (["SET", "o", "--to", "yolo", "--white-balance", "1,2,nan"], 2, "gains"),
        (["SET", "o", "--blur", "1"], 2, "needs --to"),
        (["nowhere", "o", "--to", "yolo", "--blur", "1"], 1, "nowhere: does not exist"),
        (["bare.json", "o", "--to", "yolo", "--blur", "1"], 2, "has no pictures to filter"),
        (["SET", "SET", "--to", "yolo", "--blur", "1"], 2, "is the input"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(source, tmp_path, arguments, code, says):
    write_set(FrameSet.build("bare", [[9, 9]], Objects.build([0], [1], [[1, 1, 5, 5]])), tmp_path / "bare.json")
    places = {"SET": source, "o": tmp_path / "o", "bare.json": tmp_path / "bare.json"}
    done = run(*(places.get(a, a) for a in arguments))
    assert done.returncode == code
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("o*"))
    assert not list(tmp_path.glob(".*"))


def test_a_camera_s_chain_is_run_and_recorded(source, tmp_path):
    done = run(source, tmp_path / "out", "--to", "yolo", "--camera", "reference", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert "the radial lens of camera reference is not applied" in done.stderr
    chain = [
        Step("shot_noise", {"shot": 10, "read": 0.8}),
        Step("bayer", {"pattern": "GRBG"}),
        Step("srgb"),
        Step("white_balance", {"red": 1.15, "green": 1.0, "blue": 0.85}),
    ]
    expected = filtered(read_set(source), chain, 4)
    after = read_set(tmp_path / "out")
    assert all(np.array_equal(after.images.read(i), expected.images.read(i)) for i in range(4))
    told = json.loads((tmp_path / "out.filter.json").read_text())
    assert [Step(f["name"], f["parameters"]) for f in told["filters"]] == chain
    assert told["camera"]["name"] == "reference"
    assert len(told["camera"]["sha256"]) == 64


@pytest.mark.long
def test_a_camera_of_one_s_own_and_what_is_wrong_with_it(source, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("{size: [32, 24], field_of_view: 60, rate: 5, filters: [gray_world]}")
    done = run(source, tmp_path / "out.mcap", "--camera", own)
    assert done.returncode == 0, done.stderr
    assert "lens" not in done.stderr
    for options, code, says in (
        (["--camera", "plain"], 2, "camera plain has no filters"),
        (["--camera", "none"], 2, "neither a file nor the name of a camera"),
        (["--camera", own, "--blur", "1"], 2, "--camera brings its own filters"),
    ):
        refused = run(source, tmp_path / "never", "--to", "yolo", *options)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (code, 1), refused.stderr
        assert says in refused.stderr
    own.write_text("{size: [32, 24], field_of_view: 60, filters: [gray_world]}")
    refused = run(source, tmp_path / "never", "--to", "yolo", "--camera", own)
    assert (refused.returncode, refused.stderr) == (
        1,
        f"error: {own}: rate: a number above 0 is needed; nothing is given\n",
    )
    assert not (tmp_path / "never").exists()


def test_images_are_adapted_to_another_set_by_options(source, tmp_path):
    options = ["--match-exposure", source, "--match-by", "random", "--gray-world", "--seed", "5"]
    done = run(source, tmp_path / "out", "--to", "yolo", *options)
    assert done.returncode == 0, done.stderr
    expected = simjudge.filter(source, match_exposure=source, match_by="random", gray_world=True, seed=5)
    after = read_set(tmp_path / "out")
    assert all(np.array_equal(after.images.read(i), expected.images.read(i)) for i in range(4))
    told = json.loads((tmp_path / "out.filter.json").read_text())
    assert [each["name"] for each in told["filters"]] == ["gray_world", "match_exposure"]
    assert told["match_by"] == "random"
    refused = run(source, tmp_path / "never", "--to", "yolo", "--images", tmp_path / "nowhere")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1), refused.stderr
    assert not (tmp_path / "never").exists()


def test_weather_before_recorded_clouds_says_what_became_of_the_returns(tmp_path):
    points = np.random.default_rng(0).uniform(2, 30, (400, 3))
    write_clouds(cloud_set([table(points, 40.0)], [Pose()]), tmp_path / "real.mcap")
    wet = tmp_path / "wet.yaml"
    lidar = "kind: lidar, rate: 10, returns: last, threshold: 0.05, intensity: {scale: 100}"
    wet.write_text(f"roof: {{{lidar}, fog: {{density: 0.05}}}}\n")
    done = run(tmp_path / "real.mcap", tmp_path / "foggy.mcap", "--weather", wet)
    lost = int((0.4 * np.exp(-0.1 * np.linalg.norm(points, axis=1)) < 0.05).sum())
    said = f"weather of roof: 1 cloud, 400 returns: {lost} lost ({lost / 4:.1f} %), 0 replaced by echoes"
    assert done.returncode == 0
    assert said in " ".join(done.stderr.split())
    mixed = run(tmp_path / "real.mcap", tmp_path / "b.mcap", "--weather", wet, "--blur", "1")
    assert "run filter once for each" in " ".join(mixed.stderr.split())
    alone = run(tmp_path / "real.mcap", tmp_path / "b.mcap", "--lidar", "roof")
    assert "give --weather SENSORS" in " ".join(alone.stderr.split())
    assert mixed.returncode == alone.returncode == 2
    assert not (tmp_path / "b.mcap").exists()
