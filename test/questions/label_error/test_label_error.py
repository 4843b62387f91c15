"""The price of labels' errors: what it says, saved and read again, on a page, by the command; and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from random_frames import made
from typer.testing import CliRunner

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.sets import write_set

SETTINGS = {"patch": 40, "theta": 0.4, "draws": 60, "block": 0.0}


def off(frames, error):
    """The set as if a detector were off by so many pixels."""
    found, random = frames.predictions, np.random.default_rng(3)
    return replace(
        frames, predictions=replace(found, box=frames.objects.box + random.normal(0, error, found.box.shape))
    )


@pytest.fixture(scope="module")
def priced():
    return sj.price_label_error(off(made(1, 20), 3.0), off(made(2, 20), 1.0), "2px,5%missed", **SETTINGS)


def test_sentences_and_table_hold_the_numbers(priced):
    found = priced.numbers
    assert priced.lines[0].startswith(f"Without the labels' error the gap is {found.gap:.3f} (95\N{NO-BREAK SPACE}%: ")
    assert f"as labelled {found.as_labelled.gap:.3f}" in priced.lines[0]
    said = "Edges that are off by 2 px and 5 % of the labels missing alone lower the performance in B by"
    assert priced.lines[1] == f"{said} {found.price:.3f}."
    assert priced.lines[2] == f"Objects without a label alone make {found.invented:.3f} inventions a frame."
    assert [row[0] for row in priced.table.rows] == [
        "as labelled",
        "the same error in B's labels",
        "labels without error",
    ]
    assert priced.table.rows[1][1] == f"{found.levels[0].w1:.3f}"


def test_what_was_saved_is_read_again_with_its_page_and_figure(priced, tmp_path):
    priced.save(tmp_path / "out")
    again = sj.load_result(tmp_path / "out", sj.LabelErrorResult)
    assert again.lines == priced.lines
    assert again.numbers == priced.numbers
    page = again.report(tmp_path / "page.html").path.read_text(encoding="utf-8")
    assert "How the numbers move" in page
    assert "labels without error" in page
    assert list(again.figures) == ["error"]


def test_a_damaged_file_is_named_in_one_line(priced, tmp_path):
    priced.save(tmp_path / "out")
    path = tmp_path / "out" / "label_error.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["price"] = "much"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SimjudgeError, match=r"label_error\.json.*price"):
        sj.load_result(tmp_path / "out")


def test_where_nothing_is_compared_the_page_says_so(tmp_path):
    found = sj.price_label_error(made(1, 8), made(2, 8, far=True), "0.1px", tmp_path / "out", **SETTINGS)
    assert found.numbers.gap is None
    assert "cannot be told" in found.lines[-1]
    assert "cannot be told" in found.report(tmp_path / "page.html").path.read_text(encoding="utf-8")


def test_what_has_no_price_is_refused():
    a, b = made(1, 8), made(2, 8)
    for wrong in ({"preset": "cpd"}, {"draws": 0}, {"task": "semantic"}):
        with pytest.raises(UsageError, match="--label-error"):
            sj.price_label_error(a, b, "1px", **{**SETTINGS, **wrong})
    with pytest.raises(UsageError, match="not of boxes in 3D; leave it out, or compare") as refused:
        sj.price_label_error(a, b, "1px", **{**SETTINGS, "sensor": "lidar"})
    assert "\n" not in str(refused.value)
    with pytest.raises(UsageError, match="label error"):
        sj.price_label_error(a, b, "one pixel", **SETTINGS)


def test_the_command_prices_sets_on_disk(tmp_path):
    from simjudge.commands.app import app  # noqa: PLC0415 - slow to import

    places = []
    for name, frames in (("real", off(made(1, 12), 2.0)), ("sim", off(made(2, 12), 1.0))):
        write_set(frames, tmp_path / f"{name}.json")
        places.append(str(tmp_path / f"{name}.json"))
    options = ["--patch", "40", "--theta", "0.4", "--draws", "50", "--block", "0", "--label-error", "1px"]
    done = CliRunner().invoke(app, ["compare", *places, "--out", str(tmp_path / "out"), *options])
    assert done.exit_code == 0, done.output
    assert "Without the labels' error the gap is" in done.output
    with pytest.raises(UsageError, match="--fail-on"):
        CliRunner().invoke(
            app,
            ["compare", *places, "--out", str(tmp_path / "o"), *options, "--fail-on", "gap"],
            catch_exceptions=False,
        )
