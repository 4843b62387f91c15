"""Frame, object, prediction, label picture: the vocabulary that all rooms share, as arrays.

A set of frames is a few arrays, however many objects it holds. Boxes are (x0, y0, x1, y1) in pixels, x to the right,
y down, continuous and half-open: pixel (column i, row j) covers [i, i + 1) x [j, j + 1). Stamps are nanoseconds.
"""

from __future__ import annotations

import io
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from simjudge.core.arrays import BoolArray, IntArray, ShortRepr, Summary, SummaryRepr, SummaryTable
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import LARGEST_IMAGE_FILE, read_bytes
from simjudge.core.images import DAMAGED_IMAGE, IMAGE_FORMATS, ImageError, Images, ImageSubset, check_image_size
from simjudge.core.names import LARGEST_CLASS_ID, NO_STAMP, DetectorRecord, composed, is_class_id, stamp_to_name
from simjudge.core.object_tables import AnyTable, Objects, Predictions, order_by_frame
from simjudge.core.text import check_unicode

LabelPicture = npt.NDArray[np.uint8]  # (H, W): the class id of each pixel, `UNLABELLED` or `UNKNOWN`
UNLABELLED = 255  # Of a pixel that has no class
UNKNOWN = 254  # Of a pixel whose colour stands in no table of classes
MOST_CLASSES = 254  # Class ids of label pictures are below this

# Class ids by red, green and blue, 0 to 255; `UNLABELLED` for a colour that means no class.
ColourTable = dict[tuple[int, int, int], int]


class LabelPictures(Protocol):
    """The label pictures of a set, by frame number. Reading is lazy; nothing is kept."""

    def __len__(self) -> int:
        """The number of frames, with or without a label picture."""

    def has(self, index: int) -> bool:
        """Tell whether a frame has a label picture (index: the frame's number)."""

    def read(self, index: int) -> LabelPicture:
        """Read the classes of a frame's pixels: uint8 (H, W); index: the frame's number."""


@dataclass(frozen=True)
class LabelFiles:
    """Label pictures that are files."""

    paths: Sequence[Path | None]  # of each frame, None where it has none
    # Class ids from a file's bytes; its second argument names the file in messages.
    decode: Callable[[bytes, str], LabelPicture]

    def __len__(self) -> int:
        return len(self.paths)

    def has(self, index: int) -> bool:
        """Tell whether a frame has a file: see `LabelPictures.has`."""
        return self.paths[index] is not None

    def read(self, index: int) -> LabelPicture:
        """Read a frame's file: see `LabelPictures.read`."""
        path = self.paths[index]
        if path is None:
            raise ImageError(f"frame {index}: has no label picture")
        try:
            data = read_bytes(path, LARGEST_IMAGE_FILE)
        except SimjudgeError as error:
            raise ImageError(str(error)) from error
        return self.decode(data, str(path))


@dataclass(frozen=True, repr=False)
class EncodedLabels(ShortRepr):
    """Label pictures held in memory as PNG files of one channel, a hundredth of their pixels: predictions."""

    data: Sequence[bytes | None]

    def __len__(self) -> int:
        return len(self.data)

    def has(self, index: int) -> bool:
        """Tell whether a frame has one: see `LabelPictures.has`."""
        return self.data[index] is not None

    def read(self, index: int) -> LabelPicture:
        """Decode a frame's: see `LabelPictures.read`."""
        data = self.data[index]
        if data is None:
            raise ImageError(f"frame {index}: has no label picture")
        return decode_label_numbers(data, f"frame {index}")


@dataclass(frozen=True, repr=False)
class LabelSubset(ShortRepr):
    """Label pictures of some frames, in a chosen order."""

    source: LabelPictures
    indices: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indices)

    def has(self, index: int) -> bool:
        """Tell whether a chosen frame has one: see `LabelPictures.has`."""
        return self.source.has(int(self.indices[index]))

    def read(self, index: int) -> LabelPicture:
        """Read that of a chosen frame: see `LabelPictures.read`."""
        return self.source.read(int(self.indices[index]))


def decode_label_numbers(data: bytes, where: str) -> LabelPicture:
    """Class ids from a picture of one channel whose values they are: uint8 (H, W)."""
    image = _open(data, where)
    if image.mode not in {"L", "P"} and not image.mode.startswith("I"):
        raise ImageError(f"{where}: a label picture of class numbers has one channel, this one is {image.mode}")
    values = np.asarray(image)
    if values.size and int(values.max()) > UNLABELLED:
        raise ImageError(f"{where}: class {int(values.max())}; label pictures have classes up to {MOST_CLASSES - 1}")
    return np.asarray(values, np.uint8)


def decode_label_colours(data: bytes, where: str, table: ColourTable) -> LabelPicture:
    """Class ids from a picture in which each class has a colour: uint8 (H, W)."""
    image = _open(data, where)
    if image.format == "JPEG":
        raise ImageError(f"{where}: a label picture as JPEG, which changes colours; store it as PNG")
    pixels = np.asarray(image.convert("RGB")).astype(np.uint32)
    packed = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    found, inverse = np.unique(packed, return_inverse=True)
    known = {red << 16 | green << 8 | blue: class_id for (red, green, blue), class_id in table.items()}
    ids = np.array([known.get(int(colour), UNKNOWN) for colour in found], np.uint8)
    return np.asarray(ids[inverse.reshape(packed.shape)], np.uint8)


def _open(data: bytes, where: str) -> Image.Image:
    if not data:
        raise ImageError(f"{where}: the label picture is empty (0 bytes)")
    try:
        image = Image.open(io.BytesIO(data), formats=IMAGE_FORMATS)
        check_image_size(image.width, image.height, where)
        image.load()
        ImageOps.exif_transpose(image, in_place=True)
    except DAMAGED_IMAGE as error:
        raise ImageError(f"{where}: the label picture is cut off or damaged ({error})") from error
    return image


_MOST_SIZES = 8  # Image sizes that are listed


def summarize_frames(frames: FrameSet, kind: str = "data set") -> Summary:
    """Describe a data set: frames, labels, image sizes, time span, objects, predictions and classes."""
    images = sum(frames.images is not None and frames.images.has(i) for i in range(len(frames)))
    objects, predictions = frames.objects, frames.predictions
    masks = 0 if objects.masks is None else int((objects.masks.shape[:, 0] > 0).sum())
    instances = len(np.unique(objects.instance[objects.instance >= 0]))
    blocks: list[tuple[str, str] | SummaryTable] = [
        ("frames", f"{len(frames)}, {images} with an image"),
        ("labelled", f"{int(frames.labelled.sum())}, {int(frames.predicted.sum())} with a detector run on them"),
        ("sizes", _sizes(frames)),
        ("stamps", _time_span(frames) + ("; frames are independent" if frames.independent else "")),
        ("objects", f"{len(objects)}, {masks} with a mask, {instances} instances"),
    ]
    pixels = [
        0 if label_set is None else sum(map(label_set.has, range(len(frames))))
        for label_set in (frames.semantic, frames.predicted_semantic)
    ]
    if len(frames.ignored):
        blocks.append(("ignored", f"{len(frames.ignored)} regions, in which predictions count neither way"))
    if frames.label_source:
        blocks.append(("labels", frames.label_source))
    if any(pixels):
        blocks.append(("pixel labels", f"{pixels[0]} label pictures, {pixels[1]} predicted ones"))
    for title, column, unit in (("distances", objects.distance, " m"), ("visible", objects.visible, "")):
        known = column[~np.isnan(column)]
        if len(known):
            blocks.append((title, f"{len(known)}, {known.min():.3g}{unit} to {known.max():.3g}{unit}"))
    if predictions is not None and len(predictions):
        low, high = predictions.score.min(), predictions.score.max()
        blocks.append(("predictions", f"{len(predictions)}, scores {low:.3f} to {high:.3f}"))
    if frames.detector is not None:
        blocks.append(("detector", str(frames.detector)))
    return Summary(frames.name, kind, [*blocks, _class_table(frames)])


def _sizes(frames: FrameSet) -> str:
    sizes, count = np.unique(frames.size, axis=0, return_counts=True)
    shown = [f"{w}x{h} ({n})" for (w, h), n in zip(sizes.tolist(), count.tolist(), strict=True)]
    return ", ".join(shown[:_MOST_SIZES]) + (", ..." if len(shown) > _MOST_SIZES else "")


def _time_span(frames: FrameSet) -> str:
    known = frames.stamp[frames.stamped]
    if not len(known):
        return "none"
    seconds = (int(known.max()) - int(known.min())) / 1e9
    return f"{len(known)} frames, {int(known.min()) / 1e9:.3f} s to {int(known.max()) / 1e9:.3f} s ({seconds:.3f} s)"


def _class_table(frames: FrameSet) -> SummaryTable:
    objects, predictions = frames.objects, frames.predictions
    known = {*frames.class_names, *np.unique(objects.class_id).tolist()}
    known |= set() if predictions is None else set(np.unique(predictions.class_id).tolist())
    rows = []
    for class_id in sorted(known):
        labelled = objects.class_id == class_id
        predicted = "-" if predictions is None else str(int((predictions.class_id == class_id).sum()))
        with_class = len(np.unique(objects.frame[labelled]))
        rows.append(
            [str(class_id), frames.class_names.get(class_id, ""), str(int(labelled.sum())), str(with_class), predicted]
        )
    return SummaryTable(["class", "name", "objects", "frames with it", "predictions"], rows, text_columns=2)


@dataclass(frozen=True, repr=False)
class FrameSet(SummaryRepr):
    """A data set: F frames, what is labelled in them, and what a detector said.

    Attributes:
        name: what to call the set on screen.
        frame_name: F unique names, an image's file stem or "{sec}_{nanosec:09d}" for a stamped frame.
        size: int64 (F, 2), width and height in pixels.
        stamp: int64 (F,), nanoseconds, NO_STAMP where a frame has none.
        labelled: bool (F,), whether somebody labelled the frame (perhaps with nothing in it).
        objects: the labels.
        predictions: None where no detector has run at all.
        predicted: bool (F,), whether a detector has run on the frame (perhaps finding nothing).
        class_names: names by class id; empty where the source has none.
        images: the images, None where the source has none.
        losses: what was left out while reading.
        detector: what made the predictions; None where there are none, or where it is not known.
        cyclic: whether column 0 follows the last one, as in range images of a whole turn. A box or mask that goes on
            there reaches over the right edge.
        classless: whether the detector knows no classes: its predictions have those of the objects they belong to.
        semantic: the class of every pixel as labelled, ids as in `class_names`; None where the source has none.
        predicted_semantic: the class of every pixel as predicted, likewise.
        independent: whether each frame was drawn by itself, as at random poses. Stamps or numbers in a row then make
            no neighbours in time.
        label_source: what the labels are where nobody drew them, such as the predictions of a stronger detector.
        recording: F names of the recordings that frames are of, where files or a field tell; empty where nothing does.
        ignored: regions, such as crowds, in which predictions of their class count neither way; class -1 is any.
    """

    name: str
    frame_name: Sequence[str]
    size: IntArray
    stamp: IntArray
    labelled: BoolArray
    objects: Objects
    predictions: Predictions | None
    predicted: BoolArray
    class_names: dict[int, str] = field(default_factory=dict)
    images: Images | None = None
    losses: Losses = field(default_factory=Losses)
    detector: DetectorRecord | None = None
    cyclic: bool = False
    classless: bool = False
    semantic: LabelPictures | None = None
    predicted_semantic: LabelPictures | None = None
    independent: bool = False
    label_source: str = ""
    recording: Sequence[str] = ()
    ignored: Objects = field(default_factory=Objects.empty)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame_name", [composed(name) for name in self.frame_name])
        count = len(self.frame_name)
        if self.recording and len(self.recording) != count:
            raise SimjudgeError(f"{self.name}: {len(self.recording)} names of recordings for {count} frames")
        for label, array in (("size", self.size), ("stamp", self.stamp), ("labelled", self.labelled)):
            if len(array) != count:
                raise SimjudgeError(f"{self.name}: {len(array)} {label} rows for {count} frames")
        if len(self.predicted) != count or (self.images is not None and len(self.images) != count):
            raise SimjudgeError(f"{self.name}: images or predictions do not fit {count} frames")
        if len(set(self.frame_name)) != count:
            raise SimjudgeError(f"{self.name}: two frames have the same name")
        check_unicode([self.name, *self.frame_name])

    @classmethod
    def build(  # noqa: PLR0913 - one argument a column
        cls,
        name: str,
        size: npt.ArrayLike,
        objects: Objects | None = None,
        predictions: Predictions | None = None,
        *,
        frame_name: Sequence[str] | None = None,
        stamp: npt.ArrayLike | None = None,
        labelled: npt.ArrayLike | None = None,
        predicted: npt.ArrayLike | None = None,
        class_names: dict[int, str] | None = None,
        images: Images | None = None,
        losses: Losses | None = None,
        detector: DetectorRecord | None = None,
        independent: bool = False,
        label_source: str = "",
        recording: Sequence[str] = (),
        ignored: Objects | None = None,
    ) -> FrameSet:
        """Make a set, filling in what is not given.

        Args:
            name: what to call the set on screen.
            size: integers (F, 2), width and height of each frame in pixels.
            objects: the labels; None for none.
            predictions: what a detector found; None where none has run.
            frame_name: F unique names. None: by stamp where there is one, else "000000", "000001", ...
            stamp: integers (F,), nanoseconds, NO_STAMP where a frame has none; None: no frame has one.
            labelled: bool (F,). None: all frames where `objects` are given, else none.
            predicted: bool (F,). None: all frames where `predictions` are given, else none.
            class_names: names by class id.
            images: the images of the F frames.
            losses: what was left out while reading.
            detector: what made the predictions; None where it is not known.
            independent: whether each frame was drawn by itself, as at random poses.
            label_source: what the labels are where nobody drew them; "" where somebody did.
            recording: F names of recordings; empty where nothing tells them.
            ignored: regions in which predictions count neither way; None for none.

        Returns:
            The set.

        Raises:
            SimjudgeError: the columns have different lengths, or two frames have the same name.
        """
        sizes = np.asarray(size, np.int64).reshape(-1, 2)
        count = len(sizes)
        stamps = np.full(count, NO_STAMP, np.int64) if stamp is None else np.asarray(stamp, np.int64)
        names = [stamp_to_name(int(s)) if s != NO_STAMP else f"{i:06d}" for i, s in enumerate(stamps)]
        found = Predictions.empty() if predictions is None else predictions
        held = [] if objects is None else objects.class_id.tolist()
        wrong = next((k for k in (*(class_names or ()), *held, *found.class_id.tolist()) if not is_class_id(k)), None)
        if wrong is not None:
            raise SimjudgeError(
                f"{name}: class id {wrong} is not a whole number from 0 to {LARGEST_CLASS_ID}; correct it"
            )
        with_labels = np.full(count, objects is not None) if labelled is None else labelled
        with_predictions = np.full(count, predictions is not None) if predicted is None else predicted
        return cls(
            name,
            list(names if frame_name is None else frame_name),
            sizes,
            stamps,
            np.asarray(with_labels, np.bool_),
            Objects.empty() if objects is None else objects,
            predictions,
            np.asarray(with_predictions, np.bool_),
            dict(class_names or {}),
            images,
            Losses() if losses is None else losses,
            detector,
            independent=independent,
            label_source=label_source,
            recording=list(recording),
            ignored=Objects.empty() if ignored is None else ignored,
        )

    def __len__(self) -> int:
        return len(self.frame_name)

    def summary(self) -> Summary:
        """About ten lines: frames, image sizes, time span, objects, predictions, classes."""
        return summarize_frames(self)

    @property
    def stamped(self) -> BoolArray:
        """Whether each frame has a stamp: bool (F,)."""
        stamped: BoolArray = self.stamp != NO_STAMP
        return stamped

    def describe_frame(self, index: int) -> str:
        """Name a frame to a person."""
        return f"{self.name}: frame {self.frame_name[index]}"

    def class_name(self, class_id: int) -> str:
        """Name a class."""
        return self.class_names.get(class_id, str(class_id))

    def with_predictions(
        self,
        predictions: Predictions | None,
        predicted: BoolArray | None = None,
        detector: DetectorRecord | None = None,
    ) -> FrameSet:
        """Put other predictions onto the frames; predicted label pictures go.

        Args:
            predictions: the predictions, frames numbered as here; None takes them away.
            predicted: bool (F,), on which frames the detector has run; None: on all, or on none without predictions.
            detector: what made the predictions; None where it is not known.

        Returns:
            The same set with the predictions.
        """
        on = np.full(len(self), predictions is not None) if predicted is None else predicted
        return replace(self, predictions=predictions, predicted=on, detector=detector, predicted_semantic=None)

    def take(self, frames: npt.ArrayLike) -> FrameSet:
        """Take some frames with their objects, predictions and images."""
        chosen = np.asarray(frames)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        number = np.full(len(self), -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        return replace(
            self,
            frame_name=[self.frame_name[int(i)] for i in chosen],
            size=self.size[chosen],
            stamp=self.stamp[chosen],
            labelled=self.labelled[chosen],
            objects=_renumbered(self.objects, number),
            ignored=_renumbered(self.ignored, number),
            predictions=None if self.predictions is None else _renumbered(self.predictions, number),
            predicted=self.predicted[chosen],
            recording=[self.recording[int(i)] for i in chosen] if self.recording else (),
            images=None if self.images is None else ImageSubset(self.images, chosen),
            semantic=None if self.semantic is None else LabelSubset(self.semantic, chosen),
            predicted_semantic=(
                None if self.predicted_semantic is None else LabelSubset(self.predicted_semantic, chosen)
            ),
        )


def _renumbered(table: AnyTable, number: IntArray) -> AnyTable:
    """The rows whose frame has a new number (not -1), under it."""
    kept = table.take(np.flatnonzero(number[table.frame] >= 0))
    return order_by_frame(replace(kept, frame=number[kept.frame]))


_More = ParamSpec("_More")
_Kept = TypeVar("_Kept")


def kept_with_set(
    compute: Callable[Concatenate[FrameSet, _More], _Kept],
) -> Callable[Concatenate[FrameSet, _More], _Kept]:
    """Compute once for a set what each of its classes and halves asks for, and forget it with the set."""
    kept: dict[tuple[object, ...], tuple[weakref.ref[FrameSet], _Kept]] = {}

    @wraps(compute)
    def ask(frames: FrameSet, *args: _More.args, **kwargs: _More.kwargs) -> _Kept:
        key = (id(frames), *args, *kwargs.values())
        if key not in kept:
            kept[key] = (weakref.ref(frames, lambda _: kept.pop(key, None)), compute(frames, *args, **kwargs))
        return kept[key][1]

    return ask  # type: ignore[return-value] # mypy gives the first parameter a name
