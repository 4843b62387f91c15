"""Pictures adapted to a reference: each way against a formula or an independent implementation."""

import json

import cv2
import numpy as np
import pytest
from skimage import color

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.sets import read_set, write_set
from simjudge.sim.sensors.camera.adaptation import (
    cielab,
    colour_transfer,
    display_values,
    fourier_adaptation,
    low_frequency_amplitudes,
    window_reach,
)
from simjudge.sim.sensors.camera.chain import Step, filtered
from simjudge.sim.sensors.camera.filtering import filter_images
from simjudge.sim.sensors.camera.isp import measure_exposure


def smooth(seed, height=24, width=32, low=60, high=190):
    """A picture whose colours differ from place to place, far from black and white."""
    coarse = np.random.default_rng(seed).integers(low, high, (4, 5, 3)).astype(np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)


def test_cielab_is_that_of_scikit_image_and_goes_back():
    image = np.random.default_rng(0).random((20, 30, 3))
    lab = cielab(image)
    assert np.allclose(lab, color.rgb2lab(image), atol=0.02)  # the two round the matrix of sRGB elsewhere
    assert np.allclose(display_values(lab), image, atol=1e-6)
    assert cielab(np.ones((1, 1, 3))).ravel() == pytest.approx([100, 0, 0], abs=1e-6)


def test_colour_transfer_is_reinhard_s_by_scikit_image():
    image, reference = smooth(1), smooth(2, low=90, high=150)
    ours, theirs = color.rgb2lab(image), color.rgb2lab(reference)
    mean, deviation = theirs.mean((0, 1)), theirs.std((0, 1))
    expected = color.lab2rgb((ours - ours.mean((0, 1))) / ours.std((0, 1)) * deviation + mean)
    names = ("lightness", "a", "b", "lightness_deviation", "a_deviation", "b_deviation")
    found = colour_transfer(image, **dict(zip(names, [*mean, *deviation], strict=True)))
    assert np.abs(found.astype(float) - expected * 255).max() < 0.6
    flat = colour_transfer(
        np.full((4, 4, 3), 90, np.uint8), lightness=50, a=0, b=0, lightness_deviation=9, a_deviation=1, b_deviation=1
    )
    assert np.ptp(flat) == 0
    assert flat[0, 0].tolist() == pytest.approx([118.9] * 3, abs=0.6)  # L* = 50


def swapped(image, reference, reach):
    """FDA by sums over the pixels: no library's Fourier transform."""
    height, width = image.shape[:2]
    rows = np.exp(-2j * np.pi * np.outer(np.arange(height), np.arange(height)) / height)
    columns = np.exp(-2j * np.pi * np.outer(np.arange(width), np.arange(width)) / width)
    out = np.empty(image.shape)
    for channel in range(3):
        ours, theirs = (rows @ each[:, :, channel] @ columns for each in (image, reference))
        for v in range(-reach, reach + 1):
            for u in range(-reach, reach + 1):
                ours[v, u] = abs(theirs[v, u]) * ours[v, u] / abs(ours[v, u])
        out[:, :, channel] = (rows.conj() @ ours @ columns.conj()).real / (height * width)
    return out


@pytest.mark.parametrize(("share", "reach"), [(0.01, 0), (0.1, 1), (0.25, 3)])
def test_fourier_adaptation_swaps_low_amplitudes_and_keeps_the_phase(share, reach):
    rng = np.random.default_rng(3)
    image, reference = rng.random((14, 19, 3)), rng.random((14, 19, 3))
    assert window_reach(image.shape[:2], share) == reach
    for measured in (reach, 4):  # a wider window is cut
        found = fourier_adaptation(image, low_frequency_amplitudes(reference, measured), share)
        assert np.allclose(found, swapped(image, reference, reach), atol=1e-9)
    if reach == 0:
        assert np.allclose(found.mean((0, 1)), reference.mean((0, 1)))  # the constant part alone


def test_amplitudes_of_low_frequencies_hold_for_any_size():
    large = smooth(4, 240, 320)
    small = cv2.resize(large, (80, 60), interpolation=cv2.INTER_AREA)
    of_large, of_small = (low_frequency_amplitudes(each, 2) for each in (large, small))
    assert np.allclose(of_large, of_small, atol=0.01)
    with pytest.raises(UsageError, match="a reference picture of 4x4: 5 pixels each way are needed"):
        low_frequency_amplitudes(np.zeros((4, 4, 3)), 2)


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """A simulated set of six frames, five real twins of them in another order, both as YOLO folders."""
    folder = tmp_path_factory.mktemp("sets")
    for name, kept, shift in (("sim", range(6), 0), ("real", (4, 2, 0, 1, 3), 50)):
        pictures = ArrayImages([smooth(number + shift, low=40 + shift, high=150 + shift) for number in kept])
        objects = Objects.build([0], [0], [[1, 2, 9, 9]])
        names = [f"frame_{number}" for number in kept]
        sizes = [[32, 24]] * len(kept)
        frames = FrameSet.build(name, sizes, objects, frame_name=names, class_names={0: "cone"}, images=pictures)
        write_set(frames, folder / name, "yolo")
    return folder


def pictures_of(frames):
    return {name: frames.images.read(number) for number, name in enumerate(frames.frame_name)}


def exposure(picture):
    return [picture.mean(), picture.std()]


def channels(picture):
    return [*picture.mean((0, 1)), *picture.std((0, 1))]


def shares(picture):
    means = picture.mean((0, 1))
    return (means / means.sum()).tolist()


def lab(picture):
    values = color.rgb2lab(picture)
    return [*values.mean((0, 1)), *values.std((0, 1))]


def low_frequencies(picture):
    return np.abs(np.fft.fft2(picture / 255.0, axes=(0, 1)))[:3, :3].ravel() / (24 * 32) * 100


WAYS = [
    ({"match_exposure": "real"}, exposure, 0.6),
    ({"match_colours": "real"}, shares, 0.003),
    ({"match_channels": "real"}, channels, 0.6),
    ({"colour_transfer": "real"}, lab, 0.5),
    ({"fourier_adaptation": "real", "fourier_share": 0.1}, low_frequencies, 0.4),
]


def test_colours_matched_after_the_exposure_keep_its_mean(sets):
    """As the variant brightness of the study streets does: the other way round, the exposure moves the proportions."""
    found = filter_images(filter_images(sets / "sim", match_exposure=sets / "real"), match_colours=sets / "real")
    wanted = measure_exposure(pictures_of(read_set(sets / "real")).values())
    for picture in pictures_of(found).values():
        assert picture.mean() == pytest.approx(wanted.mean, abs=0.6)
        assert shares(picture) == pytest.approx(np.array(wanted.channels) / np.sum(wanted.channels), abs=0.003)


@pytest.mark.parametrize(("asked", "measure", "near"), WAYS)
def test_images_get_what_the_set_has_on_average(sets, asked, measure, near):
    given = {key: sets / value if value == "real" else value for key, value in asked.items()}
    found = filter_images(sets / "sim", **given)
    wanted = np.mean([measure(each) for each in pictures_of(read_set(sets / "real")).values()], axis=0)
    if measure is shares:  # the channels' means are averaged, then compared
        wanted = measure_exposure(pictures_of(read_set(sets / "real")).values()).channels
        wanted = np.array(wanted) / np.sum(wanted)
    assert len(found) == 6
    for picture in pictures_of(found).values():
        assert np.allclose(measure(picture), wanted, atol=near)


@pytest.mark.parametrize(("asked", "measure", "near"), WAYS)
def test_images_get_what_their_twins_have(sets, asked, measure, near):
    given = {key: sets / value if value == "real" else value for key, value in asked.items()}
    found = filter_images(sets / "sim", match_by="twin", **given)
    twins = pictures_of(read_set(sets / "real"))
    assert sorted(found.frame_name) == sorted(twins)
    assert found.losses.lines() == ["1 frame without a twin in real: sim: frame frame_5"]
    for name, picture in pictures_of(found).items():
        assert np.allclose(measure(picture), measure(twins[name]), atol=near)


def test_random_references_follow_from_seed_and_name_alone(sets):
    real = pictures_of(read_set(sets / "real"))

    def chosen(source, seed):
        """Which real picture each frame was matched to: that of the nearest exposure."""
        found = pictures_of(filter_images(source, match_exposure=sets / "real", match_by="random", seed=seed))
        return {
            name: min(real, key=lambda each: np.abs(np.subtract(exposure(real[each]), exposure(picture))).max())
            for name, picture in found.items()
        }

    all_of_them = read_set(sets / "sim")
    first = chosen(all_of_them, 1)
    assert chosen(all_of_them.take([3, 1]), 1) == {name: first[name] for name in ("frame_1", "frame_3")}
    drawn = [choice for seed in range(40) for choice in chosen(all_of_them, seed).values()]
    counts = [drawn.count(name) for name in real]
    assert min(counts) > 240 / 5 - 4 * np.sqrt(240 / 5)  # even, within four standard deviations


def test_the_record_holds_the_numbers_that_were_measured(sets, tmp_path):
    found = filter_images(sets / "sim", tmp_path / "out", to="yolo", match_exposure=sets / "real", gray_world=True)
    record = json.loads((tmp_path / "out.filter.json").read_text())
    measured = measure_exposure(pictures_of(read_set(sets / "real")).values())
    balance, match = record["filters"]
    assert balance == {"name": "gray_world", "parameters": {}}
    assert match["parameters"] == pytest.approx({"mean": measured.mean, "deviation": measured.deviation}, rel=1e-6)
    assert record["references"]["match_exposure"]["path"].endswith("real")
    again = filtered(read_set(sets / "sim"), [Step(**each) for each in record["filters"]])
    for name, picture in pictures_of(again).items():
        assert np.array_equal(picture, pictures_of(found)[name])


def translated(sets, folder, change=lambda name, picture: (name, picture)):
    """A folder of pictures as an outside program leaves them: each negative, other format."""
    folder.mkdir()
    for given in pictures_of(read_set(sets / "sim")).items():
        name, picture = change(*given)
        cv2.imwrite(str(folder / f"{name}.png"), 255 - picture)
    return folder


def test_pictures_of_another_program_are_taken_with_the_labels_of_the_set(sets, tmp_path):
    folder = translated(sets, tmp_path / "gan")
    found = filter_images(sets / "sim", images=folder)
    assert len(found.objects) == 1
    for name, picture in pictures_of(read_set(sets / "sim")).items():
        assert np.array_equal(pictures_of(found)[name], 255 - picture[:, :, ::-1])
    noisy = filter_images(sets / "sim", images=folder, noise=3.0)
    assert not np.array_equal(pictures_of(noisy)["frame_0"], pictures_of(found)["frame_0"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda name, picture: (name.replace("_2", "_x"), picture), "1 of 6 frames have no .* the first is frame_2"),
        (lambda name, picture: (name, picture[: 24 - (name == "frame_3")]), "frame_3 is 32x23, that of sim is 32x24"),
    ],
)
def test_pictures_that_do_not_fit_are_refused(sets, tmp_path, change, says):
    folder = translated(sets, tmp_path / "gan", change)
    with pytest.raises(UsageError, match=says):
        filter_images(sets / "sim", images=folder)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"match_by": "twin"}, "nothing is to be matched"),
        ({"match_exposure": "real", "camera": "art1"}, "--camera brings its own filters"),
        ({"fourier_adaptation": "real", "fourier_share": 0.5}, "share 0.5: it must be above 0, and 0.4 at most"),
        ({"match_exposure": "bare"}, "bare: has no pictures to match to"),
        ({"match_exposure": "other", "match_by": "twin"}, "no frame has a twin in other"),
    ],
)
def test_bad_requests_are_refused_in_words(sets, tmp_path, asked, says):
    one = Objects.build([0], [0], [[1, 1, 5, 5]])
    write_set(FrameSet.build("bare", [[9, 9]], one, class_names={0: "cone"}), tmp_path / "bare.json")
    images = ArrayImages([smooth(9)])
    other = FrameSet.build("other", [[32, 24]], one, frame_name=["a"], images=images, class_names={0: "cone"})
    write_set(other, tmp_path / "other", "yolo")
    places = {"real": sets / "real", "bare": tmp_path / "bare.json", "other": tmp_path / "other"}
    with pytest.raises(UsageError, match=says):
        filter_images(sets / "sim", **{key: places.get(value, value) for key, value in asked.items()})
