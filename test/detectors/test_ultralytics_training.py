import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.training import cut_windows


class Numbered:
    """Pictures whose pixels say where they are: red the column, green the row, blue the frame."""

    def __init__(self, sizes):
        self.sizes = sizes

    def __len__(self):
        return len(self.sizes)

    def has(self, index):  # noqa: ARG002
        return True

    def read(self, index):
        width, height = self.sizes[index]
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        return np.stack([x, y, np.full_like(x, index)], -1).astype(np.uint8)

    def read_encoded(self, index):  # noqa: ARG002
        return None


def frames(sizes, frame, box):
    objects = Objects.build(frame, np.ones(len(frame)), box)
    return FrameSet.build("set", sizes, objects, class_names={1: "red"}, images=Numbered(sizes))


@pytest.mark.parametrize("side", [16, 40, 200])
def test_a_window_shows_the_pixels_and_objects_of_its_place(side):
    rng = np.random.default_rng(side)
    sizes = [(120, 60), (50, 90), (30, 30)]
    corner = rng.random((30, 2)) * 40
    box = np.hstack([corner, corner + 4 + rng.random((30, 2)) * 20])
    frame = np.sort(rng.integers(0, 3, 30))
    whole = frames(sizes, frame, box)
    cut = cut_windows(whole, side, 5, seed=3)
    assert len(cut) == 15
    for i in range(len(cut)):
        pixels = cut.images.read(i)
        x, y, number = (int(v) for v in pixels[0, 0])
        assert number == i // 5
        assert pixels.shape == (min(side, sizes[number][1]), min(side, sizes[number][0]), 3)
        assert (pixels[..., 0] == x + np.arange(pixels.shape[1])).all()
        assert (pixels[..., 1] == y + np.arange(pixels.shape[0])[:, None]).all()
        expected = []
        for row in whole.objects.box[whole.objects.frame == number]:
            x0, y0, x1, y1 = row - [x, y, x, y]
            left = max(0, min(x1, pixels.shape[1]) - max(x0, 0)) * max(0, min(y1, pixels.shape[0]) - max(y0, 0))
            if left > 0 and left >= 0.4 * (x1 - x0) * (y1 - y0):
                expected.append(np.clip([x0, y0, x1, y1], 0, [*pixels.shape[1::-1]] * 2))
        found = cut.objects.box[cut.objects.frame == i]
        assert np.allclose(found, np.reshape(expected, (-1, 4)))


def test_windows_are_the_same_for_a_seed_and_lie_over_objects():
    whole = frames(
        [(400, 300)] * 4, [0, 1, 2, 3], [[10, 10, 20, 20], [380, 280, 399, 299], [200, 100, 210, 130], [0, 0, 9, 9]]
    )
    first, again, other = (cut_windows(whole, 64, 20, seed=s) for s in (1, 1, 2))
    assert (first.images.corner == again.images.corner).all()
    assert (first.images.corner != other.images.corner).any()
    assert len(first.objects) >= 0.7 * len(first)


def test_a_set_without_pictures_is_refused():
    bare = FrameSet.build("bare", [(10, 10)], Objects.empty())
    with pytest.raises(UsageError, match="no pictures"):
        cut_windows(bare, 8, 1)
