"""`study run --fail-on gap`: exit code 4 where a comparison of the study shows one, corrected for their number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import processes

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.core.processes import EXIT_GAP, EXIT_USAGE
from simjudge.data.sets import write_set

STUDY = """
title: Do they differ?
inputs: {good: a set, other: a set}
sizes: {small: {}}
steps:
  same:
    compare: {a: {input: good}, b: {input: good}, patch: 40, draws: 100}
  judged:
    compare: {a: {input: good}, b: {input: other}, patch: 40, draws: 100}
"""


def made(seed: int, shift: float) -> FrameSet:
    random = np.random.default_rng(seed)
    corner = random.integers(20, 300, (60, 2)).astype(float)
    box = np.concatenate([corner, corner + 40], axis=1)
    seen = box + random.normal(0, 2, box.shape) + [shift, 0, shift, 0]
    objects = Objects.build(np.arange(60), np.ones(60), box)
    predictions = Predictions.build(np.arange(60), np.ones(60), seen, np.full(60, 0.9))
    return FrameSet.build(f"set{seed}", [[640, 480]] * 60, objects, predictions, class_names={1: "cone"})


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "mini.yaml").write_text(STUDY)
    write_set(made(1, 0), folder / "good.json")
    write_set(made(2, 8), folder / "worse.json")
    return folder


def study(place: Path, other: str, out: str, *more: str):
    given = ["--input", f"good={place / 'good.json'}", "--input", f"other={place / other}", "--out", str(place / out)]
    return run("study", "run", str(place / "mini.yaml"), *given, *more)


def run(*arguments: str) -> processes.CompletedProcess[str]:
    """In a process of its own, as a person's check runs it."""
    command = [*processes.SIMJUDGE, *arguments]
    return processes.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.long
def test_a_gap_in_a_study_ends_it_with_exit_code_4(place):
    done = study(place, "worse.json", "bad", "--fail-on", "gap")
    assert done.returncode == EXIT_GAP, done.stderr
    assert "--fail-on gap: judged, all classes" in done.stderr
    assert "same" not in done.stderr.partition("--fail-on")[2]
    assert (place / "bad" / "index.html").is_file()
    again = run("study", "report", str(place / "bad"), "--fail-on", "gap:0.9")
    assert again.returncode == 0, again.stderr
    assert "passed" in again.stderr


def test_other_words_are_refused_before_anything_runs(place):
    done = study(place, "worse.json", "never", "--fail-on", "everything")
    assert done.returncode == EXIT_USAGE
    assert "gap:0.05" in done.stderr
    assert not (place / "never").exists()
