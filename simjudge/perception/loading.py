"""Loading a detector: its file tells which kind it is."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import roots
from simjudge.perception.detector import DEFAULT_IOU, DEFAULT_MIN_SCORE, Detector


def load_detector(
    spec: str | Path,
    *,
    min_score: float = DEFAULT_MIN_SCORE,
    iou: float = DEFAULT_IOU,
    imgsz: int | None = None,
    device: str = "",
) -> Detector:
    """Load a detector: an ONNX model, ultralytics weights, or colour thresholds.

    Args:
        spec: a `.onnx`, `.pt`, `.yaml` or `.yml` file, or the name of one that comes with simjudge.
        min_score: detections with a lower score are dropped.
        iou: of two detections of one class that overlap more than this, the better one stays. Not used for colours.
        imgsz: side of the net's input, where the model leaves it open; by default what the model says.
        device: "cpu", "0", ...; only for `.pt`.

    Raises:
        SimjudgeError: there is no such file, or it is no detector.
    """
    path = _find(spec)
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        from simjudge.perception.onnx import OnnxDetector  # noqa: PLC0415 - heavy

        return OnnxDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz)
    if suffix == ".pt":
        from simjudge.perception.ultralytics_pt import UltralyticsDetector  # noqa: PLC0415 - an extra

        return UltralyticsDetector.load(path, min_score=min_score, iou=iou, imgsz=imgsz, device=device)
    if suffix in {".yaml", ".yml"}:
        from simjudge.perception.colour import ColourDetector  # noqa: PLC0415

        return ColourDetector.load(path, min_score=min_score)
    raise SimjudgeError(f"{path}: no detector: give a .onnx, a .pt, or a .yaml of colour thresholds")


def shipped_detectors() -> dict[str, Path]:
    """The detectors that come with simjudge, by name."""
    found: dict[str, Path] = {}
    for root in roots():
        for pattern in ("config/detectors/*.yaml", "models/*.onnx"):
            for file in sorted(root.glob(pattern)):
                found.setdefault(file.stem, file)
    return found


def _find(spec: str | Path) -> Path:
    path = Path(spec)
    if path.is_file():
        return path
    known = shipped_detectors()
    if str(spec) in known:
        return known[str(spec)]
    if path.exists():
        raise SimjudgeError(f"{path}: no detector: a .onnx, .pt or .yaml file is needed")
    raise SimjudgeError(f"{path}: there is no such file, and no detector of that name (known: {', '.join(known)})")
