"""Several sets as one: against the sets themselves, frame by frame."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from set_examples import assert_same_set, frame_sets

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, ImageError
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.set_parts import join_sets


def small(name, class_ids, names, frame_name=("f",), predictions=None):
    """One object of each class, all in the first frame."""
    boxes = [[i, 0, i + 1, 1] for i in range(len(class_ids))]
    objects = Objects.build([0] * len(class_ids), class_ids, boxes)
    size = [[9, 9]] * len(frame_name)
    return FrameSet.build(name, size, objects, predictions, frame_name=frame_name, class_names=names)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_each_part_of_the_whole_is_the_set_it_came_from(data):
    """Taken apart again, the whole gives every set, with its boxes, masks, predictions, stamps and images."""
    first = data.draw(frame_sets())
    names = {k: first.class_names.get(k, f"class {k}") for k in (0, 1, 2, 7, 90)}
    # Distinct names in every set, so that this is about everything but the matching of classes.
    names = {k: f"{k} {name}" for k, name in names.items()}
    sets = [replace(s, class_names=names) for s in (first, *data.draw(st.lists(frame_sets(), max_size=2)))]
    whole = join_sets(sets)
    assert len(whole) == sum(map(len, sets))
    start = 0
    for each in sets:
        part = whole.take(np.arange(start, start + len(each)))
        start += len(each)
        if each.predictions is None and part.predictions is not None:
            assert len(part.predictions) == 0
            assert not part.predicted.any()
            part = replace(part, predictions=None)
        assert_same_set(replace(part, frame_name=each.frame_name), each)


@pytest.mark.parametrize(
    ("first", "second", "names", "ids_of_second"),
    [
        ({1: "red", 2: "green"}, {1: "red", 2: "green"}, {1: "red", 2: "green"}, [1, 2]),
        ({1: "red", 2: "green"}, {1: "green", 2: "red"}, {1: "red", 2: "green"}, [2, 1]),  # by name, whatever the id
        ({1: "red", 2: "green"}, {1: "blue", 2: "green"}, {1: "red", 2: "green", 3: "blue"}, [3, 2]),  # 1 is taken
        ({1: "red"}, {1: "red", 2: "green"}, {1: "red", 2: "green"}, [1, 2]),  # a class that only one has
        ({4: "red"}, {1: "blue", 2: "green"}, {1: "blue", 2: "green", 4: "red"}, [1, 2]),  # none in common
        ({}, {}, {}, [1, 2]),  # no names: by id
    ],
)
def test_classes_are_matched_by_name(first, second, names, ids_of_second):
    a = small("a", sorted(first) or [1], first, ["x"])
    found = Predictions.build([0, 0], [2, 1], [[0, 0, 1, 1], [1, 0, 2, 1]], [0.5, 0.6])
    b = small("b", [1, 2], second, ["y"], found)
    whole = join_sets([a, b])
    assert whole.class_names == names
    assert whole.objects.class_id.tolist() == [*(sorted(first) or [1]), *ids_of_second]
    assert whole.predictions.class_id.tolist() == ids_of_second[::-1]


def test_a_class_of_the_third_set_is_matched_with_what_the_second_brought():
    a, b, c = ({0: "red"}, {0: "blue"}, {5: "blue"})
    sets = [small("a", [0], a, ["x"]), small("b", [0], b, ["y"]), small("c", [5], c, ["z"])]
    whole = join_sets(sets)
    assert whole.class_names == {0: "red", 1: "blue"}
    assert whole.objects.class_id.tolist() == [0, 1, 1]


@pytest.mark.parametrize("nameless", [{}, {1: "red"}])
def test_an_id_without_a_name_beside_named_classes_is_refused(nameless):
    a, b = small("a", [1, 2], {1: "red", 2: "green"}, ["x"]), small("b", [1, 7], nameless, ["y"])
    with pytest.raises(SimjudgeError, match=r"b: class [17] has no name, while other"):
        join_sets([b, a])
    with pytest.raises(SimjudgeError, match="b: class"):
        join_sets([a, b])


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([("a", ["1", "2"]), ("b", ["3"])], ["1", "2", "3"]),
        ([("a", ["1", "2"]), ("b", ["2", "3"])], ["1", "a_2", "b_2", "3"]),
        ([("test", ["1"]), ("test", ["1"])], ["test_1", "test_2_1"]),  # the sets are called the same
        ([("a", ["1", "b_1"]), ("b", ["1"])], ["a_1", "b_1", "b_2_1"]),  # the new name is taken
    ],
)
def test_frame_names_that_clash_are_told_apart_by_set(sets, expected):
    whole = join_sets([small(name, [0], {}, frames) for name, frames in sets])
    assert list(whole.frame_name) == expected
    assert whole.name == "+".join(name for name, _ in sets)


def test_images_are_read_one_by_one_and_only_when_asked_for():
    class Watched(ArrayImages):
        reads = 0

        def read(self, index):
            Watched.reads += 1
            return super().read(index)

    images = [np.full((9, 9, 3), i, np.uint8) for i in range(3)]
    a = replace(small("a", [0], {}, ["x", "y"]), images=Watched(images[:2]))
    b, c = small("b", [0], {}, ["z"]), replace(small("c", [0], {}, ["w"]), images=Watched(images[2:]))
    whole = join_sets([a, b, c])
    assert Watched.reads == 0
    assert [whole.images.has(i) for i in range(4)] == [True, True, False, True]
    assert [int(whole.images.read(i)[0, 0, 0]) for i in (3, 0, 1)] == [2, 0, 1]
    assert Watched.reads == 3
    assert whole.images.read_encoded(0) is None
    assert whole.images.read_encoded(2) is None
    with pytest.raises(ImageError, match="frame 2: has no image"):
        whole.images.read(2)
    assert join_sets([b, replace(b, frame_name=["v"])]).images is None


def test_losses_of_all_sets_are_kept():
    lost = [Losses(), Losses()]
    lost[0].add("boxes", "one", 2)
    lost[1].add("boxes", "two")
    sets = [replace(small(n, [0], {}, [n]), losses=each) for n, each in zip("ab", lost, strict=True)]
    assert join_sets(sets).losses.counts["boxes"] == 3
    assert lost[0].counts["boxes"] == 2  # the sets' own are left alone


def test_stamps_and_instances_stay():
    one = replace(small("a", [0], {}, ["x"]), stamp=np.array([5]))
    two = small("b", [0], {}, ["y"])
    two = replace(two, objects=replace(two.objects, instance=np.array([8])))
    whole = join_sets([one, two])
    assert whole.stamp.tolist() == [5, NO_STAMP]
    assert whole.objects.instance.tolist() == [-1, 8]


def test_nothing_to_join_is_refused():
    with pytest.raises(UsageError, match="nothing to join"):
        join_sets([])


def test_names_are_equal_whatever_their_case():
    """As in a comparison: the rule is one."""
    whole = join_sets([small("a", [0, 1], {0: "Blue cone", 1: "red"}), small("b", [0, 1], {0: "RED", 1: "blue_Cone"})])
    assert whole.class_names == {0: "Blue cone", 1: "red"}
    assert whole.objects.class_id.tolist() == [0, 1, 1, 0]
