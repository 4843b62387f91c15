"""Training a detector: from labelled data to an ONNX file with its model card."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import yaml

from simjudge.core.errors import Advance, Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import atomic_file, check_output, output_path
from simjudge.core.frames import FrameSet
from simjudge.core.installed import CHECKPOINT, find_file, need_module
from simjudge.core.object_tables import Objects, row_offsets
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import Json, JsonMapping
from simjudge.data.image_geometry import LEAST_SHARE, Windows, cut_boxes
from simjudge.detectors.detector_settings import SEMANTIC, SIZES, TrainingSettings
from simjudge.detectors.semantic_training import TrainedSemanticNet, train_net
from simjudge.detectors.training_data import (
    TrainedModel,
    TrainingSplit,
    card_page,
    card_paths,
    common_facts,
    epoch_facts,
    read_split,
    training_text,
    write_card,
    write_working_folder,
)
from simjudge.detectors.ultralytics_detector import import_ultralytics, open_checkpoint


def export_onnx(weights: Path, out: Path, size: tuple[int, int], *, half: bool) -> None:
    """Export ultralytics weights to ONNX for any batch, names and input size (multiples of 32) in its metadata."""
    import onnx  # noqa: PLC0415 - an extra

    model = import_ultralytics().YOLO(str(weights), task="detect", verbose=False)
    height_width = (size[1], size[0])
    exported = Path(
        model.export(format="onnx", imgsz=height_width, dynamic=True, simplify=True, device="cpu", verbose=False)
    )
    network = onnx.load(str(exported))
    # Only the batch stays free.
    for dim, side in zip(network.graph.input[0].type.tensor_type.shape.dim[2:], height_width, strict=True):
        dim.Clear()
        dim.dim_value = side
    del network.graph.value_info[:]  # shapes in between, which every runtime finds out by itself
    for entry in list(network.metadata_props):
        if entry.key == "description":  # it names a temporary folder
            entry.value = f"{out.stem}, trained by simjudge"
        if entry.key == "date":  # the card has it; the same training gives the same bytes
            network.metadata_props.remove(entry)
    if half:
        halve_weights(network)
    onnx.checker.check_model(network)
    onnx.save(network, str(exported))
    with atomic_file(out) as temporary:
        shutil.copyfile(exported, temporary)
    exported.unlink()


def halve_weights(network: Any, smallest: int = 256) -> int:
    """Store a network's large 32-bit float weights as 16-bit, each cast back to 32 bit before use."""
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415 - an extra

    casts = []
    for tensor in network.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size < smallest or np.abs(values).max() > np.finfo(np.float16).max:
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{name}_half"))
        casts.append(helper.make_node("Cast", [tensor.name], [name], name=f"{name}_cast", to=TensorProto.FLOAT))
    nodes = [*casts, *network.graph.node]
    del network.graph.node[:]
    network.graph.node.extend(nodes)
    return len(casts)


_ON_AN_OBJECT = 0.9  # Share of the windows that are laid over an object drawn at random; the others may lie anywhere


def cut_windows(frames: FrameSet, side: int, per_image: int, seed: int = 0) -> FrameSet:
    """Cut windows out of every labelled frame, most of them over an object.

    Where they lie follows from the seed and the frame's name. Objects are cut at the window's edges; those of which
    less than 0.4 of the area is left are not labelled.
    """
    if frames.images is None:
        raise UsageError(f"{frames.name}: has no pictures to cut windows from")
    start = row_offsets(frames.objects.frame, len(frames))
    kept = [i for i in range(len(frames)) if frames.labelled[i]]
    size = np.minimum(frames.size[kept], side)
    frame = np.repeat(np.array(kept, np.int64), per_image)
    corners = [
        _corners(frames.size[i], s, _centres(frames, start, i), per_image, (seed, zlib.crc32(name.encode())))
        for i, s, name in zip(kept, size, (frames.frame_name[i] for i in kept), strict=True)
    ]
    corner = np.concatenate(corners) if corners else np.zeros((0, 2), np.int64)
    windows = Windows(frames.images, frame, corner, np.repeat(size, per_image, axis=0))
    objects = _objects(frames, start, windows)
    names = [f"{frames.frame_name[i]}_window{k}" for i in kept for k in range(per_image)]
    return FrameSet.build(
        frames.name, windows.size, objects, frame_name=names, class_names=dict(frames.class_names), images=windows
    )


def _centres(frames: FrameSet, start: npt.NDArray[np.int64], index: int) -> npt.NDArray[np.float64]:
    box = frames.objects.box[start[index] : start[index + 1]]
    centres: npt.NDArray[np.float64] = (box[:, :2] + box[:, 2:]) / 2
    return centres


def _corners(
    image_size: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    centres: npt.NDArray[np.float64],
    count: int,
    entropy: tuple[int, int],
) -> npt.NDArray[np.int64]:
    """Upper left pixels of `count` windows inside the image; over an object, its centre is anywhere in the window."""
    rng = np.random.default_rng(entropy)
    corners = rng.random((count, 2)) * (image_size - size)
    for row in range(count if len(centres) else 0):
        if rng.random() < _ON_AN_OBJECT:
            corners[row] = centres[rng.integers(len(centres))] - rng.random(2) * size
    return np.clip(np.rint(corners), 0, image_size - size).astype(np.int64)


def _objects(frames: FrameSet, start: npt.NDArray[np.int64], windows: Windows) -> Objects:
    numbers, rows, boxes = [], [], []
    for number, (frame, corner, size) in enumerate(zip(windows.frame, windows.corner, windows.size, strict=True)):
        inside = np.arange(start[frame], start[frame + 1])
        cut, share = cut_boxes(frames.objects.box[inside], corner, size)
        seen = share >= LEAST_SHARE
        numbers.append(np.full(int(seen.sum()), number))
        rows.append(inside[seen])
        boxes.append(cut[seen])
    if not rows:
        return Objects.empty()
    row = np.concatenate(rows)
    return Objects.build(np.concatenate(numbers), frames.objects.class_id[row], np.concatenate(boxes))


_SIDED = re.compile(r"(^|[^a-z])(left|right)([^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Epoch:
    """How one epoch went: losses by name, and what the weights reach on the validation side, in [0, 1]."""

    number: int
    seconds: float
    loss: dict[str, float]
    map50: float
    map50_95: float


@dataclass
class Training:
    """What came out of a training."""

    epochs: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None  # the one whose weights were exported
    seconds: float = 0.0
    stopped: bool = False  # whether a person stopped it (Ctrl-C)
    class_names: list[str] = field(default_factory=list)  # the model's classes, in its order
    flipped: bool = True  # whether images were mirrored left to right at random
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingCallbacks:
    """What is called while a training runs."""

    epoch_done: Callable[[Epoch, int], None]  # receives every finished epoch and how many there are to be
    batch_done: Advance  # receives how many batches are done, counted over all epochs, and how many there are to be


def need_trainer(task: str) -> None:
    """Make sure that what trains detectors, or nets for pixels, is installed."""
    if task == SEMANTIC:
        need_module("torch", "training needs torch and torchvision")
    else:
        need_module("ultralytics", "training needs ultralytics (AGPL-3.0)")


def train_with_ultralytics(
    split: TrainingSplit, out: Path, settings: TrainingSettings, callbacks: TrainingCallbacks
) -> tuple[Training, Losses]:
    """Train, and export the weights that did best on the validation side, those so far at Ctrl-C."""
    ultralytics = import_ultralytics()
    losses = Losses()
    with tempfile.TemporaryDirectory(prefix="simjudge-train-") as temporary:
        folder = Path(temporary)
        (folder / "data").mkdir()
        shown = _windowed(split, settings) if settings.windows else split
        names = list(write_working_folder(shown, folder / "data", losses).values())
        training = Training(class_names=names, flipped=not any(_SIDED.search(n) for n in names))
        training.versions = {"ultralytics": str(ultralytics.__version__), **_torch_version()}
        # Ultralytics prints to stdout, which is for results.
        with contextlib.redirect_stdout(sys.stderr):
            run = (settings.keep or folder / "run").resolve()
            _run(ultralytics, folder, run, settings, training, callbacks)
            best = run / "weights" / "best.pt"
            if not best.exists():
                raise SimjudgeError("training was stopped before the first epoch was done; there is nothing to export")
            out.parent.mkdir(parents=True, exist_ok=True)
            export_onnx(best, out, settings.input_size or (settings.imgsz, settings.imgsz), half=settings.half)
    return training, losses


def _windowed(split: TrainingSplit, settings: TrainingSettings) -> TrainingSplit:
    train, valid = (
        [cut_windows(frames, settings.imgsz, settings.windows, settings.seed) for frames in side]
        for side in (split.train, split.valid)
    )
    return replace(split, train=train, valid=valid)


_PATIENCE = 100  # Epochs without improvement after which training ends: the default of ultralytics


def _run(
    ultralytics: Any,
    folder: Path,
    run: Path,
    settings: TrainingSettings,
    training: Training,
    callbacks: TrainingCallbacks,
) -> None:
    """Train on what lies in `folder`; the best weights end up in `run`."""
    model = _model(ultralytics, folder, settings)
    _watch(model, training, callbacks)
    begin = time.monotonic()
    try:
        model.train(
            data=str(folder / "data" / "data.yaml"),
            epochs=settings.epochs,
            patience=settings.patience or _PATIENCE,
            imgsz=settings.imgsz,
            batch=settings.batch,
            nbs=settings.step or settings.batch,
            seed=settings.seed,
            workers=settings.workers,
            device=settings.device or None,
            deterministic=True,
            amp=False,  # the check that comes with it downloads a model
            fliplr=0.5 if training.flipped else 0.0,
            pretrained=settings.start is not None,  # False would start from random weights, checkpoint or not
            plots=False,
            verbose=False,
            project=str(run.parent),
            name=run.name,
            exist_ok=True,
        )
    except KeyboardInterrupt:
        training.stopped = True
    training.seconds = time.monotonic() - begin
    if training.epochs:
        # Of equally good ones ultralytics keeps the last.
        training.best = max(training.epochs, key=lambda e: (e.map50_95, e.number))


def _model(ultralytics: Any, folder: Path, settings: TrainingSettings) -> Any:
    if settings.start is not None:
        return open_checkpoint(find_file(settings.start, CHECKPOINT), trust=settings.trust)
    own = Path(ultralytics.__file__).parent / "cfg" / "models" / "11" / "yolo11.yaml"
    content = yaml.safe_load(own.read_text(encoding="utf-8"))
    depth, width = SIZES[settings.size]
    content["scales"] = {"n": [depth, width, 1024]}
    file = folder / "yolo11n.yaml"  # ultralytics reads the scale's letter from the name
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return ultralytics.YOLO(str(file), task="detect", verbose=False)


def _watch(model: Any, training: Training, callbacks: TrainingCallbacks) -> None:
    batches, trained = 0, 0

    def batch_done(trainer: Any) -> None:
        nonlocal batches, trained
        batches, trained = batches + 1, trainer.epoch + 1
        callbacks.batch_done(batches, len(trainer.train_loader) * trainer.epochs)

    def epoch_done(trainer: Any) -> None:
        if len(training.epochs) == trained:  # called once more after the last, for the best weights
            return
        metrics = trainer.metrics
        epoch = Epoch(
            len(training.epochs) + 1,
            float(trainer.epoch_time),
            {str(k): round(float(v), 5) for k, v in (trainer.tloss or {}).items()},
            float(metrics.get("metrics/mAP50(B)", 0.0)),
            float(metrics.get("metrics/mAP50-95(B)", 0.0)),
        )
        training.epochs.append(epoch)
        callbacks.epoch_done(epoch, trainer.epochs)

    model.add_callback("on_train_batch_end", batch_done)
    model.add_callback("on_fit_epoch_end", epoch_done)


def _torch_version() -> dict[str, str]:
    import torch  # noqa: PLC0415 - an extra

    return {"torch": str(torch.__version__)}


def make_card(
    model: Path, data: Path, command: str, split: TrainingSplit, settings: TrainingSettings, training: Training
) -> Json:
    """Everything worth knowing about a freshly trained detector, ready for JSON."""
    best = training.best
    return {
        **common_facts(model, data, command, split, training),
        "options": {
            "size": settings.size if settings.start is None else f"as in {settings.start.name}",
            "imgsz": settings.imgsz,
            "windows": settings.windows,
            "input": list(settings.input_size or (settings.imgsz, settings.imgsz)),
            "epochs": settings.epochs,
            "batch": settings.batch,
            "step": settings.step or settings.batch,
            "seed": settings.seed,
            "mirrored": training.flipped,
            "weights": "16-bit" if settings.half else "32-bit",
        },
        "valid": None if best is None else {"epoch": best.number, "map50": best.map50, "map50_95": best.map50_95},
        **epoch_facts(training),
    }


def format_markdown(facts: Json) -> str:
    """Format a card as a page."""
    options, valid = facts["options"], facts["valid"]
    rows = {
        "classes": ", ".join(facts["classes"]),
        "size": f"{options['size']}, input {' x '.join(map(str, options['input']))}, {options['weights']} weights",
        "pictures": _image_use(options),
        "training": training_text(
            facts,
            f"a step each {options['step']} pictures, seed {options['seed']}, "
            f"{'with' if options['mirrored'] else 'without'} left-right mirroring",
        ),
    }
    scores = {}
    if valid is not None:
        scores["mAP50 on valid"] = f"{valid['map50']:.3f} (epoch {valid['epoch']})"
        scores["mAP50-95 on valid"] = f"{valid['map50_95']:.3f}"
    licence = "The weights were trained with ultralytics (AGPL-3.0): see its licence before distributing them."
    return card_page(facts, "A detector", rows, scores) + f"\n{licence}\n"


def _image_use(options: Json) -> str:
    side = options["imgsz"]
    if options["windows"]:
        return f"{options['windows']} windows of {side} x {side} pixels cut out of each, for training and validation"
    return f"whole, scaled to {side} pixels"


@dataclass(frozen=True, repr=False)
class TrainedDetector(TrainedModel):
    """A detector that was just trained.

    Attributes:
        best: the epoch whose weights were exported.
        training: all epochs, and whether a person stopped the training.
    """

    best: Epoch
    training: Training
    kind: ClassVar[str] = "detector"

    @property
    def scores(self) -> dict[str, float]:
        """Mean average precision on the validation side."""
        return {"mAP50": self.best.map50, "mAP50-95": self.best.map50_95}


@takes_setting_keywords
def train(
    data: str | Path,
    out: str | Path,
    *,
    settings: TrainingSettings,
    overwrite: bool = False,
    command: str | None = None,
    progress: ProgressBar = no_progress,
    log: Log = no_log,
) -> TrainedDetector | TrainedSemanticNet:
    """Train a detector with ultralytics, or a net that gives every pixel a class, offline; export the best weights.

    All variants of one photograph stay on one side of the split. Ctrl-C ends the training early and exports the best
    weights so far. Ultralytics is AGPL-3.0; the task segment-semantic does not need it.

    Args:
        data: a labelled data set or recording with images, for segment-semantic with label pictures.
        out: the model to write (.onnx); its card is written beside it.
        settings: all settings at once; keywords change single ones.
        overwrite: whether a model or a card that is there may be replaced.
        command: what the card says was called; this call by default.
        progress: opens a progress bar that counts batches.
        log: receives a line about the split and one about every epoch.

    Returns:
        What was trained. `load_detector(result.path)` loads a detector.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: the data cannot be read, `out` cannot be written, or ultralytics is not installed.
    """
    data, out = Path(data), output_path(Path(out))
    _check_writable(out)
    for path in (out, *card_paths(out)):
        check_output(path, lambda _: False, overwrite=overwrite)
    if settings.keep is not None and not overwrite:
        check_output(settings.keep)
    semantic = settings.task == SEMANTIC
    need_trainer(settings.task)
    split, losses = read_split(
        data,
        settings.val_fraction,
        settings.seed,
        semantic=semantic,
        allow_outside=settings.allow_outside,
        thinning=settings.thinning,
    )
    _log_split(split, log, semantic=semantic)
    command = command or _as_call(data, out, settings.given())
    if semantic:
        return train_net(split, losses, data, out, settings, command, progress=progress, log=log)

    def epoch_done(epoch: Epoch, of: int) -> None:
        loss = " ".join(f"{name} {value:.3f}" for name, value in epoch.loss.items())
        log(f"epoch {epoch.number}/{of}: loss {loss}; mAP50 {epoch.map50:.3f}, mAP50-95 {epoch.map50_95:.3f}")

    with progress("training") as advance:
        training, left_out = train_with_ultralytics(split, out, settings, TrainingCallbacks(epoch_done, advance))
    losses.extend(left_out)
    if training.stopped:
        log(f"stopped after {len(training.epochs)} of {settings.epochs} epochs; the best weights so far are exported")
    facts = make_card(out, data, command, split, settings, training)
    write_card(facts, format_markdown(facts), out)
    if training.best is None:
        raise SimjudgeError(f"{out}: training gave no validated weights")
    if training.best.map50 == 0:
        log(f"warning: {out} finds nothing on the validation side: train for more epochs, or look at the labels")
    return TrainedDetector(out, facts, losses, training.best, training)


def _check_writable(out: Path) -> None:
    if out.suffix.lower() != ".onnx":
        raise UsageError(f"--out {out}: give a name that ends in .onnx")
    try:  # now, not after hours of training
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise SimjudgeError(f"{out}: cannot be written to: {error.strerror}") from error


def _log_split(split: TrainingSplit, log: Log, *, semantic: bool) -> None:
    counts = split.counts()
    origin = "the data's own split" if split.own else "split by source photograph"
    objects = ["", ""]
    if not semantic:
        objects = [f" ({counts['train_objects']} objects)", f" ({counts['valid_objects']})"]
    log(
        f"{counts['train_pictures']} pictures{objects[0]} to train, "
        f"{counts['valid_pictures']}{objects[1]} to validate: {origin}"
    )
    if split.moved:
        log(f"warning: {split.moved} valid pictures moved to train: variants of their photograph are there")
    if split.kept_from_test:
        log(f"warning: {split.kept_from_test} pictures not used: variants of their photograph are on the test side")


def _as_call(data: Path, out: Path, settings: JsonMapping) -> str:
    given = "".join(f", {name}={value!r}" for name, value in settings.items())
    return f"simjudge.train({str(data)!r}, {str(out)!r}{given})"
