"""What the causes of a difference between two cameras are called, for options and sentences; loads nothing heavy."""

from __future__ import annotations

CAMERA_CAUSES = {
    "blur": "blur",
    "vignetting": "vignetting",
    "exposure": "exposure",
    "white_balance": "white balance",
    "contrast": "contrast",
    "mosaic": "the colour mosaic",
    "noise": "noise",
    "jpeg": "JPEG compression",
}
"""Names to words, in the order in which they act in a camera."""
LABEL_MARGINS = "label_margins"
"""Labels that are drawn tighter or wider in one set."""
RENDERED_CAUSES = {
    "lens": "the lens",
    "resolution": "resolution",
    "motion": "blur by motion",
    "lighting": "lighting",
}
"""Names to words of causes that are undone by rendering the simulated pictures again."""
OBJECTS, BACKGROUND = "objects", "background"
SCENE_CAUSES = {
    OBJECTS: "the look of objects",
    BACKGROUND: "the background",
}
"""Names to words of what a scene shows; asked last, once the causes that lie in the camera are undone."""
