"""What a detector is: images in, detections out; how it shows itself, and its classes as those of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr, Summary, SummaryRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage
from simjudge.core.names import DetectorRecord, normalized_name
from simjudge.core.object_tables import Masks
from simjudge.core.text import list_some, one_line, parse_integer

_SCORE_SLACK = 1e-3  # By how much a score may miss [0, 1]: the rounding of 16-bit floats near 1 is 0.0005


class BadAnswerError(SimjudgeError):
    """A detector's answer that is none: NaN, a score that is no probability, a class that does not exist.

    Attributes:
        image: the number of the image in what the detector was given, from 0.
        problem: what is wrong, and the remedy.
    """

    def __init__(self, model: str, image: int, problem: str) -> None:
        super().__init__(f"{model}, image {image} of those given at once: {problem}")
        self.model, self.image, self.problem = model, image, problem


def require_detection_task(path: Path, task: str) -> None:
    """Refuse a model that is made for something else."""
    if task != "detect":
        raise SimjudgeError(f"{path}: the model's task is {one_line(task)!r}; a detection model is needed")


@dataclass(frozen=True, repr=False)
class Detections(ShortRepr):
    """What a detector found in one image.

    Attributes:
        class_id: int64 (N,), the detector's own ids.
        box: float64 (N, 4), x0, y0, x1, y1 in pixels of the image given, inside it.
        score: float64 (N,), in [0, 1], best first.
        inverted: the number of boxes left out because their width or height was negative.
        masks: the pixels of each; None where the detector says boxes only.
    """

    class_id: IntArray
    box: FloatArray
    score: FloatArray
    inverted: int = 0
    masks: Masks | None = None

    @classmethod
    def build(
        cls,
        class_id: npt.ArrayLike,
        box: npt.ArrayLike,
        score: npt.ArrayLike,
        inverted: int = 0,
        masks: Masks | None = None,
    ) -> Detections:
        """Make detections from anything array-like.

        Args:
            class_id: (N,), class ids of the detector.
            box: (N, 4), x0, y0, x1, y1 in pixels.
            score: (N,), in [0, 1], best first.
            inverted: the number of boxes left out because their width or height was negative.
            masks: the pixels of each; None where the detector says boxes only.
        """
        return cls(
            np.asarray(class_id, np.int64).reshape(-1),
            np.asarray(box, np.float64).reshape(-1, 4),
            np.asarray(score, np.float64).reshape(-1),
            inverted,
            masks,
        )

    def __len__(self) -> int:
        return len(self.class_id)


class Detector(Protocol):
    """Finds things in images."""

    @property
    def name(self) -> str:
        """What to call it on screen."""

    @property
    def class_names(self) -> dict[int, str]:
        """Names by class id; empty where the model does not say."""

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images.

        Args:
            images: 8-bit RGB images (H, W, 3), of any sizes.

        Returns:
            The detections in each image.
        """


def check_scores(model: str, image: int, score: npt.ArrayLike) -> None:
    """Check a net's scores before those below a threshold are dropped: NaN is below no threshold, and above none."""
    values = np.asarray(score)
    if not np.isfinite(values).all():
        raise BadAnswerError(
            model, image, "scores are NaN or infinite; the file is damaged or its training failed: train or export anew"
        )
    if values.size and (values.min() < -_SCORE_SLACK or values.max() > 1 + _SCORE_SLACK):
        said = f"scores from {values.min():.3g} to {values.max():.3g}, where 0 to 1 are probabilities"
        raise BadAnswerError(model, image, f"{said}; export the model with its sigmoid (or softmax)")


def check_answer(
    model: str, image: int, names: dict[int, str], class_id: npt.ArrayLike, box: npt.ArrayLike, score: npt.ArrayLike
) -> None:
    """Check what is to become detections.

    Args:
        image: the number of the image in what the detector was given.
        names: the detector's class names by id; empty where it has none.
        class_id: (N,), whole numbers, of any type.
        box: (N, 4), pixels.
        score: (N,).
    """
    check_scores(model, image, score)
    if not np.isfinite(np.asarray(box, np.float64)).all():
        raise BadAnswerError(
            model, image, "boxes are NaN or infinite; the file is damaged or its training failed: train or export anew"
        )
    ids = np.asarray(class_id, np.float64)
    wrong = ids[~(np.isin(ids, list(names)) if names else (ids >= 0) & (ids == np.rint(ids)))]
    if len(wrong):
        known = f"the names are those of {', '.join(map(str, list(names)[:8]))}" if names else "ids are whole numbers"
        raise BadAnswerError(
            model, image, f"class {wrong[0]:g} found, but {known}; export it again with all names in its metadata"
        )


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
    settings: dict[str, object] = {"imgsz": [int(side) for side in size]} if size[0] else {}
    settings |= {key: getattr(detector, key) for key in ("min_score", "iou") if hasattr(detector, key)}
    return DetectorRecord(detector.name, getattr(detector, "sha256", ""), settings)


_PAIRS_SHOWN = 20  # Classes at most that a message shows how to rename


@dataclass(frozen=True)
class ClassMap:
    """A detector's class ids as those of a data set.

    Attributes:
        ids: the set's id by the detector's id; a detector's class that is not in it is dropped.
        names: names of the set's classes afterwards.
        notes: what a person should know about it, one line each.
    """

    ids: dict[int, int] | None
    names: dict[int, str]
    notes: list[str]


def map_classes(
    model: str, model_names: dict[int, str], frames: FrameSet, rename: Mapping[str, str] | None = None
) -> ClassMap:
    """Match a detector's classes with a set's by name; what has no names has to be renamed, unless neither side has.

    Names are equal whatever their case, and whether words are parted by spaces, hyphens or underscores. Where that
    leaves a class without its like, "blue" and "blue_cone" are one, unless two classes claim the same; this is noted.
    A class without a name is called by its number.

    Args:
        model_names: the detector's class names by id; empty where it has none.
        rename: by a name of the detector's, what the set calls it; several may become one class of the set.
    """
    rename = rename or {}
    theirs = _new_names(model, model_names or _numbers(model, rename), rename)
    labelled = np.unique(frames.objects.class_id).tolist()
    if not frames.class_names and not labelled:
        return _of_pictures(theirs)
    if not frames.class_names and not theirs:
        note = f"neither {frames.name} nor {model} has class names: numbers are taken to mean the same in both"
        return ClassMap(None, {}, [note])
    if not rename:
        _require_names(model, theirs, frames, labelled)
    ours = frames.class_names or {c: str(c) for c in labelled}
    by_name = {normalized_name(name): class_id for class_id, name in ours.items()}
    ids = {c: by_name[normalized_name(name)] for c, name in theirs.items() if normalized_name(name) in by_name}
    alike = _alike(
        {c: n for c, n in theirs.items() if c not in ids}, {c: n for c, n in ours.items() if c not in ids.values()}
    )
    ids |= alike
    if not ids:
        raise SimjudgeError(
            f"{frames.name} and {model} have no class in common ({list_some(list(ours.values()))} in the set, "
            f"{list_some(list(theirs.values()))} in the model); say with --rename MODEL=SET which are the same"
        )
    notes = []
    if alike:
        pairs = list_some([f"{theirs[c]} = {ours[mine]}" for c, mine in alike.items()])
        notes.append(f"taken for the same in {model} and {frames.name}: {pairs}; --rename MODEL=SET says otherwise")
    unknown = [name for c, name in ours.items() if c not in ids.values()]
    if unknown:
        notes.append(f"{model} does not know {list_some(unknown)}: those objects cannot be found")
    dropped = [name for c, name in theirs.items() if c not in ids]
    if dropped:
        notes.append(f"{frames.name} does not have {list_some(dropped)}: what {model} finds of it is dropped")
    if not model_names:
        notes.append(f"what {model} finds of classes that are not renamed is dropped")
    return ClassMap(ids, dict(frames.class_names) or _names_by(ids, model_names, ours), notes)


def _alike(theirs: dict[int, str], ours: dict[int, str]) -> dict[int, int]:
    """The set's ids by the model's, of names that differ by an appended "cone" alone; none that two could mean."""

    def by_stem(names: dict[int, str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for class_id, name in names.items():
            found.setdefault(normalized_name(name).removesuffix(" cone"), []).append(class_id)
        return found

    mine = by_stem(ours)
    return {c[0]: mine[stem][0] for stem, c in by_stem(theirs).items() if len(c) == 1 == len(mine.get(stem, ()))}


def _of_pictures(theirs: dict[int, str]) -> ClassMap:
    """The classes of pictures that nobody labelled: the detector's; several of one name become the first of them."""
    first: dict[str, int] = {}
    ids = {c: first.setdefault(normalized_name(name), c) for c, name in theirs.items()}
    return ClassMap(ids or None, {c: theirs[c] for c in first.values()}, [])


def _require_names(model: str, theirs: dict[int, str], frames: FrameSet, labelled: list[int]) -> None:
    """Refuse to match by number what one side alone has names for."""
    ours = frames.class_names
    if ours and theirs:
        return
    if theirs:
        nameless, named, names, numbers = frames.name, model, theirs, labelled
        pairs = [f"{theirs[c]}={c}" for c in labelled if c in theirs]
    else:
        nameless, named, names, numbers = model, frames.name, ours, list(ours)
        pairs = [f"{c}={name}" for c, name in ours.items()]
    example = f"{','.join(pairs[:_PAIRS_SHOWN])} where numbers mean the same"
    if not pairs:
        example = f"{next(iter(names.values()))}={numbers[0]}, for example"
    without, having = list_some([str(c) for c in numbers]), list_some(list(names.values()))
    raise SimjudgeError(
        f"{nameless} has no class names (numbers {without}), and {named} has ({having}): name the classes of "
        f"{nameless}, or say which are the same: --rename {example}"
    )


def _names_by(ids: dict[int, int], model_names: dict[int, str], ours: dict[int, str]) -> dict[int, str]:
    """Names for the classes of a set without names: those that the detector has for them."""
    return {
        mine: "/".join(model_names[c] for c, to in ids.items() if to == mine and c in model_names) or number
        for mine, number in ours.items()
    }


def _numbers(model: str, rename: Mapping[str, str]) -> dict[int, str]:
    """The classes of a detector without names: the numbers that are renamed."""
    found = {name: parse_integer(name) for name in rename}
    wrong = next((name for name, number in found.items() if number is None), None)
    if wrong is not None:
        raise SimjudgeError(f"{model} has no class names: --rename {one_line(wrong)}=... must begin with a number")
    return {number: name for name, number in found.items() if number is not None}


def _new_names(model: str, names: dict[int, str], rename: Mapping[str, str]) -> dict[int, str]:
    known = {normalized_name(name) for name in names.values()}
    for name in rename:
        if normalized_name(name) not in known:
            raise SimjudgeError(f"{model} has no class {one_line(name)!r}: {list_some(list(names.values()))}")
    new = {normalized_name(old): name for old, name in rename.items()}
    return {c: new.get(normalized_name(name), name) for c, name in names.items()}
