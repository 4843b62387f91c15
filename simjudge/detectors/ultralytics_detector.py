"""Ultralytics weights (`.pt`), run by ultralytics itself. AGPL-3.0, an extra, imported only when used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.core.text import one_line
from simjudge.detectors.checkpoint import open_checkpoint
from simjudge.detectors.detector import (
    Detections,
    check_answer,
    check_scores,
    require_detection_task,
)
from simjudge.detectors.detector_settings import DEFAULT_IOU, DEFAULT_MIN_SCORE
from simjudge.detectors.detector_summary import ShownDetector

_LONGEST = 200
"""Characters of a message of ultralytics that are shown."""
END_TO_END_COLUMNS = 6
"""An NMS-free head gives corners, score and class of each detection in a row; others a row for each class."""


@dataclass(frozen=True, repr=False)
class UltralyticsDetector(ShownDetector):
    """A detector that ultralytics runs."""

    name: str
    class_names: dict[int, str]
    model: Any
    imgsz: int
    min_score: float
    iou: float
    device: str
    sha256: str = ""

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        min_score: float = DEFAULT_MIN_SCORE,
        iou: float = DEFAULT_IOU,
        imgsz: int | None = None,
        device: str = "",
        trust: bool = False,
    ) -> UltralyticsDetector:
        """Read a checkpoint. No code out of the file runs, unless it is trusted.

        Args:
            imgsz: side of the input; what the model was trained with by default.
            trust: run the code inside the file, where it holds more than weights.
        """
        model = open_checkpoint(path, trust=trust)
        try:
            task, names = model.task, dict(model.names)
            size = imgsz or model.overrides.get("imgsz") or 640
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0][:200]
            raise SimjudgeError(f"{path}: not a readable ultralytics checkpoint: {first}") from error
        require_detection_task(path, task)
        _watch_scores(model.model, path.stem)
        return cls(path.stem, names, model, int(size), min_score, iou, device)

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images.

        Args:
            images: 8-bit RGB images (H, W, 3), of any sizes.
        """
        if not images:
            return []
        try:
            results = self.model.predict(
                [np.ascontiguousarray(image[..., ::-1]) for image in images],
                imgsz=self.imgsz,
                conf=self.min_score,
                iou=self.iou,
                rect=False,  # a square input always, as an exported model has
                device=self.device or None,
                verbose=False,
                save=False,
            )
        except SimjudgeError:
            raise
        except Exception as error:
            raise SimjudgeError(f"{self.name}: the network cannot be run: {one_line(error, _LONGEST)}") from error
        return [self._detections(i, result.boxes) for i, result in enumerate(results)]

    def _detections(self, image: int, boxes: Any) -> Detections:
        class_id, box, score = (v.cpu().numpy().astype(np.float64) for v in (boxes.cls, boxes.xyxy, boxes.conf))
        check_answer(self.name, image, self.class_names, class_id, box, score)
        real = np.all(box[:, 2:] > box[:, :2], axis=1)
        inverted = int(np.count_nonzero(np.any(box[:, 2:] < box[:, :2], axis=1)))
        return Detections.build(class_id[real], box[real], np.clip(score[real], 0, 1), inverted)


def _watch_scores(network: Any, name: str) -> None:
    """Check every answer of the net before ultralytics drops what is below its threshold, NaN included.

    Ultralytics works through the images one after the other or all at once; the hook sees what one pass has.
    """

    def check(_network: Any, _pixels: Any, output: Any) -> None:
        answer = output[0] if isinstance(output, tuple | list) else output
        for image, raw in enumerate(answer):
            score = raw[:, 4] if raw.shape[-1] == END_TO_END_COLUMNS else raw[4:]
            check_scores(name, image, score.detach().cpu().numpy())

    network.register_forward_hook(check)
