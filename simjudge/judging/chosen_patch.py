"""The patch of a comparison for which none was given: it follows the images and the boxes of its sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log
from simjudge.judging.compare_settings import MethodSettings
from simjudge.method.method import patch_text
from simjudge.method.patch_size import default_patch

Chosen = TypeVar("Chosen", bound=MethodSettings)


def choose_patch(settings: Chosen, sets: Sequence[FrameSet]) -> Chosen:
    """Settings with the patch that suits all of the sets, where none was given or chosen yet."""
    if not settings.chooses_patch or settings.chosen_patch is not None:
        return settings
    patch = default_patch([frames.size for frames in sets], [frames.objects.box for frames in sets])
    return replace(settings, chosen_patch=patch)


def log_patch(settings: MethodSettings, log: Log) -> None:
    """Tell which patch was chosen; nothing where it was given."""
    if settings.patch_chosen:
        log(patch_line(settings.method.patch))


def patch_line(patch: tuple[int, int]) -> str:
    """What a person should know of a patch that was chosen."""
    return f"patch {patch_text(patch)} px, by the size of images and objects; --patch sets another"
