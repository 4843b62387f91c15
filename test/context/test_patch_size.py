"""When a patch is too small for the objects, and whether the recommended one is not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simjudge.context.patch_size import small_patch_note


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
