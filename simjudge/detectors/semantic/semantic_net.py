"""A net that gives every pixel a class, as an ONNX file: RGB in [0, 1] in, a score of each class and pixel out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import hash_files
from simjudge.core.images import RgbImage, as_rgb
from simjudge.core.input_files import check_file
from simjudge.core.label_pictures import MOST_CLASSES, LabelPicture
from simjudge.detectors.detector_summary import ShownDetector
from simjudge.detectors.onnx_file import metadata_names, open_session

TASK = "segment-semantic"
"""What the metadata of such a file says as its task."""


@dataclass(frozen=True, repr=False)
class SemanticNet(ShortRepr, ShownDetector):
    """A semantic segmentation net.

    Attributes:
        name: what to call it on screen.
        class_names: by the number of its output plane.
        input_size: width and height that images are scaled to, pixels.
    """

    name: str
    class_names: dict[int, str]
    input_size: tuple[int, int]
    sha256: str
    session: Any = field(compare=False)

    @classmethod
    def load(cls, path: Path) -> SemanticNet:
        """Load a net.

        Args:
            path: an ONNX file that `simjudge train --task segment-semantic` made, or one like it: input
                (batch, 3, H, W), RGB in [0, 1]; output (batch, classes, h, w), the largest score wins; names of the
                classes in its metadata, as ultralytics writes them.
        """
        check_file(path)
        session = open_session(path)
        metadata = dict(session.get_modelmeta().custom_metadata_map)
        if metadata.get("task") != TASK:
            raise SimjudgeError(f"{path}: is no net of task {TASK}; simjudge train --task {TASK} makes one")
        names = metadata_names(path, metadata)
        shape, out = session.get_inputs()[0].shape, session.get_outputs()[0].shape
        fits = len(shape) == 4 and len(out) == 4 and shape[1] == 3
        if not fits or not all(isinstance(side, int) for side in (*shape[2:], out[1])):
            raise SimjudgeError(f"{path}: takes {shape} and gives {out}; (batch, 3, H, W) and (batch, classes, h, w)"
                                " of fixed sizes are needed")  # fmt: skip
        if sorted(names) != list(range(out[1])) or out[1] > MOST_CLASSES:
            raise SimjudgeError(f"{path}: names {len(names)} classes and scores {out[1]}; export it again")
        return cls(path.stem, names, (shape[3], shape[2]), hash_files(path), session)

    def segment(self, images: list[RgbImage]) -> list[LabelPicture]:
        """Give every pixel of some images its class.

        Args:
            images: 8-bit RGB images (H, W, 3), of any sizes.

        Returns:
            The number of the class of each pixel, uint8 (H, W), as large as the image.
        """
        scaled = [cv2.resize(as_rgb(image), self.input_size, interpolation=cv2.INTER_AREA) for image in images]
        batch = np.stack(scaled).transpose(0, 3, 1, 2).astype(np.float32) / 255
        (scores,) = self.session.run(None, {self.session.get_inputs()[0].name: batch})
        if not np.isfinite(scores).all():
            raise SimjudgeError(f"{self.name}: scores are NaN or infinite; its training failed: train it again")
        return [_classes(each, image.shape[:2]) for each, image in zip(scores, images, strict=True)]


def _classes(scores: Any, shape: tuple[int, ...]) -> LabelPicture:
    """The best class of each pixel; scores (C, h, w) are scaled to the image's height and width first."""
    planes = np.ascontiguousarray(scores.transpose(1, 2, 0))
    large = cv2.resize(planes, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(large.reshape(*shape[:2], -1).argmax(2), np.uint8)


def is_semantic_net(path: Path) -> bool:
    """Tell whether a detector's file is a net that gives every pixel a class."""
    if path.suffix.lower() != ".onnx" or not path.is_file():
        return False
    return bool(open_session(path).get_modelmeta().custom_metadata_map.get("task") == TASK)
