"""Classes of label pictures, and labels that nobody drew: from their regions, or by a stronger detector.

Source: Cordts et al., "The Cityscapes Dataset for Semantic Urban Scene Understanding", CVPR 2016, with the numbers and
colours of its public scripts; Richter et al., "Playing for Data", ECCV 2016, which has the same colours; Brostow et
al., "Semantic object classes in video", Pattern Recognition Letters 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import MOST_CLASSES, UNLABELLED, ColourTable, FrameSet, LabelPicture, LabelPictures
from simjudge.core.images import ImageError
from simjudge.core.names import normalized_name
from simjudge.core.object_tables import Masks, Objects
from simjudge.core.text import list_some, one_line


@dataclass(frozen=True)
class StreetClass:
    """A class of Cityscapes."""

    label_id: int  # its number in files that end in labelIds
    train_id: int | None  # its number among those that nets learn; None for one that counts nowhere
    name: str
    colour: tuple[int, int, int]  # red, green and blue in files that end in color


# Classes that a picture shows. Licence plates have the colour of cars. Numbers 1 to 4 and 18 have the colour of another
# class and count nowhere.
STREET_CLASSES = (
    StreetClass(0, None, "unlabeled", (0, 0, 0)),
    StreetClass(5, None, "dynamic", (111, 74, 0)),
    StreetClass(6, None, "ground", (81, 0, 81)),
    StreetClass(7, 0, "road", (128, 64, 128)),
    StreetClass(8, 1, "sidewalk", (244, 35, 232)),
    StreetClass(9, None, "parking", (250, 170, 160)),
    StreetClass(10, None, "rail track", (230, 150, 140)),
    StreetClass(11, 2, "building", (70, 70, 70)),
    StreetClass(12, 3, "wall", (102, 102, 156)),
    StreetClass(13, 4, "fence", (190, 153, 153)),
    StreetClass(14, None, "guard rail", (180, 165, 180)),
    StreetClass(15, None, "bridge", (150, 100, 100)),
    StreetClass(16, None, "tunnel", (150, 120, 90)),
    StreetClass(17, 5, "pole", (153, 153, 153)),
    StreetClass(19, 6, "traffic light", (250, 170, 30)),
    StreetClass(20, 7, "traffic sign", (220, 220, 0)),
    StreetClass(21, 8, "vegetation", (107, 142, 35)),
    StreetClass(22, 9, "terrain", (152, 251, 152)),
    StreetClass(23, 10, "sky", (70, 130, 180)),
    StreetClass(24, 11, "person", (220, 20, 60)),
    StreetClass(25, 12, "rider", (255, 0, 0)),
    StreetClass(26, 13, "car", (0, 0, 142)),
    StreetClass(27, 14, "truck", (0, 0, 70)),
    StreetClass(28, 15, "bus", (0, 60, 100)),
    StreetClass(29, None, "caravan", (0, 0, 90)),
    StreetClass(30, None, "trailer", (0, 0, 110)),
    StreetClass(31, 16, "train", (0, 80, 100)),
    StreetClass(32, 17, "motorcycle", (0, 0, 230)),
    StreetClass(33, 18, "bicycle", (119, 11, 32)),
)
# Names of the further numbers.
UNCOUNTED = {1: "ego vehicle", 2: "rectification border", 3: "out of roi", 4: "static", 18: "polegroup"}

# Names by the number in files that end in labelIds.
LABEL_NAMES = {street_class.label_id: street_class.name for street_class in STREET_CLASSES} | UNCOUNTED
# Those numbers by red, green and blue.
LABEL_COLOURS: ColourTable = {street_class.colour: street_class.label_id for street_class in STREET_CLASSES}
# Names by Cityscapes' train id, 0 to 18.
TRAIN_NAMES = {
    street_class.train_id: street_class.name for street_class in STREET_CLASSES if street_class.train_id is not None
}

_TRAIN_IDS = {name: train_id for train_id, name in TRAIN_NAMES.items()}
# Cityscapes' names by those of CamVid, of its 32 classes and of the usual 11. Trucks and buses are one class there,
# which is neither of Cityscapes', and counts nowhere.
_CAMVID = {
    "Bicyclist": "rider",
    "Building": "building",
    "Car": "car",
    "Child": "person",
    "Column_Pole": "pole",
    "Fence": "fence",
    "LaneMkgsDriv": "road",
    "LaneMkgsNonDriv": "road",
    "MotorcycleScooter": "motorcycle",
    "Pedestrian": "person",
    "Road": "road",
    "RoadShoulder": "road",
    "Sidewalk": "sidewalk",
    "SignSymbol": "traffic sign",
    "Sky": "sky",
    "SUVPickupTruck": "car",
    "TrafficLight": "traffic light",
    "Train": "train",
    "Tree": "vegetation",
    "VegetationMisc": "vegetation",
    "Wall": "wall",
    "Pole": "pole",
    "Pavement": "sidewalk",
}
_OTHER_NAMES = {normalized_name(name): street for name, street in _CAMVID.items()}


def street_train_id(name: str) -> int | None:
    """The train id of a class of streets: 0 to 18; None for what is no class of streets, or counts nowhere."""
    key = normalized_name(name)
    return _TRAIN_IDS.get(_OTHER_NAMES.get(key, key))


# What number 0 of a scene's label pictures means where no class has it: nothing that has a class.
BACKGROUND = "background"


@dataclass(frozen=True, repr=False)
class SemanticClasses(ShortRepr):
    """The classes of several sets under common numbers."""

    names: Mapping[int, str]
    street: bool  # whether they are Cityscapes' train ids

    def numbers(self, class_names: Mapping[int, str]) -> npt.NDArray[np.uint8]:
        """The common number of each class of a set: uint8 (256,)."""
        table = np.full(UNLABELLED + 1, UNLABELLED, np.uint8)
        by_name = {normalized_name(name): number for number, name in self.names.items()}
        for class_id, name in _named(class_names, street=self.street).items():
            number = street_train_id(name) if self.street else by_name.get(normalized_name(name))
            if number is not None:
                table[class_id] = number
        return table


def common_classes(named: Sequence[tuple[str, Mapping[int, str]]]) -> SemanticClasses:
    """Number the classes of several sets and nets: Cityscapes' train ids where all have some, else by name."""
    for what, names in named:
        if not names:
            raise SimjudgeError(f"{what}: its classes have no names; name them in data.yaml")
    ids = [{street_train_id(name) for name in names.values()} - {None} for _, names in named]
    if all(ids):
        _require_common(
            [(what, {TRAIN_NAMES[i] for i in own if i is not None}) for (what, _), own in zip(named, ids, strict=True)]
        )
        return SemanticClasses(TRAIN_NAMES, street=True)
    own_names = [_named(names, street=False) for _, names in named]
    _require_common(
        [
            (what, set(map(normalized_name, own.values())) - {BACKGROUND})
            for (what, _), own in zip(named, own_names, strict=True)
        ]
    )
    distinct = {normalized_name(name): name for own in reversed(own_names) for name in own.values()}
    return SemanticClasses(dict(enumerate(distinct.values())), street=False)


def _named(class_names: Mapping[int, str], *, street: bool) -> dict[int, str]:
    """The classes that have a name: a class called by its number has none."""
    named = {k: name for k, name in class_names.items() if name != str(k) and 0 <= k < MOST_CLASSES}
    return named if street else {0: BACKGROUND, **named}


def _require_common(named: Sequence[tuple[str, set[str]]]) -> None:
    (first, ours), *others = named
    for what, theirs in others:
        if not ours & theirs:
            raise SimjudgeError(
                f"{first} and {what} have no class of pixels in common ({list_some(sorted(ours))}; "
                f"{list_some(sorted(theirs))})"
            )


def scaled_height(size: tuple[int, int], width: int) -> int:
    """The height of a picture scaled to a width (size: width and height, pixels; width: to which it is scaled)."""
    return max(1, round(size[1] * width / size[0]))


def scale_labels(labels: LabelPicture, width: int | None) -> LabelPicture:
    """Scale a label picture, each pixel taking the class of the nearest one (labels (H, W); width: pixels)."""
    height, own = labels.shape
    if width is None or own == width:
        return labels
    size = (width, scaled_height((own, height), width))
    return np.asarray(cv2.resize(labels, size, interpolation=cv2.INTER_NEAREST_EXACT), np.uint8)


def label_pairs(
    frames: FrameSet, classes: SemanticClasses, width: int | None, losses: Losses
) -> Iterator[tuple[int, LabelPicture, LabelPicture]]:
    """The labelled and the predicted picture of each frame with both, uint8 (H, W), `UNLABELLED` where not counted."""
    table = classes.numbers(frames.class_names)
    for index in range(len(frames)):
        truth = _read(frames.semantic, index, frames, "label picture", losses)
        guess = _read(frames.predicted_semantic, index, frames, "predicted label picture", losses)
        if truth is None or guess is None:
            continue
        if truth.shape != guess.shape:
            shown = " and ".join(f"{picture.shape[1]}x{picture.shape[0]}" for picture in (truth, guess))
            losses.add("frames whose label pictures differ in size", f"{frames.describe_frame(index)}: {shown}")
            continue
        count_unknown(truth, frames, index, losses)
        yield index, table[scale_labels(truth, width)], table[scale_labels(guess, width)]


def count_unknown(labels: LabelPicture, frames: FrameSet, index: int, losses: Losses) -> None:
    """Count pixels whose class the set does not name."""
    known = [*_named(frames.class_names, street=False), UNLABELLED]
    count = np.bincount(labels.reshape(-1), minlength=UNLABELLED + 1)
    count[[k for k in {*known, *frames.class_names} if 0 <= k <= UNLABELLED]] = 0
    if count.any():
        losses.add("pixels of a class or colour without a name", frames.describe_frame(index), int(count.sum()))


def _read(
    pictures: LabelPictures | None, index: int, frames: FrameSet, what: str, losses: Losses
) -> LabelPicture | None:
    if pictures is None or not pictures.has(index):
        losses.add(f"frames without a {what}", frames.describe_frame(index))
        return None
    try:
        return pictures.read(index)
    except ImageError as error:
        losses.add(f"damaged {what}s", str(error))
        return None


SMALLEST_REGION = 16
"""Pixels of a region that becomes an object."""


def labels_from_predictions(source: FrameSet, least: float) -> FrameSet:
    """A set whose predictions of some score or more are its labels, which say of whom they are; its predictions go."""
    if not 0 < least <= 1:
        raise UsageError(f"--from-predictions {least:g}: a score above 0, up to 1, is needed")
    found = source.predictions
    if found is None:
        raise SimjudgeError(
            f"{source.name}: holds no predictions to take for labels; run the stronger detector before (simjudge"
            " detect)"
        )
    rows = np.flatnonzero(found.score >= least)
    if not len(rows):
        highest = f"the highest score is {found.score.max():.3g}" if len(found) else "it found nothing"
        raise SimjudgeError(f"{source.name}: no prediction has a score of {least:g}: {highest}")
    kept = found.take(rows)
    objects = Objects.build(kept.frame, kept.class_id, kept.box, masks=kept.masks, cuboid=kept.cuboid)
    who = source.name if source.detector is None else source.detector.name
    labelled = replace(source, objects=objects, labelled=source.predicted.copy(), label_source=teacher(who, least))
    return labelled.with_predictions(None)


def teacher(who: str, least: float) -> str:
    """How labels are called that are predictions of a detector."""
    return f"predictions of {who} at {least:g}, a teacher"


def labels_from_pictures(source: FrameSet, classes: Sequence[str], smallest: int = SMALLEST_REGION) -> FrameSet:
    """A set whose objects are the connected regions of its label pictures, each with its mask.

    Things of one class that touch become one object. `classes`: names of the classes that become objects; `smallest`:
    pixels below which a region is left out.
    """
    if source.semantic is None:
        raise SimjudgeError(f"{source.name}: holds no label pictures whose regions could be objects")
    wanted = {normalized_name(name): name for name in classes}
    ids = [k for k, name in sorted(source.class_names.items()) if normalized_name(name) in wanted]
    known = {normalized_name(source.class_names[k]) for k in ids}
    if lacking := [name for key, name in wanted.items() if key not in known]:
        raise UsageError(
            f"{source.name}: its label pictures have no class {one_line(lacking[0])}; they have"
            f" {list_some(list(source.class_names.values()))}"
        )
    losses = Losses()
    losses.extend(source.losses)
    frame, class_id, box, crops, origin = [], [], [], [], []
    labelled = np.zeros(len(source), np.bool_)
    for index in range(len(source)):
        picture = _picture(source, index, losses)
        if picture is None:
            continue
        labelled[index] = True
        for number, crop, (x, y) in _regions(picture, ids, smallest):
            frame.append(index)
            class_id.append(number)
            box.append([x, y, x + crop.shape[1], y + crop.shape[0]])
            crops.append(crop)
            origin.append((x, y))
    if not frame:
        raise SimjudgeError(f"{source.name}: no region of {list_some(list(classes))} has {smallest} pixels")
    masks = Masks.from_crops(crops, np.array(origin))
    text = f"regions of label pictures ({', '.join(source.class_names[k] for k in ids)})"
    return replace(
        source,
        objects=Objects.build(frame, class_id, box, masks=masks),
        labelled=labelled,
        losses=losses,
        label_source=text,
    )


def _picture(source: FrameSet, index: int, losses: Losses) -> LabelPicture | None:
    if source.semantic is None or not source.semantic.has(index):
        return None
    try:
        return source.semantic.read(index)
    except ImageError as error:
        losses.add("damaged label pictures", str(error))
        return None


def _regions(
    picture: LabelPicture, ids: Sequence[int], smallest: int
) -> Iterator[tuple[int, BoolArray, tuple[int, int]]]:
    """The class, pixels and upper left corner of each region, neighbours by edges and corners."""
    for class_id in ids:
        if class_id >= UNLABELLED:
            continue
        count, numbers, statistics, _ = cv2.connectedComponentsWithStats((picture == class_id).astype(np.uint8))
        for number in range(1, count):
            x, y, width, height, area = _integers(statistics[number])
            if area >= smallest:
                crop = np.asarray(numbers[y : y + height, x : x + width] == number)
                yield class_id, crop, (x, y)


def _integers(row: npt.NDArray[np.int32] | IntArray) -> tuple[int, int, int, int, int]:
    x, y, width, height, area = row.tolist()
    return x, y, width, height, area
