"""BRISQUE's score: a literal evaluation of libsvm's files agrees; files of another form are refused with their line."""

import math

import numpy as np
import pytest
from brisque_files import GAMMA, RHO, VECTORS, made_numbers, write_brisque_files

from simjudge.core.errors import SimjudgeError
from simjudge.objects.image_quality.quality_models import brisque, read_brisque_model, regression
from simjudge.objects.image_quality.scene_statistics import brisque_features


def naive_score(features):
    weights, vectors, low, high = made_numbers()
    scaled = [-1 + 2 * (f - a) / (b - a) for f, a, b in zip(features, low, high, strict=True)]
    total = -RHO
    for weight, vector in zip(weights, vectors, strict=True):
        total += weight * math.exp(-GAMMA * sum((s - v) ** 2 for s, v in zip(scaled, vector, strict=True)))
    return total


def test_equals_a_literal_evaluation(tmp_path):
    model = read_brisque_model(*write_brisque_files(tmp_path))
    assert len(model.vectors) == VECTORS
    pixels = np.random.default_rng(9).integers(0, 256, (60, 70, 3), dtype=np.uint8)
    features = brisque_features(pixels)
    assert regression(features, model) == pytest.approx(naive_score(features), rel=1e-12)
    assert brisque(pixels, model) == regression(features, model)


def test_a_feature_that_was_constant_counts_as_0(tmp_path):
    model, ranges = write_brisque_files(tmp_path)
    lines = ranges.read_text().splitlines()
    lines[2] = "1 0.5 0.5"
    ranges.write_text("\n".join(lines))
    read = read_brisque_model(model, ranges)
    features = np.linspace(0.1, 2, 36)
    others = features.copy()
    others[0] = 7
    assert regression(features, read) == regression(others, read)


def test_a_flat_picture_has_no_score(tmp_path):
    model = read_brisque_model(*write_brisque_files(tmp_path))
    assert math.isnan(brisque(np.full((40, 40, 3), 50, np.uint8), model))


def test_digest_is_of_the_numbers(tmp_path):
    model, ranges = write_brisque_files(tmp_path)
    before = read_brisque_model(model, ranges).digest
    assert read_brisque_model(model.rename(tmp_path / "other"), ranges).digest == before
    (tmp_path / "other").write_text((tmp_path / "other").read_text().replace(f"rho {RHO}", "rho -40.26"))
    assert read_brisque_model(tmp_path / "other", ranges).digest != before


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("allmodel", "epsilon_svr", "c_svc", "allmodel: not a regression of libsvm with an RBF kernel"),
        ("allmodel", "rbf", "linear", "not a regression of libsvm with an RBF kernel"),
        ("allmodel", "gamma 0.05", "gamma nan", "allmodel: gamma: nan is not a finite number"),
        ("allmodel", "total_sv 5", "total_sv 6", "5 support vectors where total_sv says 6; the file is cut off"),
        ("allmodel", " 36:", " 37:", "allmodel:8: 37:.* is no feature of BRISQUE"),
        ("allmodel", " 2:", " 2;", "allmodel:8: 2;.* is no feature of BRISQUE"),
        ("allmodel", " 2:", " 2:x", "allmodel:8: x.* is not a finite number"),
        ("allrange", "x\n", "y\n", "allrange: not a range file of libsvm"),
        ("allrange", "-1 1\n", "-1 one\n", "allrange:2: one is not a finite number"),
        ("allrange", "\n36 ", "\n37 ", "allrange: no range for feature 36"),
        ("allrange", "\n1 ", "\n1 2 ", "allrange:3: not a row of a range file"),
    ],
)
def test_files_of_another_form(tmp_path, file, old, new, message):
    paths = write_brisque_files(tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    with pytest.raises(SimjudgeError, match=message):
        read_brisque_model(*paths)
