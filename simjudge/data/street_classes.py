"""Classes of streets: what Cityscapes, GTA V and CamVid call them, their colours, and Cityscapes' train ids.

Source: Cordts et al., "The Cityscapes Dataset for Semantic Urban Scene Understanding", CVPR 2016, with the numbers and
colours of its public scripts; Richter et al., "Playing for Data", ECCV 2016, which has the same colours; Brostow et
al., "Semantic object classes in video", Pattern Recognition Letters 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.class_names import normalized_name
from simjudge.core.label_pictures import ColourTable


@dataclass(frozen=True)
class StreetClass:
    """A class of Cityscapes.

    Attributes:
        label_id: its number in files that end in labelIds.
        train_id: its number among those that nets learn; None for one that counts nowhere.
        colour: red, green and blue in files that end in color.
    """

    label_id: int
    train_id: int | None
    name: str
    colour: tuple[int, int, int]


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
"""Classes that a picture shows. Licence plates have the colour of cars. Numbers 1 to 4 and 18 have the colour of
another class and count nowhere."""
UNCOUNTED = {1: "ego vehicle", 2: "rectification border", 3: "out of roi", 4: "static", 18: "polegroup"}
"""Names of the further numbers."""

LABEL_NAMES = {each.label_id: each.name for each in STREET_CLASSES} | UNCOUNTED
"""Names by the number in files that end in labelIds."""
LABEL_COLOURS: ColourTable = {each.colour: each.label_id for each in STREET_CLASSES}
"""Those numbers by red, green and blue."""
TRAIN_NAMES = {each.train_id: each.name for each in STREET_CLASSES if each.train_id is not None}
"""Names by Cityscapes' train id, 0 to 18."""

_TRAIN_IDS = {name: train_id for train_id, name in TRAIN_NAMES.items()}
_CAMVID = {
    "Bicyclist": "rider", "Building": "building", "Car": "car", "Child": "person", "Column_Pole": "pole",
    "Fence": "fence", "LaneMkgsDriv": "road", "LaneMkgsNonDriv": "road", "MotorcycleScooter": "motorcycle",
    "Pedestrian": "person", "Road": "road", "RoadShoulder": "road", "Sidewalk": "sidewalk",
    "SignSymbol": "traffic sign", "Sky": "sky", "SUVPickupTruck": "car", "TrafficLight": "traffic light",
    "Train": "train", "Tree": "vegetation",
    "VegetationMisc": "vegetation", "Wall": "wall", "Pole": "pole", "Pavement": "sidewalk",
}  # fmt: skip
"""Cityscapes' names by those of CamVid, of its 32 classes and of the usual 11. Trucks and buses are one class there,
which is neither of Cityscapes', and counts nowhere."""
_OTHER_NAMES = {normalized_name(name): street for name, street in _CAMVID.items()}


def street_train_id(name: str) -> int | None:
    """The train id of a class of streets.

    Args:
        name: as Cityscapes, GTA V or CamVid have it; neither case nor the character between words counts.

    Returns:
        0 to 18; None for what is no class of streets, or counts nowhere.
    """
    key = normalized_name(name)
    return _TRAIN_IDS.get(_OTHER_NAMES.get(key, key))
