"""How a loaded detector shows itself."""

from __future__ import annotations

from simjudge.core.display import Summary


class ShownDetector:
    """Shows a detector as a few lines: its name and kind, its input, its classes and its thresholds."""

    name: str

    def __repr__(self) -> str:
        """The summary as text."""
        return self.summary().text()

    def _repr_html_(self) -> str:
        """The summary for notebooks."""
        return self.summary().html()

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
