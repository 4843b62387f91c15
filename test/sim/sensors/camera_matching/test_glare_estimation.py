"""Glare is found by the halos of lit lamps, told from none, and not looked for where no lamp is lit."""

from dataclasses import dataclass, replace

import cv2
import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.sim.sensors.camera.chain import SceneLight, Step, filtered
from simjudge.sim.sensors.camera_matching.glare_estimation import estimate_glare

COLOURS = {1: (9.0, 0.7, 0.5), 2: (0.4, 7.0, 2.0)}


@dataclass(frozen=True)
class Lit(ArrayImages):
    """Pictures whose light is known."""

    lights: tuple[np.ndarray, ...] = ()

    def light(self, index):
        return SceneLight(self.lights[index], ())


def street(seed, frames=16, brightness=1.0):
    """Frames of 160 x 120 with a red or a green lamp before a grey, rough wall."""
    random = np.random.default_rng(seed)
    lights, boxes, classes = [], [], []
    for number in range(frames):
        wall = cv2.GaussianBlur(random.random((120, 160, 1)).astype(np.float32), (0, 0), 4)
        light = np.repeat((0.1 + 0.4 * wall.reshape(120, 160, 1)), 3, 2)
        x, y, radius = random.integers(40, 120), random.integers(35, 85), int(random.integers(3, 6))
        kind = 1 + number % 2
        cv2.circle(light, (int(x), int(y)), radius, tuple(brightness * part for part in COLOURS[kind]), -1)
        lights.append(np.ascontiguousarray(light, np.float32))
        boxes.append([x - 8, y - 8, x + 8, y + 8])
        classes.append(kind)
    pictures = tuple(SceneLight(light, ()).behind([]) for light in lights)
    objects = Objects.build(np.arange(frames), classes, np.array(boxes, float))
    size = np.tile([160, 120], (frames, 1))
    names, every = [f"{seed}_{number}" for number in range(frames)], np.ones(frames, bool)
    stamps, images = np.arange(frames), Lit(pictures, tuple(lights))
    return FrameSet("street", names, size, stamps, every, objects, None, ~every, {1: "red", 2: "green"}, images)


def seen(frames, share, radius):
    images = filtered(frames, [Step("glare", {"share": share, "radius": radius}), Step("srgb")]).images
    return replace(frames, images=ArrayImages(tuple(images.read(number) for number in range(len(frames)))))


@pytest.mark.parametrize(("share", "radius"), [(0.05, 8.0), (0.12, 18.0), (0.3, 11.0)])
def test_a_planted_glare_is_found_on_other_frames(share, radius):
    found = estimate_glare(seen(street(1), share, radius), street(2), 0)
    assert np.quantile(found.drawn, 0.025) - 0.02 <= share <= np.quantile(found.drawn, 0.975) + 0.02
    assert radius / 1.8 <= found.radius <= 1.8 * radius


def test_on_the_same_frames_it_is_found_closely():
    found = estimate_glare(seen(street(1), 0.12, 18.0), street(1), 0)
    assert found.share == pytest.approx(0.12, abs=0.01)
    assert found.radius == pytest.approx(18, rel=0.1)


def test_no_glare_is_told_from_some_and_no_lamp_tells_nothing():
    assert estimate_glare(seen(street(1), 0.0, 18.0), street(2), 0) is None
    assert estimate_glare(seen(street(1), 0.2, 18.0), street(2, brightness=0.05), 0) is None


def test_filters_act_on_the_light_of_lamps_and_not_on_pixels_cut_at_full_scale():
    frames, steps = street(1), [Step("glare", {"share": 0.2, "radius": 11}), Step("srgb")]
    lit = filtered(frames, steps).images.read(0)
    cut = filtered(replace(frames, images=ArrayImages(tuple(frames.images.read(k) for k in range(16)))), steps)
    assert lit.astype(int).sum() > cut.images.read(0).astype(int).sum()
