"""Where no patch is given it follows the sets: once, the same for both, and told."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from random_frames import made

import simjudge as sj
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.inputs import InputSet, read_input
from simjudge.judging.live.frame_builder import LiveFrameBuilder
from simjudge.judging.live.session import LiveOptions, LiveSession
from simjudge.judging.painted_masks import choose_patch
from simjudge.judging.pair import compare_pair
from simjudge.judging.result_writing import comparison_parameters
from simjudge.questions.explain.run import with_patch
from simjudge.questions.many_sets.run import compare_many_sets

SETTINGS = CompareSettings(theta=0.3, draws=0)


def grown(frames: FrameSet, factor: float) -> FrameSet:
    """The set with larger images and objects."""
    old, seen = frames.objects, frames.predictions
    assert seen is not None
    objects = Objects.build(old.frame, old.class_id, factor * old.box)
    found = Predictions.build(seen.frame, seen.class_id, factor * seen.box, seen.score)
    return replace(frames, objects=objects, predictions=found, size=np.rint(factor * frames.size).astype(np.int64))


def expected(*sets: FrameSet) -> int:
    """The rule, in whole pixels and by hand: twice the median object here, since it is the least of the three."""
    medians = []
    for each in sets:
        sides = sorted(max(x1 - x0, y1 - y0) for x0, y0, x1, y1 in each.objects.box.tolist())
        middle = len(sides) // 2
        medians.append(sides[middle] if len(sides) % 2 else (sides[middle - 1] + sides[middle]) / 2)
    return int(-(-2 * max(medians) // 4) * 4)


def test_a_comparison_takes_the_patch_that_suits_both_sets_and_says_it():
    a, b = made(1), made(2)
    side = expected(a, b)
    said: list[str] = []
    compared = compare_sets(a, b, SETTINGS, log=said.append)
    assert [line for line in said if line.startswith("patch")] == [
        f"patch {side}x{side} px, by the size of images and objects; --patch sets another"
    ]
    assert (compared.parameters["patch"], compared.parameters["patch_chosen"]) == ([side, side], True)
    by_hand: list[str] = []
    again = compare_sets(a, b, replace(SETTINGS, patch=side), log=by_hand.append)
    assert (again.parameters["patch"], again.parameters["patch_chosen"]) == ([side, side], False)
    assert not [line for line in by_hand if line.startswith("patch")]
    assert again.result.numbers == compared.result.numbers


def test_both_directions_have_one_patch():
    a, b = made(1), grown(made(2), 3)
    found = [compare_pair(*pair, SETTINGS).method.patch for pair in ((a, b), (b, a))]
    assert found == 2 * [(expected(b), expected(b))]


def test_a_patch_that_is_given_is_taken():
    assert compare_pair(made(1), made(2), replace(SETTINGS, patch=(30, 50))).method.patch == (30, 50)


@pytest.mark.parametrize(
    ("more", "patch"),
    [({"preset": "cpd"}, (64, 64)), ({"sensor": "lidar"}, (16, 120)), ({"task": "semantic"}, (120, 120))],
)
def test_others_keep_their_patch(more, patch):
    settings = choose_patch(CompareSettings(**more), (made(1), made(2)))
    assert (settings.method.patch, settings.patch_chosen) == (patch, False)


def test_auto_is_not_given_and_other_words_are_refused():
    assert CompareSettings(patch="auto") == CompareSettings()
    with pytest.raises(UsageError, match="patch 'large'"):
        CompareSettings(patch="large")


def test_what_was_chosen_stays():
    first = choose_patch(SETTINGS, [made(1)])
    assert choose_patch(first, [grown(made(1), 5)]) == first
    assert choose_patch(SETTINGS, [grown(made(1), 5)]) != first


def test_a_sweep_is_around_the_patch_at_two_thirds_to_one_and_a_half():
    a, b = made(1), made(2)
    side = expected(a, b)
    swept = sj.sweep(a, b, thetas=[0.3, 0.5], draws=0)
    assert swept.parameters["patch"] == [side, side]
    assert swept.parameters["patch_chosen"]
    heights = sorted({point["patch"][0] for point in swept.points})
    assert heights == [round(side * part / 6) for part in (4, 5, 6, 7, 8, 9)]
    assert {point["patch"][0] for point in swept.points if point["theta"] == 0.5} == {side}


def test_a_sweep_at_the_papers_patch_is_the_papers():
    paper = SweepSettings(patch=120).swept_patches
    assert paper == ((80, 80), (100, 100), (120, 120), (140, 140), (160, 160), (180, 180))
    assert SweepSettings(sensor="lidar").swept_patches[0] == (11, 80)
    assert SweepSettings(patch=120, patches="50,60x70").swept_patches == ((50, 50), (60, 70))


def test_many_sets_have_one_patch(tmp_path):
    sets = {"r": made(1), "s": made(2), "t": grown(made(3), 2)}
    said: list[str] = []
    compare_many_sets(
        {name: {"net": each} for name, each in sets.items()},
        tmp_path / "out",
        domains={"r": "real", "s": "sim", "t": "sim"},
        theta=0.3,
        draws=0,
        log=said.append,
    )
    found = json.loads((tmp_path / "out" / "sets.json").read_text())["parameters"]
    side = expected(sets["t"])
    assert (list(found["patch"]), found["patch_chosen"]) == ([side, side], True)
    assert sum(line.startswith(f"patch {side}x{side} px") for line in said) == 1


def test_a_plan_says_its_patch():
    said: list[str] = []
    sj.plan(made(1, 12), theta=0.3, draws=100, log=said.append)
    side = expected(made(1, 12))
    assert f"patch {side}x{side} px, by the size of images and objects; --patch sets another" in said


def test_an_explanation_takes_the_patch_of_the_comparison():
    a, b = made(1), grown(made(2), 2)
    sides = tuple(InputSet(None, None, each, "memory") for each in (a, b))
    said: list[str] = []
    for classes in (None, ("post",)):
        settings = replace(SETTINGS, classes=classes)
        compared = compare_sets(a, b, settings).parameters["patch"]
        assert list(with_patch(settings, (sides[0], sides[1]), said.append).method.patch) == compared
    assert len(said) == 2


def test_live_the_reference_decides_and_another_reference_decides_anew(tmp_path):
    references = []
    for number, frames in enumerate((made(1), grown(made(1), 2))):
        path = tmp_path / f"{number}.json"
        write_set(frames, path)
        references.append(read_input(path, None, allow_outside=False))
    said: list[str] = []
    live = LiveSession(LiveOptions(SETTINGS), references[0], LiveFrameBuilder(("labels", "boxes")), said.append)
    side = expected(made(1))
    assert live.parameters()["patch"] == [side, side]
    assert live.judge.method.patch == (side, side)
    larger = live.with_reference(references[1])
    assert larger.parameters()["patch"] == 2 * [expected(grown(made(1), 2))]
    assert [line.split()[1] for line in said if line.startswith("patch")] == [
        "x".join(2 * [str(each.parameters()["patch"][0])]) for each in (live, larger)
    ]
    given = LiveOptions(replace(SETTINGS, patch=(30, 50)))
    by_hand = LiveSession(given, references[0], LiveFrameBuilder(("labels", "boxes")), said.append)
    assert by_hand.judge.method.patch == (30, 50)


def test_parameters_of_nothing_yet_say_no_choice():
    assert not comparison_parameters(CompareSettings())["patch_chosen"]
