"""The settings of comparison, sweep and plan, in groups that other questions take too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.settings import ReadSettings, Settings, TextForm, setting
from simjudge.detectors.detector_settings import A_RENAMES, B_RENAMES, ModelSettings, Renames, RenameSettings
from simjudge.judging.performance_source import METAVAR, OwnPerformance, parse_performance
from simjudge.method.method import MOST_DRAWS, PRESETS, Method, patch_size, patch_text
from simjudge.method.verdicts import MARGIN

CAMERA, LIDAR = "camera", "lidar"
IGNORE, RESET, COUNT = "ignore_repeats", "reset", "count"
"""After a jump back of live stamps: count no frame twice, forget the frames so far, count all."""
LIDAR_PATCH = (16, 120)
"""Rows and columns of a patch in range images where nobody says otherwise: 24 degrees wide at 1800 columns, about
twice a car at 20 m; and all rings of a device with 16, a quarter of those of one with 64."""
_MOST_ROWS = 1024


def elevation_rows(given: str | Sequence[float]) -> tuple[float, float, int]:
    """Rows of a range image at even elevations."""
    parts = given.split(":") if isinstance(given, str) else list(given)
    try:
        low, high, rows = float(parts[0]), float(parts[1]), int(parts[2])
    except (ValueError, IndexError, TypeError, OverflowError):
        low, high, rows = math.nan, math.nan, 0
    if len(parts) != 3 or not (-90 <= low < high <= 90 and 2 <= rows <= _MOST_ROWS):
        raise UsageError(
            f"elevations {given!r}: write LOWEST:HIGHEST:ROWS, as in -25:3:64; degrees from -90 to 90, 2 to"
            f" {_MOST_ROWS} rows"
        )
    return low, high, rows


_ELEVATIONS = TextForm(elevation_rows, lambda rows: f"{rows[0]:g}:{rows[1]:g}:{rows[2]}", "LOWEST:HIGHEST:ROWS")


OBJECTS, SEMANTIC = "objects", "semantic"
PATCH_METRICS = {"iou": "mean_iou", "accuracy": "accuracy"}
"""What performance is in label pictures, by the name of the setting."""


SWEPT_THETAS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
"""Thresholds of the paper's sweep at its patch, 120 px (arXiv 2208.01022)."""
_SWEPT_SIXTHS = (4, 5, 6, 7, 8, 9)
"""Patches of a sweep in sixths of the patch: at the paper's 120 px those that the paper sweeps, 80 to 180 px."""
_MOST_THETAS = 250
LONGEST_BLOCK = 86_400.0
"""Seconds: a day."""
AUTO_MASKS = "auto"
"""Patches are painted from masks where every object of both sets has one, else from boxes."""
USE_MASKS = "use"
"""Patches are painted from masks where an object has one, else from its box."""
AUTO = "auto"
"""Blocks whose length is estimated from each set, and a patch that follows the sets' images and boxes."""
IGNORE_MASKS = "ignore"
"""Patches are painted from boxes."""


def patch_or_auto(given: str | int | Sequence[int]) -> tuple[int, int] | None:
    """Height and width of a patch; None for AUTO."""
    return None if given == AUTO else patch_size(given)


PATCH_FORM = TextForm(
    patch_or_auto, lambda size: size if isinstance(size, str) else patch_text(size), f"HEIGHTxWIDTH|{AUTO}"
)
"""How the size of a patch is written where one may be chosen."""


def _metric_names() -> tuple[str, ...]:
    return (*_object_metrics(), *(name for name in PATCH_METRICS if name not in _object_metrics()))


def _object_metrics() -> tuple[str, ...]:
    from simjudge.detectors.assignment import metrics  # noqa: PLC0415 - slow to import

    return tuple(metrics)


def _by_preset(name: str, **changed: Any) -> dict[str, object]:
    return {preset: getattr(method, name) for preset, method in PRESETS.items()} | changed


def thresholds(given: str | Sequence[float]) -> tuple[float, ...]:
    """Thresholds, ascending, each once."""
    if not isinstance(given, str):
        return _checked_thetas(given, given)
    try:
        if ":" in given:
            first, last, count = given.split(":")
            if not 1 <= int(count) <= _MOST_THETAS:
                raise UsageError(f"thetas {given!r}: the count must be 1 to {_MOST_THETAS}")
            step = (float(last) - float(first)) / max(1, int(count) - 1)
            return _checked_thetas(given, (round(float(first) + step * i, 12) for i in range(int(count))))
        return _checked_thetas(given, map(float, given.split(",")))
    except (ValueError, OverflowError):
        raise UsageError(f"thetas {given!r}: write first:last:count or a list with commas") from None


def _checked_thetas(given: object, values: Iterable[float]) -> tuple[float, ...]:
    found = tuple(sorted({float(theta) for theta in values}))
    if not all(0 <= theta <= 1 for theta in found):
        raise UsageError(f"thetas {given!r}: each must be 0 to 1")
    return found


def patch_sizes(given: str | Sequence[Any]) -> tuple[tuple[int, int], ...]:
    """Patch sizes, (height, width) in pixels each."""
    parts = [part for part in given.split(",") if part.strip()] if isinstance(given, str) else given
    return tuple(patch_size(part) for part in parts)


def class_list(given: str | Iterable[str]) -> tuple[str, ...] | None:
    """Names of classes, each once."""
    parts = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(part, str) for part in parts):
        raise UsageError(f"--class {given!r}: give names of classes")
    names = [name.strip() for part in parts for name in part.split(",")]
    if not all(names):
        raise UsageError(f"--class {given!r}: give names of classes")
    return tuple(dict.fromkeys(names)) or None


def block_seconds(value: Any) -> float | None:
    """Read the length of blocks. `value`: seconds, or AUTO."""
    if value == AUTO:
        return None
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds <= LONGEST_BLOCK:
        raise UsageError(f"block {value!r}: must be {AUTO}, or seconds from 0 to {LONGEST_BLOCK:g}")
    return seconds


_BLOCK = TextForm(block_seconds, str, f"SECONDS|{AUTO}")
_CLASSES = TextForm(class_list, ",".join, "NAME", several=True)
_THETAS = TextForm(thresholds, lambda values: ",".join(f"{theta:g}" for theta in values), "FIRST:LAST:COUNT|LIST")
_PATCHES = TextForm(patch_sizes, lambda values: ",".join(patch_text(size) for size in values), "LIST")


@dataclass(frozen=True, kw_only=True)
class PredictionSettings(Settings, panel="Reading files"):
    """Predictions made earlier, in place of those that the sets hold."""

    a_predictions: Path | None = setting(None, "Predictions for A, made earlier.", common=True)
    b_predictions: Path | None = setting(None, "Predictions for B, made earlier.", common=True)


@dataclass(frozen=True, kw_only=True)
class ImageTopicSettings(Settings, panel="Reading files"):
    """The images to read where a recording has several cameras."""

    a_image_topic: str | None = setting(None, "Image topic or camera name of A, if its recording has several.")
    b_image_topic: str | None = setting(None, "Image topic or camera name of B, if its recording has several.")


@dataclass(frozen=True, kw_only=True)
class ClassSettings(Settings, panel="Classes"):
    """The classes to judge."""

    classes: tuple[str, ...] | None = setting(
        None,
        "Classes to judge, separated by commas; labels and predictions of other classes are dropped.",
        form=_CLASSES,
        option="class",
        common=True,
    )


@dataclass(frozen=True, kw_only=True)
class SetRenameSettings(Settings, panel="Classes"):
    """What both sets call their classes."""

    a_rename: Renames | None = setting(
        None, "Rename a class of A (OLD=NEW); unnamed classes are called by their number.", form=A_RENAMES
    )
    b_rename: Renames | None = setting(
        None, "Rename a class of B (OLD=NEW); unnamed classes are called by their number.", form=B_RENAMES
    )


@dataclass(frozen=True, kw_only=True)
class ContextSettings(Settings, panel="Contexts and performance"):
    """What a context is, and what performance is."""

    # theta, patch, mask_factor, min_score: as in `Method`; None for the preset's. Of a patch of objects in pictures the
    # preset "paper" has none: it is chosen.
    theta: float | None = setting(
        None,
        "Similarity threshold: IoU from which two patches count as similar.",
        low=0,
        high=1,
        by_preset=_by_preset("theta"),
        common=True,
    )
    patch: tuple[int, int] | None = setting(
        None,
        "Size of the patch, height x width; auto: by the size of images and objects (of label pictures 120x120); of "
        "lidar in rings x columns, 16x120.",
        unit="px",
        form=PATCH_FORM,
        by_preset=_by_preset("patch", paper=AUTO),
        common=True,
    )
    chosen_patch: tuple[int, int] | None = None  # what `choose_patch` made of the sets, where it was asked for
    preset: str = setting(
        "paper",
        "Named settings: paper, the method's defaults; cpd, those of the authors' public tool.",
        choices=tuple(PRESETS),
    )
    mask_factor: float | None = setting(
        None,
        "Factor by which the anchor's box grows before the patch outside of it is blanked.",
        low=0,
        by_preset=_by_preset("mask_factor"),
    )
    class_blind: bool = setting(default=False, help="One mask plane for all classes: Eq. [2] read literally.")
    masks: str = setting(
        AUTO_MASKS,
        "Masks in patches: auto, if every object of both sets has one; use, wherever an object has one; ignore, "
        "boxes only.",
        choices=(AUTO_MASKS, USE_MASKS, IGNORE_MASKS),
    )
    # a name in `simjudge.detectors.assignment.metrics`, or of label pictures in `PATCH_METRICS`
    metric: str = setting(
        "iou",
        "Performance of an object: iou, detected (1 from an IoU of 0.5) or score; of a patch of a label picture: iou, "
        "the mean over its classes, or accuracy.",
        choices=_metric_names,
    )
    min_score: float | None = setting(
        None, "Score below which predictions are ignored.", low=0, high=1, by_preset=_by_preset("min_score")
    )


WHOLE_FRAMES = "frames"
"""A context is a whole frame."""


@dataclass(frozen=True, kw_only=True)
class OwnPerformanceSettings(Settings, panel="Contexts and performance"):
    """A performance of one's own, and contexts that are no patches around objects."""

    performance: OwnPerformance | None = setting(
        None,
        "Performance of one's own in place of --metric: a table, or a column of the tables beside both sets; its range;"
        " lower where a lower number is better.",
        form=TextForm(parse_performance, OwnPerformance.text, METAVAR),
    )
    contexts: str = setting(
        OBJECTS,
        "What a context is: objects, each in its patch; or frames, each by all of its labels (with --performance).",
        choices=(OBJECTS, WHOLE_FRAMES),
    )
    features: Path | None = setting(
        None,
        "Table of feature vectors, which stand for the patches: similarity is the sum of the smaller features over that"
        " of the larger ones.",
    )


@dataclass(frozen=True, kw_only=True)
class LidarSettings(Settings, panel="Lidar"):
    """What is compared, pictures or scans; and how scans become range images."""

    sensor: str = setting(
        CAMERA, "Sensor of both sets: camera (images) or lidar (point clouds with cuboids).", choices=(CAMERA, LIDAR)
    )
    cuboid_iou: str = setting(
        "3d",
        "IoU of cuboids: in space (3d) or seen from above (bev).",
        choices=("3d", "bev"),
        option="iou",
    )
    paint: str = setting(
        "cuboids",
        "Shape of an object in the range image: its cuboid, or the points inside it.",
        choices=("cuboids", "points"),
    )
    range_columns: int = setting(1800, "Columns of the range image around the turn.", low=90, high=8192)
    # lowest and highest row of the range image, degrees, and how many there are; None: A's rings
    elevations: tuple[float, float, int] | None = setting(
        None,
        "Rows of the range image, at even elevations. Default: the rings of A, else 64 rows over its elevations.",
        unit="deg",
        form=_ELEVATIONS,
    )
    a_cloud_topic: str | None = setting(None, "Point cloud topic of A, if its recording has several.")
    b_cloud_topic: str | None = setting(None, "Point cloud topic of B, if its recording has several.")


@dataclass(frozen=True, kw_only=True)
class SemanticSettings(Settings, panel="Label pictures"):
    """What is judged, objects or the pixels of label pictures; and how those are cut into patches."""

    task: str = setting(
        OBJECTS,
        "What to judge: objects (boxes or masks) or semantic (label images, in patches on a grid).",
        choices=(OBJECTS, SEMANTIC),
    )
    stride: int | None = setting(None, "Distance between patches. Default: they touch.", unit="px", low=1, high=4096)
    width: int | None = setting(
        None, "Width to scale images and labels to. Default: unchanged.", unit="px", low=16, high=16_384
    )


@dataclass(frozen=True, kw_only=True)
class UnitSettings(Settings, panel="Certainty"):
    """What is drawn at random as one, and by which numbers."""

    # seconds whose frames are one sampling unit; 0 for one unit a frame (or photograph); None: estimated from each set
    block: float | None = setting(
        None,
        "Length of the time blocks that are resampled as a whole, since neighbouring frames look alike [s; frames"
        " where there are no times]; 0 for none; auto: estimated from each set.",
        form=_BLOCK,
    )
    # what is one sampling unit, one of `sampling_units.UNITS`; None: found from the sets
    unit: str | None = setting(
        None,
        "Sampling unit: frame, photograph, block (of time), track or instance. Not given: found from the sets.",
        choices=("frame", "photograph", "block", "track", "instance"),
    )
    seed: int = setting(0, "Seed of the resampling.", low=0)


def object_metric() -> Any:
    """The declaration of `metric`, a field of a settings class, where only objects are judged."""
    return setting(
        "iou", "Performance of an object: iou, detected (1 from an IoU of 0.5) or score.", choices=_object_metrics
    )


def some_draws(low: int = 1) -> Any:
    """The declaration of `draws`, a field of a settings class, where there is no answer without certainty."""
    return setting(1000, "Bootstrap draws for noise, p and intervals.", low=low, high=MOST_DRAWS)


@dataclass(frozen=True, kw_only=True)
class RunDrawSettings(Settings, panel="Certainty"):
    """How often runs are drawn again."""

    draws: int = setting(
        1000, "Bootstrap draws for noise, p and the interval of the gap; 0 for none of them.", low=0, high=MOST_DRAWS
    )
    seed: int = setting(0, "Seed of the draws.", low=0)


def check_contexts(given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names of what contexts are alike in that a question does not know."""
    if not given or set(given) - set(known):
        raise UsageError(f"--contexts {','.join(given)}: name one or more of {', '.join(known)}")


@dataclass(frozen=True, kw_only=True)
class CertaintySettings(Settings, panel="Certainty"):
    """How large a gap must be to matter, and how its noise is found."""

    margin: float = setting(MARGIN, "Difference of performance from which a gap matters.", low=0, high=1, common=True)
    draws: int = setting(
        1000, "Bootstrap draws for noise, p and the interval of the gap; 0 to skip them.", low=0, high=MOST_DRAWS
    )


@dataclass(frozen=True, kw_only=True)
class PairSettings(Settings, panel="Pairs"):
    """Which frames of both sets are pairs."""

    paired: bool = setting(default=False, help="Frames of A and B with one stamp (or name) are pairs.", common=True)
    pair_tolerance: float = setting(0.0, "Largest time difference between the frames of a pair.", unit="s", low=0)


@dataclass(frozen=True, kw_only=True)
class MethodSettings(
    ModelSettings,
    PredictionSettings,
    ReadSettings,
    ImageTopicSettings,
    RenameSettings,
    ClassSettings,
    SetRenameSettings,
    ContextSettings,
    LidarSettings,
    SemanticSettings,
):
    """The groups of everything that compares two sets of any kind."""

    def __post_init__(self) -> None:
        """Check the values, one by one and together."""
        super().__post_init__()
        _ = self.method
        if self.sensor == LIDAR and self.preset == "cpd":
            raise UsageError("preset cpd: is the authors' tool, which knows pictures alone; leave out --sensor lidar")
        self._check_task()

    def _check_task(self) -> None:
        if self.task != SEMANTIC:
            for flag, given in (("stride", self.stride), ("width", self.width)):
                if given is not None:
                    raise UsageError(f"--{flag}: is of label pictures; give --task semantic")
            if self.metric not in _object_metrics():
                raise UsageError(f"--metric {self.metric}: is of label pictures; give --task semantic")
            return
        if self.metric not in PATCH_METRICS:
            raise UsageError(f"--metric {self.metric}: is of objects; label pictures have {', '.join(PATCH_METRICS)}")
        refused = {
            "--sensor lidar": self.sensor == LIDAR,
            "--preset cpd": self.preset == "cpd",
            "--mask-factor": self.mask_factor is not None,
            "--class": self.classes is not None,
        }
        for flag, given in refused.items():
            if given:
                raise UsageError(f"{flag}: is of objects; leave it out with --task semantic")

    @cached_property
    def method(self) -> Method:
        """The preset with what was given changed."""
        names = {field.name for field in fields(Method)}
        given = {name: value for name, value in vars(self).items() if name in names and value is not None}
        if self.patch_chosen:
            given["patch"] = self.chosen_patch
        of_sensor = {"patch": LIDAR_PATCH} if self.sensor == LIDAR else {}
        return replace(PRESETS[self.preset], **{**of_sensor, **given}, class_aware=not self.class_blind)

    @property
    def chooses_patch(self) -> bool:
        """Whether the patch follows the sets: it does where none is given, of objects in pictures."""
        return self.patch is None and self.preset == "paper" and self.sensor != LIDAR and self.task != SEMANTIC

    @property
    def patch_chosen(self) -> bool:
        """Whether the patch was chosen by the sets."""
        return self.patch is None and self.chosen_patch is not None


@dataclass(frozen=True, kw_only=True)
class CompareSettings(MethodSettings, OwnPerformanceSettings, CertaintySettings, UnitSettings, PairSettings):
    """The settings of a comparison."""

    def __post_init__(self) -> None:
        """Check the values, one by one and together."""
        super().__post_init__()
        given = self.performance
        if given is not None and self.metric != "iou":
            raise UsageError(f"--metric {self.metric}: give it or --performance")
        if self.preset == "cpd" and (given is not None or self.features is not None):
            raise UsageError("preset cpd: is the authors' tool, which knows the IoU and patches alone")
        if self.sensor == LIDAR and (self.features is not None or (given is not None and given.function is None)):
            raise UsageError("--sensor lidar: takes a performance that is a Python function; tables are of pictures")
        if self.task == SEMANTIC and (self.features is not None or (given is not None and given.function is not None)):
            raise UsageError("--task semantic: takes a performance from a table, and patches as contexts")
        if self.contexts == WHOLE_FRAMES:
            self._check_whole_frames()

    def _check_whole_frames(self) -> None:
        if self.performance is None:
            raise UsageError(f"--contexts {WHOLE_FRAMES}: needs a --performance, one number a frame")
        for flag, given in (
            ("--sensor lidar", self.sensor == LIDAR),
            ("--task semantic", self.task == SEMANTIC),
            ("--paired", self.paired),
            (f"--unit {self.unit}", self.unit in ("track", "instance")),
        ):
            if given:
                raise UsageError(f"{flag}: is of objects; leave it out with --contexts {WHOLE_FRAMES}")

    @property
    def chooses_patch(self) -> bool:
        """Whether the patch follows the sets: of whole frames it is the grid onto which they are scaled."""
        return super().chooses_patch and self.contexts != WHOLE_FRAMES


class AsksComparisons(Settings):
    """A question that compares sets again and again, by the settings that it has in common with a comparison."""

    def __post_init__(self) -> None:
        """Check the values, one by one and together."""
        super().__post_init__()
        _ = self.comparison

    @cached_property
    def comparison(self) -> CompareSettings:
        """How two sets are compared."""
        return self.as_settings(CompareSettings)


@dataclass(frozen=True, kw_only=True)
class PlanSettings(MethodSettings, UnitSettings, PairSettings):
    """The settings of a plan: how many frames show a gap."""

    # W1 of endless samples, a difference of performance
    gap: float = setting(MARGIN, "Gap to detect, as a difference of performance.", low=0.001, high=1)
    draws: int = some_draws(100)


@dataclass(frozen=True, kw_only=True)
class SweepSettings(MethodSettings, CertaintySettings, UnitSettings):
    """The settings of a sweep.

    Attributes:
        thetas: thresholds to compare at, with the patch of `patch`.
        patches: patch sizes to compare at, with the threshold `theta`; None: see `swept_patches`.
    """

    thetas: tuple[float, ...] = setting(
        SWEPT_THETAS, "Similarity thresholds to try, with the patch size of --patch.", form=_THETAS
    )
    patches: tuple[tuple[int, int], ...] | None = setting(
        None,
        "Patch sizes to try, with the threshold of --theta. Default: two thirds of --patch to one and a half of it.",
        unit="px",
        form=_PATCHES,
    )

    @property
    def swept_patches(self) -> tuple[tuple[int, int], ...]:
        """The patch sizes, those given or around the patch."""
        if self.patches is not None:
            return self.patches
        height, width = self.method.patch
        return tuple((max(1, round(height * n / 6)), max(1, round(width * n / 6))) for n in _SWEPT_SIXTHS)
