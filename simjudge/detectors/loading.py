"""Loading a detector: its file tells which kind it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import hash_files
from simjudge.core.input_files import check_file
from simjudge.core.installed import DETECTOR, find_file
from simjudge.detectors.detector import Detector
from simjudge.detectors.detector_settings import DEFAULT_IOU, DEFAULT_MIN_SCORE

if TYPE_CHECKING:
    from simjudge.detectors.colour_detector import ColourDetector
    from simjudge.detectors.onnx_detector import OnnxDetector
    from simjudge.detectors.ultralytics_detector import UltralyticsDetector


def load_detector(
    spec: str | Path,
    *,
    min_score: float = DEFAULT_MIN_SCORE,
    iou: float = DEFAULT_IOU,
    imgsz: int | None = None,
    device: str = "",
    trust: bool = False,
) -> Detector:
    """Load a detector: an ONNX model, ultralytics weights, or colour thresholds.

    Args:
        spec: a `.onnx`, `.pt`, `.yaml` or `.yml` file, or the name of one that comes with simjudge.
        min_score: detections with a lower score are dropped.
        iou: of two detections of one class that overlap more than this, the better one stays. Not used for colours.
        imgsz: side of the net's input, where the model leaves it open; by default what the model says.
        device: "cpu", "0", ...; only for `.pt`.
        trust: run the code inside the file; only for `.pt`, which is read without by default and refused where it
            holds more than weights.

    Raises:
        UsageError: there is no such file, nor a detector of that name.
        SimjudgeError: the file is no detector.
    """
    path = find_file(spec, DETECTOR)
    check_file(path)
    detector = _load(path, min_score, iou, imgsz, device, trust=trust)
    return replace(detector, sha256=hash_files(path))


def _load(
    path: Path, min_score: float, iou: float, imgsz: int | None, device: str, *, trust: bool
) -> OnnxDetector | UltralyticsDetector | ColourDetector:
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        from simjudge.detectors.onnx_detector import OnnxDetector  # noqa: PLC0415 - heavy

        return OnnxDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz)
    if suffix == ".pt":
        from simjudge.detectors.ultralytics_detector import UltralyticsDetector  # noqa: PLC0415 - an extra

        return UltralyticsDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz, device=device, trust=trust)
    if suffix in {".yaml", ".yml"}:
        from simjudge.detectors.clouds.cuboid_settings import is_cloud_detector  # noqa: PLC0415
        from simjudge.detectors.colour_detector import ColourDetector  # noqa: PLC0415
        from simjudge.detectors.colour_file import read_colours  # noqa: PLC0415

        if is_cloud_detector(path):
            raise SimjudgeError(f"{path}: finds cuboids in point clouds, nothing in images; 'simjudge detect' runs it")
        return ColourDetector(path.stem, read_colours(path), min_score)
    raise SimjudgeError(f"{path}: no detector: give a .onnx, a .pt, or a .yaml of colour thresholds")
