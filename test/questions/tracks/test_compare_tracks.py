"""A tracker in reality and in simulation: what is read, measured, concluded, written and said."""

import json
from dataclasses import replace

import numpy as np
import pytest
from track_samples import made_tracks, toy, write_mot
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.tracking_scores import NOT_SCORED, read_track_pair, score_tracks
from simjudge.method.verdicts import GAPS, Verdict
from simjudge.questions.tracks.page import TRACKS_PAGE, kinds_table
from simjudge.questions.tracks.result import load_tracks
from simjudge.questions.tracks.run import box_motion, compare_sequences
from simjudge.questions.tracks.settings import ASSOCIATION, DETECTION, IDENTITY, METRICS, TrackSettings

QUICK = TrackSettings(draws=100)


def as_set(name, boxes, frames=100):
    objects = Objects.build(boxes.frame, boxes.class_id, boxes.box, boxes.track)
    return FrameSet.build(name, np.full((frames, 2), 500), objects, class_names={1: "person"})


def pairs(first, count=6, **changed):
    return [
        tuple(as_set(f"{words}_{seed}", boxes) for words, boxes in zip(("truth", "tracks"), made, strict=True))
        for seed in range(first, first + count)
        for made in [made_tracks(seed, **changed)]
    ]


def verdicts(found):
    return {each.metric.name: each.certainty.verdict for each in found.results}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Six real and six simulated sequences as the MOT Challenge has them; the simulated ones switch more."""
    root, out = tmp_path_factory.mktemp("mot"), []
    for name, first, switch in (("real", 0, 0.03), ("sim", 50, 0.4)):
        side = []
        for seed in range(first, first + 6):
            folder = root / f"{name}_{seed}"
            (folder / "gt").mkdir(parents=True)
            truth, tracks = made_tracks(seed, switch=switch)
            write_mot(folder / "gt" / "gt.txt", truth, is_truth=True)
            write_mot(folder / "tracks.txt", tracks, is_truth=False)
            side.append(str(folder))
        out.append(side)
    return out


@pytest.fixture(scope="module")
def result(folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("result") / "out"
    words = ["compare-tracks", *folders[0], "--", *folders[1], "--out", str(out), "--draws", "100"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output + str(done.exception)
    assert "Large gap: HOTA 0." in done.output
    return out


def test_texts_and_sets_give_the_scores_of_the_tracks(folders):
    expected = score_tracks(*made_tracks(0)).counts.scores()
    both = made_tracks(0)
    forms = [
        folders[0][0],
        f"{folders[0][0]}/gt/gt.txt,{folders[0][0]}/tracks.txt",
        (f"{folders[0][0]}/gt/gt.txt", f"{folders[0][0]}/tracks.txt"),
        (as_set("truth", both[0]), as_set("tracks", both[1])),
    ]
    for form in forms:
        found = compare_sequences([form], [form], TrackSettings(draws=0))
        assert found.sequences[0][0].scored.counts.scores() == pytest.approx(expected)


def test_distractors_and_unmarked_rows_of_the_mot_challenge_do_not_count(tmp_path):
    rows = [
        "1,1,10,10,20,40,1,1,1",  # a pedestrian
        "1,2,100,10,20,40,0,1,1",  # one that is not to be scored
        "1,3,200,10,20,40,1,8,1",  # a distractor
        "1,4,300,10,20,40,1,3,1",  # a car
    ]
    (tmp_path / "gt.txt").write_text("\n".join(rows))
    found = [f"1,{k},{left},10,20,40,0.9,-1,-1,-1" for k, left in ((11, 10), (12, 200), (13, 300))]
    (tmp_path / "tracks.txt").write_text("\n".join(found))
    scored = compare_sequences([tmp_path], [tmp_path], TrackSettings(draws=0)).sequences[0][0]
    assert scored.pair.truth.track.tolist() == [1]
    assert scored.pair.tracks.track.tolist() == [11, 13]  # what follows the distractor neither gains nor loses
    assert scored.scored.counts.scores()["MOTA"] == 0.0
    assert dict(scored.pair.losses.counts) == {NOT_SCORED: 1}
    (tmp_path / "labels.txt").write_text("cone\npole\nbarrel\n" + "x\n" * 4 + "cat\n")  # as CVAT exports names
    scored = compare_sequences([tmp_path], [tmp_path], TrackSettings(draws=0)).sequences[0][0]
    assert scored.pair.tracks.track.tolist() == [11, 12, 13]  # a class of the MOT Challenge by number alone
    assert "(class barrel, cat; class 1, cone, is scored)" in scored.pair.losses.lines()[0]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (0, None),
        (-1, "tracks.txt, line 1: frame 0, and the MOT Challenge counts from 1; add 1 to each frame"),
        (-2, "tracks.txt, line 1: frame -1, and"),
        (1, "better one frame off (mean IoU 1.000 in place of 0.600); subtract 1 from each of its frames"),
    ],
)
def test_frames_that_are_numbered_differently_are_refused(tmp_path, by, said):
    boxes = toy([(0, 10, 1)])
    moving = replace(boxes, box=boxes.box + 2.5 * np.arange(10)[:, np.newaxis] * [1, 0, 1, 0])
    write_mot(tmp_path / "gt.txt", moving, is_truth=True)
    write_mot(tmp_path / "tracks.txt", replace(moving, frame=moving.frame + by), is_truth=False)
    if said is None:
        assert read_track_pair(tmp_path).name == tmp_path.name
    else:
        with pytest.raises(SimjudgeError) as error:
            read_track_pair(tmp_path)
        assert said in str(error.value)


def test_tracks_that_begin_later_are_known_by_their_fit_and_true_ones_never_refused(tmp_path):
    for seed in range(5):
        truth, tracks = made_tracks(seed, switch=0, shift=0.02)
        write_mot(tmp_path / "gt.txt", truth, is_truth=True)
        for by, said in ((0, None), (1, "subtract 1"), (-1, "add 1 to each")):
            kept = tracks.take(np.flatnonzero(tracks.frame > 0))
            write_mot(tmp_path / "tracks.txt", replace(kept, frame=kept.frame + by), is_truth=False)
            if said is None:
                read_track_pair(tmp_path)
            else:
                with pytest.raises(SimjudgeError, match=said):
                    read_track_pair(tmp_path)


@pytest.mark.parametrize("file", ["gt.txt", "tracks.txt"])
def test_an_id_twice_in_a_frame_of_a_text_is_refused_by_its_lines(tmp_path, file):
    for name in ("gt.txt", "tracks.txt"):
        write_mot(tmp_path / name, toy([(0, 3, 1)]), is_truth=name == "gt.txt")
    (tmp_path / file).write_text((tmp_path / file).read_text() + "2,1,300,10,20,40,1,3,1\n")
    with pytest.raises(SimjudgeError, match=rf"{file}, lines 2 and 4: track 1 has two boxes in frame 2; number them"):
        read_track_pair(tmp_path)


def test_sequences_of_one_name_are_told_apart_by_their_folders(tmp_path):
    sources = []
    for folder in ("day/gt", "night", "a/rain", "b/rain"):
        (tmp_path / folder).mkdir(parents=True)
        truth = write_mot(tmp_path / folder / "gt.txt", toy([(0, 3, 1)]), is_truth=True)
        sources.append((truth, write_mot(tmp_path / folder / "found.txt", toy([(0, 3, 1)]), is_truth=False)))
    names = compare_sequences(sources, sources[:2], TrackSettings(draws=0)).run_names
    assert names[0][:2] == names[1] == ["day", "night"]
    assert [name.removeprefix(f"{tmp_path}/") for name in names[0][2:]] == ["a/rain/gt", "b/rain/gt"]


@pytest.mark.parametrize("rest", ["-1,-1,-1", "4.5,8,0", "-1,-1"])
def test_boxes_of_mot15_have_no_class_and_are_pedestrians(tmp_path, rest):
    """Its columns 8 to 10 are a place in the world, which no class of MOT16 is to be read from."""
    rows = [f"1,1,10,10,20,40,1,{rest}", f"1,2,100,10,20,40,0,{rest}", f"2,1,12,10,20,40,1,{rest}"]
    (tmp_path / "gt.txt").write_text("\n".join(rows))
    (tmp_path / "tracks.txt").write_text("1,7,10,10,20,40,0.9,-1,-1,-1\n2,7,12,10,20,40,0.9,-1,-1,-1")
    found = compare_sequences([tmp_path], [tmp_path], TrackSettings(draws=0))
    scored = found.sequences[0][0]
    assert scored.pair.truth.track.tolist() == [1, 1]
    assert scored.scored.counts.scores()["MOTA"] == 1.0
    assert "6 labelled boxes of MOT15 texts have no class: they are pedestrians" in found.notes
    assert not found.losses


@pytest.mark.parametrize("rest", ["-1,1", "-1,-1,-1"])
def test_a_box_of_class_none_among_others_is_left_out_and_counted(tmp_path, rest):
    (tmp_path / "gt.txt").write_text(f"1,1,10,10,20,40,1,1,1\n1,2,100,10,20,40,1,{rest}")
    (tmp_path / "tracks.txt").write_text("1,7,10,10,20,40,0.9,-1,-1,-1")
    found = compare_sequences([tmp_path], [tmp_path], TrackSettings(draws=0))
    assert found.sequences[0][0].pair.truth.track.tolist() == [1]
    assert found.losses.counts["labelled boxes whose class is -1"] == 2
    assert not any("MOT15" in note for note in found.notes)


def test_a_like_tracker_is_told_apart_by_nothing_and_planted_gaps_are_found_where_they_are():
    real = pairs(0, 8)
    like = compare_sequences(real, pairs(50, 8), QUICK)
    assert not set(verdicts(like).values()) & set(GAPS)
    switching = verdicts(compare_sequences(real, pairs(50, 8, switch=0.4), QUICK))
    assert switching[ASSOCIATION] == Verdict.LARGE_GAP
    assert switching[IDENTITY] == Verdict.LARGE_GAP
    assert switching[DETECTION] not in GAPS
    missing = verdicts(compare_sequences(real, pairs(50, 8, miss=0.4), QUICK))
    assert missing[DETECTION] == Verdict.LARGE_GAP


def test_motion_is_the_way_by_frame_in_heights():
    truth, _ = made_tracks(3)
    found = box_motion(truth)
    for row in range(len(truth)):
        same = (truth.track == truth.track[row]) & (truth.frame < truth.frame[row])
        if same.any():
            last = np.flatnonzero(same)[-1]
            step = np.linalg.norm(truth.box[row, :2] + truth.box[row, 2:] - truth.box[last, :2] - truth.box[last, 2:])
            height = truth.box[row, 3] - truth.box[row, 1]
            assert found[row] == pytest.approx(step / 2 / (truth.frame[row] - truth.frame[last]) / height)


def test_the_command_equals_python(result, folders):
    found = sj.compare_tracks(*folders, draws=100)
    saved = json.loads((result / "tracks.json").read_text())
    assert json.loads(json.dumps(found.content["metrics"])) == [
        {key: row.get(key) for key in found.content["metrics"][0]} for row in saved["metrics"]
    ]
    again = sj.load_result(result)
    assert str(again) == str(found)
    assert again.scores == saved["scores"]
    table = again.saved.tables["samples.parquet"]
    for row in saved["metrics"]:
        assert np.nanmean(table[f"w1 {row['metric']}"]) == pytest.approx(row["mean_w1"], rel=1e-12)
        assert row["unit"] == ""


def test_a_gap_fails_the_command_where_it_is_asked_to(folders, tmp_path):
    words = ["compare-tracks", *folders[0], "--", *folders[1], "--out", str(tmp_path / "out"), "--draws", "100"]
    done = CliRunner().invoke(app, [*words, "--fail-on", "gap"])
    assert done.exit_code == 4
    assert "association (HOTA)" in done.output


def test_the_page_shows_scores_kinds_and_sequences(result, tmp_path):
    done = CliRunner().invoke(app, ["report", str(result), "--out", str(tmp_path / "x.html")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "x.html").read_text()
    for words in (
        "Does the tracker do in simulation as in reality?",
        "Large gap",
        "By kind of box",
        "real_0",
        *METRICS,
    ):
        assert words in page
    saved = load_tracks(result)
    assert len([row for row in kinds_table(saved) if not isinstance(row, str)]) >= 6
    assert "<h1>Mine</h1>" in TRACKS_PAGE.render(saved, result, "Mine")


def test_what_cannot_be_compared_is_refused_in_a_line(tmp_path):
    truth, tracks = made_tracks(0)
    good = (as_set("truth", truth), as_set("tracks", tracks))
    nothing = tmp_path / "empty.txt"
    nothing.write_text("")
    cars = tmp_path / "cars.txt"
    cars.write_text("1,4,300,10,20,40,1,3,1\n")
    other = FrameSet.build("other", [[500, 500]], good[1].objects.take(np.empty(0, np.int64)), frame_name=["else"])
    unnumbered = FrameSet.build("bare", np.full((100, 2), 500), Objects.build(truth.frame, truth.class_id, truth.box))
    cases = {
        "nowhere: does not exist; write TRUTH,TRACKS": "nowhere",
        "is one thing where two are needed; write TRUTH,TRACKS": str(tmp_path),
        "number frames differently": (str(nothing), good[1]),
        "holds no labelled box with a track number": (nothing, nothing),
        "holds no labelled box of class 1 or without class (left out: 1 labelled box of classes": (cars, nothing),
        "truth and other: no frame has the same name": (good[0], other),
        f"left out: {len(truth)} objects of bare without a track number": (unnumbered, good[1]),
    }
    for said, source in cases.items():
        with pytest.raises(SimjudgeError) as error:
            sj.compare_tracks([source], [good], draws=0)
        assert said in str(error.value)
    broken = tmp_path / "gt.txt"
    broken.write_text("1,1,10,10,20,40\n1,2,x,10,20,40\n1,3,10,10,0,40\n")
    write_mot(tmp_path / "tracks.txt", tracks, is_truth=False)
    found = compare_sequences([tmp_path], [good], TrackSettings(draws=0))
    assert any("1 row that is no box of a track: " in line and "line 2" in line for line in found.losses.lines())
    assert any("1 box without an area" in line for line in found.losses.lines())
    with pytest.raises(UsageError, match="--contexts light: name one or more of size"):
        TrackSettings(contexts=("light",))
