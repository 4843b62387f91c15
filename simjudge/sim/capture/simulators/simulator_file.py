"""How a simulator says what is in its images, as a person writes it down: config/simulators/*.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.field_types import Choice, Flag, Label, Text, Vector, Whole, conflict
from simjudge.core.installed import SIMULATOR, find_file
from simjudge.geometry.poses import MountFields

Topic = Annotated[str, Text("the name of a topic, in which * stands for any text")]
ClassName = Annotated[str, Text("the name of a class")]
Colour = Annotated[tuple[float, float, float], Vector("red green blue", ge=0, le=255, whole=True)]
CAMERA_FRAME = "camera"  # What a file calls the camera's own frame
# Of a label picture's pixels; value is that of a picture of one channel.
CHANNELS = ("red", "green", "blue", "alpha", "value")


class ImageFields(Fields):
    """The camera's photographs."""

    topic: Topic | None = None
    """Of the images; found by type and name, if left out."""
    upside_down: Annotated[bool, Flag()] = False
    """Whether the images' bottom row comes first. The labels are upright."""
    info_from: Annotated[Literal["centre", "corner"], Choice()] = "centre"
    """Where camera_info counts pixels from: the centre of the first pixel, as ROS does, or its outer corner."""
    axes: Annotated[Literal["optical", "body"], Choice()] = "optical"
    """Axes of the frame that camera_info names: optical (z ahead, x right) or body (x ahead, y left)."""
    camera: Annotated[str, Text("the file of a camera, or the name of one")] | None = None
    """The camera's file, whose lens counts where the simulator sends no camera_info."""
    body: Topic | None = None
    """Poses of what carries the camera, where no transforms say where the camera is."""
    body_frame: Annotated[str, Text("the name of a frame of tf")] | None = None
    """Frame of tf of what carries the camera, where camera_info names none."""
    mount: MountFields | None = None
    """Where the camera is on what carries it."""


class LabelFields(Fields):
    """What all forms of ground truth have."""

    topic: Topic
    """Where the messages are."""
    classes: dict[Annotated[int, Whole()], ClassName] = Field(default_factory=dict)
    """Names of classes by the numbers that the simulator gives them."""
    patterns: dict[Annotated[str, Text("a name, in which * stands for any text")], ClassName] = Field(
        default_factory=dict
    )
    """Names of classes by the simulator's names. A name that no pattern fits is the class itself."""
    labelled: list[ClassName] | None = None
    """Classes that get labels; all, if left out."""
    background: list[Annotated[str, Label()]] = Field(default_factory=lambda: ["0"])
    """Numbers and names that mean that nothing is there."""
    names_from: Topic | None = None
    """A topic of std_msgs/String with JSON that says what the numbers mean."""
    silent_when_empty: Annotated[bool, Flag()] = False
    """Whether the simulator sends no message where it sees nothing."""


class PictureFields(LabelFields):
    """Instance or semantic pictures."""

    class_from: Annotated[str, Text("names of channels")] | None = None
    """Channels that hold the class, the most significant first; the instance says the class, if left out."""
    instance_from: Annotated[str, Text("names of channels")] | None = None
    """Channels that hold the instance, likewise. Without them, pixels of a class that touch are one object."""
    colours: dict[ClassName, Colour] | None = None
    """The colour of each class, where the picture is coloured."""

    @model_validator(mode="after")
    def _check(self) -> PictureFields:
        if self.colours is None and self.class_from is None and self.instance_from is None:
            raise conflict("one of class_from, instance_from, colours is needed: where the pixels hold what they show")
        if self.colours is not None and self.class_from is not None:
            raise conflict("class_from and colours both say the class; give one", "colours")
        for field in ("class_from", "instance_from"):
            for name in (getattr(self, field) or "").split():
                if name not in CHANNELS:
                    raise conflict(f"there is no channel {name!r}: one of {', '.join(CHANNELS)}", field)
        return self


class BoxFields(LabelFields):
    """Boxes on the image."""

    last_pixel_included: Annotated[bool, Flag()] = False
    """Whether a box reaches from the first to the last pixel that it holds, so that it is a pixel too small."""


class SolidFields(LabelFields):
    """Boxes in space."""

    frame: Annotated[str, Text("the name of a frame")] = CAMERA_FRAME
    """Frame of tf that the boxes are in, whatever their headers name; camera: the camera's own."""
    standing: list[ClassName] = Field(default_factory=list)
    """Classes whose pose is that of the middle of their base, rather than of the box's middle."""
    axes: Annotated[Literal["optical", "body", "opengl"], Choice()] = "body"
    """Axes of the camera's own frame, where the boxes are in it: body (x ahead, y left), optical (z ahead, x right) or
    opengl (x right, y up)."""


class RecordedThingFields(Fields):
    """A thing whose shape is known, and whose pose is recorded."""

    name: ClassName
    """Of its class."""
    topic: Topic | None = None
    """Where its poses are: PoseStamped, PoseWithCovarianceStamped or Odometry."""
    frame: Annotated[str, Text("the name of a frame of tf")] | None = None
    """Its frame in tf."""
    box: Annotated[tuple[float, float, float], Vector("x y z", gt=0)] | None = None
    """A box, metres."""
    cylinder: Annotated[tuple[float, float], Vector("radius height", gt=0)] | None = None
    """A standing cylinder, metres."""
    cone: Annotated[tuple[float, float], Vector("radius height", gt=0)] | None = None
    """A standing cone, metres."""
    centred: Annotated[bool, Flag()] = True
    """Whether the pose is that of the solid's middle, rather than of the middle of its base."""

    @model_validator(mode="after")
    def _check(self) -> RecordedThingFields:
        self.only("topic", "frame", subject="the pose of a thing")
        self.only("box", "cylinder", "cone", subject="the shape of a thing")
        return self


class SimulatorFile(Fields):
    """How a simulator says what is in its images. Of several forms, the first that a recording has is used."""

    images: ImageFields = ImageFields()
    """The photographs."""
    pictures: PictureFields | None = None
    """Instance or semantic pictures."""
    things: dict[Annotated[str, Text("the name of a thing")], RecordedThingFields] | None = None
    """Things whose poses are recorded."""
    world: Annotated[str, Text("the name of a frame of tf")] = "world"
    """Frame of tf that the poses of the things are in."""
    solids: SolidFields | None = None
    """Boxes in space."""
    boxes: BoxFields | None = None
    """Boxes on the image."""

    @model_validator(mode="after")
    def _check(self) -> SimulatorFile:
        if not (self.pictures or self.things or self.solids or self.boxes):
            raise conflict("one of pictures, things, solids, boxes is needed: how the simulator says what is where")
        return self


def read_simulator(given: str | Path) -> Document[SimulatorFile]:
    """Read how a simulator says what is in its images."""
    return read_document(find_file(given, SIMULATOR), SimulatorFile, "simulator")
