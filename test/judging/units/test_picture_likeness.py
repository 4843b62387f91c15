"""Photographs are independent where their pictures are, and frames of a video where neighbours are alike."""

from dataclasses import replace

import label_sequences
import numpy as np
import pytest
from PIL import Image

from simjudge.core.images import FileImages
from simjudge.judging.units.sampling_units import sample_units


def scenes(count, seed=0):
    """Pictures of places that have nothing to do with each other."""
    coarse = np.random.default_rng(seed).integers(0, 256, (count, 6, 8), np.uint8)
    return [np.asarray(Image.fromarray(each).resize((160, 120), Image.Resampling.BICUBIC)) for each in coarse]


def panned(count):
    """Pictures of one long wall past which a camera moves."""
    coarse = np.random.default_rng(1).integers(0, 256, (6, count + 8), np.uint8)
    wall = np.asarray(Image.fromarray(coarse).resize((4 * (count + 8), 120), Image.Resampling.BICUBIC))
    return [wall[:, 4 * i : 4 * i + 30] for i in range(count)]


def parked(count):
    """Pictures of one place with noise."""
    random, place = np.random.default_rng(2), scenes(1)[0].astype(float)
    return [np.clip(place + random.normal(0, 20, place.shape), 0, 255).astype(np.uint8) for _ in range(count)]


def uneven(i):
    return f"IMG_{2041 + i * i * i:07d}"


def side(folder, pictures, name, **options):
    names = [name(i) for i in range(len(pictures))]
    for each, picture in zip(names, pictures, strict=True):
        Image.fromarray(picture).save(folder / f"{each}.png")
    labels = label_sequences.photographs(4, len(names))
    light = np.cumsum(np.random.default_rng(3).normal(0, 0.2, len(names)))
    judged = labels.judged(names=names, performance=1 / (1 + np.exp(-light[labels.frame])))
    images = FileImages([folder / f"{each}.png" for each in names])
    judged = replace(judged, frames=replace(judged.frames, images=images))
    return sample_units(judged, judged, block=options.get("block")).sides[0]


@pytest.mark.parametrize("pictures", [panned, parked])
@pytest.mark.parametrize("name", [uneven, "frame_{:04d}".format, "vlcsnap-2019-10-17-13h27m{:02d}s157".format])
def test_stills_of_a_video_are_not_each_a_unit(tmp_path, pictures, name):
    count = 60
    found = side(tmp_path, pictures(count), name)
    assert found.kind == "blocks"
    assert found.count < count / 4
    assert ("neighbouring pictures are alike" in found.describe("A")) == (name is uneven)


@pytest.mark.parametrize("name", [uneven, "IMG_{:04d}".format, "photo ({})".format])
def test_numbered_photographs_of_unlike_places_are_units_each(tmp_path, name):
    found = side(tmp_path, scenes(42), name)
    assert (found.kind, found.count) == ("frames", 42)
    assert "longer recording" not in found.describe("A")
    assert ("are numbered, but neighbouring pictures are unlike" in found.describe("A")) == (name is not uneven)


def test_who_names_a_block_is_not_asked_by_the_pictures(tmp_path):
    assert side(tmp_path, scenes(40), "IMG_{:04d}".format, block=8).count == 5
