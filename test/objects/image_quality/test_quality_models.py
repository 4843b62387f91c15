"""NIQE and BRISQUE, their models and files, against plain computations."""

import json
import math
import struct
import zipfile

import cv2
import numpy as np
import pytest
import scipy.io
import scipy.stats
from brisque_files import GAMMA, RHO, VECTORS, made_numbers, write_brisque_files
from naive_quality import naive_gray, naive_niqe_features
from project_file import ROOT
from skimage import data
from skimage.metrics import structural_similarity

from simjudge.core.errors import SimjudgeError
from simjudge.objects.image_quality.quality import (
    NiqeModel,
    brisque,
    fit_niqe_model,
    niqe,
    read_brisque_model,
    read_niqe_model,
    regression,
    sharp_features,
    write_brisque_model,
    write_niqe_model,
)
from simjudge.objects.image_quality.scene_statistics import brisque_features

SHIPPED = ROOT / "models" / "niqe_open_photographs.json"
PHOTOGRAPH = data.chelsea()[:200, :300]


@pytest.fixture(scope="module")
def shipped():
    return read_niqe_model(SHIPPED)


def test_score_is_the_distance_of_two_distributions(shipped):
    features, _ = naive_niqe_features(naive_gray(PHOTOGRAPH))
    difference = features.mean(0) - shipped.mean
    spread = (np.cov(features.T) + shipped.covariance) / 2
    assert niqe(PHOTOGRAPH, shipped) == pytest.approx(np.sqrt(difference @ np.linalg.pinv(spread) @ difference), 1e-4)


def test_worse_copies_score_worse(shipped):
    blurred = [cv2.GaussianBlur(PHOTOGRAPH, (0, 0), sigma) for sigma in (1, 2, 4)]
    scores = [niqe(pixels, shipped) for pixels in (PHOTOGRAPH, *blurred)]
    assert scores == sorted(scores)
    noise = np.random.default_rng(10).normal(0, 25, PHOTOGRAPH.shape)
    assert niqe(np.clip(PHOTOGRAPH + noise, 0, 255).astype(np.uint8), shipped) > scores[0] + 1


def test_sharp_blocks_alone_are_fitted():
    features, sharpness = naive_niqe_features(naive_gray(PHOTOGRAPH))
    np.testing.assert_allclose(sharp_features(PHOTOGRAPH), features[sharpness > 0.75 * sharpness.max()], rtol=1e-6)


def test_a_model_is_mean_and_covariance():
    pictures = [np.random.default_rng(seed).integers(0, 256, (384, 384, 3), dtype=np.uint8) for seed in range(3)]
    model = fit_niqe_model(pictures, "noise")
    features = np.concatenate([sharp_features(each) for each in pictures])
    assert len(features) > 37
    np.testing.assert_allclose(model.mean, features.mean(0))
    np.testing.assert_allclose(model.covariance, np.cov(features.T))


@pytest.mark.parametrize("pictures", [[], [PHOTOGRAPH], [np.zeros((96, 96, 3), np.uint8)]])
def test_too_few_blocks_are_no_model(pictures):
    with pytest.raises(SimjudgeError, match="at least 37 are needed to fit a NIQE model"):
        fit_niqe_model(pictures, "few")


def test_files_give_the_numbers_back(tmp_path, shipped):
    write_niqe_model(tmp_path / "again.json", shipped, [{"file": "a.png"}])
    again = read_niqe_model(tmp_path / "again.json")
    assert (again.digest, again.origin) == (shipped.digest, shipped.origin)
    scipy.io.savemat(
        tmp_path / "modelparameters.mat",
        {"mu_prisparam": shipped.mean[None], "cov_prisparam": shipped.covariance, "more": "text"},
    )
    np.savez(tmp_path / "ported.npz", mu_pris_param=shipped.mean[None], cov_pris_param=shipped.covariance)
    for name in ("modelparameters.mat", "ported.npz"):
        read = read_niqe_model(tmp_path / name)
        assert read.digest == shipped.digest
        assert name in read.origin


def niqe_json(**changes):
    content = {"niqe_model": "made", "mean": [0.5] * 36, "covariance": np.eye(36).tolist()}
    return json.dumps({key: value for key, value in (content | changes).items() if value is not None})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "a.json:1: not valid JSON"),
        ("a.json", "[]", "the field niqe_model is missing"),
        ("a.json", niqe_json(mean=None), "has no mean of the pristine features"),
        ("a.json", niqe_json(mean=[1] * 35), "the mean must be 36 finite numbers"),
        ("a.json", niqe_json(mean=[None, *[1] * 35]), "the mean must be 36 finite numbers"),
        ("a.json", niqe_json(mean={"a": 1}), "the mean must be 36 finite numbers"),
        ("a.json", niqe_json(covariance=[[1, 2], [3]]), "the covariance must be 36 x 36 finite numbers"),
        ("a.json", niqe_json(covariance=np.tri(36).tolist()), "the covariance is not symmetric"),
        ("a.json", niqe_json(covariance=(-np.eye(36)).tolist()), r"a.json: the covariance has the eigenvalue -1"),
        ("a.json", niqe_json(covariance=np.zeros((36, 36)).tolist()), "the covariance has the eigenvalue 0"),
        ("a.json", niqe_json(mean=[0.5] * 20 + [-0.5] + [0.5] * 15), "a.json: the mean of feature 21 is -0.5"),
        ("a.mat", "no MATLAB file", "a.mat: no whole .mat file"),
        ("a.mat", "", "a.mat: no whole .mat file"),
        ("a.npz", "no NumPy file", "a.npz: not a readable NumPy file"),
        ("a.npz", "", "a.npz: not a readable NumPy file"),
    ],
)
def test_other_files_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(SimjudgeError, match=message):
        read_niqe_model(tmp_path / name)


def test_a_header_with_a_null_byte_is_refused(tmp_path):
    """Python 3.12 and later have NumPy end with another error, the tokenizer's."""
    header = b"{'descr': '<f8', 'fortran_order': False,\0'shape': (36,), }\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("mu_pris_param.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(SimjudgeError, match="not a readable NumPy file"):
        read_niqe_model(tmp_path / "a.npz")


def test_arrays_of_other_names_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", mean=np.zeros(36))
    with pytest.raises(SimjudgeError, match="has no mean of the pristine features"):
        read_niqe_model(tmp_path / "a.npz")


def test_the_shipped_model_is_of_its_photographs(shipped):
    content = json.loads(SHIPPED.read_text())
    rows = content["photographs"]
    total = sum(row["blocks"] for row in rows)
    assert shipped.origin == f"fitted by simjudge on {total} sharp blocks of {len(rows)} open photographs"
    blocks = {row["file"]: row["blocks"] for row in rows}
    assert len(sharp_features(data.astronaut())) == blocks["astronaut.png"]
    assert len(sharp_features(data.gravel()[:, :, None])) == blocks["gravel.png"]
    assert np.linalg.eigvalsh(shipped.covariance).min() > 0


def test_no_arrays_are_shown(shipped):
    assert "float64[36, 36]" in repr(NiqeModel("made", shipped.mean, shipped.covariance))


SHIPPED_BRISQUE = ROOT / "models" / "brisque_open_photographs.json"


def test_the_shipped_regression_equals_a_literal_evaluation():
    content = json.loads(SHIPPED_BRISQUE.read_text())
    features = brisque_features(PHOTOGRAPH)
    scaled = [2 * (f - a) / (b - a) - 1 for f, a, b in zip(features, content["low"], content["high"], strict=True)]
    total = -content["rho"]
    for weight, *vector in content["vectors"]:
        square = sum((s - v) ** 2 for s, v in zip(scaled, vector, strict=True))
        total += weight * math.exp(-content["gamma"] * square)
    assert regression(features, read_brisque_model(SHIPPED_BRISQUE)) == pytest.approx(total, rel=1e-9)


def jpeg(pixels, quality):
    return cv2.imdecode(cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def noisy(pixels, sigma):
    noise = np.random.default_rng(sigma).normal(0, sigma, pixels.shape)
    return np.clip(np.rint(pixels + noise), 0, 255).astype(np.uint8)


def test_the_shipped_regression_ranks_copies_of_photographs_it_never_saw():
    """By scikit-image's SSIM, another metric than the model's target."""
    model, scores, wanted = read_brisque_model(SHIPPED_BRISQUE), [], []
    for photograph in (data.astronaut(), data.chelsea(), data.coffee()):
        copies = [photograph]
        copies += [cv2.GaussianBlur(photograph, (0, 0), sigma) for sigma in (1, 2, 4)]
        copies += [noisy(photograph, sigma) for sigma in (5, 15, 40)]
        copies += [jpeg(photograph, quality) for quality in (60, 20, 7)]
        for copy in copies:
            scores.append(brisque(copy, model))
            wanted.append(-structural_similarity(photograph, copy, channel_axis=2))
        assert scores[-10] < 20
    assert scipy.stats.spearmanr(scores, wanted).statistic > 0.8


def test_the_shipped_regression_says_what_it_was_fitted_on():
    content = json.loads(SHIPPED_BRISQUE.read_text())
    assert "no human scores" in content["brisque_model"]
    assert f"of {len(content['photographs'])} open photographs" in content["brisque_model"]
    assert not any("scikit-image" in row["source"] for row in content["photographs"])


def test_a_regression_is_written_and_read(tmp_path):
    made = read_brisque_model(*write_brisque_files(tmp_path))
    write_brisque_model(tmp_path / "a.json", made, [])
    again = read_brisque_model(tmp_path / "a.json")
    assert (again.origin, again.bounds, again.gamma, again.rho) == (made.origin, made.bounds, made.gamma, made.rho)
    np.testing.assert_allclose(again.vectors, made.vectors, rtol=1e-5)
    np.testing.assert_allclose(again.weights, made.weights, rtol=1e-5)


def brisque_json(**changes):
    content = {"brisque_model": "made", "gamma": 0.1, "rho": 1, "bounds": [-1, 1], "low": [0] * 36, "high": [1] * 36}
    content["vectors"] = [[1.0] * 37]
    return json.dumps({key: value for key, value in (content | changes).items() if value is not None})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "the field brisque_model is missing"),
        (brisque_json(gamma=None), "gamma must be 1 finite numbers"),
        (brisque_json(gamma=[1]), "gamma must be 1 finite numbers"),
        (brisque_json(gamma=0), "a.json: gamma is 0, and the kernel needs one above 0"),
        (brisque_json(gamma=-0.1), "a.json: gamma is -0.1"),
        (brisque_json(bounds=[1, -1]), "a.json: bounds 1 and -1: the first must be smaller"),
        (brisque_json(low=[0, 2, *[0] * 34]), "a.json: feature 2 is from 2 to 1: the first must be smaller"),
        (brisque_json(rho="x"), "rho must be 1 finite numbers"),
        (brisque_json(bounds=[1]), "bounds must be 2 finite numbers"),
        (brisque_json(low=[0] * 35), "low must be 36 finite numbers"),
        (brisque_json(vectors=[]), "vectors must be N x 37 finite numbers"),
        (brisque_json(vectors=[[1] * 36]), "vectors must be N x 37 finite numbers"),
        (brisque_json(vectors=[[1], [1, 2]]), "vectors must be N x 37 finite numbers"),
    ],
)
def test_a_damaged_regression_is_refused(tmp_path, content, message):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(SimjudgeError, match=message):
        read_brisque_model(tmp_path / "a.json")


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
        ("allmodel", "gamma 0.05", "gamma -0.05", "allmodel: gamma is -0.05, and the kernel needs one above 0"),
        ("allrange", "-1 1\n", "1 1\n", "allrange: bounds 1 and 1: the first must be smaller"),
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
