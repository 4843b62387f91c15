"""Two simulations judged against real photographs, all from what comes along; the detections are made on the spot."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from simjudge.core.errors import Log, ProgressBar, no_log, no_progress
from simjudge.core.files import check_output
from simjudge.core.installed import DETECTOR, find_file, installed_file, installed_folder
from simjudge.data.sets import read_set
from simjudge.detectors.detection import detect, load_detector
from simjudge.questions.compare.result import ComparisonResult, compare
from simjudge.questions.engines.photographs import MODEL, REAL, THETA
from simjudge.questions.report.report import report

SIMULATIONS = {"plain": "plain camera", "glare": "camera with glare"}
"""Folders of pictures below `demo`, and what a page calls them."""

SAMPLES = {"real.mcap": "bags/real_stand_in.mcap", "sim.mcap": "bags/sim.mcap"}
"""Sample recordings under the names that the documentation gives them; both are painted."""


@dataclass(frozen=True)
class Demo:
    """What came out: each simulation's comparison by its name, and the page of both."""

    results: dict[str, ComparisonResult]
    page: Path

    @property
    def commands(self) -> list[str]:
        """By simulation, the command that makes the same comparison."""
        options = ["--model", MODEL, "--theta", f"{THETA:g}", "--out"]
        real = str(installed_folder(f"demo/{REAL}"))
        return [
            shlex.join(["simjudge", "compare", real, str(installed_folder(f"demo/{name}")), *options, f"result_{name}"])
            for name in self.results
        ]


def copy_samples(folder: Path) -> list[Path]:
    """Copy the sample recordings into a folder; files that are there are not overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SAMPLES:
        check_output(folder / name)
    return [Path(shutil.copyfile(installed_file(source), folder / name)) for name, source in SAMPLES.items()]


def run_demo(out: Path, *, log: Log = no_log, progress: ProgressBar = no_progress) -> Demo:
    """Detect in the three sets, compare both simulations with the photographs, and write the page.

    Args:
        out: folder for the results and the page.
    """
    detector = load_detector(find_file(MODEL, DETECTOR))
    judged = {}
    for name in (REAL, *SIMULATIONS):
        frames = read_set(installed_folder(f"demo/{name}"))
        judged[name] = detect(frames, detector, progress=progress)
        log(f"{name}: {len(frames)} pictures, detected by {MODEL}")
    results = {
        name: compare(judged[REAL], judged[name], out / name, theta=THETA, progress=progress) for name in SIMULATIONS
    }
    page = report(
        [out / name for name in SIMULATIONS],
        out / "report.html",
        title="Which simulation predicts what the detector sees in the photographs?",
        label=[f"a={REAL}", *(f"{name}={called}" for name, called in SIMULATIONS.items())],
        progress=progress,
    )
    return Demo(results, page.path)
