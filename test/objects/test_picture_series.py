"""Hu's moments: against a naive loop in whole numbers, OpenCV and scikit-image; and what must not change them."""

from fractions import Fraction

import cv2
import numpy as np
import pytest

from simjudge.objects.picture_series import hu_moments, log_scaled

RNG = np.random.default_rng(7)


def blob(height=60, width=80):
    """A shape without any symmetry, brighter at one end."""
    y, x = np.mgrid[:height, :width]
    shape = ((x - 30) / 22) ** 2 + ((y - 28) / 12) ** 2 < 1
    shape |= (abs(x - 50) < 7) & (abs(y - 38) < 14)
    return np.where(shape, 60 + 2 * x, 0).astype(np.uint8)


PICTURES = {
    "noise": RNG.integers(0, 256, (37, 53), np.uint8),
    "blob": blob(),
    "binary": blob() > 100,
    "far corner": np.pad(blob() > 0, ((600, 0), (1100, 0))),
    "one pixel": np.pad(np.ones((1, 1), bool), 4),
}


def exact(picture):
    """The formulas with fractions, pixel by pixel."""
    points = [(int(x), int(y), int(picture[y, x])) for y, x in zip(*np.nonzero(picture), strict=True)]
    total = sum(f for *_, f in points)
    xm = Fraction(sum(x * f for x, _, f in points), total)
    ym = Fraction(sum(y * f for _, y, f in points), total)

    def eta(p, q):
        return float(sum((x - xm) ** p * (y - ym) ** q * f for x, y, f in points)) / total ** (1 + (p + q) / 2)

    n20, n02, n11, n30, n03, n21, n12 = (eta(*pq) for pq in ((2, 0), (0, 2), (1, 1), (3, 0), (0, 3), (2, 1), (1, 2)))
    return [
        n20 + n02,
        (n20 - n02) ** 2 + 4 * n11**2,
        (n30 - 3 * n12) ** 2 + (3 * n21 - n03) ** 2,
        (n30 + n12) ** 2 + (n21 + n03) ** 2,
        (n30 - 3 * n12) * (n30 + n12) * ((n30 + n12) ** 2 - 3 * (n21 + n03) ** 2)
        + (3 * n21 - n03) * (n21 + n03) * (3 * (n30 + n12) ** 2 - (n21 + n03) ** 2),
        (n20 - n02) * ((n30 + n12) ** 2 - (n21 + n03) ** 2) + 4 * n11 * (n30 + n12) * (n21 + n03),
        (3 * n21 - n03) * (n30 + n12) * ((n30 + n12) ** 2 - 3 * (n21 + n03) ** 2)
        - (n30 - 3 * n12) * (n21 + n03) * (3 * (n30 + n12) ** 2 - (n21 + n03) ** 2),
    ]


@pytest.mark.parametrize("name", PICTURES)
def test_against_fractions(name):
    np.testing.assert_allclose(hu_moments(PICTURES[name]), exact(PICTURES[name]), rtol=1e-9, atol=1e-30)


@pytest.mark.parametrize("name", ["noise", "blob", "binary"])
def test_against_opencv_and_scikit_image(name):
    picture, found = PICTURES[name].astype(np.uint8), hu_moments(PICTURES[name])
    np.testing.assert_allclose(found, cv2.HuMoments(cv2.moments(picture)).ravel(), rtol=1e-9)
    measure = pytest.importorskip("skimage.measure")
    theirs = measure.moments_hu(measure.moments_normalized(measure.moments_central(picture.astype(np.float64))))
    # scikit-image's first coordinate is the row, which mirrors the picture.
    np.testing.assert_allclose(found * [1, 1, 1, 1, 1, 1, -1], theirs, rtol=1e-7)


@pytest.mark.parametrize(
    ("change", "sign"),
    [
        (lambda p: np.pad(p, ((13, 2), (5, 40))), 1),
        (np.rot90, 1),
        (lambda p: np.rot90(p, 2), 1),
        (np.fliplr, -1),
        (np.transpose, -1),
    ],
    ids=["shifted", "quarter turn", "half turn", "mirrored", "transposed"],
)
def test_exact_invariances(change, sign):
    found = hu_moments(change(blob()))
    np.testing.assert_allclose(found, hu_moments(blob()) * [1, 1, 1, 1, 1, 1, sign], rtol=1e-9)


def test_scale_and_rotation_but_for_pixels():
    fine = np.kron(blob(240, 320) > 0, np.ones((2, 2), np.uint8)).astype(np.uint8)
    turn = cv2.getRotationMatrix2D((160, 160), 33, 1.7)
    turned = cv2.warpAffine(np.pad(fine, 300) * 255, turn, (1400, 1400), flags=cv2.INTER_NEAREST)
    coarse, rotated = hu_moments(blob() > 0), hu_moments(turned > 0)
    np.testing.assert_allclose(hu_moments(fine > 0)[:4], coarse[:4], rtol=1e-2)
    np.testing.assert_allclose(rotated[:4], coarse[:4], rtol=2e-2)


def test_gray_scales():
    # mu grows with brightness, mu_00^2 with its square.
    assert hu_moments(blob() // 2 * 2)[0] == pytest.approx(hu_moments(blob() // 2)[0] / 2)


def test_an_empty_picture_has_none():
    assert np.isnan(hu_moments(np.zeros((5, 6), np.uint8))).all()
    assert np.isnan(hu_moments(np.zeros((5, 6), bool))).all()


def test_a_disk_has_what_its_integral_says():
    y, x = np.mgrid[-300:301, -300:301]
    # Of a disk of radius r: mu_20 = pi r^4 / 4, area = pi r^2, so that I1 = 1 / (2 pi).
    found = hu_moments(x**2 + y**2 <= 295**2)
    assert found[0] == pytest.approx(1 / (2 * np.pi), rel=1e-4)
    assert np.abs(found[1:]).max() < 1e-12


def test_logarithms_keep_signs():
    found = log_scaled(np.array([1e-3, -1e-5, 0.0, 100.0]))
    np.testing.assert_allclose(found, [3, -5, np.nan, -2])
