"""What the causes of a difference between two cameras are called, for options and sentences; loads nothing heavy."""

from __future__ import annotations

GLARE = "glare"  # Needs the light of B's scene
# Names to words, in the order in which they act in a camera.
CAMERA_CAUSES = {
    GLARE: "glare",
    "haze": "haze",
    "motion_blur": "motion blur",
    "chromatic_aberration": "chromatic aberration",
    "blur": "blur",
    "vignetting": "vignetting",
    "exposure": "exposure",
    "white_balance": "white balance",
    "contrast": "contrast",
    "mosaic": "the colour mosaic",
    "noise": "noise",
    "sharpening": "sharpening",
    "jpeg": "JPEG compression",
}
LABEL_MARGINS = "label_margins"  # Labels that are drawn tighter or wider in one set
# Names to words of causes that are undone by rendering the simulated pictures again.
RENDERED_CAUSES = {
    "lens": "the lens",
    "resolution": "resolution",
    "motion": "the exposure time",
    "lighting": "lighting",
}
OBJECTS, BACKGROUND = "objects", "background"
# Names to words of what A's pixels close; asked last, once the causes in the list are undone. A's pixels carry the
# scene and whatever else A's camera does, so that neither is called a cause.
SCENE_CAUSES = {
    OBJECTS: "on objects: scene, or camera effects that are not in the list",
    BACKGROUND: "elsewhere: scene, or camera effects that are not in the list",
}
