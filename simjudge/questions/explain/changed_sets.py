"""Both sets with some causes undone, judged by the detector; what was detected once is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import NO_ARRAYS
from simjudge.core.digest import hash_value
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.core.progress import ProgressBar, no_progress
from simjudge.detectors.class_map import map_classes
from simjudge.detectors.detection import detect
from simjudge.detectors.detector import Detector
from simjudge.detectors.detector_summary import record_detector
from simjudge.questions.explain.attribution import Causes
from simjudge.questions.explain.label_margins import LabelMargins
from simjudge.questions.explain.rendered_sets import RenderedSets
from simjudge.questions.explain.scene_content import paste_step
from simjudge.sim.sensors.camera.chain import FrameStep, Step, filtered
from simjudge.sim.sensors.camera_matching.camera_difference import CameraDifference
from simjudge.sim.sensors.camera_matching.cause_names import LABEL_MARGINS, SCENE_CAUSES
from simjudge.studies.class_numbering import chosen_classes, match_classes
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.inputs import InputSet
from simjudge.studies.judged_set import JudgedSet, judge_set

_NOISE_SEED = 20
"""Of the noise that is added to pictures."""


@dataclass
class ChangedSets:
    """Both sets, and everything that was detected on them so far.

    Attributes:
        sides: A and B as they were read; frames of pairs in one order.
        folder: where detections are kept between runs; None keeps them in memory alone.
        rendered: renders B again where causes ask for it; None where it cannot be rendered.
        losses: what the first detections left out.
        runs: how often the detector ran over a set in this run.
    """

    sides: tuple[InputSet, InputSet]
    detector: Detector
    settings: CompareSettings
    folder: Path | None = None
    progress: ProgressBar = no_progress
    rendered: RenderedSets | None = None
    losses: Losses = field(default_factory=Losses)
    runs: int = 0
    _kept: dict[str, FrameSet] = field(default_factory=dict)
    _content: dict[int, str | None] = field(default_factory=dict)

    def judged(
        self, difference: CameraDifference, causes: Causes, margins: LabelMargins | None = None
    ) -> tuple[JudgedSet, JudgedSet]:
        """Both sets with some causes undone, and the performance of their objects."""
        a = self._detected(0, difference.steps("a", causes), causes)
        b = self._detected(1, difference.steps("b", causes), causes, difference.steps("a", causes))
        a, b = chosen_classes(a, b, self.settings.classes)
        if margins is not None and LABEL_MARGINS in causes:
            b = margins.apply(b)
        method, metric = self.settings.method, self.settings.metric
        losses = Losses()
        first = judge_set(a, method, metric, losses, precision=False)
        second = judge_set(match_classes(first.frames, b), method, metric, losses, precision=False)
        if not causes:
            self.losses.extend(losses)
        return first, second

    def forget(self) -> None:
        """Drop from memory what was detected on changed pictures; what is kept in the folder stays."""
        self._kept.clear()

    def _detected(
        self, number: int, steps: Sequence[Step], causes: Causes, steps_of_a: Sequence[Step] = ()
    ) -> FrameSet:
        """A side, rendered again where causes ask for it, behind filters, with the detector's predictions."""
        frames, plan = self.sides[number].frames, None
        if number == 1 and self.rendered is not None:
            frames, plan = self.rendered.of(causes), self.rendered.digest(causes)
        recipe = [(step.name, dict(step.parameters)) for step in steps]
        content = [number, self._digest(number), recipe, record_detector(self.detector).to_json(),
                   dict(self.settings.rename or ()), _NOISE_SEED]  # fmt: skip
        chain: list[Step | FrameStep] = list(steps)
        if number == 1 and not causes.isdisjoint(SCENE_CAUSES):
            chain.append(self._pixels_of_a(steps_of_a, frames, causes))
            of_a = [(step.name, dict(step.parameters)) for step in steps_of_a]
            content += [chain[-1].name, self._digest(0), of_a]
        key = hash_value(content if plan is None else [*content, plan])
        if key not in self._kept:
            found = self._read(key, number, frames)
            if found is None:
                seen = filtered(frames, chain, _NOISE_SEED) if chain else frames
                found = detect(seen, self.detector, rename=dict(self.settings.rename or ()), progress=self.progress)
                self.runs += 1
                if not chain and plan is None:
                    self.losses.extend(found.losses)
                self._write(key, number, found)
            self._kept[key] = replace(found, images=frames.images)
        return self._kept[key]

    def _pixels_of_a(self, steps: Sequence[Step], b: FrameSet, causes: Causes) -> FrameStep:
        """What puts A's pixels, behind A's filters, into B's pictures."""
        a = self.sides[0].frames
        return paste_step(filtered(a, steps, _NOISE_SEED) if steps else a, (a.objects, b.objects), causes)

    def _digest(self, number: int) -> str | None:
        """What a set's pictures are; None for sets that were never a file."""
        if number not in self._content:
            side = self.sides[number]
            names = [side.frames.name, list(side.frames.frame_name), side.frames.size]
            self._content[number] = None if side.path is None else hash_value([hash_files(side.path), *names])
        return self._content[number]

    def _path(self, key: str, number: int) -> Path | None:
        # B's pictures may hold pixels of A.
        known = all(self._digest(each) is not None for each in range(number + 1))
        return self.folder / f"{key[:32]}.npz" if self.folder is not None and known else None

    def _read(self, key: str, number: int, frames: FrameSet) -> FrameSet | None:
        """What an earlier run detected; nothing where the file is damaged."""
        path = self._path(key, number)
        if path is None or not path.is_file():
            return None
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
                predictions = Predictions.build(held["frame"], held["class_id"], held["box"], held["score"])
                predicted = np.asarray(held["predicted"], np.bool_)
        except NO_ARRAYS:
            return None
        if len(predicted) != len(frames):
            return None
        classes = map_classes(
            self.detector.name, self.detector.class_names, frames, dict(self.settings.rename or ())
        )
        done = frames.with_predictions(predictions, predicted, record_detector(self.detector))
        return replace(done, class_names=classes.names)

    def _write(self, key: str, number: int, found: FrameSet) -> None:
        path, predictions = self._path(key, number), found.predictions
        if path is None or predictions is None or predictions.masks is not None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SimjudgeError(f"{path.parent}: cannot be made: {error.strerror}") from error
        with atomic_file(path) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, frame=predictions.frame, class_id=predictions.class_id, box=predictions.box,
                                score=predictions.score, predicted=found.predicted)  # fmt: skip
