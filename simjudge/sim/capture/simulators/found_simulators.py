"""Which simulators a recording or a graph could be of: the label topics of config/simulators/ by name and type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from simjudge.core.installed import SIMULATOR, shipped_files
from simjudge.data.rosbag2.recorded_poses import POSE_TYPES
from simjudge.sim.capture.simulators.recorded_labels import PICTURES, STRING, simulator_forms
from simjudge.sim.capture.simulators.simulator_file import (
    LabelFields,
    PictureFields,
    SimulatorFile,
    SolidFields,
    read_simulator,
)


@dataclass(frozen=True)
class FoundLabels:
    """Topics that hold a simulator's ground truth in one form.

    Attributes:
        simulator: the name of its file in config/simulators/.
        form: pictures, solids (boxes in space), boxes (on the image) or things (poses), as its file calls them.
        names_topic: of the JSON that says what the numbers mean; "" where it is not there.
        needs_names: the pattern of that topic's name; "" where this form has none.
        needs_classes: whether neither the file nor a topic says what the numbers mean.
    """

    simulator: str
    form: str
    topics: tuple[str, ...]
    names_topic: str = ""
    needs_names: str = ""
    needs_classes: bool = False


def find_simulator_labels(types: Mapping[str, str]) -> list[FoundLabels]:
    """Find the ground truth of the simulators that come with simjudge.

    Returns:
        One for each simulator that has any: its most exact form. A topic's name and type tell it, so that two
        simulators with topics of one name may both be named.
    """
    files = sorted(shipped_files(SIMULATOR).items())
    found = (_find(name, read_simulator(file).content, types) for name, file in files)
    return [each for each in found if each is not None]


def _find(name: str, simulator: SimulatorFile, types: Mapping[str, str]) -> FoundLabels | None:
    if simulator.things is not None:
        return _find_things(name, simulator, types)
    for fields, kinds in simulator_forms(simulator):
        topics = _fitting(fields.topic, kinds, types)
        if topics:
            return _with_names(name, fields, topics, types)
    return None


def _with_names(name: str, fields: LabelFields, topics: tuple[str, ...], types: Mapping[str, str]) -> FoundLabels:
    names = _fitting(fields.names_from, (STRING,), types)
    form = "boxes"
    if isinstance(fields, PictureFields | SolidFields):
        form = "pictures" if isinstance(fields, PictureFields) else "solids"
    coloured = isinstance(fields, PictureFields) and fields.colours is not None
    # CameraRecognitionObjects of Webots name their classes; numbers of vision_msgs and of pictures need names.
    numbered = any(types[topic].startswith(("vision_msgs/", "sensor_msgs/")) for topic in topics)
    bare = numbered and not coloured and not fields.classes and fields.names_from is None
    return FoundLabels(name, form, topics, names[0] if names else "", fields.names_from or "", bare)


def _find_things(name: str, simulator: SimulatorFile, types: Mapping[str, str]) -> FoundLabels | None:
    """Poses below the folder of the file's own: their last names are those of a person's bodies."""
    folders = {each.topic.rsplit("/", 2)[0] for each in (simulator.things or {}).values() if each.topic}
    topics = {topic for folder in folders for topic in _fitting(f"{folder}/*", POSE_TYPES, types)}
    topics.discard(simulator.images.body or "")
    return FoundLabels(name, "things", tuple(sorted(topics))) if topics else None


def _fitting(pattern: str | None, kinds: tuple[str, ...], types: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(t for t, kind in sorted(types.items()) if pattern and kind in kinds and fnmatchcase(t, pattern))


def label_pictures(found: list[FoundLabels], types: Mapping[str, str]) -> frozenset[str]:
    """Topics of images that are no photographs but labels."""
    return frozenset(topic for each in found for topic in each.topics if types[topic] in PICTURES)
