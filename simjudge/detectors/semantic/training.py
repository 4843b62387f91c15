"""Training a net that gives every pixel a class, from random weights, exported to ONNX."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.core.label_pictures import UNLABELLED, LabelPicture
from simjudge.core.progress import Advance
from simjudge.detectors.semantic.labelled_pixels import LabelledPixels, read_sides
from simjudge.detectors.semantic.lraspp import WIDTHS, build_net, export_net, import_torch, torchvision_version
from simjudge.detectors.semantic.pixel_scores import mean_iou, pixel_accuracy, pixel_confusion
from simjudge.detectors.training_data import TrainingSplit
from simjudge.detectors.training_settings import TrainingSettings

DEFAULT_INPUT = (512, 256)
"""Width and height of the net's input where nobody says otherwise, pixels."""
_RATE, _DECAY = 2e-3, 1e-4
"""Largest learning rate and weight decay of AdamW; the rate rises over the first tenth and falls as a cosine."""
_ZOOM = (0.8, 1.6)
"""Least and largest scale of a picture that is learnt from; what is beyond the input is cut off."""
_MOST_THREADS = 8
"""Threads of torch at most, as Ultralytics has it."""


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
    """What came out of a training.

    Attributes:
        best: the one whose weights were exported: the largest mean class IoU.
        iou: IoU of each class on the validation side with the best weights, by name; None where neither occurs.
        class_names: the net's classes, in its order.
        stopped: whether a person stopped it (Ctrl-C).
    """

    epochs: list[SemanticEpoch] = field(default_factory=list)
    best: SemanticEpoch | None = None
    iou: dict[str, float | None] = field(default_factory=dict)
    class_names: list[str] = field(default_factory=list)
    seconds: float = 0.0
    stopped: bool = False
    versions: dict[str, str] = field(default_factory=dict)


def train_semantic(
    split: TrainingSplit, out: Path, settings: TrainingSettings, epoch_done: Callable[[SemanticEpoch, int], None],
    advance: Advance,
) -> tuple[SemanticTraining, Losses]:  # fmt: skip
    """Train, and export the weights that did best on the validation side.

    Ctrl-C ends the training early; the best weights so far are exported.

    Args:
        split: what to learn from, and what to watch; frames with label pictures.
        epoch_done: receives every finished epoch and how many there are to be.
        advance: receives how many batches are done, counted over all epochs, and how many there are to be.
    """
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
    best: dict[str, Any] = {}
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
        cv2.warpAffine(labels, matrix, size, flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT,
                       borderValue=UNLABELLED)
    )  # fmt: skip
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
