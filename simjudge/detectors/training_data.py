"""What a detector is trained from, split by side or source photograph, and the card of what came of it."""

from __future__ import annotations

import json
import platform
import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import yaml

from simjudge.core.arrays import BoolArray, Summary, SummaryRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, ImageError, Images, ImageSubset, decode_image, encode_png
from simjudge.core.installed import version
from simjudge.core.object_tables import row_offsets
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.core.text import Json, JsonMapping
from simjudge.data.formats.yolo import is_yolo
from simjudge.data.formats.yolo.layout import find_layout
from simjudge.data.frame_sequences import source_photograph
from simjudge.data.sets import as_frames


@dataclass(frozen=True)
class TrainingSplit:
    """What is learnt from, and what is watched meanwhile; no photograph has variants in both."""

    train: list[FrameSet]
    valid: list[FrameSet]
    moved: int  # images taken from `valid` to `train` because their photograph was in both
    own: bool  # whether the data brought the split itself
    kept_from_test: int = 0  # images not used because their photograph is on the data's test side

    def counts(self) -> dict[str, int]:
        """Images and objects on both sides, as told in a model card."""
        return {
            "train_pictures": sum(len(s) for s in self.train),
            "train_objects": sum(len(s.objects) for s in self.train),
            "valid_pictures": sum(len(s) for s in self.valid),
            "valid_objects": sum(len(s.objects) for s in self.valid),
            "moved_from_valid_to_train": self.moved,
            "kept_from_test": self.kept_from_test,
        }


def split_by_photograph(frames: FrameSet, valid_fraction: float, seed: int) -> TrainingSplit:
    """Split one set at random, all variants of one photograph on one side; `valid_fraction` is of the photographs."""
    sources = [source_photograph(name) for name in frames.frame_name]
    photographs = sorted({s for s, labelled in zip(sources, frames.labelled, strict=True) if labelled})
    if len(photographs) < 2:
        raise SimjudgeError(f"{frames.name}: {len(photographs)} labelled photographs; training needs two at least")
    random.Random(seed).shuffle(photographs)  # noqa: S311 - nothing secret
    count = min(max(1, round(valid_fraction * len(photographs))), len(photographs) - 1)
    chosen = set(photographs[:count])
    side = np.array([s in chosen for s in sources], np.bool_)
    labelled = frames.labelled
    return TrainingSplit([frames.take(labelled & ~side)], [frames.take(labelled & side)], 0, own=False)


def repair_split(train: FrameSet, valid: FrameSet) -> TrainingSplit:
    """Keep a split that the data brought, but move images of `valid` whose photograph is in `train` as well there."""
    train, valid = train.take(train.labelled), valid.take(valid.labelled)
    known = {source_photograph(name) for name in train.frame_name}
    leaked = np.array([source_photograph(name) in known for name in valid.frame_name], np.bool_)
    if not len(train) or leaked.all():
        raise SimjudgeError(
            f"{valid.name}: nothing is left to validate on ({len(valid)} pictures, {int(leaked.sum())} of photographs "
            "that are in the training split too); give --val-fraction to split anew"
        )
    moved = int(leaked.sum())
    return TrainingSplit([train, valid.take(leaked)] if moved else [train], [valid.take(~leaked)], moved, own=True)


def write_working_folder(split: TrainingSplit, folder: Path, losses: Losses) -> dict[int, str]:
    """Lay out a split as ultralytics wants it, images linked where they are files.

    `folder`: an existing empty folder; gets `data.yaml`, `images/{train,valid}`, `labels/{train,valid}`; `losses`:
    counts images that are damaged or missing; those are left out. Returns the class ids of the data set in the order of
    the model's classes, with their names.
    """
    names = class_names([*split.train, *split.valid])
    number = {class_id: i for i, class_id in enumerate(names)}
    for side, sets in (("train", split.train), ("valid", split.valid)):
        images, labels = folder / "images" / side, folder / "labels" / side
        images.mkdir(parents=True)
        labels.mkdir(parents=True)
        written = sum(_write_set(frames, i, images, labels, number, losses) for i, frames in enumerate(sets))
        if not written:
            raise SimjudgeError(f"{sets[0].name}: no readable picture for the {side} side")
    content = {"path": str(folder), "train": "images/train", "val": "images/valid", "names": list(names.values())}
    (folder / "data.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return names


def class_names(sets: Sequence[FrameSet]) -> dict[int, str]:
    """Collect the classes of some sets."""
    out: dict[int, str] = {}
    for frames in sets:
        ids = {*frames.class_names, *(int(c) for c in np.unique(frames.objects.class_id))}
        out.update({class_id: frames.class_name(class_id) for class_id in ids})
    if not out:
        raise SimjudgeError(f"{sets[0].name}: nothing is labelled; there is nothing to learn")
    return dict(sorted(out.items()))


def _write_set(frames: FrameSet, part: int, images: Path, labels: Path, number: dict[int, int], losses: Losses) -> int:
    start = row_offsets(frames.objects.frame, len(frames))
    written = 0
    for i in range(len(frames)):
        stem = f"{part}_{i:07d}"
        try:
            suffix = _place_image(frames, i, images / stem)
        except ImageError as error:
            losses.add("pictures that cannot be trained on", str(error))
            continue
        lines = []
        width, height = (float(v) for v in frames.size[i])
        for row in range(start[i], start[i + 1]):
            x0, x1 = np.clip(frames.objects.box[row, [0, 2]], 0, width) / width
            y0, y1 = np.clip(frames.objects.box[row, [1, 3]], 0, height) / height
            if x1 > x0 and y1 > y0:
                centre = f"{(x0 + x1) / 2:.8f} {(y0 + y1) / 2:.8f} {x1 - x0:.8f} {y1 - y0:.8f}"
                lines.append(f"{number[int(frames.objects.class_id[row])]} {centre}\n")
        (labels / f"{stem}.txt").write_text("".join(lines), encoding="utf-8")
        written += bool(suffix)
    return written


def _place_image(frames: FrameSet, index: int, target: Path) -> str:
    """Put image `index` at `target` plus its suffix, which is returned; ImageError where it is not whole."""
    if frames.images is None or not frames.images.has(index):
        raise ImageError(f"{frames.describe_frame(index)}: has no picture")
    encoded = frames.images.read_encoded(index)
    if encoded is None:
        target.with_suffix(".png").write_bytes(encode_png(frames.images.read(index)))
        return ".png"
    decode_image(encoded.data, frames.describe_frame(index))
    file = target.with_suffix(encoded.suffix)
    path = image_file(frames.images, index)
    if path is not None:
        file.symlink_to(path.resolve())
    else:
        file.write_bytes(encoded.data)
    return encoded.suffix


def image_file(images: Images, index: int) -> Path | None:
    """Find the file of an image: the path; None where the image is not a file of its own."""
    if isinstance(images, ImageSubset):
        return image_file(images.source, int(images.indices[index]))
    return images.paths[index] if isinstance(images, FileImages) else None


DEFAULT_VALID_FRACTION = 0.2
_VALID = {"valid", "val"}  # Names of a validation split
_TEST = {"test"}  # Names of a test split, which training never sees


def read_split(
    data: Path,
    valid_fraction: float | None,
    seed: int,
    *,
    semantic: bool = False,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
) -> tuple[TrainingSplit, Losses]:
    """Read a labelled set, and the two sides to train on and to validate on.

    A YOLO data set's own valid side is kept, unless `valid_fraction` asks for a new split; its test side is never
    touched. Anything else is split by source photograph.
    """
    fraction = DEFAULT_VALID_FRACTION if valid_fraction is None else valid_fraction
    frames, side = _read_with_sides(data, allow_outside=allow_outside, thinning=thinning)
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures to train on")
    on_test, on_valid = (np.array([s in names for s in side], np.bool_) for names in (_TEST, _VALID))
    if semantic:
        frames = _with_label_pictures(frames)
    photograph = np.array([source_photograph(name) for name in frames.frame_name])
    usable = ~np.isin(photograph, photograph[on_test])
    if not usable.any():
        raise SimjudgeError(f"{frames.name}: has a test side only; that is for judging, not for training")
    kept = int(np.count_nonzero(~usable & ~on_test))
    on_train, on_valid = usable & ~on_valid, usable & on_valid
    if valid_fraction is None and on_valid.any() and on_train.any():
        split = repair_split(_named(frames, on_train, "train"), _named(frames, on_valid, "valid"))
    else:
        split = split_by_photograph(frames.take(usable), fraction, seed)
    return replace(split, kept_from_test=kept), frames.losses


def _with_label_pictures(frames: FrameSet) -> FrameSet:
    if frames.semantic is None:
        raise SimjudgeError(
            f"{frames.name}: has no label pictures to learn from; give a folder of Cityscapes, GTA V or CamVid, or one"
            " with semantic/ (simjudge sim render --label-images)"
        )
    return replace(frames, labelled=np.array([frames.semantic.has(i) for i in range(len(frames))], np.bool_))


def _read_with_sides(data: Path, *, allow_outside: bool, thinning: Thinning) -> tuple[FrameSet, list[str]]:
    """The whole set, and the split ("train", "valid", "test" or "") that each of its frames is in."""
    frames = as_frames(data, allow_outside=allow_outside, thinning=thinning)
    if frames.images is None:
        return frames, [""] * len(frames)
    if not is_yolo(data):
        return frames, [_side_in_path(image_file(frames.images, i), data) for i in range(len(frames))]
    split_of = {p.resolve(): s.name for s in find_layout(data, Losses()).splits for p in s.images}
    files = [image_file(frames.images, i) for i in range(len(frames))]
    return frames, [split_of.get(f.resolve(), "") if f is not None else "" for f in files]


def _side_in_path(file: Path | None, data: Path) -> str:
    """The split that the folders of an image name, as those of Cityscapes do; empty where none does."""
    inside = () if file is None else file.absolute().parts[len(data.absolute().parts) : -1]
    return next((part for part in inside if part in {"train", *_VALID, *_TEST}), "")


def _named(frames: FrameSet, chosen: BoolArray, side: str) -> FrameSet:
    return replace(frames.take(chosen), name=f"{frames.name} ({side})")


class TrainingRun(Protocol):
    """What the card of any model needs of its training.

    Attributes:
        epochs: dataclasses of all epochs that were finished.
        class_names: the model's classes, in its order.
        seconds: wall time of the training.
        stopped: whether a person stopped it (Ctrl-C).
        versions: of the libraries used.
    """

    @property
    def epochs(self) -> Sequence[Any]: ...  # noqa: D102 - see the class
    @property
    def class_names(self) -> list[str]: ...  # noqa: D102 - see the class
    @property
    def seconds(self) -> float: ...  # noqa: D102 - see the class
    @property
    def stopped(self) -> bool: ...  # noqa: D102 - see the class
    @property
    def versions(self) -> dict[str, str]: ...  # noqa: D102 - see the class


def common_facts(model: Path, data: Path, command: str, split: TrainingSplit, training: TrainingRun) -> Json:
    """What the cards of all models say first, ready for JSON."""
    return {
        "model": model.name,
        "sha256": hash_files(model),
        "bytes": model.stat().st_size,
        "simjudge": version(),
        "made": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "data": {
            "name": data.resolve().name,
            "sha256": hash_files(data),
            "split": "the data's own" if split.own else "by source photograph, at random",
            **split.counts(),
        },
        "classes": training.class_names,
    }


def epoch_facts(training: TrainingRun) -> Json:
    """What the cards of all models say last, ready for JSON."""
    return {
        "stopped_early": training.stopped,
        "seconds": round(training.seconds, 1),
        "epochs": [asdict(epoch) for epoch in training.epochs],
        "versions": {"python": platform.python_version(), **training.versions},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def card_paths(model: Path) -> tuple[Path, Path]:
    """The files of a model's card, JSON and Markdown: its name with other suffixes."""
    return model.with_suffix(".json"), model.with_suffix(".md")


def write_card(facts: Json, page: str, model: Path) -> tuple[Path, Path]:
    """Write a card beside its model, as JSON and as Markdown."""
    as_json, as_text = card_paths(model)
    with atomic_file(as_json) as temporary:
        temporary.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    with atomic_file(as_text) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return as_json, as_text


def side_counts(data: JsonMapping, side: str) -> str:
    """How many pictures, and objects where objects are learnt, one side of the split has."""
    pictures, objects = data[f"{side}_pictures"], data.get(f"{side}_objects")
    return f"{pictures} pictures" if objects is None else f"{pictures} pictures, {objects} objects"


def training_text(facts: JsonMapping, how: str) -> str:
    """How a model was trained, in one line."""
    options = facts["options"]
    return (
        f"{len(facts['epochs'])} of {options['epochs']} epochs, batch {options['batch']}, {how}, "
        f"{facts['seconds'] / 60:.0f} min on {facts['machine']}{' (stopped early)' if facts['stopped_early'] else ''}"
    )


def card_page(facts: JsonMapping, what: str, rows: Mapping[str, str], scores: Mapping[str, str]) -> str:
    """Format a card as a page."""
    data = facts["data"]
    table = {
        "command": f"`{facts['command']}`",
        "data": f"{data['name']}, SHA-256 `{data['sha256'][:16]}`",
        "split": f"{data['split']}; {data['moved_from_valid_to_train']} pictures moved from valid to train",
        "trained on": side_counts(data, "train"),
        "validated on": side_counts(data, "valid"),
        **rows,
        "versions": ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        **scores,
    }
    size = f"{facts['bytes'] / 1e6:.1f} MB"
    lines = [
        f"# {facts['model']}",
        "",
        f"{what} trained by simjudge {facts['simjudge']} on {facts['made'][:10]}, {size}.",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {value} |" for name, value in table.items()),
        "",
    ]
    return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class TrainedModel(SummaryRepr):
    """A model that was just trained."""

    path: Path  # the ONNX file; its card lies beside it as .json and .md
    card: Json  # the content of the model card
    losses: Losses
    kind: ClassVar[str]  # What was trained, in a few words

    @property
    @abstractmethod
    def scores(self) -> dict[str, float]:
        """What the exported weights reach on the validation side, by name."""

    @property
    def score(self) -> str:
        """What it reaches on the validation side, in one line."""
        scores = ", ".join(f"{name} {value:.3f}" for name, value in self.scores.items())
        return f"{scores} on valid (epoch {self.card['valid']['epoch']})"

    def summary(self) -> Summary:
        """What the model was made from and how well it does, for a person to read."""
        card = self.card
        return Summary(
            str(self.path),
            self.kind,
            [
                ("trained on", side_counts(card["data"], "train")),
                ("validated on", side_counts(card["data"], "valid")),
                ("classes", ", ".join(card["classes"])),
                ("epochs", f"{len(card['epochs'])}, best {card['valid']['epoch']}"),
                *((name, f"{value:.3f}") for name, value in self.scores.items()),
            ],
        )
