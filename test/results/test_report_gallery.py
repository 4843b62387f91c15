"""Galleries: which contexts, which part of the picture, and what happens to damaged or absent pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from made_results import SIZE, made_contexts, made_set, write_result

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, decode_image
from simjudge.questions.compare.figures import make_gallery
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import ContextTable
from simjudge.results.gallery import (
    HIGHEST,
    LOWEST,
    MAX_SIDE,
    MEDIAN,
    MIN_SIDE,
    ONLY_A,
    ONLY_B,
    crop_image,
    patch_and_crop,
    save_gallery,
    select_items,
)
from simjudge.results.result_fields import read_gallery
from simjudge.results.saved_result import load_results

NAMES = SetNames("A", "B")
PATCH = (120, 100)


@pytest.fixture(scope="module")
def sets() -> tuple[FrameSet, FrameSet]:
    return made_set("a", 1, 15), made_set("b", 2, 15, shift=0.1)


@pytest.fixture(scope="module")
def table(sets: tuple[FrameSet, FrameSet]) -> pa.Table:
    return made_contexts(*sets)


def saved(folder: Path) -> dict:
    return json.loads((folder / "gallery" / "gallery.json").read_text())


def test_chosen_are_what_their_kind_says(table: pa.Table) -> None:
    contexts = ContextTable(table)
    items = select_items(contexts, 3)
    rows = table.to_pylist()
    for class_id in (1, 2):
        w1 = {n: r["w1"] for n, r in enumerate(rows) if r["class_id"] == class_id and r["w1"] is not None}
        of = {
            k: [i for i in items if i.class_id == class_id and i.kind == k]
            for k in (HIGHEST, MEDIAN, LOWEST, ONLY_A, ONLY_B)
        }
        assert of[HIGHEST][0].row == max(w1, key=lambda n: w1[n])
        assert of[LOWEST][0].row == min(w1, key=lambda n: w1[n])
        means = [np.mean([w1[i.row] for i in of[k]]) for k in (LOWEST, MEDIAN, HIGHEST)]
        assert means == sorted(means)
        shown = [i.row for k in (HIGHEST, MEDIAN, LOWEST) for i in of[k]]
        assert len(shown) == len(set(shown)) == 9
        for kind in (HIGHEST, MEDIAN, LOWEST):
            assert all(i.match_row == rows[i.row]["match_row"] and rows[i.match_row]["set"] == "b" for i in of[kind])
            assert len({rows[i.row]["frame"] for i in of[kind]}) == 3
        for kind, which in ((ONLY_A, "a"), (ONLY_B, "b")):
            assert all(rows[i.row]["set"] == which and not rows[i.row]["in_overlap"] for i in of[kind])


def test_one_frame_is_shown_more_than_once_where_there_is_no_other(table: pa.Table) -> None:
    one = table.set_column(table.column_names.index("frame"), "frame", pa.array(["same"] * table.num_rows))
    assert sum(i.kind == HIGHEST and i.class_id == 1 for i in select_items(ContextTable(one), 4)) == 4


@pytest.mark.parametrize(
    ("box", "patch"),
    [
        ((100, 50, 120, 90), (60, 10, 160, 130)),  # centre 110, 70
        ((100.4, 50.5, 121.5, 90), (61, 10, 161, 130)),  # snapped to 100, 51, 122, 90; centre 111, 70.5
        ((-10, 0, 4, 8), (-53, -56, 47, 64)),  # over the edge, not clipped first
    ],
)
def test_the_patch_is_where_the_method_puts_it(table: pa.Table, box: tuple, patch: tuple) -> None:
    moved = table
    for name, value in zip(("x0", "y0", "x1", "y1"), box, strict=True):
        moved = moved.set_column(moved.column_names.index(name), name, pa.array([float(value)] * table.num_rows))
    window, around = patch_and_crop(ContextTable(moved), 0, PATCH)
    assert window == patch
    assert around == (patch[0] - 15, patch[1] - 18, patch[2] + 15, patch[3] + 18)


def test_a_crop_holds_a_box_larger_than_its_patch(table: pa.Table) -> None:
    large = table
    for name, value in (("x0", 10.0), ("y0", 20.0), ("x1", 400.0), ("y1", 300.0)):
        large = large.set_column(large.column_names.index(name), name, pa.array([value] * table.num_rows))
    assert patch_and_crop(ContextTable(large), 0, PATCH)[1] == (6, 16, 404, 304)


def test_cut_keeps_the_pixels_and_pads_with_grey() -> None:
    pixels = np.arange(200 * 200 * 3, dtype=np.uint32).astype(np.uint8).reshape(200, 200, 3)
    crop = crop_image(pixels, (-20, 30, 160, 210))
    assert crop.shape == (180, 180, 3)
    assert np.all(crop[:, :20] == 128)
    assert np.array_equal(crop[:170, 20:], pixels[30:, :160])
    assert crop_image(pixels, (0, 0, 40, 20)).shape == (80, MIN_SIDE, 3)
    assert crop_image(pixels, (0, 0, 520, 260)).shape == (130, MAX_SIDE, 3)
    assert np.all(crop_image(pixels, (900, 900, 1100, 1100)) == 128)


def test_saved_crops_show_what_they_say(tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table) -> None:
    losses = save_gallery(tmp_path, *sets, ContextTable(table), PATCH)
    assert not losses
    rows = table.to_pylist()
    content = saved(tmp_path)
    wanted = {r for i in content["items"] for r in (i["row"], i["match_row"]) if r is not None}
    assert {c["row"] for c in content["crops"]} == wanted
    for crop in content["crops"]:
        row = rows[crop["row"]]
        frames = sets[0] if row["set"] == "a" else sets[1]
        assert frames.images is not None
        pixels = frames.images.read(list(frames.frame_name).index(row["frame"]))
        expected = crop_image(pixels, tuple(crop["place"]))
        seen = decode_image((tmp_path / "gallery" / crop["file"]).read_bytes(), "crop")
        assert np.abs(seen.astype(int) - expected).mean() < 12
        boxes = [[row[c] for c in ("x0", "y0", "x1", "y1")], *(label[1:] for label in crop["labels"])]
        inside = [r for r in rows if r["set"] == row["set"] and r["frame"] == row["frame"] and _meets(r, crop["place"])]
        assert len(boxes) == len(inside)
        if row["predicted_x0"] is not None and _meets(row, crop["place"], "predicted_"):
            assigned = [row[f"predicted_{c}"] for c in ("x0", "y0", "x1", "y1")]
            assert any(np.allclose(assigned, p[1:5], atol=1e-2) for p in crop["predictions"])


def _meets(row: dict, place: list[int], prefix: str = "") -> bool:
    x0, y0, x1, y1 = (row[prefix + c] for c in ("x0", "y0", "x1", "y1"))
    return x0 < place[2] and x1 > place[0] and y0 < place[3] and y1 > place[1]


def test_predictions_below_the_score_are_not_drawn(
    tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table
) -> None:
    save_gallery(tmp_path, *sets, ContextTable(table), PATCH, min_score=0.6)
    scores = [p[5] for c in saved(tmp_path)["crops"] for p in c["predictions"]]
    assert scores
    assert min(scores) >= 0.6


def test_only_chosen_pictures_are_read_each_once(
    tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table
) -> None:
    read: list[int] = []

    class Counting:
        def __init__(self, frames: FrameSet) -> None:
            self.frames = frames

        def __len__(self) -> int:
            return len(self.frames)

        def has(self, index: int) -> bool:
            return index < len(self)

        def read(self, index: int) -> np.ndarray:
            read.append(index)
            assert self.frames.images is not None
            return self.frames.images.read(index)

        def read_encoded(self, index: int) -> None:
            del index

    save_gallery(tmp_path, replace(sets[0], images=Counting(sets[0])), sets[1], ContextTable(table), PATCH, per_kind=1)
    assert len(read) == len(set(read)) < len(sets[0])


def test_damaged_pictures_are_counted(tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"")
    damaged = replace(sets[0], images=FileImages([bad] * len(sets[0])))
    losses = save_gallery(tmp_path / "r", damaged, sets[1], ContextTable(table), PATCH)
    (kind,) = losses.counts
    assert kind == "gallery pictures that cannot be read"
    assert losses.counts[kind] > 0
    crops = saved(tmp_path / "r")["crops"]
    assert {c["file"] is None for c in crops if c["row"] < len(sets[0].objects)} == {True}
    assert {c["file"] is None for c in crops if c["row"] >= len(sets[0].objects)} == {False}


def test_sets_without_pictures_are_no_loss(tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table) -> None:
    without = [replace(s, images=None) for s in sets]
    assert not save_gallery(tmp_path, *without, ContextTable(table), PATCH)
    assert [p.name for p in (tmp_path / "gallery").iterdir()] == ["gallery.json"]


def test_cards_without_a_saved_gallery_draw_the_boxes(tmp_path: Path, table: pa.Table) -> None:
    (result,) = load_results([write_result(tmp_path / "r", table)])
    gallery = make_gallery(result, NAMES, 10**7, Losses(), {"1", "2"})
    assert gallery.pictures == 0
    assert gallery.drawn > 0
    card = gallery.shelves["1"][0].cards[0]
    assert len(card.drawings) == 2
    assert 'class="label solid"' in card.drawings[0]
    assert card.lines[0].startswith("W1 ")


def test_cards_hold_the_crops_and_keep_to_the_budget(
    tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table
) -> None:
    folder = write_result(tmp_path / "r", table)
    save_gallery(folder, *sets, ContextTable(table), PATCH)
    (result,) = load_results([folder])
    full = make_gallery(result, NAMES, 10**7, Losses(), {"1", "2"})
    assert full.shown == full.chosen
    assert full.drawn == 0
    assert "data:image/jpeg;base64," in full.shelves["2"][0].cards[0].drawings[1]
    small = make_gallery(result, NAMES, 300_000, Losses(), {"1", "2"})
    assert 0 < small.shown < full.shown
    assert {s.kind for s in small.shelves["1"]} == {s.kind for s in full.shelves["1"]}


def test_a_missing_or_false_crop_is_counted_and_drawn(
    tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table
) -> None:
    folder = write_result(tmp_path / "r", table)
    save_gallery(folder, *sets, ContextTable(table), PATCH)
    first, second, *_ = sorted((folder / "gallery").glob("*.jpg"))
    first.unlink()
    second.write_bytes(b"no jpeg")
    (result,) = load_results([folder])
    losses = Losses()
    gallery = make_gallery(result, NAMES, 10**7, losses, {"1", "2"})
    assert sum(losses.counts.values()) >= 2
    assert gallery.drawn == sum(losses.counts.values())
    assert str(first) in " ".join(losses.lines())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"items": 3}, "items: a list is needed; this is 3"),
        ({"items": [{"kind": "odd", "class_id": 1, "row": 0}]}, "names rows or kinds"),
        ({"items": [{"kind": "only_a", "class_id": 1, "row": 10**6}]}, "names rows or kinds"),
        ({"crops": [{"row": 0}]}, r"crops\[0\].place: 4 whole numbers"),
        ({"crops": []}, "has no crop of row"),
    ],
)
def test_a_damaged_gallery_is_named(tmp_path: Path, table: pa.Table, sets: tuple, change: dict, said: str) -> None:
    folder = write_result(tmp_path / "r", table)
    save_gallery(folder, *(replace(s, images=None) for s in sets), ContextTable(table), PATCH)
    (folder / "gallery" / "gallery.json").write_text(json.dumps(saved(folder) | change))
    (result,) = load_results([folder])
    with pytest.raises(SimjudgeError, match=said):
        make_gallery(result, NAMES, 10**7, Losses(), {"1", "2"})


def test_a_crop_file_outside_the_gallery_is_not_read(tmp_path: Path, sets: tuple, table: pa.Table) -> None:
    folder = write_result(tmp_path / "r", table)
    save_gallery(folder, *sets, ContextTable(table), PATCH)
    (tmp_path / "secret.jpg").write_bytes(b"\xff\xd8 not yours")
    content = saved(folder)
    for crop in content["crops"]:
        crop["file"] = "../../secret.jpg"
    (folder / "gallery" / "gallery.json").write_text(json.dumps(content))
    (result,) = load_results([folder])
    losses = Losses()
    assert make_gallery(result, NAMES, 10**7, losses, {"1", "2"}).pictures == 0
    assert losses


def test_pictures_are_as_the_made_sets_say(sets: tuple[FrameSet, FrameSet]) -> None:
    assert sets[0].images is not None
    assert sets[0].images.read(0).shape == (SIZE[1], SIZE[0], 3)


@pytest.mark.parametrize("begin", [-30, 0, 75])
def test_a_crop_of_a_cyclic_image_goes_on_at_the_other_end(begin: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (40, 100, 3), dtype=np.uint8)
    place = (begin, 5, begin + 170, 35)
    turns = np.tile(image, (1, 4, 1))
    expected = crop_image(turns, (begin + 100, 5, begin + 270, 35))
    np.testing.assert_array_equal(crop_image(image, place, cyclic=True), expected)


def test_what_is_behind_the_seam_is_in_sight(tmp_path: Path, sets: tuple[FrameSet, FrameSet], table: pa.Table) -> None:
    cyclic = tuple(replace(frames, cyclic=True) for frames in sets)
    for name, both in (("flat", sets), ("cyclic", cyclic)):
        (tmp_path / name).mkdir()
        save_gallery(tmp_path / name, *both, ContextTable(table), PATCH)
    flat, around = ({crop["row"]: crop for crop in saved(tmp_path / name)["crops"]} for name in ("flat", "cyclic"))
    width = SIZE[0]
    for row, crop in around.items():
        own = [label[:1] + [x % width for x in label[1::2]] for label in crop["labels"]]
        assert len(crop["labels"]) >= len(flat[row]["labels"])
        for label in flat[row]["labels"]:
            assert label[:1] + [x % width for x in label[1::2]] in own
    beyond = [crop for crop in around.values() if crop["place"][0] < 0 or crop["place"][2] > width]
    assert beyond
    assert any(len(crop["labels"]) > len(flat[crop["row"]]["labels"]) for crop in beyond)


def test_the_largest_class_id_is_saved_and_read(tmp_path: Path) -> None:
    sets = tuple(made_set(name, seed, 15, classes=(2**31 - 1,)) for name, seed in (("a", 1), ("b", 2)))
    save_gallery(tmp_path, *sets, ContextTable(made_contexts(*sets)), PATCH, per_kind=1)
    gallery = read_gallery(tmp_path / "gallery" / "gallery.json")
    assert {item.class_id for item in gallery.items} == {2**31 - 1}
    assert {label[0] for crop in gallery.crops for label in crop.labels} == {2**31 - 1}
