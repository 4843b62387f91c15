"""Quality over time, and PIQE against a plain computation."""

import numpy as np
import pytest
from brisque_files import write_brisque_files
from naive_quality import naive_gray, naive_half_scale, naive_mscn, naive_piqe
from skimage import data

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.objects.image_quality import piqe_class
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK
from simjudge.objects.image_quality.quality import (
    Piqe,
    brisque,
    image_quality_series,
    niqe,
    picture_quality,
    piqe,
    read_quality_models,
)
from simjudge.objects.image_quality.scene_statistics import gray_levels, half_scale, normalized_luminance
from simjudge.objects.series import WHOLE
from simjudge.objects.settings import ImageQualitySettings


def frame_set(pictures, **more):
    return FrameSet.build("made", np.full((len(pictures), 2), 200), images=ArrayImages(pictures), **more)


def pictures(count):
    draw = np.random.default_rng(3)
    return [draw.integers(0, 256, (100, 200, 3), dtype=np.uint8) for _ in range(count)]


def test_values_are_those_of_single_pictures(tmp_path):
    model, ranges = write_brisque_files(tmp_path)
    settings = ImageQualitySettings(brisque_model=model, brisque_range=ranges)
    models = read_quality_models(settings)
    made = pictures(3)
    losses = Losses()
    found = image_quality_series(frame_set(made, stamp=[0, 500_000_000, 2_000_000_000]), settings, losses=losses)
    series = {s.metric: s for s in found}
    np.testing.assert_array_equal(series["piqe"].value, [piqe(p).score for p in made])
    np.testing.assert_array_equal(series["niqe"].value, [niqe(p, models.niqe) for p in made])
    np.testing.assert_array_equal(series["brisque"].value, [brisque(p, models.brisque) for p in made])
    for name, one in series.items():
        np.testing.assert_array_equal(one.time, [0, 0.5, 2])
        assert (one.unit, one.subject) == ("", WHOLE)
        np.testing.assert_array_equal(one.value, [picture_quality(p, models)[name] for p in made])
        assert np.isfinite(one.value).all()
    assert not losses


def test_unreadable_pictures_are_counted():
    losses = Losses()
    first, third = pictures(2)
    series = image_quality_series(frame_set([first, None, third]), losses=losses)
    assert losses.counts == {"pictures that cannot be read": 1}
    for one in series:
        np.testing.assert_array_equal(np.isnan(one.value), [False, True, False])
        np.testing.assert_array_equal(one.time, [0, 1, 2])


def test_pictures_that_cannot_be_scored_have_no_value():
    losses = Losses()
    (whole,) = pictures(1)
    flat = np.full_like(whole, 128)
    series = {s.metric: s for s in image_quality_series(frame_set([whole, flat, whole[:90]]), losses=losses)}
    assert not losses
    np.testing.assert_array_equal(np.isnan(series["niqe"].value), [False, True, True])
    assert series["piqe"].value[1] == 100


def test_a_set_without_pictures_has_no_quality():
    assert image_quality_series(FrameSet.build("labels alone", [(640, 480)])) == []


def test_models_tell_which_they_are(tmp_path):
    model, ranges = write_brisque_files(tmp_path)
    ours = read_quality_models(ImageQualitySettings()).records()
    theirs = read_quality_models(ImageQualitySettings(brisque_model=model, brisque_range=ranges)).records()
    assert ours[0].origin.startswith("fitted by simjudge on 171 sharp blocks of 20 open photographs")
    assert "to MS-SSIM" in ours[1].origin
    assert "no human scores" in ours[1].origin
    assert [each.metric for each in ours] == [each.metric for each in theirs] == ["niqe", "brisque"]
    assert theirs[0] == ours[0]
    assert theirs[1].digest != ours[1].digest
    assert {len(each.as_dict()["digest"]) for each in (*ours, *theirs)} == {64}


def test_half_of_brisques_files_is_refused(tmp_path):
    model, ranges = write_brisque_files(tmp_path)
    with pytest.raises(UsageError, match=r"allmodel: .* --brisque-model and --brisque-range"):
        read_quality_models(ImageQualitySettings(brisque_model=model))
    with pytest.raises(UsageError, match=r"allrange: .* --brisque-model and --brisque-range"):
        ImageQualitySettings(brisque_range=ranges)


def test_a_missing_model_is_refused():
    with pytest.raises(UsageError, match="neither a file nor the name of a NIQE model"):
        read_quality_models(ImageQualitySettings(niqe_model="niqe_open_photograph"))


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "niqe.txt").write_text("1")
    with pytest.raises(SimjudgeError, match=r"a \.json, \.mat or \.npz file"):
        read_quality_models(ImageQualitySettings(niqe_model=tmp_path / "niqe.txt"))


KINDS = (ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK)
PHOTOGRAPH = data.astronaut()[40:237, 100:360]
"""A face: 197 x 260 pixels, no multiples of 16."""


def noisy(seed=0):
    noise = np.random.default_rng(seed).normal(0, 12, PHOTOGRAPH.shape)
    return np.clip(PHOTOGRAPH + noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    "pixels", [PHOTOGRAPH, PHOTOGRAPH[:160, :256], noisy(), PHOTOGRAPH[:9, :30], PHOTOGRAPH[:, :, :1]]
)
def test_equals_the_literal_one(pixels):
    found = piqe(pixels)
    score, masks = naive_piqe(np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels)
    assert found.score == pytest.approx(score, rel=1e-9)
    for kind, mask in zip(KINDS, masks, strict=True):
        np.testing.assert_array_equal(found.mask(kind), mask)


def test_a_flat_picture_is_worst():
    found = piqe(np.full((40, 50, 3), 77, np.uint8))
    assert (found.score, found.word, found.share(ACTIVE_BLOCK)) == (100.0, "bad", 0.0)


def test_white_noise_is_noise():
    found = piqe(np.random.default_rng(1).integers(0, 256, (160, 160, 3), dtype=np.uint8))
    assert found.share(NOISY_BLOCK) > 0.9
    assert found.score > 40


def test_blocks_of_jpeg_are_artifacts():
    import cv2  # noqa: PLC0415

    coarse = cv2.imdecode(cv2.imencode(".jpg", PHOTOGRAPH, [cv2.IMWRITE_JPEG_QUALITY, 8])[1], cv2.IMREAD_COLOR)
    assert piqe(coarse).share(ARTIFACT_BLOCK) > 2 * piqe(PHOTOGRAPH).share(ARTIFACT_BLOCK)


@pytest.mark.parametrize(
    ("score", "word"),
    [
        (0, "excellent"),
        (20.4, "excellent"),
        (20.6, "good"),
        (35, "good"),
        (36, "fair"),
        (50, "fair"),
        (51, "poor"),
        (80, "poor"),
        (81, "bad"),
        (100, "bad"),
        (103, "bad"),
        (-1, "excellent"),
        (float("nan"), ""),
    ],
)
def test_words_of_the_scale(score, word):
    assert piqe_class(score) == word


def test_gray_is_of_whole_levels():
    gray = gray_levels(PHOTOGRAPH)
    np.testing.assert_array_equal(gray, naive_gray(PHOTOGRAPH.astype(float)))
    levels = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, axis=2)
    np.testing.assert_array_equal(gray_levels(levels)[:, 0], np.arange(256))


@pytest.mark.parametrize("edge", ["zero", "repeat"])
def test_normalization_equals_a_convolution(edge):
    gray = naive_gray(PHOTOGRAPH.astype(float))
    for found, expected in zip(normalized_luminance(gray, edge), naive_mscn(gray, edge), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("value", [3.0, 117.0, 254.7])
def test_flat_regions_are_exactly_zero(value):
    assert not normalized_luminance(np.full((30, 30), value), "repeat")[0].any()


@pytest.mark.parametrize("shape", [(20, 31), (21, 30), (1, 1), (2, 5), (3, 7)])
def test_half_scale_equals_a_weighted_sum(shape):
    gray = np.random.default_rng(2).integers(0, 256, shape).astype(float)
    np.testing.assert_allclose(half_scale(gray), naive_half_scale(gray), atol=1e-10)


def test_half_scale_keeps_a_slope():
    slope = np.outer(np.ones(40), np.arange(40.0))
    inner = half_scale(slope)[5:15, 3:17]
    np.testing.assert_allclose(inner, np.outer(np.ones(10), 2 * np.arange(3, 17) + 0.5))


def test_no_arrays_are_shown():
    shown = repr(Piqe(1.0, np.zeros((4, 5), np.uint8), 70, 60))
    assert shown == "Piqe(score=1.0, blocks=uint8[4, 5], width=70, height=60)"
