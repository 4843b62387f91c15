"""Training a net that gives every pixel a class: from labelled pictures to an ONNX file with its model card.

The net is LR-ASPP on MobileNetV3 with random weights: Howard et al., "Searching for MobileNetV3", ICCV 2019, section
5.4, as torchvision has it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Advance, Log, Losses, ProgressBar, SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.frames import UNLABELLED, FrameSet, LabelPicture
from simjudge.core.images import ImageError, RgbImage, as_rgb
from simjudge.core.installed import install_command
from simjudge.core.text import Json, JsonMapping
from simjudge.data.semantic_classes import SemanticClasses, common_classes, count_unknown
from simjudge.detectors import nms as torchvision_nms
from simjudge.detectors.detector_settings import TrainingSettings
from simjudge.detectors.semantic_net import TASK, mean_iou, pixel_accuracy, pixel_confusion
from simjudge.detectors.training_data import (
    TrainedModel,
    TrainingSplit,
    card_page,
    common_facts,
    epoch_facts,
    training_text,
    write_card,
)

_CACHE = 2_000_000_000  # Bytes of scaled pictures that are kept; others are read again


@dataclass(repr=False)
class LabelledPixels(ShortRepr):
    """Pictures and their classes, scaled to a net's input."""

    sets: list[FrameSet]  # frames with images and label pictures
    size: tuple[int, int]  # width and height, pixels
    table: npt.NDArray[np.uint8]  # the net's class by the sets' class numbers, uint8 (256,)
    rows: list[tuple[int, int]]  # set and frame of each picture
    _kept: dict[int, tuple[RgbImage, LabelPicture]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, index: int) -> tuple[RgbImage, LabelPicture]:
        """A picture and the classes of its pixels: uint8 (H, W, 3) and (H, W) of the size of the input."""
        if index in self._kept:
            return self._kept[index]
        part, number = self.rows[index]
        frames = self.sets[part]
        assert frames.images is not None  # noqa: S101 - rows are of frames that have both
        assert frames.semantic is not None  # noqa: S101
        image = cv2.resize(as_rgb(frames.images.read(number)), self.size, interpolation=cv2.INTER_AREA)
        labels = cv2.resize(frames.semantic.read(number), self.size, interpolation=cv2.INTER_NEAREST_EXACT)
        pair = np.asarray(image, np.uint8), self.table[labels]
        if (len(self._kept) + 1) * image.size * 4 // 3 < _CACHE:
            self._kept[index] = pair
        return pair


def read_sides(
    split: TrainingSplit, size: tuple[int, int], losses: Losses
) -> tuple[LabelledPixels, LabelledPixels, list[str]]:
    """Both sides of a split, readable, with classes numbered from 0, and the names of the classes that are learnt."""
    first = split.train[0]
    classes = common_classes([(first.name, first.class_names)])
    table = classes.numbers(first.class_names)
    sides: list[LabelledPixels] = []
    for sets in (split.train, split.valid):
        rows = [(part, i) for part, frames in enumerate(sets) for i in range(len(frames))]
        side = LabelledPixels(sets, size, table, rows)
        side.rows = [row for index, row in enumerate(rows) if _is_readable(side, index, losses)]
        side._kept.clear()  # noqa: SLF001 - its own
        if not side.rows:
            name = "valid" if sides else "train"
            raise SimjudgeError(f"{first.name}: no picture with whole labels on the {name} side")
        sides.append(side)
    learnt = _occurring(sides[0], classes)
    if len(learnt) < 2:
        raise SimjudgeError(f"{first.name}: its label pictures show {len(learnt)} classes; two at least can be learnt")
    number = np.full(UNLABELLED + 1, UNLABELLED, np.uint8)
    number[learnt] = np.arange(len(learnt))
    for side in sides:
        side.table = number[table]
    return sides[0], sides[1], [classes.names[k] for k in learnt]


def _is_readable(side: LabelledPixels, index: int, losses: Losses) -> bool:
    part, number = side.rows[index]
    frames = side.sets[part]
    try:
        side.read(index)
    except ImageError as error:
        losses.add("pictures that cannot be trained on", str(error))
        return False
    assert frames.semantic is not None  # noqa: S101 - it was read
    count_unknown(frames.semantic.read(number), frames, number, losses)
    return True


def _occurring(side: LabelledPixels, classes: SemanticClasses) -> list[int]:
    found: set[int] = set()
    for index in range(len(side)):
        found |= set(np.unique(side.read(index)[1]).tolist())
    side._kept.clear()  # noqa: SLF001 - they are numbered otherwise afterwards
    return sorted(found & set(classes.names))


# Factor on the channels of MobileNetV3 (large, reduced tail), by size.
WIDTHS = {"pico": 0.35, "nano": 0.5, "small": 1.0}
_INTER_CHANNELS = 128  # Channels of LR-ASPP's head, as torchvision has it
_MOMENTUM = 0.1  # Of batch norms; torchvision's 0.01 is for trainings of many thousand steps
# Of the channels of photographs (ImageNet), which inputs are normalised by.
_MEAN_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def build_net(classes: int, width: float) -> Any:
    """LR-ASPP on MobileNetV3 with random weights: a torch module: float (B, 3, H, W)."""
    torch = import_torch()
    from torchvision.models._utils import IntermediateLayerGetter  # noqa: PLC0415 - an extra
    from torchvision.models.mobilenetv3 import mobilenet_v3_large  # noqa: PLC0415
    from torchvision.models.segmentation.lraspp import LRASPPHead  # noqa: PLC0415

    layers = mobilenet_v3_large(weights=None, width_mult=width, reduced_tail=True, dilated=True).features
    for layer in layers.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = _MOMENTUM
    # Where the picture gets smaller, as torchvision finds it (segmentation/lraspp.py): an eighth, and the last layer.
    stages = [0, *(i for i, layer in enumerate(layers) if getattr(layer, "_is_cn", False)), len(layers) - 1]
    low, high = stages[-4], stages[-1]
    backbone = IntermediateLayerGetter(layers, return_layers={str(low): "low", str(high): "high"})
    head = LRASPPHead(layers[low].out_channels, layers[high].out_channels, classes, _INTER_CHANNELS)

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.backbone, self.head = backbone, head
            for name, values in zip(("mean", "deviation"), _MEAN_DEVIATION, strict=True):
                self.register_buffer(name, torch.tensor(values).view(1, 3, 1, 1))

        def forward(self, pictures: Any) -> Any:
            return self.head(self.backbone((pictures - self.mean) / self.deviation))

    return Net()


def export_net(net: Any, names: list[str], out: Path, size: tuple[int, int]) -> None:
    """Write a net as ONNX, whole or not at all (size: width and height of the input, pixels)."""
    torch = import_torch()
    import onnx  # noqa: PLC0415 - an extra

    net.eval()
    with tempfile.TemporaryDirectory(prefix="simjudge-train-") as temporary:
        file = Path(temporary) / "net.onnx"
        torch.onnx.export(
            net,
            (torch.zeros(1, 3, size[1], size[0]),),
            str(file),
            input_names=["images"],
            output_names=["scores"],
            dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
        network = onnx.load(str(file))
    metadata: JsonMapping = {
        "task": TASK,
        "names": dict(enumerate(names)),
        "imgsz": [size[1], size[0]],
        "description": f"{out.stem}, trained by simjudge",
    }
    onnx.helper.set_model_props(network, {key: str(value) for key, value in metadata.items()})
    onnx.checker.check_model(network)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(out) as target:
        onnx.save(network, str(target))


def import_torch() -> Any:
    """torch, with torchvision beside it."""
    try:
        import torch  # noqa: PLC0415 - an extra

        torchvision_nms.register_missing_nms()
        import torchvision  # noqa: F401, PLC0415
    except ImportError as error:
        raise SimjudgeError(f"training needs torch and torchvision: {install_command('torch')} ({error})") from error
    return torch


def torchvision_version() -> str:
    """The version of torchvision."""
    import torchvision  # noqa: PLC0415 - an extra

    return str(torchvision.__version__)


DEFAULT_INPUT = (512, 256)  # Width and height of the net's input where nobody says otherwise, pixels
# Largest learning rate and weight decay of AdamW; the rate rises over the first tenth and falls as a cosine.
_RATE, _DECAY = 2e-3, 1e-4
_ZOOM = (0.8, 1.6)  # Least and largest scale of a picture that is learnt from; what is beyond the input is cut off
_MOST_THREADS = 8  # Threads of torch at most, as Ultralytics has it


@dataclass(frozen=True)
class SemanticEpoch:
    """How one epoch went: mean loss, and what the weights reach on the validation side, in [0, 1]."""

    number: int
    seconds: float
    loss: float
    accuracy: float
    mean_iou: float


@dataclass
class SemanticTraining:
    """What came out of a training."""

    epochs: list[SemanticEpoch] = field(default_factory=list)
    best: SemanticEpoch | None = None  # the one whose weights were exported: the largest mean class IoU
    # IoU of each class on the validation side with the best weights, by name; None where neither occurs.
    iou: dict[str, float | None] = field(default_factory=dict)
    class_names: list[str] = field(default_factory=list)  # the net's classes, in its order
    seconds: float = 0.0
    stopped: bool = False  # whether a person stopped it (Ctrl-C)
    versions: dict[str, str] = field(default_factory=dict)


def train_semantic(
    split: TrainingSplit,
    out: Path,
    settings: TrainingSettings,
    epoch_done: Callable[[SemanticEpoch, int], None],
    advance: Advance,
) -> tuple[SemanticTraining, Losses]:
    """Train, and export the weights that did best on the validation side, those so far at Ctrl-C."""
    torch = import_torch()
    losses = Losses()
    train, valid, names = read_sides(split, settings.input_size or DEFAULT_INPUT, losses)
    training = SemanticTraining(class_names=names)
    training.versions = {"torch": str(torch.__version__), "torchvision": torchvision_version()}
    torch.manual_seed(settings.seed)
    net = build_net(len(names), WIDTHS[settings.size])
    device = torch.device(f"cuda:{settings.device}" if settings.device.isdecimal() else settings.device or "cpu")
    net.to(device)
    begin = time.monotonic()
    best: Json = {}
    try:
        with free_core(torch):
            for epoch, confusion in _epochs(net, train, valid, settings, advance):
                training.epochs.append(epoch)
                if training.best is None or epoch.mean_iou > training.best.mean_iou:
                    training.best = epoch
                    training.iou = dict(zip(names, mean_iou(confusion)[1], strict=True))
                    best = {key: value.detach().cpu().clone() for key, value in net.state_dict().items()}
                epoch_done(epoch, settings.epochs)
    except KeyboardInterrupt:
        training.stopped = True
    training.seconds = time.monotonic() - begin
    if not best:
        raise SimjudgeError("training was stopped before the first epoch was done; there is nothing to export")
    net.cpu().load_state_dict(best)
    export_net(net, names, out, train.size)
    return training, losses


@contextmanager
def free_core(torch: Any) -> Iterator[None]:
    """Within this block torch leaves one core free, as the training of detectors does by Ultralytics.

    A thread whose core another program has makes all others wait: with two threads on two busy cores, a training took
    17 times as long as with one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, _MOST_THREADS, max(1, len(os.sched_getaffinity(0)) - 1)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _epochs(
    net: Any, train: LabelledPixels, valid: LabelledPixels, settings: TrainingSettings, advance: Advance
) -> Iterator[tuple[SemanticEpoch, IntArray]]:
    torch = import_torch()
    rng = np.random.default_rng(settings.seed)
    batches = -(-len(train) // settings.batch)
    steps = batches * settings.epochs
    optimizer = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps + 1, pct_start=0.1)
    done = 0
    for number in range(1, settings.epochs + 1):
        begin, total = time.monotonic(), 0.0
        net.train()
        order = rng.permutation(len(train))
        for rows in np.array_split(order, batches):
            # One picture more than once rather than a batch of one, of which a batch norm has no deviation.
            chosen = rows if len(rows) > 1 else np.repeat(rows, 2)
            pairs = [_varied(*train.read(int(row)), rng) for row in chosen]
            loss = _loss(net, pairs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(rows)
            done += 1
            advance(done, steps)
        confusion = _validate(net, valid, settings.batch)
        epoch = SemanticEpoch(
            number, time.monotonic() - begin, total / len(train), pixel_accuracy(confusion), mean_iou(confusion)[0]
        )
        yield epoch, confusion


def _loss(net: Any, pairs: list[tuple[RgbImage, LabelPicture]]) -> Any:
    torch = import_torch()
    pictures, labels = _tensors(net, pairs)
    scores = torch.nn.functional.interpolate(net(pictures), labels.shape[1:], mode="bilinear", align_corners=False)
    return torch.nn.functional.cross_entropy(scores, labels, ignore_index=UNLABELLED)


def _tensors(net: Any, pairs: list[tuple[RgbImage, LabelPicture]]) -> tuple[Any, Any]:
    torch = import_torch()
    device = next(net.parameters()).device
    pictures = torch.from_numpy(np.stack([image for image, _ in pairs])).permute(0, 3, 1, 2).to(device).float() / 255
    labels = torch.from_numpy(np.stack([label for _, label in pairs]).astype(np.int64)).to(device)
    return pictures, labels


def _varied(image: RgbImage, labels: LabelPicture, rng: np.random.Generator) -> tuple[RgbImage, LabelPicture]:
    """A picture mirrored at random, and scaled and shifted within `_ZOOM`; colours stay as they are."""
    height, width = labels.shape
    scale = rng.uniform(*_ZOOM)
    shift = (rng.uniform(0, 1, 2) * (np.array([width, height]) * (1 - scale))).tolist()
    matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]])
    size = (width, height)
    image = np.asarray(cv2.warpAffine(image, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT))
    labels = np.asarray(
        cv2.warpAffine(
            labels, matrix, size, flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT, borderValue=UNLABELLED
        )
    )
    if rng.random() < 0.5:
        image, labels = image[:, ::-1], labels[:, ::-1]
    return np.ascontiguousarray(image), np.ascontiguousarray(labels)


def _validate(net: Any, valid: LabelledPixels, batch: int) -> IntArray:
    """The confusion of classes on the validation side: see `pixel_confusion`."""
    torch = import_torch()
    net.eval()
    classes = int(net.head.low_classifier.out_channels)
    total = np.zeros((classes, classes + 1), np.int64)
    with torch.no_grad():
        for first in range(0, len(valid), batch):
            pairs = [valid.read(index) for index in range(first, min(first + batch, len(valid)))]
            pictures, labels = _tensors(net, pairs)
            scores = torch.nn.functional.interpolate(
                net(pictures), labels.shape[1:], mode="bilinear", align_corners=False
            )
            total += pixel_confusion(labels.cpu().numpy(), scores.argmax(1).cpu().numpy(), classes)
    return total


@dataclass(frozen=True, repr=False)
class TrainedSemanticNet(TrainedModel):
    """A net that was just trained."""

    best: SemanticEpoch  # the epoch whose weights were exported
    training: SemanticTraining  # all epochs, and whether a person stopped the training
    kind: ClassVar[str] = "semantic segmentation net"

    @property
    def scores(self) -> dict[str, float]:
        """What the pixels of the validation side are found with."""
        return {"mean class IoU": self.best.mean_iou, "pixel accuracy": self.best.accuracy}


def train_net(
    split: TrainingSplit,
    losses: Losses,
    data: Path,
    out: Path,
    settings: TrainingSettings,
    command: str,
    *,
    progress: ProgressBar,
    log: Log,
) -> TrainedSemanticNet:
    """Train a net on a split of a set, and write its card."""

    def epoch_done(epoch: SemanticEpoch, of: int) -> None:
        log(
            f"epoch {epoch.number}/{of}: loss {epoch.loss:.3f}; mean class IoU {epoch.mean_iou:.3f}, "
            f"pixel accuracy {epoch.accuracy:.3f}"
        )

    with progress("training") as advance:
        training, left_out = train_semantic(split, out, settings, epoch_done, advance)
    losses.extend(left_out)
    if training.stopped:
        log(f"stopped after {len(training.epochs)} of {settings.epochs} epochs; the best weights so far are exported")
    assert training.best is not None  # noqa: S101 - else there would have been nothing to export
    facts = _card(out, data, command, split, settings, training)
    write_card(facts, _page(facts), out)
    return TrainedSemanticNet(out, facts, losses, training.best, training)


def _card(
    model: Path, data: Path, command: str, split: TrainingSplit, settings: TrainingSettings, training: SemanticTraining
) -> Json:
    best = training.best
    assert best is not None  # noqa: S101 - there is an exported model
    common = common_facts(model, data, command, split, training)
    return {
        **common,
        "task": settings.task,
        "data": {key: value for key, value in common["data"].items() if not key.endswith("objects")},
        "options": {
            "architecture": "LR-ASPP, MobileNetV3 large (reduced tail, dilated)",
            "size": settings.size,
            "width": WIDTHS[settings.size],
            "input": list(settings.input_size or DEFAULT_INPUT),
            "epochs": settings.epochs,
            "batch": settings.batch,
            "seed": settings.seed,
        },
        "valid": {
            "epoch": best.number,
            "mean_iou": best.mean_iou,
            "pixel_accuracy": best.accuracy,
            "iou": training.iou,
        },
        **epoch_facts(training),
    }


def _page(facts: Json) -> str:
    options, valid = facts["options"], facts["valid"]
    rows = {
        "architecture": f"{options['architecture']}, channels x {options['width']:g}, random weights",
        "input": " x ".join(map(str, options["input"])),
        "training": training_text(facts, f"seed {options['seed']}, mirrored and scaled at random"),
    }
    scores = {
        "mean class IoU on valid": f"{valid['mean_iou']:.3f} (epoch {valid['epoch']})",
        "pixel accuracy on valid": f"{valid['pixel_accuracy']:.3f}",
        **{f"IoU of {name}": "-" if value is None else f"{value:.3f}" for name, value in valid["iou"].items()},
    }
    return card_page(facts, "A net that gives every pixel a class,", rows, scores)
