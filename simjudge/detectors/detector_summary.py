"""How a loaded detector shows itself."""

from __future__ import annotations

from typing import Any

from simjudge.core.detector_record import DetectorRecord
from simjudge.core.display import Summary, SummaryRepr
from simjudge.detectors.detector import Detector


class ShownDetector(SummaryRepr):
    """Shows a detector as a few lines: its name and kind, its input, its classes and its thresholds."""

    name: str

    def summary(self) -> Summary:
        """What the detector takes and finds, for a person to read."""
        size = getattr(self, "input_size", None) or (getattr(self, "imgsz", None),) * 2
        rows = [("input", f"{size[0]} x {size[1]} pixels")] if size[0] else []
        names: dict[int, str] = getattr(self, "class_names", {})
        listed = ", ".join(f"{i} {name}" for i, name in sorted(names.items()))
        rows.append(("classes", listed or "not named in the model"))
        for label, name in (("min. score", "min_score"), ("NMS IoU", "iou")):
            if hasattr(self, name):
                rows.append((label, f"{getattr(self, name):g}"))
        return Summary(self.name, type(self).__name__, rows)


def record_detector(detector: Detector) -> DetectorRecord:
    """Say which detector runs, to be kept with its predictions.

    Args:
        detector: any detector; one that `load_detector` loaded also says the digest of its file and its settings.

    Returns:
        Name, digest, and of the settings those that it has: size of the input in pixels (width, height), least score,
        and overlap (IoU) from which the better of two boxes stays.
    """
    size: Any = getattr(detector, "input_size", None) or (getattr(detector, "imgsz", None),) * 2
    settings: dict[str, Any] = {"imgsz": [int(side) for side in size]} if size[0] else {}
    settings |= {key: getattr(detector, key) for key in ("min_score", "iou") if hasattr(detector, key)}
    return DetectorRecord(detector.name, getattr(detector, "sha256", ""), settings)
