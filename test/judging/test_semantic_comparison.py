"""`compare --task semantic`: label pictures in, contexts on a grid out; every number against a naive loop."""

import json

import cv2
import numpy as np
import pytest
from painted_streets import paint_streets
from scipy.stats import wasserstein_distance

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import UNLABELLED
from simjudge.data.semantic_classes import street_train_id
from simjudge.data.sets import read_set, write_set
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.sweep import sweep_sets
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.questions.many_sets.run import compare_many_sets
from simjudge.questions.rank.run import rank

PATCH = 16
DOMAINS = {"a": "real", "b": "sim"}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Two folders with label pictures, and predictions that are wrong in some pixels."""
    root = tmp_path_factory.mktemp("streets")
    out = []
    for name, seed in (("a", 1), ("b", 2)):
        folder = paint_streets(root / name, 6, seed=seed)
        rng = np.random.default_rng(seed)
        (folder / "predicted_semantic").mkdir()
        for file in sorted((folder / "semantic").iterdir()):
            labels = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
            wrong = rng.random(labels.shape) < rng.uniform(0, 0.2 * seed)
            labels[wrong] = rng.choice([7, 23, 26], int(wrong.sum()))
            cv2.imwrite(str(folder / "predicted_semantic" / file.name), labels)
        out.append(folder)
    return out


def settings(**more):
    return CompareSettings(task="semantic", patch=(PATCH, PATCH), theta=0.6, draws=20, block=0, **more)


def naive_patches(folder, metric):
    """Labels and performance of each patch, by loops alone."""
    patches, performance = [], []
    for file in sorted((folder / "semantic").iterdir(), key=lambda path: int(path.stem.split("_")[0])):
        truth = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        guess = cv2.imread(str(folder / "predicted_semantic" / file.name), cv2.IMREAD_UNCHANGED)
        for y in range(0, truth.shape[0] - PATCH + 1, PATCH):
            for x in range(0, truth.shape[1] - PATCH + 1, PATCH):
                t, g = truth[y : y + PATCH, x : x + PATCH], guess[y : y + PATCH, x : x + PATCH]
                if metric == "accuracy":
                    value = float(np.mean(t == g))
                else:
                    occurring = set(t.ravel()) | set(g.ravel())
                    iou = [np.sum((t == k) & (g == k)) / np.sum((t == k) | (g == k)) for k in occurring]
                    value = float(np.mean(iou))
                patches.append(t)
                performance.append(value)
    return np.array(patches), np.array(performance)


@pytest.mark.parametrize("metric", ["iou", "accuracy"])
def test_w1_and_overlap_are_those_of_a_naive_loop(sets, metric):
    found = compare_sets(*sets, settings(metric=metric))
    (a, in_a), (b, in_b) = (naive_patches(folder, metric) for folder in sets)

    def similar(p, q):
        same, either = (p == q).sum((1, 2)), 2 * PATCH**2
        return same / (either - same) >= 0.6

    w1, covered_a, covered_b = [], np.zeros(len(a), bool), np.zeros(len(b), bool)
    for patch in a:
        like_a, like_b = similar(a, patch), similar(b, patch)
        if like_b.any():
            covered_a |= like_a
            covered_b |= like_b
            w1.append(wasserstein_distance(in_a[like_a], in_b[like_b]))
    numbers = found.result.numbers.overall
    assert numbers.mean_w1 == pytest.approx(np.mean(w1), abs=1e-9)
    assert (numbers.overlap_a, numbers.overlap_b) == pytest.approx((covered_a.mean(), covered_b.mean()))
    assert found.content()["parameters"]["painted"] == "label pictures"


def test_the_result_is_saved_with_a_gallery_of_marked_pictures(sets, tmp_path):
    found = compare_sets(*sets, settings())
    found.save(tmp_path / "out")
    header = json.loads((tmp_path / "out" / "result.json").read_text())
    assert header["parameters"]["task"] == "semantic"
    assert header["class_names"] == {"0": "patch"}
    assert "measures" not in header
    assert list((tmp_path / "out" / "gallery").glob("*.jpg"))
    frames = found.result.a.frames
    plain, marked = read_set(sets[0]).images.read(0), frames.images.read(0)
    truth, guess = (read_set(sets[0]).semantic.read(0), read_set(sets[0]).predicted_semantic.read(0))
    assert np.array_equal((plain != marked).any(2), truth != guess)


def test_a_set_against_itself_has_no_gap_and_full_overlap(sets):
    numbers = compare_sets(sets[0], sets[0], settings()).result.numbers.overall
    assert (numbers.mean_w1, numbers.overlap_a) == (0, 1)


def test_pictures_are_scaled_to_a_width_by_the_nearest_pixel(sets):
    scaled = compare_sets(*sets, settings(width=48)).result.a.frames
    assert scaled.size[0].tolist() == [48, 32]
    assert len(scaled.objects) == 6 * (48 // PATCH) * (32 // PATCH)


def test_a_sweep_cuts_new_patches_for_each_size(sets):
    swept = sweep_sets(
        *sets, SweepSettings(task="semantic", patch=(16, 16), thetas=(0.6,), patches=((8, 8), (16, 16)), draws=0)
    )
    points = [point for point in swept.content["curves"] if point["theta"] == 0.6]
    at = {tuple(point["patch"]): EntryNumbers.from_json(point["overall"]) for point in points}
    direct = compare_sets(*sets, settings()).result.numbers.overall
    assert at[16, 16].mean_w1 == direct.mean_w1


def test_many_sets_have_the_numbers_of_single_comparisons(sets):
    given = {"a": {"net": sets[0]}, "b": {"net": sets[1]}}
    how = {"task": "semantic", "patch": PATCH, "theta": 0.6, "draws": 40, "block": 0}
    both = {(each.a, each.b): each for each in compare_many_sets(given, domains=DOMAINS, **how).comparisons}
    for a, b in ((0, 1), (1, 0)):
        one = compare_sets(sets[a], sets[b], settings()).result.numbers.overall
        many = both["ab"[a], "ab"[b]].overall
        assert many.numbers.mean_w1 == pytest.approx(one.mean_w1)
        assert many.numbers.overlap_a == one.overlap_a


def test_paired_sets_are_compared_patch_by_patch(sets):
    found = compare_sets(sets[0], sets[0], settings(paired=True)).result.numbers.overall
    assert (found.pointwise_pairs, found.pointwise_mean_difference) == (6 * 6 * 4, 0)


def test_label_pictures_come_back_as_they_were_written(sets, tmp_path):
    read = read_set(sets[0])
    losses = write_set(read, tmp_path / "copy", "yolo")
    again = read_set(tmp_path / "copy")
    assert not losses
    for kind in ("semantic", "predicted_semantic"):
        for i in range(len(read)):
            assert np.array_equal(getattr(read, kind).read(i), getattr(again, kind).read(i))
    assert read.take([3, 1]).semantic.read(0).tolist() == read.semantic.read(3).tolist()
    lost = write_set(read, tmp_path / "coco", "coco").lines()
    assert any("label pictures" in line for line in lost)


@pytest.mark.parametrize(
    ("more", "says"),
    [({"metric": "score"}, "--metric score"), ({"classes": ("car",)}, "--class"), ({"preset": "cpd"}, "--preset cpd")],
)
def test_settings_of_objects_are_refused(more, says):
    with pytest.raises(UsageError, match=says):
        settings(**more)


def test_settings_of_label_pictures_need_the_task():
    with pytest.raises(UsageError, match="--task semantic"):
        CompareSettings(metric="accuracy")


def test_sets_without_label_pictures_or_predictions_are_refused(sets, tmp_path):
    plain = paint_streets(tmp_path / "plain", 2)
    with pytest.raises(SimjudgeError, match="no predicted label pictures"):
        compare_sets(sets[0], plain, settings())
    for file in (plain / "semantic").iterdir():
        file.unlink()
    with pytest.raises(SimjudgeError, match="no label pictures"):
        compare_sets(sets[0], plain, settings())


def test_a_label_picture_of_another_size_is_counted_and_left_out(tmp_path):
    folder = paint_streets(tmp_path / "odd", 3)
    first = min((folder / "semantic").iterdir())
    cv2.imwrite(str(first), np.zeros((10, 10), np.uint8))
    read = read_set(folder)
    assert not read.semantic.has(0)
    assert "1 label picture of another size" in read.losses.lines()[0]


@pytest.mark.parametrize(
    ("name", "train_id"),
    [("road", 0), ("Traffic_Light", 6), ("SUVPickupTruck", 13), ("Tree", 8), ("Void", None), ("cone", None)],
)
def test_classes_of_streets_have_the_train_ids_of_cityscapes(name, train_id):
    assert street_train_id(name) == train_id
    assert UNLABELLED == 255


def test_simulations_are_ranked_by_their_label_pictures(sets):
    how = {"task": "semantic", "patch": (PATCH, PATCH), "theta": 0.6, "draws": 50, "block": 0}
    found = rank(sets[0], [sets[1], sets[0]], **how)
    assert [one.name for one in found.simulations] == ["a", "b"]
    direct = compare_sets(sets[0], sets[1], settings()).result.numbers.overall
    assert found.simulations[1].numbers.overall.mean_w1 == pytest.approx(direct.mean_w1)
