"""Ultralytics weights (`.pt`), read without running code out of them and run by ultralytics, offline and silent.

Ultralytics is AGPL-3.0. It is an extra, imported nowhere but in training and in the detector for its `.pt` files.

A `.pt` file is a pickle: by the ordinary loader it may call any function of Python. Here PyTorch's restricted loader
(`torch.load(weights_only=True)`) reads it, with a list of the classes that a YOLO checkpoint consists of. A network's
class stands in that list as a shell, a subclass that can take stored attributes and cannot be constructed: some
constructors of ultralytics evaluate texts, read files or download them.
"""

from __future__ import annotations

import importlib
import logging
import os
import pathlib
import pickle
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.core.installed import install_command
from simjudge.core.text import one_line
from simjudge.detectors import nms as torchvision_nms
from simjudge.detectors.detector import Detections, ShownDetector, check_answer, check_scores, require_detection_task
from simjudge.detectors.detector_settings import DEFAULT_IOU, DEFAULT_MIN_SCORE

_settings: list[tempfile.TemporaryDirectory[str]] = []


def import_ultralytics() -> ModuleType:
    """Import ultralytics, with everything that reaches for the network switched off."""
    os.environ["YOLO_OFFLINE"] = "1"
    os.environ["YOLO_AUTOINSTALL"] = "False"
    os.environ.setdefault("YOLO_VERBOSE", "False")
    if "YOLO_CONFIG_DIR" not in os.environ:
        _settings.append(tempfile.TemporaryDirectory(prefix="simjudge-ultralytics-"))
        os.environ["YOLO_CONFIG_DIR"] = _settings[0].name
    image_open = Image.open
    try:
        torchvision_nms.register_missing_nms()
        import ultralytics  # noqa: PLC0415
        from ultralytics.utils import LOGGER, SETTINGS  # noqa: PLC0415
    except ImportError as error:
        raise SimjudgeError(
            f"training and .pt detectors need ultralytics (AGPL-3.0): {install_command('ultralytics')} ({error})"
        ) from error
    finally:
        # Ultralytics replaces it by one that, at a damaged image, wants to install a package.
        Image.open = image_open
    LOGGER.setLevel(logging.ERROR)
    dict.update(SETTINGS, dict.fromkeys([key for key, value in SETTINGS.items() if value is True], False))  # no loggers
    return ultralytics  # type: ignore[no-any-return]


# Where the layers and networks of a checkpoint are defined: subclasses of torch.nn.Module.
_MODULE_HOMES = ("torch.nn.modules.", "ultralytics.nn.modules.", "ultralytics.nn.tasks.")
# Where the losses are defined, which some checkpoints hold: plain classes.
_PLAIN_HOMES = ("ultralytics.utils.loss.", "ultralytics.utils.tal.")
_PATHS = tuple(f"{module}.{name}" for module in ("pathlib", "pathlib._local") for name in ("PosixPath", "WindowsPath"))
_NUMPY = ("numpy.dtype", "numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
_NAMESPACES = ("ultralytics.utils.IterableSimpleNamespace", "ultralytics.yolo.utils.IterableSimpleNamespace")
# Names of older checkpoints and what they are now, as ultralytics has it.
_MOVED = {
    "ultralytics.nn.tasks.YOLOv10DetectionModel": "ultralytics.nn.tasks.DetectionModel",
    "ultralytics.nn.modules.block.Silence": "torch.nn.modules.linear.Identity",
    "ultralytics.utils.loss.v10DetectLoss": "ultralytics.utils.loss.E2EDetectLoss",
}
_ACTIVATION = re.compile(r"(torch\.)?nn\.[A-Za-z0-9]+\([A-Za-z0-9_=., -]*\)")
_REAL = "_simjudge_real"

# Ultralytics' loader is replaced, and torch's list of classes extended, for one checkpoint at a time.
_lock = threading.Lock()


def open_checkpoint(path: Path, *, trust: bool = False) -> Any:
    """Read an ultralytics checkpoint."""
    ultralytics = import_ultralytics()
    if not path.is_file():
        raise SimjudgeError(f"{path}: there is no such checkpoint")
    try:
        if trust:
            return ultralytics.YOLO(str(path), task="detect", verbose=False)
        with _lock, _loader_gives(_read_weights(path), path):
            return ultralytics.YOLO(str(path), task="detect", verbose=False)
    except SimjudgeError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise SimjudgeError(f"{path}: not a readable ultralytics checkpoint: {first}") from error


def _read_weights(path: Path) -> dict[str, object]:
    import torch  # noqa: PLC0415 - heavy

    try:
        wanted = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
    except Exception as error:
        raise SimjudgeError(
            f"{path}: not a readable ultralytics checkpoint: damaged, or no file of torch.save (a zip archive)"
        ) from error
    allowed = {name: _allowed(name) for name in wanted}
    foreign = sorted(name for name, found in allowed.items() if found is None)
    if foreign:
        raise _more_than_weights(path, ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else ""))
    entries: list[Any] = [(found, name) for name, found in allowed.items()]
    if "numpy.dtype" in wanted:
        entries += [type(np.dtype(kind)) for kind in ("f8", "f4", "f2", "i8", "i4", "bool")]
    try:
        with torch.serialization.safe_globals(entries):
            checkpoint = torch.load(str(path), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise _more_than_weights(path, "calls that a checkpoint has no need of") from error
    network = checkpoint.get("ema") or checkpoint.get("model") if isinstance(checkpoint, dict) else None
    if not isinstance(network, torch.nn.Module) or checkpoint.get("modelopt"):
        raise SimjudgeError(f"{path}: not a readable ultralytics checkpoint: it holds no plain network")
    _check_layers(path, getattr(network, "yaml", {}))
    for part in network.modules():
        part.__class__ = getattr(type(part), _REAL, type(part))
    return {"model": network, "train_args": _plain(checkpoint.get("train_args"))}


def _check_layers(path: Path, described: Any) -> None:
    """Check a net's description: ultralytics looks up layers among all of its module, and evaluates the activation."""
    import torch  # noqa: PLC0415 - heavy
    from ultralytics.nn import tasks  # noqa: PLC0415 - heavy

    activation = described.get("activation")
    if activation and not (isinstance(activation, str) and _ACTIVATION.fullmatch(activation)):
        raise _more_than_weights(path, f"the activation {str(activation)[:60]!r}")
    for _, _, layer, *_ in [*described.get("backbone", ()), *described.get("head", ())]:
        name = str(layer)
        found = getattr(torch.nn, name[3:], None) if name.startswith("nn.") else getattr(tasks, name, None)
        if not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
            raise _more_than_weights(path, f"the layer {name[:60]!r}")


def _more_than_weights(path: Path, what: str) -> SimjudgeError:
    return SimjudgeError(
        f"{path}: holds more than the weights of a YOLO network ({what}) and was not loaded; only if you know where "
        "it comes from: --trust (in Python trust=True), which runs the code inside the file"
    )


def _allowed(name: str) -> Any:
    """What the loader may use for a global of the file; None for nothing."""
    if name in _PATHS:
        return pathlib.PurePosixPath
    if name in _NUMPY:
        return np.dtype if name == "numpy.dtype" else np.float64(0).__reduce__()[0]
    if name in _NAMESPACES:
        return SimpleNamespace
    return _class_shell(_MOVED.get(name, name))


def _class_shell(name: str) -> type | None:
    """The shell of a layer, a network or a loss; None for anything else."""
    import torch  # noqa: PLC0415 - heavy

    home, _, last = name.rpartition(".")
    if not name.startswith(_MODULE_HOMES + _PLAIN_HOMES):
        return None
    try:
        found = getattr(importlib.import_module(home), last, None)
    except ImportError:
        found = None
    if not isinstance(found, type):
        return None
    fits = issubclass(found, torch.nn.Module) if name.startswith(_MODULE_HOMES) else found.__module__ == home
    return _shell(found) if fits else None


def _shell(real: type) -> type:
    """A subclass that can be filled with stored attributes, and not be constructed."""

    def refuse(*_args: Any, **_more: Any) -> None:
        raise pickle.UnpicklingError(f"the file constructs a {real.__name__}")

    return type(real.__name__, (real,), {"__init__": refuse, _REAL: real})


def _plain(settings: Any) -> dict[str, object]:
    """The settings of the training that matter here: the input's side."""
    size = settings.get("imgsz") if isinstance(settings, dict) else None
    return {"imgsz": size} if isinstance(size, int) else {}


@contextmanager
def _loader_gives(checkpoint: dict[str, object], path: Path) -> Iterator[None]:
    """Let ultralytics' loader, which would run the file's code, give what was read already."""
    from ultralytics.nn import tasks  # noqa: PLC0415 - heavy

    def give(*_args: Any, **_more: Any) -> tuple[dict[str, object], str]:
        return checkpoint, str(path)

    ordinary = tasks.torch_safe_load
    tasks.torch_safe_load = give
    try:
        yield
    finally:
        tasks.torch_safe_load = ordinary


_LONGEST = 200  # Characters of a message of ultralytics that are shown
# An NMS-free head gives corners, score and class of each detection in a row; others a row for each class.
END_TO_END_COLUMNS = 6


@dataclass(frozen=True, repr=False)
class UltralyticsDetector(ShownDetector):
    """A detector that ultralytics runs."""

    name: str
    class_names: dict[int, str]
    model: Any
    imgsz: int
    min_score: float
    iou: float
    device: str
    sha256: str = ""

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        min_score: float = DEFAULT_MIN_SCORE,
        iou: float = DEFAULT_IOU,
        imgsz: int | None = None,
        device: str = "",
        trust: bool = False,
    ) -> UltralyticsDetector:
        """Read a checkpoint. No code out of the file runs, unless it is trusted."""
        model = open_checkpoint(path, trust=trust)
        try:
            task, names = model.task, dict(model.names)
            size = imgsz or model.overrides.get("imgsz") or 640
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0][:200]
            raise SimjudgeError(f"{path}: not a readable ultralytics checkpoint: {first}") from error
        require_detection_task(path, task)
        _watch_scores(model.model, path.stem)
        return cls(path.stem, names, model, int(size), min_score, iou, device)

    def __call__(self, images: Sequence[RgbImage]) -> list[Detections]:
        """Detect in some images (images: 8-bit RGB images (H, W, 3), of any sizes)."""
        if not images:
            return []
        try:
            results = self.model.predict(
                [np.ascontiguousarray(image[..., ::-1]) for image in images],
                imgsz=self.imgsz,
                conf=self.min_score,
                iou=self.iou,
                rect=False,  # a square input always, as an exported model has
                device=self.device or None,
                verbose=False,
                save=False,
            )
        except SimjudgeError:
            raise
        except Exception as error:
            raise SimjudgeError(f"{self.name}: the network cannot be run: {one_line(error, _LONGEST)}") from error
        return [self._detections(i, result.boxes) for i, result in enumerate(results)]

    def _detections(self, image: int, boxes: Any) -> Detections:
        class_id, box, score = (v.cpu().numpy().astype(np.float64) for v in (boxes.cls, boxes.xyxy, boxes.conf))
        check_answer(self.name, image, self.class_names, class_id, box, score)
        real = np.all(box[:, 2:] > box[:, :2], axis=1)
        inverted = int(np.count_nonzero(np.any(box[:, 2:] < box[:, :2], axis=1)))
        return Detections.build(class_id[real], box[real], np.clip(score[real], 0, 1), inverted)


def _watch_scores(network: Any, name: str) -> None:
    """Check every answer of the net before ultralytics drops what is below its threshold, NaN included.

    Ultralytics works through the images one after the other or all at once; the hook sees what one pass has.
    """

    def check(_network: Any, _pixels: Any, output: Any) -> None:
        answer = output[0] if isinstance(output, tuple | list) else output
        for image, raw in enumerate(answer):
            score = raw[:, 4] if raw.shape[-1] == END_TO_END_COLUMNS else raw[4:]
            check_scores(name, image, score.detach().cpu().numpy())

    network.register_forward_hook(check)
