"""Data sets that hypothesis makes, and whether two sets hold the same."""

import numpy as np
from hypothesis import strategies as st

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.names import NO_STAMP, normalized_name, stamp_to_name
from simjudge.core.object_tables import Masks, Objects, Predictions

NAMES = st.one_of(
    st.text("abcXYZ0189 ._-äß中", min_size=1, max_size=12),
    st.sampled_from(["../up", "a/b", ".hidden", "nul\x00", "tab\tin", "a.b.c", "per%20cent", "x" * 300, '<&">']),
)
CLASS_NAMES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["red", "no", "null", "3", "a: b", "- x", "", " ", "<&>", "line\nbreak", "a,b", "blau/grün", "#"]),
)


UNKNOWN = st.just(float("nan"))


def coordinates(low, high):
    """Pixel coordinates to a millionth."""
    return st.integers(int(low * 1e6), int(high * 1e6)).map(lambda v: v / 1e6)


@st.composite
def boxes(draw, width, height):
    """A box that reaches into the image."""
    x0, y0 = draw(coordinates(-5, width - 1)), draw(coordinates(-5, height - 1))
    x1 = draw(coordinates(max(x0, 0) + 0.01, width + 5))
    y1 = draw(coordinates(max(y0, 0) + 0.01, height + 5))
    return [x0, y0, x1, y1]


@st.composite
def mask_images(draw, width, height):
    """None, or whole-image pixels of which at least one is set, perhaps in pieces and with holes."""
    if not draw(st.booleans()):
        return None
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    image = np.zeros((height, width), bool)
    top, left = random.integers(0, height), random.integers(0, width)
    part = image[top : top + random.integers(1, 9), left : left + random.integers(1, 9)]
    part[:] = random.random(part.shape) < draw(st.sampled_from([0.3, 0.8, 1.0]))
    image[top, left] = True
    return image


@st.composite
def frame_sets(draw, masks=True, with_images=True):
    """A whole data set: boxes and masks, predictions, instances, stamps, empty and unlabelled frames, odd names."""
    count = draw(st.integers(1, 4))
    stamps = draw(st.lists(st.integers(0, 2**60), min_size=count, max_size=count, unique=True))
    stamps = [s if draw(st.booleans()) else NO_STAMP for s in stamps]
    names = draw(st.lists(NAMES, min_size=count, max_size=count, unique=True))
    stamped = [s != NO_STAMP and draw(st.booleans()) for s in stamps]
    names = [stamp_to_name(s) if by_stamp else n for s, by_stamp, n in zip(stamps, stamped, names, strict=True)]
    sizes = [(draw(st.integers(6, 40)), draw(st.integers(6, 40))) for _ in range(count)]
    labelled = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    predicted = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    ids = draw(st.lists(st.sampled_from([0, 1, 2, 7, 90]), min_size=1, max_size=3, unique=True))
    count_of_names = len(ids) if draw(st.booleans()) else 0
    class_names = st.lists(CLASS_NAMES, min_size=count_of_names, max_size=count_of_names, unique_by=normalized_name)
    named = dict(zip(ids, draw(class_names), strict=False))
    with_masks = masks and draw(st.booleans())

    def rows(flags):
        out = []
        for frame, on in enumerate(flags):
            for _ in range(draw(st.integers(0, 3)) if on else 0):
                image = draw(mask_images(*sizes[frame])) if with_masks else None
                out.append((frame, draw(st.sampled_from(ids)), draw(boxes(*sizes[frame])), image))
        return out

    objects = _objects(rows(labelled), draw)
    predictions = _predictions(rows(predicted), draw) if any(predicted) else None
    images = None
    if with_images and draw(st.booleans()):
        images = ArrayImages([_noise(s, i) if draw(st.booleans()) else None for i, s in enumerate(sizes)])
        images = images if any(a is not None for a in images.arrays) else None
    return FrameSet.build(
        "made",
        sizes,
        objects,
        predictions,
        frame_name=names,
        stamp=stamps,
        labelled=labelled,
        predicted=predicted,
        class_names=named,
        images=images,
    )


def _noise(size, seed):
    return np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)


def _columns(rows):
    frame, class_id, box, image = zip(*rows, strict=True) if rows else ((), (), (), ())
    masks = Masks.from_images(image) if any(p is not None for p in image) else None
    return frame, class_id, box, masks


def _objects(rows, draw):
    frame, class_id, box, masks = _columns(rows)
    instance = [draw(st.integers(-1, 2**40)) for _ in rows]
    distance, visible = ([draw(UNKNOWN | st.floats(low, high)) for _ in rows] for low, high in ((1e-3, 1e9), (0, 1)))
    return Objects.build(frame, class_id, box, instance, masks, distance=distance, visible=visible)


def _predictions(rows, draw):
    frame, class_id, box, masks = _columns(rows)
    return Predictions.build(frame, class_id, box, [draw(st.floats(0, 1)) for _ in rows], masks)


def assert_same_set(a, b):
    """Both sets hold the same, to the last bit (masks as pixels of the image)."""
    assert list(a.frame_name) == list(b.frame_name)
    for column in ("size", "stamp", "labelled", "predicted"):
        np.testing.assert_array_equal(getattr(a, column), getattr(b, column), column)
    assert a.class_names == b.class_names
    assert_same_table(a.objects, b.objects, a.size)
    assert (a.predictions is None) == (b.predictions is None)
    if a.predictions is not None:
        assert_same_table(a.predictions, b.predictions, a.size)
    for i in range(len(a)):
        has = [s.images is not None and s.images.has(i) for s in (a, b)]
        assert has[0] == has[1]
        if has[0]:
            np.testing.assert_array_equal(a.images.read(i), b.images.read(i))


def assert_same_table(a, b, size):
    """Two tables of objects or predictions are the same."""
    others = ("instance", "distance", "visible") if isinstance(a, Objects) else ("score",)
    for column in ("frame", "class_id", "box", *others):
        np.testing.assert_array_equal(getattr(a, column), getattr(b, column), column)
    for i in range(len(a)):
        images = [_mask_image(t, i, size) for t in (a, b)]
        assert (images[0] is None) == (images[1] is None)
        np.testing.assert_array_equal(images[0], images[1])


def _mask_image(table, i, size):
    if table.masks is None or not table.masks.has(i):
        return None
    return table.masks.to_image(i, *(int(v) for v in size[table.frame[i]]))
