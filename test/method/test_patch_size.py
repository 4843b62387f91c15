"""How large the default patch is, when a patch is too small for the objects, and whether the recommended one is not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simjudge.method.patch_size import default_patch, small_patch_note


def boxes(*sizes: tuple[float, float]) -> np.ndarray:
    return np.array([[5, 7, 5 + width, 7 + height] for width, height in sizes], float).reshape(-1, 4)


@pytest.mark.parametrize(
    ("sets", "patch", "said"),
    [
        ({"A": boxes((100, 100), (120, 120)), "B": boxes((1, 1))}, (120, 120), ""),
        ({"A": boxes((100, 130), (90, 150), (80, 20)), "B": boxes((1, 1))}, (120, 120), "A (130x90 px)"),
        ({"A": boxes((10, 10)), "B": boxes((300, 10))}, (120, 120), "B (10x300 px)"),
        ({"A": boxes((200, 200)), "B": boxes((300, 10))}, (120, 120), "A (200x200 px) and B (10x300 px)"),
        ({"A": boxes(), "B": boxes((5, 5))}, (64, 64), ""),
    ],
)
def test_a_patch_smaller_than_the_median_object_is_noted(sets, patch, said) -> None:
    note = small_patch_note(sets, patch)
    assert (said in note) if said else not note
    if said:
        found = re.search(r"--patch (\d+)x(\d+) would", note)
        wanted = int(found[1]), int(found[2])
        assert small_patch_note(sets, wanted) == ""
        for box in sets.values():
            height, width = np.median(box[:, [3, 2]] - box[:, [1, 0]], axis=0)
            assert wanted[0] >= 2 * height or height <= patch[0]
            assert wanted[1] >= 2 * width or width <= patch[1]


def images(*sizes: tuple[int, int]) -> np.ndarray:
    return np.array(sizes, np.int64).reshape(-1, 2)


@pytest.mark.parametrize(
    ("sizes", "sets", "side"),
    [
        # The paper's images and cones: 120 px, whether the camera lies or stands.
        ([images((1280, 720))], [boxes((20, 70))], 120),
        ([images((720, 1280))], [boxes((20, 70))], 120),
        # An image half as large: 60 px, while 1.5 to 2 times the median object contain it.
        ([images((640, 360))], [boxes((35, 10))], 60),
        ([images((640, 360))], [boxes((60, 10))], 92),  # 1.5 x 60 = 90, to the next multiple of 4
        ([images((640, 360))], [boxes((13, 9))], 28),  # 2 x 13 = 26
        # The larger images and the larger objects of both sets; the median image and the median object of one.
        ([images((640, 360)), images((1280, 720))], [boxes((35, 10)), boxes((70, 10))], 120),
        ([images((640, 360), (640, 360), (4000, 3000))], [boxes((35, 10), (35, 2), (600, 600))], 60),
        # No objects: the share of the image. Never more than the image, or than a patch may be.
        ([images((640, 360))], [boxes()], 60),
        ([images((640, 360))], [boxes((600, 300))], 640),
        ([images((400_000, 10))], [boxes((30_000, 4))], 4096),
        # Nothing is known.
        ([images((0, 0))], [boxes()], 4),
        ([], [], 4),
        ([images((0, 0))], [boxes((8, 8))], 12),
    ],
)
def test_the_default_patch_follows_images_and_objects(sizes, sets, side) -> None:
    assert default_patch(sizes, sets) == (side, side)
    assert default_patch(sizes[::-1], sets[::-1]) == (side, side)
