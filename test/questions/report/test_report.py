"""`simjudge report` as a user runs it, on what `simjudge compare` and `sweep` really wrote."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from drive_recordings import START, cloud, drive_messages, write_drive
from support import processes

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set

SIZE = (160, 120)
COMMON = ["--patch", "60x60", "--theta", "0.5"]


def made(seed: int, error: float, count: int = 16) -> FrameSet:
    """One coloured square a picture; `error` moves the predictions, pixels."""
    random = np.random.default_rng(seed)
    corner = random.integers(10, 70, (count, 2)).astype(float)
    box = np.concatenate([corner, corner + 30], axis=1)
    pictures = np.full((count, SIZE[1], SIZE[0], 3), 90, np.uint8)
    for picture, (x, y) in zip(pictures, corner.astype(int), strict=True):
        picture[y : y + 30, x : x + 30] = (220, 60, 20)
    return FrameSet.build(
        f"set{seed}",
        [SIZE] * count,
        Objects.build(np.arange(count), np.ones(count), box),
        Predictions.build(np.arange(count), np.ones(count), box + error, np.full(count, 0.9)),
        class_names={1: "cone"},
        images=ArrayImages(list(pictures)),
    )


def run(*arguments: object, cwd: Path) -> processes.CompletedProcess[str]:
    command = [*processes.SIMJUDGE, *map(str, arguments)]
    return processes.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    for name, seed, error in (("real", 1, 1.0), ("sim", 2, 9.0), ("twin", 3, 1.0)):
        write_set(made(seed, error), folder / name, "coco")
        write_set(made(seed, error), folder / f"{name}.json")
    for other in ("sim", "twin"):
        predictions = ["--a-predictions", "real.json", "--b-predictions", f"{other}.json"]
        trials = ["--draws", "99"]
        done = run("compare", "real", other, *predictions, *COMMON, *trials, "--out", f"with_{other}", cwd=folder)
        assert done.returncode == 0, done.stderr
    done = run("sweep", "real.json", "sim.json", *COMMON, "--out", "swept", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_one_result(place: Path) -> None:
    done = run("report", "with_sim", "--out", "one.html", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "wrote one.html" in done.stderr
    numbers = json.loads((place / "with_sim" / "result.json").read_text())["overall"]
    assert numbers["verdict"] == "large_gap"
    blind = "Large gap, in these recordings: the detector finds next to nothing in B: recall 0.0"
    assert f"with_sim: all classes: {blind}" in done.stdout
    assert "B (sim) does not predict A (real)" in done.stdout
    assert f"The gap is {numbers['gap']:.3f} (95\u00a0%: {numbers['gap_low']:.3f} to " in done.stdout
    html = (place / "one.html").read_text(encoding="utf-8")
    assert f"{numbers['noise']:.3f}" in html
    assert html.count("data:image/jpeg;base64,") > 6
    assert ">cone<" in html


def test_several_results_and_a_table_for_papers(place: Path) -> None:
    done = run("report", "with_sim", "with_twin", "swept", "-o", "all.html", "--csv", "all.csv", cwd=place)
    assert done.returncode == 0, done.stderr
    html = (place / "all.html").read_text(encoding="utf-8")
    assert "3 results side by side" in html
    assert "theta varied, patch 60 × 60" in html
    with (place / "all.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(r["result"], r["class_name"], r["verdict"]) for r in rows] == [
        ("with_sim", "all classes", "large_gap"),
        ("with_sim", "cone", "large_gap"),
        ("with_twin", "all classes", "predicts"),
        ("with_twin", "cone", "predicts"),
    ]
    expected = json.loads((place / "with_twin" / "result.json").read_text())["by_class"]["1"]
    assert float(rows[3]["mean_w1"]) == expected["mean_w1"]
    assert (rows[3]["theta"], rows[3]["patch_height"]) == ("0.5", "60")


def test_a_missing_folder_is_one_line_and_nothing_is_written(place: Path) -> None:
    done = run("report", "with_sim", "nowhere", "-o", "no.html", cwd=place)
    assert done.returncode == 1
    assert done.stderr.startswith("error: nowhere: no such folder")
    assert done.stderr.count("\n") == 1
    assert not (place / "no.html").exists()


@pytest.mark.parametrize("option", [("--onto", "own.mcap"), ("--side", "a"), ("--merged",)])
def test_a_page_has_no_use_for_a_recording_to_lay_it_over(place: Path, option: tuple[str, ...]) -> None:
    done = run("report", "with_sim", *option, "-o", "no.html", cwd=place)
    assert (done.returncode, (place / "no.html").exists()) == (2, False)
    assert done.stderr.endswith("is for a layer over a recording or data set; add --to rrd, mcap or fiftyone\n")


def test_no_folder_at_all_is_a_usage_error(place: Path) -> None:
    assert run("report", cwd=place).returncode == 2


def test_a_lost_crop_is_counted(place: Path) -> None:
    crop = min((place / "with_twin" / "gallery").glob("*.jpg"))
    kept = crop.read_bytes()
    crop.unlink()
    try:
        done = run("report", "with_twin", "-o", "lost.html", cwd=place)
    finally:
        crop.write_bytes(kept)
    assert done.returncode == 3
    assert "gallery crops that cannot be read" in done.stderr
    assert "This page is incomplete" in (place / "lost.html").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("option", ["--out", "--csv"])
def test_only_ones_own_files_are_replaced(place: Path, tmp_path: Path, option: str) -> None:
    path = tmp_path / "notes"
    others = [] if option == "--out" else ["--out", tmp_path / "page.html"]
    path.write_text("precious")
    through = tmp_path / "new" / ".." / "notes"
    refused = run("report", "with_sim", option, through, *others, cwd=place)
    assert refused.returncode == 1
    assert "notes: exists already and is not an earlier output of this command" in refused.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["notes"]
    assert path.read_text() == "precious"
    assert run("report", "with_sim", option, path, "--overwrite", *others, cwd=place).returncode == 0
    again = run("report", "with_sim", option, path, *others, cwd=place)
    assert again.returncode == 0
    assert f"note: {path} is there already and will be replaced" in again.stderr


@pytest.mark.long
def test_the_page_is_the_same_every_time(place: Path) -> None:
    pages = []
    for name in ("x.html", "y.html"):
        run("report", "with_sim", "-o", name, cwd=place)
        pages.append((place / name).read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.long
def test_figures_are_written_for_papers(place: Path) -> None:
    done = run("report", "with_sim", "swept", "-o", "f.html", "--figures", "figures", cwd=place)
    assert done.returncode == 0, done.stderr
    written = {p.relative_to(place / "figures").as_posix() for p in (place / "figures").rglob("*.*")}
    assert f"wrote {len(written)} files into figures" in done.stderr
    assert {"with_sim/overview.svg", "with_sim/w1_histogram_1_cone.pdf", "swept/sweep.svg"} <= written


@pytest.mark.long
def test_a_recording(tmp_path: Path) -> None:
    """One cloud of it is damaged: the page is written, the loss is said, the exit code is 3."""
    messages = drive_messages()
    damaged = cloud(START + 1, [(1.0, 2.0, 3.0)])
    damaged.width = 9
    write_drive(tmp_path / "d.mcap", [*messages, ("/scan/points", START + 1, damaged)])
    done = run("report", "d.mcap", "--out", "page", "--instants", "1", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("/scan/points: 5 clouds at 10.00 Hz, 22 points each (20 to 24)")
    assert "wrote page/index.html" in done.stderr
    assert "left out 1 cloud that cannot be read" in done.stderr
    assert (tmp_path / "page" / "index.html").read_text(encoding="utf-8").count('class="instant') == 1
    wrong = run("report", "d.mcap", "--at", "9", "--out", "other", cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr == "error: --at 9: the clouds of /scan/points end at 0.40 s\n"
    assert not (tmp_path / "other").exists()
