"""HOTA, MOTA and IDF1 against plain loops over their definitions, toy answers, and TrackEval where it is installed."""

import itertools

import numpy as np
import pytest
from track_samples import made_tracks, toy

from simjudge.core.errors import SimjudgeError
from simjudge.detectors.tracking_scores import ALPHAS, TrackBoxes, TrackingCounts, iou_matrix, score_tracks


def box_iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def best(score):
    """The assignment with the largest sum, by trying all of them: pairs (row, column)."""
    rows, columns = len(score), len(score[0]) if score else 0
    if rows <= columns:
        every = (list(enumerate(chosen)) for chosen in itertools.permutations(range(columns), rows))
    else:
        every = ([(r, c) for c, r in enumerate(chosen)] for chosen in itertools.permutations(range(rows), columns))
    return max(every, key=lambda pairs: sum(score[r][c] for r, c in pairs))


def by_frame(boxes):
    out = {}
    for frame, track, box in zip(boxes.frame.tolist(), boxes.track.tolist(), boxes.box.tolist(), strict=True):
        out.setdefault(frame, []).append((track, box))
    return out


def naive_hota(truth, tracks):
    real, found = by_frame(truth), by_frame(tracks)
    count_real = {k: (truth.track == k).sum() for k in set(truth.track.tolist())}
    count_found = {k: (tracks.track == k).sum() for k in set(tracks.track.tolist())}
    potential = dict.fromkeys(itertools.product(count_real, count_found), 0.0)
    for frame in real:
        table = [[box_iou(a, b) for _, b in found.get(frame, [])] for _, a in real[frame]]
        for i, (g, _) in enumerate(real[frame]):
            for j, (t, _) in enumerate(found.get(frame, [])):
                either = sum(table[i]) + sum(row[j] for row in table) - table[i][j]
                potential[g, t] += table[i][j] / either if either > 0 else 0
    align = {(g, t): p / (count_real[g] + count_found[t] - p) for (g, t), p in potential.items()}
    pairs = []
    for frame in real:
        seen = found.get(frame, [])
        if seen:
            table = [[align[g, t] * box_iou(a, b) for t, b in seen] for g, a in real[frame]]
            pairs += [(real[frame][i][0], seen[j][0], box_iou(real[frame][i][1], seen[j][1])) for i, j in best(table)]
    scores = []
    for alpha in ALPHAS:
        held = [(g, t) for g, t, iou in pairs if iou >= alpha - 1e-12]
        positive = len(held)
        detection = positive / (len(truth) + len(tracks) - positive)
        association = sum(
            held.count(pair) / (count_real[pair[0]] + count_found[pair[1]] - held.count(pair)) for pair in held
        )
        scores.append((detection * association / max(1, positive)) ** 0.5)
    return float(np.mean(scores))


def naive_mota(truth, tracks):
    real, found = by_frame(truth), by_frame(tracks)
    last, before, matches, switches = {}, {}, 0, 0
    for frame in real:
        seen = found.get(frame, [])
        if not seen:
            continue
        table = []
        for g, a in real[frame]:
            row = [box_iou(a, b) for _, b in seen]
            goes_on = [before.get(g) == t for t, _ in seen]
            table.append([0 if iou < 0.5 else iou + 1000 * on for iou, on in zip(row, goes_on, strict=True)])
        chosen = [(real[frame][i][0], seen[j][0]) for i, j in best(table) if table[i][j] > 0]
        switches += sum(g in last and last[g] != t for g, t in chosen)
        last.update(chosen)
        before = dict(chosen)
        matches += len(chosen)
    return (matches - (len(tracks) - matches) - switches) / len(truth), switches


def naive_idf1(truth, tracks):
    real, found = by_frame(truth), by_frame(tracks)
    ids, others = sorted(set(truth.track.tolist())), sorted(set(tracks.track.tolist()))
    common = [
        [
            sum(
                box_iou(a, b) >= 0.5
                for frame in real
                for g, a in real[frame]
                for t, b in found.get(frame, [])
                if (g, t) == pair
            )
            for pair in ((i, j) for j in others)
        ]
        for i in ids
    ]
    together = sum(common[r][c] for r, c in best(common))
    return 2 * together / (len(truth) + len(tracks))


@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_plain_loops(seed):
    truth, tracks = made_tracks(seed, frames=25, things=4)
    found = score_tracks(truth, tracks).counts.scores()
    assert found["HOTA"] == pytest.approx(naive_hota(truth, tracks), abs=1e-12)
    assert (found["MOTA"], found["switches"]) == pytest.approx(naive_mota(truth, tracks), abs=1e-12)
    assert found["IDF1"] == pytest.approx(naive_idf1(truth, tracks), abs=1e-12)


def test_a_perfect_tracker_scores_one_and_an_empty_one_none():
    truth, _ = made_tracks(1)
    found = score_tracks(truth, truth)
    for name in ("HOTA", "DetA", "AssA", "LocA", "MOTA", "MOTP", "IDF1", "IDR", "IDP"):
        assert found.counts.scores()[name] == pytest.approx(1.0)
    assert found.association == pytest.approx(1.0)
    nothing = score_tracks(truth, truth.take(np.empty(0, np.int64)))
    assert [nothing.counts.scores()[name] for name in ("HOTA", "MOTA", "IDF1")] == [0, 0, 0]
    assert nothing.association.max() == nothing.detection.max() == nothing.identity.max() == 0
    invented = score_tracks(truth.take(np.empty(0, np.int64)), truth)
    assert invented.counts.scores()["MOTA"] == -len(truth)


def test_a_track_that_is_cut_in_two_halves_has_the_answers_of_the_papers():
    # One thing for ten frames, followed perfectly under one number for six frames and under another for four.
    truth, tracks = toy([(0, 10, 1)]), toy([(0, 6, 1), (6, 10, 2)])
    found = score_tracks(truth, tracks)
    scores = found.counts.scores()
    assert scores["MOTA"] == pytest.approx(0.9)  # one switch
    assert scores["IDF1"] == pytest.approx(0.6)
    assert scores["AssA"] == pytest.approx((6 * 0.6 + 4 * 0.4) / 10)
    assert scores["HOTA"] == pytest.approx(0.52**0.5)
    assert found.association.tolist() == pytest.approx([0.6] * 6 + [0.4] * 4)
    assert found.identity.tolist() == [1.0] * 6 + [0.0] * 4


def test_sums_over_sequences_are_scores_of_all_of_them():
    parts = [score_tracks(*made_tracks(seed)) for seed in (1, 2)]
    boxes = [made_tracks(seed) for seed in (1, 2)]
    joined = [
        TrackBoxes(
            np.concatenate([boxes[0][k].frame, boxes[1][k].frame + 1000]),
            np.concatenate([boxes[0][k].track, boxes[1][k].track + 1000]),
            np.concatenate([boxes[0][k].box, boxes[1][k].box]),
            np.concatenate([boxes[0][k].class_id, boxes[1][k].class_id]),
        )
        for k in (0, 1)
    ]
    total = TrackingCounts.total([part.counts for part in parts]).scores()
    assert total == pytest.approx(score_tracks(*joined).counts.scores())


def test_boxes_of_two_classes_never_match():
    truth, _ = made_tracks(3)
    other = TrackBoxes(truth.frame, truth.track, truth.box, truth.class_id + 1)
    assert score_tracks(truth, other).counts.scores()["HOTA"] == 0
    np.testing.assert_allclose(np.diag(iou_matrix(truth.box, truth.box)), 1.0)


def test_one_number_twice_in_a_frame_is_refused():
    truth, _ = made_tracks(1)
    twice = TrackBoxes(truth.frame, truth.track * 0 + 7, truth.box, truth.class_id)
    with pytest.raises(SimjudgeError, match=r"seq: predicted track 7 has . boxes in frame .*; number them apart"):
        score_tracks(truth, twice, "seq")


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_trackeval(seed):
    pytest.importorskip("trackeval")
    from trackeval.metrics import CLEAR, HOTA, Identity  # noqa: PLC0415

    truth, tracks = made_tracks(seed, frames=60, things=8)
    data = {"num_timesteps": 60, "gt_ids": [], "tracker_ids": [], "similarity_scores": []}
    numbers = [np.unique(boxes.track, return_inverse=True)[1].reshape(-1) for boxes in (truth, tracks)]
    for frame in range(60):
        rows = [np.flatnonzero(boxes.frame == frame) for boxes in (truth, tracks)]
        data["gt_ids"].append(numbers[0][rows[0]])
        data["tracker_ids"].append(numbers[1][rows[1]])
        table = [[box_iou(a, b) for b in tracks.box[rows[1]]] for a in truth.box[rows[0]]]
        data["similarity_scores"].append(np.array(table, float).reshape(len(rows[0]), len(rows[1])))
    for name, boxes, number in (("gt", truth, numbers[0]), ("tracker", tracks, numbers[1])):
        data[f"num_{name}_dets"], data[f"num_{name}_ids"] = len(boxes), int(number.max()) + 1
    scores = score_tracks(truth, tracks).counts.scores()
    hota = HOTA().eval_sequence(data)
    for name in ("HOTA", "DetA", "AssA", "LocA"):
        assert scores[name] == pytest.approx(hota[name].mean(), abs=1e-9)
    clear = CLEAR({"PRINT_CONFIG": False}).eval_sequence(data)
    identity = Identity({"PRINT_CONFIG": False}).eval_sequence(data)
    assert (scores["MOTA"], scores["MOTP"]) == pytest.approx((clear["MOTA"], clear["MOTP"]), abs=1e-9)
    assert scores["switches"] == clear["IDSW"]
    for name in ("IDF1", "IDR", "IDP"):
        assert scores[name] == pytest.approx(identity[name], abs=1e-9)
