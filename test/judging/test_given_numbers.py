"""A performance of one's own: equal numbers where it is the IoU, ranges, whole frames, features, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from own_number_sets import box_set, write_rows
from scipy.stats import wasserstein_distance

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.sets import write_set
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.given_numbers import JudgedObject
from simjudge.judging.performance_source import OwnPerformance, parse_performance

SETTINGS = CompareSettings(patch=(60, 60), theta=0.7, draws=60)


def sets() -> tuple[FrameSet, FrameSet]:
    return box_set(1, "set1"), box_set(2, "set2", shift=6)


def content(a, b, **changed):
    return compare_sets(a, b, replace(SETTINGS, **changed)).content()


def without_recall(entry):
    return {key: value for key, value in entry.items() if key not in {"recall_a", "recall_b"}}


def numbers(found):
    by_class = {key: without_recall(entry) for key, entry in found["by_class"].items()}
    found = {**found, "by_class": by_class, "overall": without_recall(found["overall"])}
    return {key: found[key] for key in ("by_class", "overall", "balance", "where", "measures", "confusion", "control")}


def iou_rows(a, b, column="fit", change=lambda value: value):
    table = compare_sets(a, b, SETTINGS).contexts.table.to_pylist()
    return [{"frame": r["frame"], "object": r["object"], column: change(r["performance"])} for r in table]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_column_equal_to_the_iou_gives_the_same_numbers_to_the_last_bit(tmp_path, ending):
    a, b = sets()
    path = write_rows(tmp_path / f"fit{ending}", iou_rows(a, b))
    own = content(a, b, performance=f"{path}:0:1")
    assert repr(numbers(own)) == repr(numbers(content(a, b)))
    assert own["parameters"]["metric"] == "fit"
    assert own["parameters"]["performance"] == {
        "name": "fit",
        "source": str(path),
        "low": 0.0,
        "high": 1.0,
        "lower": False,
        "stated": True,
    }


def test_a_function_equal_to_the_iou_gives_the_same_numbers_to_the_last_bit():
    a, b = sets()
    own = content(a, b, performance=lambda judged, _: judged.iou)
    assert repr(numbers(own)) == repr(numbers(content(a, b)))
    assert own["parameters"]["performance"]["stated"] is False


def test_a_scaled_and_turned_performance_gives_the_same_gap_in_shares_of_its_range(tmp_path):
    a, b = sets()
    path = write_rows(tmp_path / "error.csv", iou_rows(a, b, "error", lambda value: 8 * (1 - value)))
    own, plain = content(a, b, performance=f"{path}:error:0:8:lower")["overall"], content(a, b)["overall"]
    for key in ("gap", "gap_low", "gap_high", "mean_w1", "noise", "mean_performance_a", "p_value"):
        if key in plain:
            assert own[key] == pytest.approx(plain[key], abs=1e-9), key
    assert own["verdict"] == plain["verdict"]


def test_mean_w1_of_a_function_is_that_of_a_naive_loop():
    a, b = sets()

    def height(judged: JudgedObject, predictions) -> float:
        return judged.box[3] - judged.box[1] + 5 * len(predictions)

    compared = compare_sets(a, b, replace(SETTINGS, draws=0, performance=OwnPerformance(height, 0, 100)))
    values = []
    for frames in (a, b):
        count = np.bincount(
            frames.predictions.frame[frames.predictions.score >= SETTINGS.method.min_score], minlength=len(frames)
        )
        values.append(frames.objects.box[:, 3] - frames.objects.box[:, 1] + 5 * count[frames.objects.frame])

    def painted(frames, row):
        x0, y0, x1, y1 = np.floor(frames.objects.box[row] + 0.5)
        ox, oy = (x0 + x1) // 2 - 30, (y0 + y1) // 2 - 30
        planes = np.zeros((3, 240 + 200, 240 + 200), bool)
        for other in np.flatnonzero(frames.objects.frame == frames.objects.frame[row]):
            p = np.clip(np.floor(frames.objects.box[other] + 0.5), 0, 240).astype(int)
            planes[frames.objects.class_id[other], p[1] + 100 : p[3] + 100, p[0] + 100 : p[2] + 100] = True
        ox, oy = int(ox) + 100, int(oy) + 100
        return planes[:, oy : oy + 60, ox : ox + 60]

    cut = [[painted(frames, row) for row in range(len(frames.objects))] for frames in (a, b)]
    w1 = []
    for row in range(len(a.objects)):
        similar = []
        for frames, patches in zip((a, b), cut, strict=True):
            same = np.flatnonzero(frames.objects.class_id == a.objects.class_id[row])
            likeness = [(patches[i] & cut[0][row]).sum() / (patches[i] | cut[0][row]).sum() for i in same]
            similar.append(same[np.array(likeness) >= 0.7])
        if len(similar[1]):
            w1.append(wasserstein_distance(values[0][similar[0]], values[1][similar[1]]))
    assert compared.result.numbers.overall.mean_w1 == pytest.approx(np.mean(w1) / 100)


def test_a_range_that_is_not_stated_is_found_and_said(tmp_path):
    a, b = sets()
    path = write_rows(tmp_path / "ms.csv", iou_rows(a, b, "ms", lambda value: 20 + 30 * value))
    lines: list[str] = []
    found = compare_sets(a, b, replace(SETTINGS, performance=str(path)), log=lines.append)
    stated = found.result.performance
    assert (stated.low, stated.stated) == (20.0, False)
    assert stated.high == pytest.approx(50, abs=3)
    assert any("ms" in line and "found in both sets" in line for line in lines)


def test_sets_need_no_predictions(tmp_path):
    a, b = sets()
    path = write_rows(tmp_path / "fit.csv", iou_rows(a, b))
    bare = [frames.with_predictions(None) for frames in (a, b)]
    own, plain = content(*bare, performance=f"{path}:0:1"), content(a, b)
    assert own["overall"]["mean_w1"] == plain["overall"]["mean_w1"]
    assert own["overall"]["gap"] == plain["overall"]["gap"]
    assert "measures" not in own or not own["measures"]


def test_a_table_beside_each_set_and_instances_as_keys(tmp_path):
    a, b = sets()
    rows = iou_rows(a, b)
    for name, frames in (("a", a), ("b", b)):
        write_set(frames, tmp_path / f"{name}.json")
        names = set(frames.frame_name)
        own = [
            {"image": f"{row['frame']}.png", "instance": row["object"], "fit": row["fit"]}
            for row in rows
            if row["frame"] in names
        ]
        write_rows(tmp_path / f"{name}.performance.csv", own)
    own = content(tmp_path / "a.json", tmp_path / "b.json", performance="fit:0:1")
    plain = content(tmp_path / "a.json", tmp_path / "b.json")
    assert repr(numbers(own)) == repr(numbers(plain))


def test_classes_are_chosen_after_objects_are_numbered(tmp_path):
    a, b = sets()
    path = write_rows(tmp_path / "fit.csv", iou_rows(a, b))
    own = content(a, b, performance=f"{path}:0:1", classes=("class 2",))
    plain = content(a, b, classes=("class 2",))
    assert own["overall"]["mean_performance_a"] == plain["overall"]["mean_performance_a"]


def test_objects_without_a_number_are_left_out_and_counted(tmp_path):
    a, b = sets()
    rows = iou_rows(a, b)
    rows[3]["fit"] = ""
    del rows[10]
    found = content(a, b, performance=f"{write_rows(tmp_path / 'fit.csv', rows)}:0:1")
    assert found["overall"]["n_a"] == len(a.objects) - 2
    assert any(line.startswith("2 objects without a number or features of one's own") for line in found["losses"])


def test_a_function_may_give_no_number():
    a, b = sets()
    missing = iter(range(10_000))
    found = content(a, b, performance=lambda judged, _: float("nan") if next(missing) == 5 else judged.iou)
    assert found["overall"]["n_a"] == len(a.objects) - 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[4].update(fit="fast"), r"row 6: fit fast: is not a number"),
        (lambda rows: rows[4].update(fit="inf"), r"row 6: fit inf: is not finite"),
        (lambda rows: rows[4].update(object="-1"), r"row 6: object -1: is not a whole number from 0 on"),
        (lambda rows: rows[4].update(object=77), r"row 6: set1: frame set1_001 has no object 77; it has 4 objects"),
        (lambda rows: rows.append(dict(rows[0])), r"row \d+: row 2 gives the same one a number"),
        (
            lambda rows: rows[4].update(fit=1.5),
            r"1 numbers of set1 lie outside of 0 to 1, first 1.5 \(set1_001, object",
        ),
        (lambda rows: [row.pop("object") for row in rows], r"has no column object or instance"),
        (lambda rows: [row.pop("frame") for row in rows], r"has no column frame or image"),
        (lambda rows: [row.update(frame="x") for row in rows], r"none of its rows is of set1"),
        (lambda rows: [row.update(other=1) for row in rows], r"has columns fit, other; write FILE:COLUMN"),
    ],
)
def test_bad_tables_are_refused_by_row_and_remedy(tmp_path, change, message):
    a, b = sets()
    rows = iou_rows(a, b)
    change(rows)
    with pytest.raises(SimjudgeError, match=message):
        content(a, b, performance=f"{write_rows(tmp_path / 'fit.csv', rows)}:0:1")


def test_rows_that_may_be_of_either_set_are_refused(tmp_path):
    a, b = sets()
    b = replace(b, frame_name=a.frame_name)
    rows = [{"frame": name, "object": i, "fit": 0.5} for name in a.frame_name for i in range(4)]
    path = write_rows(tmp_path / "fit.csv", rows)
    with pytest.raises(SimjudgeError, match="row 2: frame set1_000 is in both sets; add a column set"):
        content(a, b, performance=f"{path}:0:1")
    both = [{**row, "set": side} for side in "ab" for row in rows]
    found = content(a, b, performance=f"{write_rows(path, both)}:0:1")
    assert found["overall"]["mean_performance_a"] == 0.5
    both[5]["set"] = "c"
    with pytest.raises(SimjudgeError, match="row 7: set c is neither a nor b, nor set1 or set2"):
        content(a, b, performance=f"{write_rows(path, both)}:0:1")


@pytest.mark.parametrize(
    ("text", "source", "column", "low", "high", "lower"),
    [
        ("x.csv", "x.csv", "", None, None, False),
        ("x.csv:depth", "x.csv", "depth", None, None, False),
        ("x.csv:depth:0:5:lower", "x.csv", "depth", 0, 5, True),
        ("x.parquet:-1:1", "x.parquet", "", -1, 1, False),
        ("depth:lower", "depth", "", None, None, True),
        ("depth:0:2.5", "depth", "", 0, 2.5, False),
    ],
)
def test_the_option_is_read_and_written(text, source, column, low, high, lower):
    found = parse_performance(text)
    assert (found.source, found.column, found.low, found.high, found.lower) == (source, column, low, high, lower)
    assert parse_performance(found.text()) == found


@pytest.mark.parametrize("text", ["", ":0:1", "depth:x", "x.csv:a:1:0"])
def test_an_option_that_says_nothing_is_refused(text):
    with pytest.raises(UsageError, match="performance"):
        parse_performance(text)


def frame_sets(seed=0):
    """Two sets whose frames have one of three layouts, and a number that depends on the layout."""
    random = np.random.default_rng(seed)
    out = []
    for name in ("real", "sim"):
        layout = random.integers(3, size=60)
        box = np.stack([10 + 60 * layout, np.full(60, 20), 50 + 60 * layout, np.full(60, 90)], axis=1)
        objects = Objects.build(np.arange(60), np.zeros(60, int), box)
        frames = FrameSet.build(
            name, [[200, 100]] * 60, objects, frame_name=[f"{name}{i}" for i in range(60)], class_names={0: "car"}
        )
        out.append((frames, layout, 10.0 * layout + random.uniform(0, 5, 60)))
    return out


def test_whole_frames_are_compared_by_their_labels_as_a_naive_loop_says(tmp_path):
    (a, layout_a, ms_a), (b, layout_b, ms_b) = frame_sets()
    rows = [
        {"frame": name, "ms": value}
        for frames, ms in ((a, ms_a), (b, ms_b))
        for name, value in zip(frames.frame_name, ms, strict=True)
    ]
    path = write_rows(tmp_path / "ms.csv", rows)
    found = content(a, b, performance=f"{path}:0:30:lower", contexts="frames", patch=None)
    right = np.mean([wasserstein_distance(ms_a[layout_a == k], ms_b[layout_b == k]) for k in layout_a]) / 30
    assert found["overall"]["mean_w1"] == pytest.approx(right)
    assert found["overall"]["n_a"] == 60
    assert found["overall"]["mean_performance_a"] == pytest.approx(np.mean((30 - ms_a) / 30))
    assert found["class_names"] == {"0": "frame"}
    assert found["parameters"]["contexts"] == "frames"


def test_a_function_of_whole_frames_sees_their_labels_and_predictions():
    a, b = sets()
    found = content(
        a, b, performance=lambda frame, predictions: len(predictions) / len(frame.labels), contexts="frames", theta=0.1
    )
    counts = np.bincount(a.predictions.frame, minlength=len(a))
    stated = found["parameters"]["performance"]
    shares = (counts / 4 - stated["low"]) / (stated["high"] - stated["low"])
    assert found["overall"]["mean_performance_a"] == pytest.approx(shares.mean())


def test_features_stand_for_patches_with_the_ratio_of_minima_to_maxima(tmp_path):
    (a, _, ms_a), (b, _, ms_b) = frame_sets()
    random = np.random.default_rng(4)
    vectors = [random.integers(0, 257, (60, 3)) / 256 for _ in range(2)]
    for each in vectors:
        each[0] = 1
    both = list(zip((a, b), vectors, strict=True))
    features = [
        {"frame": name, "dark": v[0], "mid": v[1], "light": v[2]}
        for frames, of_set in both
        for name, v in zip(frames.frame_name, of_set, strict=True)
    ]
    numbered = [
        {"frame": name, "ms": value}
        for frames, ms in ((a, ms_a), (b, ms_b))
        for name, value in zip(frames.frame_name, ms, strict=True)
    ]
    bare = [replace(frames, objects=Objects.empty()) for frames in (a, b)]
    found = content(
        *bare,
        performance=f"{write_rows(tmp_path / 'ms.csv', numbered)}:0:30",
        contexts="frames",
        features=write_rows(tmp_path / "vectors.csv", features),
        theta=0.7,
    )
    w1 = []
    for anchor in vectors[0]:
        similar = [np.minimum(v, anchor).sum(1) / np.maximum(v, anchor).sum(1) >= 0.7 for v in vectors]
        if similar[1].any():
            w1.append(wasserstein_distance(ms_a[similar[0]], ms_b[similar[1]]) / 30)
    assert found["overall"]["compared"] == len(w1)
    assert found["overall"]["mean_w1"] == pytest.approx(np.mean(w1))
    assert found["parameters"]["painted"] == "feature vectors"


def test_features_of_objects_replace_their_patches(tmp_path):
    a, b = sets()
    rows = [{**row, "fit": 1.0} for row in iou_rows(a, b)]
    found = content(a, b, features=write_rows(tmp_path / "same.csv", rows))
    for key in ("1", "2"):
        entry = found["by_class"][key]
        assert entry["mean_batch_a"] == entry["n_a"]
        assert entry["mean_batch_b"] == entry["n_b"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contexts": "frames"}, "needs a --performance"),
        ({"performance": "x", "metric": "score"}, "give it or --performance"),
        ({"performance": "x", "preset": "cpd"}, "preset cpd"),
        ({"performance": "x", "contexts": "frames", "paired": True}, "--paired: is of objects"),
        ({"performance": "x", "sensor": "lidar"}, "Python function"),
    ],
)
def test_settings_that_make_no_sense_together_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        CompareSettings(**settings)


def test_a_column_that_no_table_beside_the_sets_holds_is_refused():
    a, b = sets()
    with pytest.raises(UsageError, match="performance depth: no table lies beside set1"):
        content(a, b, performance="depth")


def test_visible_shares_of_labels_may_be_the_performance():
    a, b = sets()
    known = [replace(f, objects=replace(f.objects, visible=np.linspace(0, 1, len(f.objects)))) for f in (a, b)]
    assert content(*known, performance="visible")["overall"]["mean_performance_a"] == pytest.approx(0.5)


def test_losses_name_rows_of_no_frame(tmp_path):
    a, b = sets()
    rows = [{**row, "set": "a" if row["frame"] in a.frame_name else "b"} for row in iou_rows(a, b)]
    rows.append({"frame": "elsewhere", "object": 0, "fit": 0.1, "set": "a"})
    found = content(a, b, performance=f"{write_rows(tmp_path / 'fit.csv', rows)}:fit:0:1")
    assert any("1 row" in line and "not in set1" in line for line in found["losses"]), Losses
