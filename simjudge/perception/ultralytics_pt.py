"""Ultralytics weights (`.pt`), run by ultralytics itself. AGPL-3.0, an extra, imported only when used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.perception.detector import DEFAULT_IOU, DEFAULT_MIN_SCORE, Detections
from simjudge.perception.ultralytics_setup import import_ultralytics


@dataclass(frozen=True)
class UltralyticsDetector:
    """A detector that ultralytics runs."""

    name: str
    class_names: dict[int, str]
    model: Any
    imgsz: int
    min_score: float
    iou: float
    device: str

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        min_score: float = DEFAULT_MIN_SCORE,
        iou: float = DEFAULT_IOU,
        imgsz: int | None = None,
        device: str = "",
    ) -> UltralyticsDetector:
        """Read a checkpoint. A checkpoint is a pickle: only load one that you trust.

        Args:
            path: a `.pt` file.
            min_score: detections with a lower score are dropped.
            iou: of non-maximum suppression.
            imgsz: side of the input; what the model was trained with by default.
            device: "cpu", "0", ...; the best there is by default.

        Raises:
            SimjudgeError: ultralytics is not installed, or this is no detection checkpoint of it.
        """
        ultralytics = import_ultralytics()
        try:
            model = ultralytics.YOLO(str(path), verbose=False)
            task, names = model.task, dict(model.names)
            size = imgsz or model.overrides.get("imgsz") or 640
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0][:200]
            raise SimjudgeError(f"{path}: not a readable ultralytics checkpoint: {first}") from error
        if task != "detect":
            raise SimjudgeError(f"{path}: the model's task is {task!r}; a detection model is needed")
        return cls(path.stem, names, model, int(size), min_score, iou, device)

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images.

        Args:
            images: 8-bit RGB images (H, W, 3), of any sizes.

        Returns:
            The detections in each image.
        """
        if not images:
            return []
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
        return [_detections(result.boxes) for result in results]


def _detections(boxes: Any) -> Detections:
    class_id, box, score = (v.cpu().numpy().astype(np.float64) for v in (boxes.cls, boxes.xyxy, boxes.conf))
    real = np.all(box[:, 2:] > box[:, :2], axis=1)
    return Detections.build(class_id[real], box[real], score[real])
