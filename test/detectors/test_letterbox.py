"""Letterboxing: boxes go there and back; pixels and boxes are those of ultralytics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.detectors.onnx_detector import GREY, Letterbox
from simjudge.detectors.ultralytics_detector import import_ultralytics


@settings(max_examples=200)
@given(st.integers(1, 3000), st.integers(1, 3000), st.sampled_from([(320, 320), (640, 640), (640, 384)]))
def test_the_whole_picture_comes_back(width, height, size):
    fit = Letterbox.fit((width, height), size)
    assert fit.left >= 0
    assert fit.top >= 0
    assert fit.left + fit.width <= size[0]
    assert fit.top + fit.height <= size[1]
    whole = np.array([[fit.left, fit.top, fit.left + fit.width, fit.top + fit.height]], float)
    assert fit.to_image(whole)[0] == pytest.approx([0, 0, width, height], abs=1e-9)


def test_outside_is_clipped():
    fit = Letterbox.fit((40, 20), (64, 64))
    assert fit.to_image(np.array([[-10.0, 0, 100, 64]]))[0].tolist() == [0, 0, 40, 20]


@pytest.mark.parametrize("size", [(320, 240), (1280, 720), (641, 333), (7, 240), (200, 240), (100, 99), (320, 320)])
def test_equal_to_ultralytics(size):
    pytest.importorskip("torch", reason="the extra 'train' is not installed")
    import_ultralytics()
    from ultralytics.data.augment import LetterBox  # noqa: PLC0415 - only after the set-up above
    from ultralytics.utils.ops import scale_boxes  # noqa: PLC0415

    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (size[1], size[0], 3), np.uint8)
    fit = Letterbox.fit(size, (320, 320))
    ours = np.full((320, 320, 3), GREY, np.uint8)
    fit.place(image, ours)
    assert np.array_equal(ours, LetterBox((320, 320), auto=False)(image=image))
    boxes = rng.uniform(0, 320, (20, 4))
    assert fit.to_image(boxes) == pytest.approx(scale_boxes((320, 320), boxes.copy(), (size[1], size[0])), abs=1e-9)
