"""What a detector is: images in, detections out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.core.masks import Masks
from simjudge.core.text import one_line

_SCORE_SLACK = 1e-3
"""By how much a score may miss [0, 1]: the rounding of 16-bit floats near 1 is 0.0005."""


class BadAnswerError(SimjudgeError):
    """A detector's answer that is none: NaN, a score that is no probability, a class that does not exist.

    Attributes:
        image: the number of the image in what the detector was given, from 0.
        problem: what is wrong, and the remedy.
    """

    def __init__(self, model: str, image: int, problem: str) -> None:
        """Say which detector gave the answer, for which image, and what is wrong with it."""
        super().__init__(f"{model}, image {image} of those given at once: {problem}")
        self.model, self.image, self.problem = model, image, problem


def require_detection_task(path: Path, task: str) -> None:
    """Refuse a model that is made for something else."""
    if task != "detect":
        raise SimjudgeError(f"{path}: the model's task is {one_line(task)!r}; a detection model is needed")


@dataclass(frozen=True, repr=False)
class Detections(ShortRepr):
    """What a detector found in one image.

    Attributes:
        class_id: int64 (N,), the detector's own ids.
        box: float64 (N, 4), x0, y0, x1, y1 in pixels of the image given, inside it.
        score: float64 (N,), in [0, 1], best first.
        inverted: the number of boxes left out because their width or height was negative.
        masks: the pixels of each; None where the detector says boxes only.
    """

    class_id: IntArray
    box: FloatArray
    score: FloatArray
    inverted: int = 0
    masks: Masks | None = None

    @classmethod
    def build(
        cls,
        class_id: npt.ArrayLike,
        box: npt.ArrayLike,
        score: npt.ArrayLike,
        inverted: int = 0,
        masks: Masks | None = None,
    ) -> Detections:
        """Make detections from anything array-like.

        Args:
            class_id: (N,), class ids of the detector.
            box: (N, 4), x0, y0, x1, y1 in pixels.
            score: (N,), in [0, 1], best first.
            inverted: the number of boxes left out because their width or height was negative.
            masks: the pixels of each; None where the detector says boxes only.
        """
        return cls(
            np.asarray(class_id, np.int64).reshape(-1),
            np.asarray(box, np.float64).reshape(-1, 4),
            np.asarray(score, np.float64).reshape(-1),
            inverted,
            masks,
        )

    def __len__(self) -> int:
        """The number of detections."""
        return len(self.class_id)


class Detector(Protocol):
    """Finds things in images."""

    @property
    def name(self) -> str:
        """What to call it on screen."""

    @property
    def class_names(self) -> dict[int, str]:
        """Names by class id; empty where the model does not say."""

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images.

        Args:
            images: 8-bit RGB images (H, W, 3), of any sizes.

        Returns:
            The detections in each image.
        """


def check_scores(model: str, image: int, score: npt.ArrayLike) -> None:
    """Check a net's scores before those below a threshold are dropped: NaN is below no threshold, and above none.

    Args:
        image: the number of the image in what the detector was given.
        score: all scores of one image, of any shape.
    """
    values = np.asarray(score)
    if not np.isfinite(values).all():
        raise BadAnswerError(
            model, image, "scores are NaN or infinite; the file is damaged or its training failed: train or export anew"
        )
    if values.size and (values.min() < -_SCORE_SLACK or values.max() > 1 + _SCORE_SLACK):
        said = f"scores from {values.min():.3g} to {values.max():.3g}, where 0 to 1 are probabilities"
        raise BadAnswerError(model, image, f"{said}; export the model with its sigmoid (or softmax)")


def check_answer(
    model: str, image: int, names: dict[int, str], class_id: npt.ArrayLike, box: npt.ArrayLike, score: npt.ArrayLike
) -> None:
    """Check what is to become detections.

    Args:
        image: the number of the image in what the detector was given.
        names: the detector's class names by id; empty where it has none.
        class_id: (N,), whole numbers, of any type.
        box: (N, 4), pixels.
        score: (N,).
    """
    check_scores(model, image, score)
    if not np.isfinite(np.asarray(box, np.float64)).all():
        raise BadAnswerError(
            model, image, "boxes are NaN or infinite; the file is damaged or its training failed: train or export anew"
        )
    ids = np.asarray(class_id, np.float64)
    wrong = ids[~(np.isin(ids, list(names)) if names else (ids >= 0) & (ids == np.rint(ids)))]
    if len(wrong):
        known = f"the names are those of {', '.join(map(str, list(names)[:8]))}" if names else "ids are whole numbers"
        raise BadAnswerError(
            model, image, f"class {wrong[0]:g} found, but {known}; export it again with all names in its metadata"
        )
