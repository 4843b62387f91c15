"""A live session without ROS: what counts once, what is forgotten, what a journal brings back, what is left out."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_frames import made

from simjudge.core.errors import Losses, SimjudgeError, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set
from simjudge.judging.compare_settings import COUNT, IGNORE, CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.control import BackgroundComparison, ComparisonJob, compare_directions, with_control
from simjudge.judging.inputs import read_input
from simjudge.judging.live.frame_builder import LiveFrameBuilder
from simjudge.judging.live.journal import Journal
from simjudge.judging.live.judge import LiveMemory
from simjudge.judging.live.session import NOT_YET, LiveOptions, LiveSession, Resampling, load_reference
from simjudge.judging.live.stream_matching import NO_PARTNER, MatchedMessages, UnmatchedMessage
from simjudge.judging.pair import compare_pair
from simjudge.results.result_fields import read_result

SETTINGS = CompareSettings(theta=0.3, patch=120, draws=20)
NO_MASK = SimpleNamespace(x=0, y=0, width=0, height=0, bits=b"")
LIVE = made(2)


def messages(frames, index):
    """What a simulator and a detector publish of a frame."""
    names = [SimpleNamespace(id=k, name=name) for k, name in frames.class_names.items()]
    head = {"frame_name": "", "image_width": 640, "image_height": 480, "class_names": names}

    def items(table):
        for row in np.flatnonzero(table.frame == index):
            box = SimpleNamespace(**dict(zip(("x0", "y0", "x1", "y1"), table.box[row].tolist(), strict=True)))
            more = {"score": float(table.score[row])} if hasattr(table, "score") else {"instance_id": -1}
            class_id = int(table.class_id[row])
            yield SimpleNamespace(
                class_id=class_id, class_name=frames.class_names[class_id], box=box, mask=NO_MASK, **more
            )

    labels = SimpleNamespace(**head, objects=list(items(frames.objects)))
    return labels, SimpleNamespace(**head, detections=list(items(frames.predictions)))


def match(index, frames=LIVE, lap=0):
    return MatchedMessages(int(frames.stamp[index]), lap, *messages(frames, index))


@pytest.fixture(scope="module")
def side(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "real.json"
    write_set(made(1), path)
    return read_input(path, None, allow_outside=False)


def session(side, said=None, size=(0, 0), **plan):
    said = [] if said is None else said
    return LiveSession(LiveOptions(SETTINGS, **plan), side, LiveFrameBuilder(("labels", "boxes"), size), said.append)


def batch(side, frames, *, live_is_a=False):
    pair = (frames, side.frames) if live_is_a else (side.frames, frames)
    return with_control(compare_pair(*pair, SETTINGS), SETTINGS).numbers


@pytest.mark.parametrize("live_is_a", [False, True])
def test_the_result_is_the_batch_result_whatever_the_order(side, live_is_a):
    live = session(side, live_is_a=live_is_a)
    for index in (3, 0, 5, 1, 4, 2):
        live.add(match(index))
    compared = live.compared()
    assert compared.result.numbers == batch(side, LIVE, live_is_a=live_is_a)
    inputs = compared.inputs["a" if live_is_a else "b"]
    counts = [inputs[k] for k in ("format", "frames", "objects", "predictions", "units")]
    assert counts == ["live", 6, 24, 24, 3], "six frames tell not how long they go together: blocks of two"
    assert live.add(match(0)) is None


def test_a_verdict_at_every_look_is_kept_in_the_result_and_comes_back_from_the_journal(side, tmp_path):
    journal = tmp_path / "j"
    live = session(side, sequence_block=0.0, journal=journal)
    for index in range(6):
        live.add(match(index))
    entered = live.judge.sequence.state
    assert entered.blocks == 4, "a frame has nothing similar, and the block of the newest is open"
    live.compared().save(tmp_path / "r")
    kept = read_result(tmp_path / "r" / "result.json")["inputs"]["b"]["sequential"]
    assert (kept["blocks"], kept["verdict"], kept["block"]) == (4, "open", 0.0)
    live.close(finished=False)
    again = session(side, sequence_block=0.0, journal=journal)
    assert again.judge.sequence.state == entered
    again.judge.sequence.finish()
    assert str(again.judge.sequence.state).startswith("open after 5 blocks: live less reference ")
    assert session(side).judge.sequence is None
    again.reset()
    assert str(again.judge.sequence.state) == "no block of time is whole yet"
    again.close(finished=True)


def test_repeats_count_once_or_again_as_asked(side):
    once, again = session(side, on_jump=IGNORE), session(side, on_jump=COUNT)
    for lap in (0, 1):
        for index in range(6):
            once.add(match(index, lap=lap))
            again.add(match(index, lap=lap))
    assert (once.judge.frame_count, once.tally.repeated, once.tally.changed) == (6, 6, 0)
    assert (again.judge.frame_count, again.tally.repeated) == (12, 0)
    assert again.compared().result.numbers.overall.n_b == 48
    once.add(match(0, made(7, stamps=LIVE.stamp)))
    assert (once.tally.repeated, once.tally.changed) == (7, 1)
    assert (once.reset(), once.judge.frame_count) == (6, 0)
    once.add(match(0))
    assert once.judge.frame_count == 1


@settings(max_examples=12, deadline=None)
@given(st.permutations(range(6)), st.integers(0, 6), st.integers(0, 40))
def test_resumed_after_any_frame_and_any_cut_it_ends_the_same(tmp_path_factory, side, order, killed_after, cut):
    journal = tmp_path_factory.mktemp("journal") / "x.journal"
    first = session(side, journal=journal)
    first.count_unmatched(UnmatchedMessage(0, 77, NO_PARTNER))
    for index in order[:killed_after]:
        first.add(match(index))
    first.close(finished=False)
    with journal.open("r+b") as file:
        file.truncate(max(journal.stat().st_size - cut, 0))
    said = []
    second = session(side, said, journal=journal)
    assert second.resumed in (killed_after, max(killed_after - 1, 0))
    second.count_unmatched(UnmatchedMessage(0, 77, NO_PARTNER))
    for index in range(6):
        second.add(match(index))
    assert second.compared().result.numbers == batch(side, LIVE)
    assert second.losses().lines() == ["1 ground truth message without detections: 0.000 s"]
    second.close(finished=True)
    assert not journal.exists()


def numbered(index):
    """The frame with detections of vision_msgs that are called by number."""
    labels, found = messages(LIVE, index)
    number = {name: str(k + 50) for k, name in LIVE.class_names.items()}

    def vision(item):
        box = item.box
        at = SimpleNamespace(x=(box.x0 + box.x1) / 2, y=(box.y0 + box.y1) / 2)
        bounds = SimpleNamespace(
            center=SimpleNamespace(position=at, theta=0.0), size_x=box.x1 - box.x0, size_y=box.y1 - box.y0
        )
        guess = SimpleNamespace(class_id=number[item.class_name], score=item.score)
        return SimpleNamespace(bbox=bounds, results=[SimpleNamespace(hypothesis=guess)])

    array = SimpleNamespace(detections=[*map(vision, found.detections)])
    return MatchedMessages(int(LIVE.stamp[index]), 0, labels, array)


def test_detections_by_number_are_refused_and_counted_until_they_are_renamed(side, tmp_path):
    said, journal = [], tmp_path / "x.journal"
    live = session(side, said, journal=journal)
    assert [live.add(numbered(index)) for index in range(6)] == [None] * 6
    warnings = [line for line in said if line.startswith("warning: live: its predictions are of class 5")]
    assert len(warnings) == 1
    assert "say it with rename:=5" in warnings[0]
    assert live.refused == warnings[0].removeprefix("warning: ")
    (lost,) = live.losses().lines()
    assert lost.startswith("6 frames whose detections are called otherwise than the labels (set rename)")
    with pytest.raises(SimjudgeError, match="no live frame has come in"):
        live.compared()
    live.close(finished=False)
    # What came before is judged with the new names after a restart.
    rename = {str(k + 50): name for k, name in LIVE.class_names.items()}
    options = LiveOptions(replace(SETTINGS, rename=rename), journal=journal)
    again = LiveSession(options, side, LiveFrameBuilder(("labels", "boxes")), said.append)
    assert (again.refused, again.judge.frame_count) == (None, 6)
    compared, known = again.compared().result.numbers.overall, batch(side, LIVE).overall
    assert (compared.n_a, compared.n_b, compared.compared) == (known.n_a, known.n_b, known.compared)
    assert compared.mean_w1 == pytest.approx(known.mean_w1, abs=1e-9)
    again.close(finished=True)


def test_a_reference_whose_predictions_are_called_by_number_is_refused(tmp_path):
    frames = made(1)
    moved = replace(frames.predictions, class_id=frames.predictions.class_id + 50)
    write_set(replace(frames, predictions=moved), tmp_path / "real.json")
    options = LiveOptions(SETTINGS)
    with pytest.raises(SimjudgeError, match=r"its predictions are of class 5.* --rename 5"):
        load_reference(tmp_path / "real.json", None, options, no_log, no_progress)
    rename = {str(k + 50): name for k, name in frames.class_names.items()}
    options = LiveOptions(replace(SETTINGS, rename=rename))
    loaded = load_reference(tmp_path / "real.json", None, options, no_log, no_progress)
    assert loaded.frames.predictions.class_id.tolist() == frames.predictions.class_id.tolist()


def test_a_journal_of_other_parameters_is_refused(side, tmp_path):
    journal = tmp_path / "x.journal"
    first = session(side, journal=journal)
    first.add(match(0))
    first.close(finished=False)
    with pytest.raises(SimjudgeError, match="other parameters"):
        session(side, journal=journal, on_jump=COUNT)
    anew = session(side, journal=journal, on_jump=COUNT, resume=False)
    assert anew.resumed == 0
    anew.close(finished=True)


def test_a_journal_is_finished_with_other_settings_of_certainty_and_memory(side, tmp_path):
    journal = tmp_path / "x.journal"
    first = session(side, journal=journal)
    for index in range(6):
        first.add(match(index))
    first.close(finished=False)
    changed = replace(SETTINGS, draws=30, seed=5, block=2.0, margin=0.1)
    said = []
    options = LiveOptions(changed, journal=journal, memory=LiveMemory(keep=10_000))
    second = LiveSession(options, side, LiveFrameBuilder(("labels", "boxes"), (0, 0)), said.append)
    assert second.resumed == 6
    expected = with_control(compare_pair(side.frames, LIVE, changed), changed)
    assert second.compared().result.numbers == expected.numbers
    second.close(finished=True)


def test_the_plain_numbers_come_first_and_fewer_draws_are_said(side):
    live = session(side)
    for index in range(6):
        live.add(match(index))
    plain = live.compared(Resampling.LATER)
    assert plain.parameters["certainty"] == NOT_YET
    bare = replace(SETTINGS, draws=0)
    assert plain.result.numbers == compare_pair(side.frames, LIVE, bare).numbers
    assert "certainty" not in live.compared(Resampling.NEVER).parameters
    assert live.compared().result.numbers == batch(side, LIVE)
    many = LiveSession(
        LiveOptions(replace(SETTINGS, draws=100_000)),
        side,
        LiveFrameBuilder(("labels", "boxes"), (0, 0)),
        print,
    )
    for index in range(6):
        many.add(match(index))
    late = many.compared(deadline=0.0)
    overall = late.result.numbers.overall
    assert 0 < overall.draws < 100_000
    assert late.parameters["draws"] == overall.draws
    assert overall.mean_w1 == plain.result.numbers.overall.mean_w1


@pytest.mark.parametrize("sides", [(2**31, 2**31), (40_000, 40_000)])
def test_a_picture_that_nobody_decodes_is_left_out_and_the_rest_is_judged(side, sides):
    live = session(side)
    for index in range(6):
        live.add(match(index))
    hostile = replace(match(0), stamp=99 * 10**9)
    for message in (hostile.first, hostile.second):
        message.image_width, message.image_height = sides
    assert live.add(hostile) is None
    left_out = f"1 frame of pictures above 89 million pixels: labels 99.000 s, {sides[0]}x{sides[1]}"
    assert left_out in live.losses().lines()
    assert live.compared().result.numbers == batch(side, LIVE)


def test_a_frame_of_very_many_boxes_is_left_out_and_drives_nobody_out(side):
    live = session(side, memory=LiveMemory(keep=100))
    for index in range(3):
        live.add(match(index))
    assert live.add(match(0, replace_stamps(made(8, frames=1, per_frame=20_000)))) is None
    assert (live.judge.frame_count, live.judge.share) == (3, 1.0)
    assert "1 frame with more than 10 boxes: 99.000 s: 20000" in live.losses().lines()
    assert live.compared().inputs["b"]["frames"] == 3


def test_a_frame_whose_boxes_lie_above_each_other_is_left_out_also_after_a_kill(side, tmp_path, monkeypatch):
    journal = tmp_path / "x.journal"
    first = session(side, journal=journal)
    first.add(match(0))
    monkeypatch.setattr("simjudge.detectors.iou.MOST_PAIRS", 100)
    assert first.add(match(1, made(2, per_frame=30))) is None
    said = ["1 frame in which too many boxes lie above each other: 1.000 s"]
    assert (first.losses().lines(), first.judge.frame_count, first.judge.seen) == (said, 1, 1)
    first.close(finished=False)
    again = session(side, journal=journal)
    assert (again.losses().lines(), again.judge.frame_count, again.judge.seen) == (said, 1, 1)
    again.close(finished=True)


def replace_stamps(frames):
    return replace(frames, stamp=np.array([99 * 10**9]))


def test_another_reference_begins_anew_and_keeps_the_journal(side, tmp_path):
    journal = tmp_path / "x.journal"
    first = session(side, journal=journal)
    first.add(match(0))
    write_set(made(9), tmp_path / "other.json")
    second = first.with_reference(read_input(tmp_path / "other.json", None, allow_outside=False))
    assert second.judge.frame_count == 0
    second.add(match(1))
    second.close(finished=False)
    third = session(read_input(tmp_path / "other.json", None, allow_outside=False), journal=journal)
    assert third.resumed == 1
    third.close(finished=True)


def test_a_journal_that_cannot_be_written_does_not_stop_the_judging(side, tmp_path, monkeypatch):
    def full(_journal, _record):
        raise SimjudgeError("x.journal: the disk is full")

    live = session(side, journal=tmp_path / "x.journal")
    monkeypatch.setattr(Journal, "append", full)
    assert live.add(match(0)) is not None
    assert live.trouble == "x.journal: the disk is full"
    assert live.add(match(1)) is not None
    live.close(finished=True)


def test_what_is_left_out_is_counted_and_what_came_later_is_not(side):
    live = session(side)
    labels, boxes = messages(LIVE, 0)
    labels.objects[0].box.x1 = float("nan")
    live.add(MatchedMessages(5, 0, labels, boxes))
    labels, boxes = messages(LIVE, 1)
    boxes.image_width = 320
    live.add(MatchedMessages(6, 0, labels, boxes))
    labels, boxes = messages(LIVE, 2)
    labels.class_names[0].name = "traffic light"
    live.add(MatchedMessages(7, 0, labels, boxes))
    live.count_unmatched(UnmatchedMessage(1, 8, NO_PARTNER))
    live.count_unmatched(UnmatchedMessage(1, int(LIVE.stamp[3]), NO_PARTNER))
    live.add(match(3))
    kinds = {line.partition(":")[0] for line in live.losses().lines()}
    assert kinds == {
        "1 box with NaN or infinite coordinates",
        "1 detection message for another picture size",
        "1 frame whose messages contradict themselves",
        "1 detection message without ground truth",
    }
    assert live.judge.frame_count == 2
    assert sum(live.tally.unmatched_counts().values()) == 1


def test_messages_without_a_image_size(side):
    def vision(table):
        detections = []
        for row in np.flatnonzero(table.frame == 0):
            (x0, y0, x1, y1), kind = table.box[row], int(table.class_id[row])
            score = float(table.score[row]) if hasattr(table, "score") else 1.0
            guess = SimpleNamespace(class_id=LIVE.class_names[kind], score=score)
            centre = SimpleNamespace(position=SimpleNamespace(x=(x0 + x1) / 2, y=(y0 + y1) / 2), theta=0.0)
            box = SimpleNamespace(center=centre, size_x=x1 - x0, size_y=y1 - y0)
            detections.append(SimpleNamespace(bbox=box, results=[SimpleNamespace(hypothesis=guess)]))
        return SimpleNamespace(detections=detections)

    pair = (vision(LIVE.objects), vision(LIVE.predictions))
    losses = Losses()
    assert LiveFrameBuilder(("labels", "boxes")).build(5, *pair, losses) is None
    assert "image_size" in losses.lines()[0]
    live = session(side, size=(640, 480))
    judged = live.add(MatchedMessages(int(LIVE.stamp[0]), 0, *pair))
    wanted = LIVE.take([0])
    np.testing.assert_allclose(judged.frames.objects.box, wanted.objects.box)
    assert judged.frames.objects.class_id.tolist() == wanted.objects.class_id.tolist()


def test_apart_gives_what_it_gives_here(side):
    job = ComparisonJob(side.frames, LIVE, SETTINGS, both=True)
    apart = BackgroundComparison(job)
    assert apart.wait(120)
    assert apart.problem is None
    assert apart.numbers == compare_directions(job)
    assert apart.numbers.backward == compare_pair(LIVE, side.frames, SETTINGS).numbers


def test_apart_says_why_it_failed(side):
    bare = FrameSet.build("bare", [[64, 48]], Objects.empty(), Predictions.empty())
    apart = BackgroundComparison(ComparisonJob(side.frames, bare, SETTINGS, both=False))
    assert apart.wait(120)
    assert apart.numbers is None
    assert "holds no labelled object" in apart.problem
    stopped = BackgroundComparison(ComparisonJob(side.frames, LIVE, SETTINGS, both=False))
    stopped.stop()
    assert stopped.done
    assert stopped.numbers is None


HOLDER = """
import sys, time
from simjudge.data.sets import read_set
from simjudge.judging.control import BackgroundComparison, ComparisonJob
from simjudge.judging.compare_settings import CompareSettings

if __name__ == "__main__":
    frames = read_set(sys.argv[1])
    job = ComparisonJob(frames, frames, CompareSettings(theta=0.3, draws=100_000), both=True)
    apart = BackgroundComparison(job)
    time.sleep(600)
"""


def workers(parent):
    """The processes that do jobs for a process: its children at lower priority."""
    out = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # See proc(5): the state is the third field, the parent the fourth, the niceness the nineteenth.
        if fields[0] != "Z" and int(fields[1]) == parent and int(fields[16]) > os.nice(0):
            out.append(each.parent)
    return out


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
def test_apart_ends_with_the_process_that_started_it(tmp_path):
    write_set(made(1, frames=200), tmp_path / "set.json")
    (tmp_path / "holder.py").write_text(HOLDER)
    holder = subprocess.Popen([sys.executable, tmp_path / "holder.py", tmp_path / "set.json"])
    try:
        until(lambda: workers(holder.pid) or holder.poll() is not None)
        (worker,) = workers(holder.pid)
    finally:
        holder.kill()
        holder.wait()
    until(lambda: not worker.exists())


def test_only_some_classes_are_judged(side):
    """As in a comparison of two sets, which is the same as taking the others away by hand."""
    chosen = replace(SETTINGS, classes=("Post",))
    live = LiveSession(LiveOptions(chosen), side, LiveFrameBuilder(("labels", "boxes")), lambda _: None)
    for index in range(len(LIVE)):
        live.add(match(index))
    expected = compare_sets(side.frames, LIVE, chosen).result.numbers
    assert list(expected.by_class) == ["1"]
    found = live.judge.numbers()
    for name in ("n_a", "n_b", "compared", "mean_w1", "overlap_a", "false_positives_b"):
        assert getattr(found.overall, name) == getattr(expected.overall, name)
    assert live.compared().result.numbers.by_class == expected.by_class
    assert live.parameters()["classes"] == ["Post"]
    with pytest.raises(SimjudgeError, match="--class past: no set has this class; is post meant"):
        LiveSession(LiveOptions(replace(SETTINGS, classes=("past",))), side, LiveFrameBuilder(("a", "b")), print)


def test_frames_without_class_names_say_once_what_their_numbers_mean(side):
    said = []
    nameless = replace(LIVE, class_names={})
    live = session(side, said)
    for index in range(2):
        live._judge((0, index), nameless.take([index]), Losses())
    assert len(said) == 1
    assert "has no class names: its numbers are taken for those of real (0 = cone, 1 = post)" in said[0]


@pytest.mark.parametrize("class_id", [-7, 2**31, 2**63 - 1])
@pytest.mark.parametrize("where", ["labels", "detections"])
def test_a_class_id_that_no_result_can_hold_is_counted_and_the_result_can_be_read(side, tmp_path, class_id, where):
    running = session(side, journal=tmp_path / "journal")
    for index in range(len(LIVE)):
        labels, detections = messages(LIVE, index)
        items = labels.objects if where == "labels" else detections.detections
        if index == 2:
            items[0].class_id, items[0].class_name = class_id, "monster"
            labels.class_names.append(SimpleNamespace(id=class_id, name="monster"))
        running.add(MatchedMessages(int(LIVE.stamp[index]), 0, labels, detections))
    running.close(finished=False)
    restored = session(side, journal=tmp_path / "journal")
    restored.close(finished=False)
    for one in (running, restored):
        assert one.losses().counts["class ids that are not a whole number from 0 to 2147483647"] == 1
        (tmp_path / "result.json").write_text(json.dumps(one.compared().content()))
        assert read_result(tmp_path / "result.json")["overall"]["compared"] > 0


def test_a_name_beside_the_largest_class_id_gets_a_number_that_is_free():
    labels, detections = messages(LIVE, 0)
    labels.class_names = detections.class_names = []
    for item in labels.objects:
        item.class_id, item.class_name = 2**31 - 1, "cone"
    boxes = [
        SimpleNamespace(
            bbox=SimpleNamespace(center=SimpleNamespace(x=9.0, y=9.0, theta=0.0), size_x=4.0, size_y=4.0),
            results=[SimpleNamespace(id="post", score=0.5)],
        )
    ]
    losses = Losses()
    frame = LiveFrameBuilder(("labels", "boxes")).build(1, labels, SimpleNamespace(detections=boxes), losses)
    assert not losses
    assert frame.class_names == {0: "post", 2**31 - 1: "cone"}
    assert frame.predictions.class_id.tolist() == [0]
