"""Chains of filters on pictures and on sets."""

import io

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, decode_image
from simjudge.core.object_tables import Objects, Predictions
from simjudge.sim.sensors.camera.chain import Step, apply_steps, filtered
from simjudge.sim.sensors.camera.filters import gaussian_blur, white_balance

NOISE = Step("gaussian_noise", {"sigma": 20})


def small_set():
    rng = np.random.default_rng(3)
    pictures = [rng.integers(0, 256, (24, 32, 3), np.uint8) for _ in range(3)] + [None]
    objects = Objects.build([0, 1, 1], [1, 2, 1], [[1, 2, 9, 9], [3, 3, 8, 8], [0, 0, 5, 5]])
    predictions = Predictions.build([0], [1], [[1, 2, 9, 9]], [0.5])
    return FrameSet.build("s", [[32, 24]] * 4, objects, predictions, images=ArrayImages(pictures))


def test_one_step_is_the_filter_itself_and_none_is_the_picture():
    picture = small_set().images.read(0)
    assert np.array_equal(apply_steps(picture, [Step("gaussian_blur", {"sigma": 2})]), gaussian_blur(picture, sigma=2))
    assert np.array_equal(apply_steps(picture, []), picture)


def test_a_chain_saturates_once_at_its_end():
    bright = np.full((4, 4, 3), 200, np.uint8)
    there_and_back = [Step("white_balance", {"red": 2, "green": 2, "blue": 2}), Step("white_balance", {"red": 0.5})]
    assert apply_steps(bright, there_and_back)[0, 0].tolist() == [200, 255, 255]
    rounded = white_balance(white_balance(bright, red=2), red=0.5)
    assert rounded[0, 0, 0] == 128  # step by step, on uint8, it is lost


def test_steps_before_srgb_act_on_linear_light():
    grey = np.full((4, 4, 3), 188, np.uint8)  # 0.503 in linear light
    halved = Step("white_balance", {"red": 0.5, "green": 0.5, "blue": 0.5})
    linear = ((188 / 255 + 0.055) / 1.055) ** 2.4
    expected = round(255 * (1.055 * (linear / 2) ** (1 / 2.4) - 0.055))
    assert apply_steps(grey, [halved, Step("srgb")])[0, 0].tolist() == [expected] * 3
    assert apply_steps(grey, [Step("srgb"), halved])[0, 0].tolist() == [94] * 3
    assert apply_steps(grey, [halved])[0, 0].tolist() == [94] * 3


def test_srgb_alone_leaves_every_picture_as_it_is():
    every = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)
    assert np.array_equal(apply_steps(every, [Step("srgb")]), every)
    for chain in (["srgb", "srgb"], ["srgb", "gray_world", "srgb"]):
        with pytest.raises(UsageError, match="light is encoded once"):
            apply_steps(every, [Step(name) for name in chain])


def test_noise_of_a_frame_follows_from_seed_and_name_alone():
    frames = small_set()
    whole = filtered(frames, [NOISE], seed=5)
    part = filtered(frames.take([2, 1]), [NOISE], seed=5)
    assert np.array_equal(whole.images.read(2), part.images.read(0))
    assert np.array_equal(whole.images.read(1), part.images.read(1))
    assert not np.array_equal(filtered(frames, [NOISE], seed=6).images.read(2), whole.images.read(2))
    noise = [whole.images.read(i).astype(int) - frames.images.read(i) for i in (0, 1)]
    assert not np.array_equal(*noise)


def test_two_noises_in_one_chain_are_independent():
    grey = np.full((120, 160, 3), 0.5)
    once, twice = apply_steps(grey, [NOISE], 1), apply_steps(grey, [NOISE, NOISE], 1)
    assert twice.var() / once.var() == pytest.approx(2, rel=0.05)  # four times, were they the same


def test_labels_stay_predictions_go_missing_pictures_stay_missing():
    frames = small_set()
    seen = filtered(frames, [Step("gamma", {"exponent": 2})])
    assert np.array_equal(seen.objects.box, frames.objects.box)
    assert seen.predictions is None
    assert not seen.predicted.any()
    assert [seen.images.has(i) for i in range(4)] == [True, True, True, False]
    assert frames.predictions is not None


def test_a_chain_that_ends_in_jpeg_is_stored_as_that_jpeg():
    frames = small_set()
    seen = filtered(frames, [NOISE, Step("jpeg", {"quality": 60})]).images
    stored = seen.read_encoded(0)
    assert stored.suffix == ".jpg"
    assert np.abs(decode_image(stored.data, "frame 0").astype(int) - seen.read(0)).max() <= 2  # two JPEG decoders
    assert seen.read_encoded(3) is None
    assert filtered(frames, [NOISE]).images.read_encoded(0) is None


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UsageError, match="no parameter 'strength'; it has sigma"):
        Step("gaussian_noise", {"strength": 3})
    with pytest.raises(UsageError, match="no images"):
        filtered(FrameSet.build("bare", [[4, 4]]), [NOISE])
    with pytest.raises(UsageError, match="seed -1"):
        filtered(small_set(), [NOISE], seed=-1)


def test_a_gray_chain_stores_one_channel():
    """Pixels are read with three, as of any gray file."""
    for steps, suffix in (([Step("gray")], ".png"), ([Step("gray"), Step("jpeg", {"quality": 90})], ".jpg")):
        seen = filtered(small_set(), steps).images
        stored = seen.read_encoded(0)
        assert stored.suffix == suffix
        assert Image.open(io.BytesIO(stored.data)).mode == "L"
        assert seen.read(0).shape == (24, 32, 3)
        assert np.array_equal(seen.read(0), decode_image(stored.data, "x"))
    assert seen.read_encoded(3) is None
