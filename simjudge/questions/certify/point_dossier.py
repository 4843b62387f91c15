"""A dossier of comparisons of localizations or trackers: samples as text, results, pages, and a script that checks."""

from __future__ import annotations

import csv
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.page.kit import write_page
from simjudge.questions.certify import check, check_points
from simjudge.questions.certify.dossier_page import DOSSIER, PAGE, seal_dossier
from simjudge.questions.tracks.page import TRACKS_PAGE
from simjudge.questions.tracks.result import load_tracks
from simjudge.questions.trajectories.page import TRAJECTORIES_PAGE
from simjudge.questions.trajectories.result import load_trajectories
from simjudge.results.saved_result import POSES, SAMPLES, TRACKS, TRAJECTORIES

TABLES = {TRAJECTORIES: (POSES, SAMPLES), TRACKS: (SAMPLES,)}
"""What the pages of results are drawn from."""


def holds_points(folder: Path) -> bool:
    """Whether a folder is a comparison of localizations or of trackers."""
    return any((folder / name).is_file() for name in (TRAJECTORIES, TRACKS))


def write_point_dossier(folders: Sequence[Path], out: Path, title: str) -> list[str]:
    """Write a dossier; what it says, a line a result."""
    said = []
    with atomic_folder(out, DOSSIER) as temporary:
        for folder in folders:
            part = temporary / "results" / folder.resolve().name
            if part.exists():
                raise SimjudgeError(f"{folder}: another result is called {part.name} too; rename one")
            part.mkdir(parents=True)
            page, sentence, samples = shown_points(folder, title)
            file = TRAJECTORIES if (folder / TRAJECTORIES).is_file() else TRACKS
            for name in (file, *TABLES[file]):
                shutil.copyfile(folder / name, part / name)
            write_samples(part / check_points.SAMPLES, samples)
            if wrong := check_points.check_points(part)[1]:
                raise SimjudgeError(f"{folder}: {file} does not say what its samples give: {wrong[0]}; compare again")
            write_page(part / PAGE, page)
            said.append(f"{part.name}: {sentence}")
        seal_dossier(temporary, (check, check_points), title)
    return said


def shown_points(folder: Path, title: str) -> tuple[str, str, Mapping[str, FloatArray]]:
    """The page of a result, its first sentence, and its samples."""
    if (folder / TRAJECTORIES).is_file():
        runs = load_trajectories(folder)
        sentence = TRAJECTORIES_PAGE.sentences(runs)[0]
        return TRAJECTORIES_PAGE.render(runs, folder, title), sentence, runs.tables[SAMPLES]
    tracks = load_tracks(folder)
    return TRACKS_PAGE.render(tracks, folder, title), TRACKS_PAGE.sentences(tracks)[0], tracks.tables[SAMPLES]


def write_samples(path: Path, samples: Mapping[str, FloatArray]) -> None:
    """Write samples as text; what is not known is an empty cell."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(samples)
        for values in zip(*(column.tolist() for column in samples.values()), strict=True):
            rows.writerow(["" if math.isnan(value) else repr(value) for value in values])
