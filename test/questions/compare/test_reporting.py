"""A comparison for rerun and for FiftyOne, read back with the programs' own readers where they are installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_results import made_contexts, made_set, write_result, write_result_beside_sets
from saved_screens import chunks

import simjudge as sj
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.questions.compare.result_frames import context_text, read_result_frames
from simjudge.questions.watch import OUTSIDE_COLOUR, is_installed, w1_colour
from simjudge.results.saved_result import load_result

FRAMES = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result whose sets lie beside it."""
    return write_result_beside_sets(tmp_path_factory.mktemp("exports"), FRAMES)


@pytest.fixture
def rerun_is_here() -> None:
    if not is_installed():
        pytest.skip("rerun is not installed: pip install simjudge[watch]")


@pytest.mark.usefixtures("rerun_is_here")
def test_a_recording_for_rerun_holds_every_context(folder: Path, tmp_path: Path) -> None:
    written = sj.report(folder, tmp_path / "result.rrd", to="rrd")
    assert [each.name for each in tmp_path.iterdir()] == ["result.rrd"]
    assert not written.losses
    found, contexts = chunks(written.path), load_result(folder).contexts
    assert contexts is not None
    for which, is_a in (("A", contexts.is_a), ("B", ~contexts.is_a)):
        boxes = [row for row in _values(found, f"/{which}/camera/labelled", "Boxes2D:centers") if row]
        assert sum(map(len, boxes)) == is_a.sum()
        x0, x1 = (contexts[edge][is_a] for edge in ("x0", "x1"))
        np.testing.assert_allclose(sorted(c[0] for row in boxes for c in row), np.sort((x0 + x1) / 2), rtol=1e-5)
        assert len(_values(found, f"/{which}/camera", "EncodedImage:blob")) == FRAMES
    colours = [c for row in _values(found, "/A/camera/labelled", "Boxes2D:colors") if row for c in row]
    expected = [
        w1_colour(w1) if shown else OUTSIDE_COLOUR
        for w1, shown in zip(contexts["w1"][contexts.is_a], contexts["in_overlap"][contexts.is_a], strict=True)
    ]
    assert sorted(colours) == sorted((r << 24) + (g << 16) + (b << 8) + 255 for r, g, b in expected)
    means = [value[0] for value in _values(found, "/w1/mean", "Scalars:scalars")]
    by_frame: dict[str, list[float]] = {}
    for row in range(len(contexts)):
        if np.isfinite(contexts["w1"][row]):
            by_frame.setdefault(contexts.text("frame", [row])[0], []).append(float(contexts["w1"][row]))
    assert sorted(means) == pytest.approx(sorted(np.mean(values) for values in by_frame.values()))
    (text,) = _values(found, "/summary", "TextDocument:text")
    assert "## all classes: Gap" in text[0]


def _values(found: list, entity: str, name: str) -> list:
    """All values of a component of an entity, the static ones among them."""
    out = []
    for path, batch in found:
        field = next((each for each in batch.schema.names if each.endswith(name)), None)
        if path == entity and field is not None:
            out += batch.column(field).to_pylist()
    return out


def test_a_context_says_its_numbers_and_its_nearest(folder: Path) -> None:
    shown = read_result_frames(load_result(folder))
    assert len(shown.frames) == 2 * FRAMES
    assert sorted(row for frame in shown.frames for row in frame.rows.tolist()) == list(range(len(shown.contexts)))
    row = int(np.flatnonzero(np.isfinite(shown.contexts["w1"]))[0])
    match = int(shown.contexts["match_row"][row])
    text = context_text(shown, row)
    assert f"W1 {shown.contexts['w1'][row]:.3f} of 5 + " in text
    assert f"nearest {shown.place(match)}, similarity" in text
    assert shown.place(match).startswith("B/")
    alone = int(np.flatnonzero(shown.contexts["in_overlap"] == 0)[0])
    assert context_text(shown, alone).endswith("nothing similar in the other set")
    losses = Losses()
    assert all(shown.image(frame, losses) is not None for frame in shown.frames)
    assert not losses


@pytest.mark.usefixtures("rerun_is_here")
def test_sets_that_are_gone_are_counted(tmp_path: Path) -> None:
    sets = made_set("hall", 1, 2, pictures=False), made_set("chrono", 2, 2, pictures=False)
    place = write_result(tmp_path / "result", made_contexts(*sets))
    written = sj.report(place, tmp_path / "result.rrd", to="rrd")
    assert written.losses.counts == {"sets whose pictures are not there any more": 2}
    with pytest.raises(SimjudgeError, match=r"result\.rrd"):
        sj.report(place, tmp_path / "result.rrd", to="rrd")
    sj.report(place, tmp_path / "result.rrd", to="rrd", overwrite=True)


def test_wrong_requests_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--to rrd: needs one folder of a comparison of one A and one B"):
        sj.report([folder, folder], tmp_path / "x.rrd", to="rrd")
    with pytest.raises(UsageError, match="--figures: is for pages; --to fiftyone has no use for it"):
        sj.report(folder, tmp_path / "x", to="fiftyone", figures=tmp_path / "figures")
    with pytest.raises(UsageError, match="to"):
        sj.report(folder, tmp_path / "x", to="pdf")
