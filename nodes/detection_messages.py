"""What a detector found, as messages: simjudge_msgs, and vision_msgs where it is installed."""

from __future__ import annotations

from typing import Any, NamedTuple

from simjudge_msgs.msg import Box, ClassName, Detection, DetectionArray

from simjudge.core.errors import SimjudgeError
from simjudge.detectors.detector import Detections

from .runtime import message_class


class VisionTypes(NamedTuple):
    """The classes of vision_msgs that are needed here."""

    array: type[Any]
    detection: type[Any]
    hypothesis: type[Any]


def vision_types() -> VisionTypes | None:
    """The classes of vision_msgs, None where it is not installed."""
    names = ("Detection2DArray", "Detection2D", "ObjectHypothesisWithPose")
    try:
        return VisionTypes(*(message_class(f"vision_msgs/msg/{name}") for name in names))
    except SimjudgeError:
        return None


def detection_array(
    found: Detections, class_names: dict[int, str], header: Any, size: tuple[int, int]
) -> DetectionArray:
    """Detections in one image as simjudge_msgs/DetectionArray.

    Args:
        found: boxes in pixels of the image.
        size: width and height of the image, pixels.
    """
    out = DetectionArray(header=header, image_width=size[0], image_height=size[1])
    out.class_names = [ClassName(id=number, name=name) for number, name in sorted(class_names.items())]
    rows = zip(found.class_id.tolist(), found.box.tolist(), found.score.tolist(), strict=True)
    out.detections = [
        Detection(
            class_id=number,
            class_name=class_names.get(number, ""),
            box=Box(x0=x0, y0=y0, x1=x1, y1=y1),
            score=score,
        )
        for number, (x0, y0, x1, y1), score in rows
    ]
    return out


def vision_array(types: VisionTypes, found: Detections, class_names: dict[int, str], header: Any) -> Any:
    """Detections in one image as vision_msgs/Detection2DArray.

    Args:
        found: boxes in pixels of the image.
        class_names: by class id; a class without a name goes by its number.
    """
    out = types.array()
    out.header = header
    detections = []
    rows = zip(found.class_id.tolist(), found.box.tolist(), found.score.tolist(), strict=True)
    for number, (x0, y0, x1, y1), score in rows:
        item = types.detection()
        item.header = header
        item.bbox.center.position.x, item.bbox.center.position.y = (x0 + x1) / 2, (y0 + y1) / 2
        item.bbox.size_x, item.bbox.size_y = x1 - x0, y1 - y0
        guess = types.hypothesis()
        guess.hypothesis.class_id, guess.hypothesis.score = class_names.get(number) or str(number), score
        item.results = [guess]
        detections.append(item)
    out.detections = detections
    return out
