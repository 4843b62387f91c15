"""How a detector is taken to a data set and how one is trained, declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.settings import ReadSettings, Settings, TextForm, setting

DEFAULT_MIN_SCORE = 0.05  # Low, so that average precision is right; what a comparison counts is chosen there
DEFAULT_IOU = 0.7  # Of two boxes of one class that overlap more, the better one stays: the default of ultralytics
Renames = tuple[tuple[str, str], ...]  # Pairs of the name that a class has and its new name


def renames(
    given: str | Mapping[str, str] | Iterable[str | tuple[str, str]],
    option: str = "--rename",
    pair_form: str = "MODEL=SET, the model's class name and what the set calls it",
) -> Renames:
    """What a set calls the classes of another: pairs from "blue=small,red=large", several of them, or a mapping."""
    if isinstance(given, str):
        given = given.split(",")
    pairs: dict[str, str] = {}
    for rename in given.items() if isinstance(given, Mapping) else given:
        for pair in rename.split(",") if isinstance(rename, str) else [rename]:
            old, equals, new = pair.partition("=") if isinstance(pair, str) else (pair[0], "=", pair[1])
            if not (old and equals and new):
                raise UsageError(f"{option} {pair}: give {pair_form}")
            if pairs.setdefault(old, new) != new:
                raise UsageError(
                    f"{option} {old}: is renamed to {pairs[old]} and to {new}, but an object has one class; "
                    "keep one, or give both one name"
                )
    return tuple(pairs.items())


def _text(pairs: Renames) -> str:
    return ",".join(f"{old}={new}" for old, new in pairs)


def _of_set(option: str) -> TextForm:
    def parse(given: str | Mapping[str, str] | Iterable[str | tuple[str, str]]) -> Renames:
        return renames(given, option, "OLD=NEW, the name that a class has in this set and its name in the other")

    return TextForm(parse, _text, "OLD=NEW", several=True)


_RENAMES = TextForm(renames, _text, "MODEL=SET", several=True)
# How new names for the classes of a set are written.
A_RENAMES, B_RENAMES = _of_set("--a-rename"), _of_set("--b-rename")


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Settings, panel="Detector"):
    """The detector that runs, and whether its file is trusted."""

    model: Path | None = setting(
        None,
        "Detector to run on both sets: .onnx, .pt, .yaml, or the name of a shipped one; lidar_cuboids for clouds.",
        common=True,
    )
    trust: bool = setting(default=False, help="Allow code in .pt files (default: weights only).")


@dataclass(frozen=True, kw_only=True)
class RenameSettings(Settings, panel="Detector"):
    """What the classes of a detector are in the data."""

    rename: Renames | None = setting(
        None,
        "Rename classes of the detector to those of the data (MODEL=SET); in a comparison also a class of one set to "
        "that of the other. Unnamed classes are called by their number.",
        form=_RENAMES,
    )


@dataclass(frozen=True, kw_only=True)
class DetectSettings(ModelSettings, RenameSettings, ReadSettings):
    """The settings of a detection on one set."""

    model: Path = setting(help="Detector: a .onnx, .pt or .yaml file, or the name of a shipped one.", common=True)


DETECT, SEMANTIC = "detect", "segment-semantic"  # Tasks, as ultralytics and torchvision call theirs
# Depth and width factors of YOLO11; pico is ours, for machines without a GPU.
SIZES = {"pico": (0.34, 0.125), "nano": (0.5, 0.25), "small": (0.5, 0.5)}
STRIDE = 32  # Pixels between the coarsest cells of a YOLO net: sides of its input are multiples of this
_LARGEST_SIDE = 16_384  # Side of a net's input, pixels, beyond which memory is the first to end
_LARGEST_SEED = 2**32 - 1  # Of NumPy's old random numbers, which ultralytics uses


def input_size(given: str | Sequence[int]) -> tuple[int, int]:
    """Width and height of a net's input."""
    parts = given.lower().split("x") if isinstance(given, str) else [str(side) for side in given]
    sides = [int(part) for part in parts if part.isdecimal() and len(part) <= len(str(_LARGEST_SIDE))]
    if len(parts) != 2 or len(sides) != 2 or any(side % STRIDE for side in sides):
        raise UsageError(f"--input {given}: WIDTHxHEIGHT is needed, multiples of {STRIDE}, e.g. 640x384")
    if not 0 < min(sides) <= max(sides) <= _LARGEST_SIDE:
        raise UsageError(f"--input {given}: must be more than 0, and at most {_LARGEST_SIDE}")
    return sides[0], sides[1]


_INPUT = TextForm(input_size, lambda size: f"{size[0]}x{size[1]}", "WIDTHxHEIGHT")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(ReadSettings, panel="Training"):
    """How to train."""

    # DETECT, boxes by ultralytics; or SEMANTIC, the class of every pixel by LR-ASPP of torchvision.
    task: str = setting(
        DETECT,
        "What to learn: detect (boxes) or segment-semantic (class of every pixel, from label images).",
        choices=(DETECT, SEMANTIC),
        common=True,
    )
    # epochs, imgsz, batch, seed, workers: as ultralytics takes them; workers are data-loading processes.
    epochs: int = setting(100, "Number of epochs.", low=1, high=100_000, common=True)
    imgsz: int = setting(
        640, "Side of the square input, a multiple of 32.", unit="px", low=32, high=16_384, common=True
    )
    batch: int = setting(16, "Batch size.", low=1, high=65_536, common=True)
    seed: int = setting(0, "Seed of split, weights and order of images.", low=0, high=_LARGEST_SEED)
    # A key of `SIZES`; not used when starting from a checkpoint.
    size: str = setting(
        "nano", "Size of the network: pico (for CPU-only machines), nano or small.", choices=tuple(SIZES), common=True
    )
    workers: int = setting(2, "Processes that load images.", low=0, high=256)
    # A checkpoint (`.pt`) to go on from, or the name of a shipped one; else from scratch.
    start: Path | None = setting(
        None,
        "Ultralytics checkpoint (.pt) to start from, or the name of a shipped one (signals_yolo11n).",
        option="from",
        common=True,
    )
    # Run the code inside the file `start`, where it holds more than weights.
    trust: bool = setting(default=False, help="Allow code in the checkpoint (default: weights only).")
    # Share of the photographs to validate on; None keeps the split of the data, or takes 0.2 where the data has none.
    val_fraction: float | None = setting(
        None, "Share of images for a new validation split (0.2 if the data has none).", low=0, high=1
    )
    # Store the exported weights as 16-bit floats.
    half: bool = setting(default=False, help="Store weights as 16-bit floats, which halves the file.")
    # Where to leave ultralytics' own files (weights, curves), else nowhere.
    keep: Path | None = setting(None, "Folder for checkpoints and curves.")
    # Images to an optimizer step (nominal batch size, in ultralytics 64), None for the batch: from scratch and for few
    # epochs that learns far faster.
    step: int | None = setting(None, "Images per optimizer step. Default: the batch size.", low=1, high=65_536)
    # Epochs without a better result on the validation side after which a detector's training ends; None: 100, as
    # ultralytics has it.
    patience: int | None = setting(
        None,
        "Epochs without improvement on the validation images after which training ends. Default: 100.",
        low=1,
        high=100_000,
    )
    # "cpu", "0", ...; empty for the best there is.
    device: str = setting("", "Device: cpu, 0, ... Default: the best available.", common=True)
    # Learn from (and validate on) so many windows of imgsz x imgsz pixels cut out of each image, at the image's own
    # scale; 0: from whole images, scaled to imgsz.
    windows: int = setting(
        0,
        "Number of imgsz x imgsz windows to cut from each image. Default: whole images, scaled.",
        low=0,
        high=1000,
    )
    # Width and height of the exported model's input; None: imgsz x imgsz, and 512 x 256 for SEMANTIC.
    input_size: tuple[int, int] | None = setting(
        None,
        "Input size of the exported model, multiples of 32. Default: imgsz x imgsz, or 512x256 for segment-semantic.",
        unit="px",
        form=_INPUT,
        option="input",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.imgsz % STRIDE:
            raise UsageError(f"--imgsz {self.imgsz}: must be a multiple of {STRIDE}")
        if self.val_fraction in (0, 1):
            raise UsageError(f"--val-fraction {self.val_fraction:g}: must lie between 0 and 1")
        if self.task == SEMANTIC:
            self._check_semantic()

    def _check_semantic(self) -> None:
        given = {
            "from": self.start,
            "half": self.half,
            "keep": self.keep,
            "patience": self.patience,
            "step": self.step,
            "windows": self.windows,
        }
        for option, value in given.items():
            if value:
                raise UsageError(f"--{option}: is of detectors; leave it out with --task {SEMANTIC}")
