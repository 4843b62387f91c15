"""Units found against true units, in sequences of labels whose things are known."""

from dataclasses import replace

import label_sequences
import numpy as np
import pytest
from label_sequences import at_ten_hertz

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.assignment import Assignment
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.units.sampling_units import sample_units
from simjudge.method.verdicts import FEWEST_UNITS

OTHER = label_sequences.photographs(99, 30).judged()


def units(judged, other=OTHER, **options):
    found = sample_units(judged, other, block=options.pop("block", None), **options)
    for number, side in enumerate((judged, other)):
        assert len(found.unit[number]) == len(side.frames.objects)
        assert len(found.frame_unit[number]) == len(side.frames)
    assert sorted(set(np.concatenate(found.unit).tolist())) == list(range(found.count))
    assert sorted(set(np.concatenate(found.frame_unit).tolist())) == list(range(found.frame_unit_count))
    return found


def stamped(labels, **options):
    return labels.judged(stamp=at_ten_hertz(labels.frames), **options)


def changed(labels):
    """Boxes jitter by 2 px, and one label in twenty is missing."""
    return labels.changed(1, 2.0, 0.05)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("change", [lambda labels: labels, changed])
def test_five_laps_past_24_cones_are_about_24_units(seed, change):
    labels = change(label_sequences.laps(seed))
    true = labels.true_units()
    found = units(stamped(labels))
    assert 0.9 * true <= found.sides[0].count <= 1.25 * true
    assert found.sides[0].passes == 5
    assert "five times each" in found.sides[0].describe("A")
    numbered = units(stamped(labels, instance=labels.thing)).sides[0]
    assert true - 2 <= numbered.count <= true  # two may be seen in the very same frames


@pytest.mark.parametrize(
    ("labels", "least", "most"),
    [
        (label_sequences.slow_video(3), 19, 22),
        (changed(label_sequences.slow_video(3)), 19, 22),
        (label_sequences.slow_video(3, alike=True), 19, 22),
        (label_sequences.slow_video(3, 200), 7, 7),
        (label_sequences.straight(3), 0.85, 1.1),
        (changed(label_sequences.straight(3, 600)), 0.85, 1.1),
        (label_sequences.straight(3, 600, regular=True), 0.85, 1.1),
        (label_sequences.crossing(3, 600, 90), 0.85, 1.1),
        (changed(label_sequences.crossing(3, 600, 90)), 0.85, 1.1),
        (changed(label_sequences.crossing(3, 200, 150)), 0.75, 1.2),
    ],
)
def test_a_thing_is_one_unit_over_all_its_sightings(labels, least, most):
    true = labels.true_units() if least < 2 else 1
    for named in ({"stamp": at_ten_hertz(labels.frames)}, {}):
        side = units(labels.judged(**named)).sides[0]
        assert side.kind == "things"
        assert least * true <= side.things <= most * true
        assert side.count >= 0.7 * side.things  # some come and go together


@pytest.mark.parametrize("seed", [4, 5, 7])
def test_laps_past_things_that_look_alike_and_stand_evenly_are_told_by_performance(seed):
    """Labels cannot tell a lap from a straight row; that performance comes back after a lap does."""
    once = label_sequences.straight(3, 600, step=0.4, regular=True)
    things = once.true_units()
    again = label_sequences.straight(3, 600, step=0.4, regular=True)
    again.thing %= 24
    row, laps = (units(stamped(labels, seed=seed)).sides[0] for labels in (once, again))
    assert row.count == row.things
    assert 0.85 * things <= row.count <= 1.1 * things
    assert "performance does not come back: each is passed once" in row.describe("A")
    assert 22 <= laps.count == laps.things <= 29
    assert laps.passes == things // 24
    assert "performance comes back every 24" in laps.describe("A")
    assert units(stamped(again), unit="track").sides[0].count == row.count


def test_laps_that_are_too_fast_to_follow_are_places_of_the_course_or_too_few():
    """Without them 500 frames in blocks of time would count for five times as many units as the course has."""
    side = units(stamped(label_sequences.laps(1, frames=60, cones=40, count=8))).sides[0]
    assert (side.kind, side.lap_frames) == ("blocks", 60)
    assert side.count == 60 // side.block_frames
    assert "480 frames pass a course of 60 again and again, in blocks of" in side.describe("A")
    assert "instance ids" in side.describe("A")


def test_who_sees_a_course_from_random_poses_sees_its_cones_where_they_are_numbered():
    labels = label_sequences.random_poses(4)
    filled = len(np.unique(labels.frame))
    assert units(labels.judged(instance=labels.thing, independent=True)).sides[0].count == 24
    assert units(labels.judged(independent=True)).sides[0].count == filled
    assert units(stamped(labels)).sides[0].kind != "things"  # stamps in a row are no video yet


@pytest.mark.parametrize("with_distance", [True, False])
@pytest.mark.parametrize("stamps", [True, False])
def test_numbers_that_stay_while_things_are_strewn_anew_are_ignored(with_distance, stamps):
    labels = label_sequences.strewn(5)
    if not with_distance:
        labels.distance = None
    side = units((stamped if stamps else label_sequences.Labels.judged)(labels, instance=labels.thing)).sides[0]
    assert side.kind != "things"
    assert side.count > 100  # frames, or in doubt short blocks
    assert "instance numbers are ignored" in side.describe("A")


def test_numbers_that_restart_in_each_frame_are_ignored():
    for labels, count in ((label_sequences.photographs(6), 400), (label_sequences.laps(6), None)):
        start = np.searchsorted(labels.frame, np.arange(labels.frames))
        instance = np.arange(len(labels.frame)) - start[labels.frame] + 1
        side = units(stamped(labels, instance=instance)).sides[0]
        assert "they count the objects of each frame anew" in side.describe("A")
        assert side.kind != "things" if count else 20 <= side.count <= 30


@pytest.mark.parametrize("seed", range(5))
def test_photographs_with_many_alike_boxes_are_units_by_themselves(seed):
    labels = label_sequences.photographs(seed)
    names = [f"IMG_{7 * i + i % 5}" for i in range(400)]
    for judged in (labels.judged(), stamped(labels), labels.judged(names=names)):
        side = units(judged).sides[0]
        assert side.kind in {"frames", "blocks"}
        assert side.count >= 60  # in doubt blocks are short
    side = units(labels.judged(), block=0).sides[0]
    assert side.describe("A") == "A: 400 frames, each a unit"


def test_a_still_scene_is_one_unit_where_its_things_differ():
    labels = label_sequences.still_scene(1)
    still = units(stamped(labels)).sides[0]
    assert still.count == 1
    assert "always seen together are one unit: a camera that moves" in still.describe("A")
    noise = np.random.default_rng(0).normal(0.6, 0.1, len(labels.frame))
    single = label_sequences.still_scene(1, things=1, jitter=0.0)
    assert units(stamped(single, performance=noise[: len(single.frame)])).sides[0].count == 300


def test_the_same_numbers_on_the_same_course_are_units_of_both_sets():
    first, second = label_sequences.laps(7), label_sequences.laps(7, count=2, wander=0.2)
    found = units(stamped(first, instance=first.thing), stamped(second, instance=second.thing))
    shared = set(found.unit[0].tolist()) & set(found.unit[1].tolist())
    assert len(shared) == found.count
    followed = units(stamped(first), stamped(changed(second)))
    assert len(set(followed.unit[0].tolist()) & set(followed.unit[1].tolist())) >= 18


def test_a_pair_of_frames_is_one_unit():
    labels = label_sequences.photographs(8)
    found = units(labels.judged(), labels.judged(seed=1), paired=True, block=0)
    assert found.count == 400
    assert found.unit[0].tolist() == found.unit[1].tolist()
    assert found.frame_unit[0].tolist() == found.frame_unit[1].tolist() == list(range(400))
    drive = label_sequences.laps(8)
    both = units(stamped(drive), stamped(drive.changed(2, 1.0, 0.05)), paired=True)
    true = drive.true_units()
    assert 0.8 * true <= both.count <= 1.3 * true
    assert both.frame_unit[0].tolist() == both.frame_unit[1].tolist()


@pytest.mark.parametrize("count", [30, 60, 120])
def test_more_pairs_past_the_same_things_are_never_fewer_units(count):
    """Boxes of B are where another thing's are now and then: joined by that, 120 pairs past 58 things were 14 units."""
    labels = label_sequences.crossing(4, count, 58, life=count)
    sets = [stamped(each, instance=each.thing) for each in (labels, labels.changed(1, 12.0, 0.1))]
    assert units(*sets, paired=True, unit="instance").count == len(np.unique(labels.thing))


def test_things_of_pairs_are_one_where_most_of_their_frames_show_them_at_one_place():
    """Tracks of A and of B that meet now and then, as crossing things do, stay two."""
    labels = label_sequences.crossing(4, 120, 58, life=120)
    other = labels.changed(1, 12.0, 0.1)
    assert units(stamped(labels), stamped(other), paired=True).count >= 58


def test_light_of_a_frame_is_drawn_beside_things_where_it_is_there():
    labels = label_sequences.straight(9, 600)
    rng = np.random.default_rng(9)
    thing = 0.6 + rng.normal(0, 0.15, labels.thing.max() + 1)[labels.thing] + rng.normal(0, 0.1, len(labels.thing))
    light = rng.normal(0, 0.15, labels.frames // 20 + 1)[labels.frame // 20]
    found = units(stamped(labels, performance=thing + light))
    assert found.block is not None
    assert (found.block[1] == -1).all()
    assert found.block[0].min() == 0
    assert 25 <= found.sides[0].block_frames <= 100  # five times 10
    assert "are drawn beside them" in found.sides[0].describe("A")
    assert len(set(found.block[0].tolist())) == found.block_count == found.sides[0].time_blocks


def test_things_alone_are_drawn_in_four_of_five_sets_without_common_light():
    none = 0
    for seed in range(40):
        labels = label_sequences.crossing(seed, 120, 25, life=20)
        none += units(stamped(labels, instance=labels.thing, seed=seed)).block is None
    assert 24 <= none <= 38  # binomial(40, 0.8): outside once in 400


@pytest.mark.parametrize(
    ("unit", "count", "kind"),
    [("frame", None, "frames"), ("instance", 24, "things"), ("photograph", None, "frames"), ("track", 40, "things")],
)
def test_what_the_user_names_is_the_unit(unit, count, kind):
    labels = label_sequences.laps(0)
    judged = stamped(labels, instance=labels.thing)
    side = units(judged, judged, unit=unit).sides[0]
    count = count or len(np.unique(labels.frame))  # frames without objects hold no sample
    assert side.kind == kind
    assert side.count == count if unit != "track" else 20 <= side.count <= count
    assert f"(--unit {unit})" in side.describe("A")


def test_blocks_of_a_given_length_and_frames_that_are_independent():
    labels = label_sequences.laps(0)
    assert units(stamped(labels), block=4.0).sides[0].describe("A") == "A: 1,000 frames in blocks of 40 (4 s): 25 units"
    assert units(stamped(labels), block=0).sides[0].describe("A") == "A: 1,000 frames, each a unit"
    names = [f"still_{7 * i * i}" for i in range(labels.frames)]
    side = units(labels.judged(names=names), block=50).sides[0]
    assert side.describe("A") == "A: 1,000 frames in blocks of 50: 20 units"
    variants = [f"p{i // 4}_jpg.rf.{i}" for i in range(400)]
    side = units(label_sequences.photographs(0).judged(names=variants), block=0).sides[0]
    assert side.describe("A") == "A: 400 frames are variants of 100 photographs: 100 units"


def test_slow_performance_without_things_makes_blocks():
    """An AR(1) series with a coefficient of 0.9 has an integrated correlation time of 9.5 frames."""
    rng = np.random.default_rng(0)
    labels = label_sequences.photographs(0, 3000, 1)
    series = np.zeros(3000)
    for i in range(1, 3000):
        series[i] = 0.9 * series[i - 1] + rng.normal()
    side = units(stamped(labels, performance=0.5 + 0.05 * series)).sides[0]
    assert side.kind == "blocks"
    assert 40 <= side.block_frames <= 150
    assert side.block_seconds == pytest.approx(side.block_frames / 10)
    assert f"in blocks of {side.block_frames}" in side.describe("A")


@pytest.mark.parametrize("count", [8, 16, 24])
def test_a_recording_too_short_to_tell_its_blocks_has_too_few(count):
    """A correlation of 0.9 hides in so few frames; photographs that follow in no order are a unit each."""
    labels = label_sequences.still_scene(1, count, things=1, jitter=0.0)
    slow = np.cumsum(np.random.default_rng(3).normal(0.02, 0.05, count)) + 0.5
    side = units(stamped(labels, performance=slow[labels.frame])).sides[0]
    assert (side.kind, side.short) == ("blocks", True)
    assert 4 <= side.count < FEWEST_UNITS
    assert f"too few to tell how long they go together: {side.count} units at most" in side.describe("A")
    assert "--block 0" in side.describe("A")
    names = [f"{'abcdefghijklmnopqrstuvwxyz'[i]}_{(7 * i * i) % 31}" for i in range(count)]
    for other in (labels.judged(names=names), labels.judged(independent=True, stamp=at_ten_hertz(count))):
        assert units(other).sides[0].count == count
    assert units(stamped(labels), block=0).sides[0].count == count


def test_alike_names_without_order_are_warned_of():
    names = [f"shot {word}" for word in np.random.default_rng(0).permutation(10**6)[:400].tolist()]
    side = units(label_sequences.photographs(0).judged(names=names)).sides[0]
    assert "give --block FRAMES" in side.describe("A")
    assert "--block" not in units(label_sequences.photographs(0).judged()).sides[0].describe("A")


def test_requests_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="unit 'lap': is none of frame"):
        units(OTHER, unit="lap")
    with pytest.raises(UsageError, match="block -1: is not a length"):
        units(OTHER, block=-1.0)
    with pytest.raises(SimjudgeError, match="no object has an instance number"):
        units(OTHER, unit="instance")


@pytest.mark.parametrize("unit", [None, "frame", "track", "block", "photograph"])
def test_sets_without_objects_and_frames_have_units_too(unit):
    empty = replace(
        OTHER,
        frames=FrameSet.build("e", [[9, 9]] * 3, Objects.empty()),
        assignment=Assignment(np.empty(0), np.empty(0, np.int64), np.empty(0, np.bool_), {}),
    )
    assert units(empty, unit=unit).sides[0].count == 0
    nothing = JudgedSet(FrameSet.build("n", np.empty((0, 2)), Objects.empty()), empty.assignment)
    assert units(nothing, unit=unit).sides[0].count == 0


def test_classes_name_the_things():
    labels = label_sequences.slow_video(0)
    judged = stamped(labels)
    judged = replace(judged, frames=replace(judged.frames, class_names={0: "cone"}))
    assert units(judged).sides[0].describe("A") == "A: 600 frames show 20 cones: 20 units"


def test_a_long_drive_takes_seconds():
    import time  # noqa: PLC0415

    labels = changed(label_sequences.straight(1, 10_000, spacing=0.8))
    begin = time.process_time()
    side = units(stamped(labels)).sides[0]
    assert time.process_time() - begin < 25
    assert 0.85 <= side.count / labels.true_units() <= 1.15
