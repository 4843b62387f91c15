"""YOLO models in ONNX Runtime, as ultralytics (v5 to 26) and the YOLOv5 repository export them.

Images are fitted into the net's input with the very rounding that ultralytics uses.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.detectors.detector import Detections, ShownDetector, check_answer, check_scores, require_detection_task
from simjudge.detectors.detector_settings import DEFAULT_IOU, DEFAULT_MIN_SCORE
from simjudge.detectors.nms import non_maximum_suppression_by_class

GREY = 114


@dataclass(frozen=True)
class Letterbox:
    """How an image of one size lies in an input of another: scaled, and centred on grey."""

    width: int
    height: int
    # left, top: where it begins in the input.
    left: int
    top: int
    gain_x: float
    gain_y: float
    size: tuple[int, int]  # width and height of the image

    @classmethod
    def fit(cls, size: tuple[int, int], input_size: tuple[int, int]) -> Letterbox:
        """Fit an image into an input, as large as it goes without distortion; sizes are width and height."""
        gain = min(input_size[1] / size[1], input_size[0] / size[0])
        width, height = (max(round(v * gain), 1) for v in size)
        left, top = (round((outer - inner) / 2 - 0.1) for outer, inner in zip(input_size, (width, height), strict=True))
        return cls(width, height, left, top, width / size[0], height / size[1], size)

    def place(self, image: RgbImage, out: npt.NDArray[np.uint8]) -> None:
        """Draw the image into an input (image: 8-bit RGB (H, W, 3); out: uint8 (height, width, 3) of the input)."""
        if (self.width, self.height) != self.size:
            image = cv2.resize(image, (self.width, self.height), interpolation=cv2.INTER_LINEAR)  # type: ignore[assignment]
        out[self.top : self.top + self.height, self.left : self.left + self.width] = image

    def to_image(self, box: FloatArray) -> FloatArray:
        """Transform boxes of the input into boxes of the image: float64 (N, 4); box: float64 (N, 4)."""
        low = np.array([self.left, self.top] * 2)
        out: FloatArray = (box - low) / np.array([self.gain_x, self.gain_y] * 2)
        return out.clip(0.0, np.array(self.size * 2, np.float64))


# What `ast.literal_eval` and `int` raise for a text that is not what it should be.
UNREADABLE = (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError)


def open_session(path: Path) -> Any:
    """Open a file in ONNX Runtime."""
    import onnxruntime  # noqa: PLC0415 - heavy

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
    providers = [p for p in wanted if p in onnxruntime.get_available_providers()]
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:
        raise SimjudgeError(f"{path}: not a readable ONNX model: {first_line(error)}") from error


def metadata_names(path: Path, metadata: dict[str, str]) -> dict[int, str]:
    """Names of classes by number in the metadata of a model, as ultralytics writes them; empty for none."""
    text = metadata.get("names", "")
    if not text:
        return {}
    try:
        names = ast.literal_eval(text)
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        return {int(k): str(v) for k, v in pairs}
    except UNREADABLE as error:
        raise SimjudgeError(f"{path}: the class names in its metadata cannot be read: {text[:80]!r}") from error


def first_line(error: BaseException) -> str:
    """The first line of what an error says, 200 characters at most."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


# How to read the output: "classes": (B, 4 + nc, N), centre and size, then a score a class (v8, 11, 12); "objectness":
# (B, N, 5 + nc), with an objectness before the classes (v5); "end to end": (B, K, 6), corners, score and class, NMS
# done (v10, 26).
Head = Literal["classes", "objectness", "end to end"]

# Boxes of an image, the best ones, that non-maximum suppression looks at; ultralytics' own figure.
MAX_CANDIDATES = 30_000
MAX_DETECTIONS = 300  # Boxes of an image that are kept; ultralytics' own figure
_LARGEST_INPUT = 16_384  # Side of a net's input in pixels, beyond which memory is the first to end
_END_TO_END_ROWS = 1000  # NMS-free heads give 300 rows or so, others thousands


@dataclass(frozen=True, repr=False)
class OnnxDetector(ShownDetector):
    """A detector that ONNX Runtime runs."""

    name: str
    class_names: dict[int, str]
    session: Any
    head: Head
    input_size: tuple[int, int]
    min_score: float
    iou: float
    sha256: str = ""

    @classmethod
    def load(
        cls, path: Path, *, min_score: float = DEFAULT_MIN_SCORE, iou: float = DEFAULT_IOU, imgsz: int | None = None
    ) -> OnnxDetector:
        """Read a model; its class names and input size come from its metadata."""
        session = open_session(path)
        try:
            metadata = dict(session.get_modelmeta().custom_metadata_map)
        except UnicodeDecodeError as error:
            raise SimjudgeError(f"{path}: its metadata is no UTF-8 text; export it again") from error
        require_detection_task(path, metadata.get("task", "detect"))
        names = metadata_names(path, metadata)
        size = _input_size(path, session, metadata, imgsz)
        detector = cls(path.stem, names, session, "classes", size, min_score, iou)
        try:
            shape = detector.run(np.zeros((1, 3, size[1], size[0]), np.float32)).shape
        except SimjudgeError:
            raise
        except Exception as error:
            raise SimjudgeError(f"{path}: the model does not run: {first_line(error)}") from error
        head = _head(path, shape, len(names), end_to_end=metadata.get("end2end") == "True")
        return cls(path.stem, names, session, head, size, min_score, iou)

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images (images: 8-bit RGB images (H, W, 3), of any sizes)."""
        if not images:
            return []
        fits = [Letterbox.fit((image.shape[1], image.shape[0]), self.input_size) for image in images]
        pixels = np.full((len(images), self.input_size[1], self.input_size[0], 3), GREY, np.uint8)
        for fit, image, target in zip(fits, images, pixels, strict=True):
            fit.place(image, target)
        output = self.run(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255))
        return [self._detections(i, raw, fit) for i, (raw, fit) in enumerate(zip(output, fits, strict=True))]

    def run(self, pixels: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Run the net on pixels (B, 3, H, W), RGB in [0, 1], also where the model's batch size is fixed."""
        entry = self.session.get_inputs()[0]
        kind = np.float16 if entry.type == "tensor(float16)" else np.float32
        fixed = entry.shape[0] if isinstance(entry.shape[0], int) else len(pixels)
        parts = []
        for begin in range(0, len(pixels), fixed):
            part = pixels[begin : begin + fixed]
            # A fixed batch is filled up with black images, whose answers are dropped.
            filled = np.concatenate([part, np.zeros((fixed - len(part), *part.shape[1:]), part.dtype)])
            output = np.asarray(self.session.run(None, {entry.name: filled.astype(kind)})[0])
            if output.ndim == 0 or len(output) != len(filled):
                raise SimjudgeError(
                    f"{self.name}: for {len(filled)} images the net gives an output of shape {output.shape}; its batch "
                    "size is fixed within: export it again with batch=1, or with dynamic=True"
                )
            parts.append(np.asarray(output[: len(part)], np.float32))
        return np.concatenate(parts)

    def _detections(self, image: int, raw: npt.NDArray[np.float32], fit: Letterbox) -> Detections:
        check_scores(self.name, image, _scores(raw, self.head))
        box, score, class_id = _candidates(raw, self.head, self.min_score)
        check_answer(self.name, image, self.class_names, class_id, box, score)
        class_id = class_id.astype(np.int64)
        # End-to-end heads have suppressed duplicates themselves; a second time would lose crowds.
        if self.head != "end to end":
            if len(score) > MAX_CANDIDATES:
                best = np.argsort(-score, kind="stable")[:MAX_CANDIDATES]
                box, score, class_id = box[best], score[best], class_id[best]
            kept = non_maximum_suppression_by_class(box, score, class_id, self.iou)[:MAX_DETECTIONS]
            box, score, class_id = box[kept], score[kept], class_id[kept]
        inverted = int(np.count_nonzero(np.any(box[:, 2:] < box[:, :2], axis=1)))
        inside = fit.to_image(box.astype(np.float64))
        # A box that lies wholly in the grey border has no area in the image.
        real = np.all(inside[:, 2:] > inside[:, :2], axis=1)
        return Detections.build(class_id[real], inside[real], np.clip(score[real], 0, 1), inverted)


def _scores(raw: Any, head: Head) -> Any:
    if head == "classes":
        return raw[4:]
    return raw[:, 4:] if head == "objectness" else raw[:, 4]


def _candidates(raw: Any, head: Head, min_score: float) -> tuple[Any, Any, Any]:
    if head == "end to end":
        kept = raw[raw[:, 4] > min_score][:MAX_DETECTIONS]
        return kept[:, :4], kept[:, 4], kept[:, 5]
    rows = raw.T if head == "classes" else raw
    if head == "objectness":
        # The product with a probability is never above the objectness: what is too low here goes at once.
        rows = rows[rows[:, 4] > min_score]
        scores = rows[:, 5:] * rows[:, 4:5]
    else:
        scores = rows[:, 4:]
    best = scores.argmax(1)
    score = scores[np.arange(len(best)), best]
    kept = score > min_score
    centre, half = rows[kept, :2], rows[kept, 2:4] / 2
    return np.concatenate([centre - half, centre + half], axis=1), score[kept], best[kept]


def _input_size(path: Path, session: Any, metadata: dict[str, str], imgsz: int | None) -> tuple[int, int]:
    """Width and height of the input: what the model fixes, else what was asked for, else its metadata."""
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].shape[1] not in {3, "channels", None}:
        raise SimjudgeError(f"{path}: the model's input is {[i.shape for i in inputs]}; one (batch, 3, H, W) is needed")
    height, width = inputs[0].shape[2:]
    if isinstance(height, int) and isinstance(width, int):
        if not (1 <= width <= _LARGEST_INPUT and 1 <= height <= _LARGEST_INPUT):
            raise SimjudgeError(f"{path}: its input is fixed at {width}x{height}; at most {_LARGEST_INPUT} a side")
        if imgsz is not None and (imgsz, imgsz) != (width, height):
            raise SimjudgeError(f"{path}: its input is fixed at {width}x{height}; {imgsz} cannot be had")
        return width, height
    if imgsz is not None:
        return imgsz, imgsz
    try:
        said = ast.literal_eval(metadata.get("imgsz", "640"))
        height, width = map(int, said if isinstance(said, list | tuple) else (said, said))
    except UNREADABLE as error:
        raise SimjudgeError(f"{path}: the input size in its metadata cannot be read; give --imgsz") from error
    if not (1 <= width <= _LARGEST_INPUT and 1 <= height <= _LARGEST_INPUT):
        raise SimjudgeError(f"{path}: the input size in its metadata is {str(said)[:40]}; give --imgsz")
    return width, height


def _head(path: Path, shape: tuple[int, ...], classes: int, *, end_to_end: bool) -> Head:
    """Which kind of output this is, from its shape and the number of named classes (0: unknown)."""
    if len(shape) == 3:
        _, first, last = shape
        if last == 6 and (end_to_end or first <= _END_TO_END_ROWS):
            return "end to end"
        # Without names the shorter axis is that of the numbers of a box: there are thousands of boxes.
        if first >= 5 and (first == 4 + classes or (not classes and first < last)):
            return "classes"
        if last >= 6 and (last == 5 + classes or (not classes and last < first)):
            return "objectness"
    raise SimjudgeError(f"{path}: an output of shape {shape} for {classes} classes is no YOLO detection head")
