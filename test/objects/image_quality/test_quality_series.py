"""Quality over time: the values of single pictures, in the order of the frames; what cannot be scored is counted."""

import numpy as np
import pytest
from brisque_files import write_brisque_files

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.objects.image_quality.quality_models import brisque, niqe, read_quality_models
from simjudge.objects.image_quality.quality_series import image_quality_series, picture_quality, piqe
from simjudge.objects.image_quality.quality_settings import ImageQualitySettings
from simjudge.objects.series import WHOLE


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
    (alone,) = read_quality_models(ImageQualitySettings()).records()
    both = read_quality_models(ImageQualitySettings(brisque_model=model, brisque_range=ranges)).records()
    assert alone.origin.startswith("fitted by simjudge on 171 sharp blocks of 20 open photographs")
    assert [each.metric for each in both] == ["niqe", "brisque"]
    assert both[0] == alone
    assert {len(each.as_dict()["digest"]) for each in both} == {64}


def test_half_of_brisques_files_is_refused(tmp_path):
    with pytest.raises(UsageError, match="--brisque-model and --brisque-range"):
        ImageQualitySettings(brisque_model=tmp_path / "allmodel")


def test_a_missing_model_is_refused():
    with pytest.raises(UsageError, match="neither a file nor the name of a NIQE model"):
        read_quality_models(ImageQualitySettings(niqe_model="niqe_open_photograph"))


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "niqe.txt").write_text("1")
    with pytest.raises(SimjudgeError, match=r"a \.json, \.mat or \.npz file"):
        read_quality_models(ImageQualitySettings(niqe_model=tmp_path / "niqe.txt"))
