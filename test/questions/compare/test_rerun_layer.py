"""A layer for rerun: it falls into a person's own recording, at the moments of the pictures, in rerun's own reader."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import made_contexts, made_set, stamped_set, write_result

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.names import stamp_to_name
from simjudge.data.sets import read_set, write_set
from simjudge.questions.watch import OUTSIDE_COLOUR, w1_colour
from simjudge.results.saved_result import load_result

rerun = pytest.importorskip("rerun", reason="rerun is not installed: pip install simjudge[watch]")
chunk = pytest.importorskip("rerun.chunk", reason="this rerun has no reader of its files")

FRAMES, START = 6, 1_700_000_000_000_000_000
STEP = 100_000_000
CAMERA = "world/camera/image"


def stamped(name: str, seed: int, start: int) -> FrameSet:
    return stamped_set(name, seed, FRAMES, start, STEP)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sets = stamped("hall", 1, START), stamped("chrono", 2, START + 3600 * 10**9)
    return write_result(tmp_path_factory.mktemp("result") / "result", made_contexts(*sets))


def write_own(path: Path, *, extra: int = 2, start: int = START, entities: tuple[str, ...] = (CAMERA,)) -> Path:
    """A person's recording: pictures, with depth and classes, by frame number and by a clock in float seconds.

    Two more than were judged.
    """
    stream = rerun.RecordingStream("my_robot", recording_id="tuesday")
    stream.save(path)
    for number in range(FRAMES + extra):
        stream.set_time("frame_nr", sequence=number)
        stream.set_time("camera_clock", timestamp=(start + STEP * number) / 1e9)
        for entity in entities:
            stream.log(entity, rerun.Image(np.zeros((36, 64, 3), np.uint8)))
        stream.log("world/camera/depth", rerun.DepthImage(np.ones((36, 64), np.float32)))
        stream.log("world/camera/classes", rerun.SegmentationImage(np.ones((36, 64), np.uint8)))
        stream.log("robot/speed", rerun.Scalars(float(number)))
    stream.flush()
    stream.disconnect()
    return path


def read(path: Path) -> tuple[Any, dict[str, list[Any]]]:
    """The one recording of a file, and its chunks by entity."""
    opened = chunk.RrdReader(path)
    (store,) = opened.recordings()
    found: dict[str, list[Any]] = {}
    for each in opened.stream():
        found.setdefault(str(each.entity_path), []).append(each)
    return store, found


def rows(chunks: list[Any], component: str, timeline: str = "frame_nr") -> dict[int, Any]:
    """The values of a component by frame number."""
    out: dict[int, Any] = {}
    for each in chunks:
        batch = each.to_record_batch()
        name = next((field for field in batch.schema.names if field.endswith(component)), None)
        if name is not None and timeline in batch.schema.names:
            times = batch.column(timeline).cast("int64").to_pylist()
            out |= dict(zip(times, batch.column(name).to_pylist(), strict=True))
    return out


def test_the_layer_has_the_ids_entities_and_times_of_the_recording(result: Path, tmp_path: Path) -> None:
    own = write_own(tmp_path / "own.rrd")
    written = sj.report(result, tmp_path / "layer.rrd", to="rrd", onto=str(own))
    assert not written.losses
    (store, found), (theirs, _) = read(written.path), read(own)
    assert (store.application_id, store.recording_id) == (theirs.application_id, theirs.recording_id)
    boxes, contexts = found["/world/camera/image/simjudge"], load_result(result).contexts
    assert contexts is not None
    centres, w1 = rows(boxes, "Boxes2D:centers"), rows(boxes, "simjudge:w1")
    colours = rows(boxes, "Boxes2D:colors")
    assert sorted(centres) == list(range(FRAMES + 2))
    for number in range(FRAMES):
        name = stamp_to_name(START + STEP * number)
        of_frame = [r for r in np.flatnonzero(contexts.is_a).tolist() if contexts.text("frame", [r])[0] == name]
        middle = [(contexts["x0"][r] + contexts["x1"][r]) / 2 for r in of_frame]
        assert [centre[0] for centre in centres[number]] == pytest.approx(middle, rel=1e-6)
        np.testing.assert_array_equal(w1[number], contexts["w1"][of_frame])
        expected = [w1_colour(contexts["w1"][r]) if contexts["in_overlap"][r] else OUTSIDE_COLOUR for r in of_frame]
        assert colours[number] == [(r << 24) + (g << 16) + (b << 8) + 255 for r, g, b in expected]
        curve = rows(found["/simjudge/w1"], "Scalars:scalars")[number]
        known = contexts["w1"][of_frame][np.isfinite(contexts["w1"][of_frame])]
        assert curve[0] == (pytest.approx(known.mean()) if len(known) else pytest.approx(np.nan, nan_ok=True))
        overall = load_result(result).overall
        assert overall is not None
        assert curve[1:] == [getattr(overall.numbers, key) for key in ("gap", "gap_low", "gap_high", "noise")]
    clock = rows(boxes, "Boxes2D:centers", "camera_clock")
    assert sorted(clock) == pytest.approx([START + STEP * n for n in range(FRAMES + 2)], abs=1000)


def test_pictures_that_were_not_judged_lose_the_boxes_of_the_last_one(result: Path, tmp_path: Path) -> None:
    own = write_own(tmp_path / "own.rrd")
    written = sj.report(result, tmp_path / "layer.rrd", to="rrd", onto=str(own))
    centres = rows(read(written.path)[1]["/world/camera/image/simjudge"], "Boxes2D:centers")
    assert [bool(centres[number]) for number in range(FRAMES + 2)] == [True] * FRAMES + [False] * 2


def test_rerun_itself_merges_both_into_one_recording(result: Path, tmp_path: Path) -> None:
    own = write_own(tmp_path / "own.rrd")
    layer = sj.report(result, tmp_path / "layer.rrd", to="rrd", onto=str(own)).path
    rrd = [sys.executable, "-m", "rerun", "rrd"]
    subprocess.run([*rrd, "verify", layer, own], check=True, capture_output=True)
    both = tmp_path / "both.rrd"
    subprocess.run([*rrd, "merge", own, layer, "-o", both], check=True, capture_output=True)
    _, found = read(both)
    assert {"/world/camera/image", "/world/camera/image/simjudge", "/robot/speed", "/simjudge/verdict"} <= set(found)


def test_a_set_without_stamps_is_laid_over_by_its_order(tmp_path: Path) -> None:
    sets = []
    for name, seed, count in (("hall", 1, FRAMES), ("chrono", 2, FRAMES + 3)):
        made = made_set(name, seed, count)
        write_set(made, tmp_path / name, "yolo")
        sets.append(replace(read_set(tmp_path / name), predictions=made.predictions))
    place = write_result(tmp_path / "result", made_contexts(*sets))
    content = json.loads((place / "result.json").read_text(encoding="utf-8"))
    for which, name in (("a", "hall"), ("b", "chrono")):
        content["inputs"][which]["path"] = str(tmp_path / name)
    (place / "result.json").write_text(json.dumps(content), encoding="utf-8")
    own, lines = write_own(tmp_path / "own.rrd", extra=0), list[str]()
    sj.report(place, tmp_path / "layer.rrd", to="rrd", onto=str(own), log=lines.append)
    assert "frames of A are found among the pictures of /world/camera/image by their order" in lines[0]
    for file in [each for each in (tmp_path / "hall").rglob("*") if each.stem == sets[0].frame_name[2]]:
        file.rename(file.with_stem("zzz"))
    written = sj.report(place, tmp_path / "later.rrd", to="rrd", onto=str(own))
    assert written.losses.counts == {"frames whose picture the recording does not hold": 1}


def test_what_does_not_go_together_is_refused_with_a_remedy(result: Path, tmp_path: Path) -> None:
    elsewhere = write_own(tmp_path / "elsewhere.rrd", start=START + 10**15)
    with pytest.raises(SimjudgeError, match=r"elsewhere\.rrd: no picture in it is a frame of the result: .* Give"):
        sj.report(result, tmp_path / "layer.rrd", to="rrd", onto=str(elsewhere))
    two = write_own(tmp_path / "two.rrd", entities=("left", "right"))
    with pytest.raises(UsageError, match="/left, /right fit alike; say which with --image-topic"):
        sj.report(result, tmp_path / "layer.rrd", to="rrd", onto=str(two))
    layer = sj.report(result, tmp_path / "layer.rrd", to="rrd", onto=str(two), image_topic="right").path
    assert "/right/simjudge" in read(layer)[1]
    with pytest.raises(UsageError, match=r"--image-topic up: .*two\.rrd has no such pictures; it has /left"):
        sj.report(result, tmp_path / "layer2.rrd", to="rrd", onto=str(two), image_topic="up")
    (tmp_path / "no.rrd").write_bytes(b"no recording")
    with pytest.raises(SimjudgeError, match=r"no\.rrd: rerun cannot read it"):
        sj.report(result, tmp_path / "layer2.rrd", to="rrd", onto=str(tmp_path / "no.rrd"))
    with pytest.raises(UsageError, match="--side: is for a layer over a recording"):
        sj.report(result, tmp_path / "layer2.rrd", to="rrd", side="a")
    with pytest.raises(UsageError, match=r"two\.rrd: is the recording itself"):
        sj.report(result, two, to="rrd", onto=str(two), image_topic="left", overwrite=True)


def test_two_sets_of_the_same_stamps_need_a_side(tmp_path: Path) -> None:
    sets = stamped("hall", 1, START), stamped("chrono", 2, START)
    place = write_result(tmp_path / "result", made_contexts(*sets))
    own = write_own(tmp_path / "own.rrd")
    with pytest.raises(UsageError, match=r"both sets fit .* say --side a for .*hall.* or --side b for .*chrono"):
        sj.report(place, tmp_path / "layer.rrd", to="rrd", onto=str(own))
    sj.report(place, tmp_path / "layer.rrd", to="rrd", onto=str(own), side="b")
    content = json.loads((place / "result.json").read_text(encoding="utf-8"))
    content["inputs"]["b"]["path"] = str(own)  # what was compared itself says whose it is
    (place / "result.json").write_text(json.dumps(content), encoding="utf-8")
    sj.report(place, tmp_path / "layer2.rrd", to="rrd", onto=str(own))
