"""Getting ultralytics in offline, silent, and without a trace outside the working folder.

Ultralytics is AGPL-3.0. It is an extra, imported nowhere but in training and in the detector for its `.pt` files.
"""

from __future__ import annotations

import logging
import os
import tempfile
from types import ModuleType

from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.detectors import torchvision_nms

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
            f"training and .pt detectors need ultralytics (AGPL-3.0): pip install 'simjudge[train]' ({error})"
        ) from error
    finally:
        # Ultralytics replaces it by one that, at a damaged image, wants to install a package.
        Image.open = image_open
    LOGGER.setLevel(logging.ERROR)
    dict.update(SETTINGS, dict.fromkeys([key for key, value in SETTINGS.items() if value is True], False))  # no loggers
    return ultralytics  # type: ignore[no-any-return]
