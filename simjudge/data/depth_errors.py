"""How far predicted depth is from the true depth, by frame or labelled object: tables for `simjudge compare`."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import Log, Losses, SimjudgeError, no_log
from simjudge.core.files import FolderKind, atomic_folder, check_output_folder
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import row_offsets
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.depth_images import DepthImages, DepthValues, open_depth
from simjudge.data.depth_settings import FRAMES, OBJECTS, DepthSettings
from simjudge.data.sets import read_set

ERRORS = ("abs_rel", "mae", "rmse", "within_1_25", "unpredicted")
"""Mean of |error| / depth; mean and root mean square of the error, m; share of pixels within a factor of 1.25; share of
true pixels without a predicted depth."""
ROWS, COLUMNS = 3, 4
"""The grid over a picture in which contexts of frames see its depth."""
NEAREST, FARTHEST = 0.25, 128.0
"""Metres between which a doubling of depth is a step of contexts."""
_STEPS = round(np.log2(FARTHEST / NEAREST)) + 1

_TRIED = 5  # Frames whose depths tell the unit
_FAR = 300.0  # Metres that no scene's median depth is likely to have: millimetres of 0.3 m and more have
_MILLIMETRES = (500.0, 2000.0)  # Times that millimetres are the metres of the same, read as metres
_UNLIKE = 3.0  # Times that predicted depth differs from the true one before a note asks for the unit
TABLE, LAYOUTS = "errors.csv", "features.csv"
_OUT = FolderKind("table of depth errors", (TABLE, LAYOUTS), (TABLE,))
Cell: TypeAlias = str | int | float


@dataclass(frozen=True, eq=False, repr=False)
class DepthErrors(ShortRepr):
    """Errors of predicted depth in two sets."""

    names: tuple[str, str]  # of the sets
    errors: tuple[FloatArray, FloatArray]  # (N, 5) each, a row each frame or object, by ERRORS
    files: tuple[Path, ...]  # that were written
    losses: Losses = field(default_factory=Losses)  # frames and objects without an error
    invalid: Losses = field(default_factory=Losses)  # pixels without one of both depths, which every device leaves

    @property
    def table(self) -> SummaryTable:
        """Means of both sets."""
        rows = [
            [name, f"{len(errors):,}", *(f"{value:.3g}" for value in errors.mean(0))]
            for name, errors in zip(self.names, self.errors, strict=True)
        ]
        return SummaryTable(("set", "rows", "abs rel", "mean [m]", "RMS [m]", "within 1.25", "unpredicted"), rows)


@takes_setting_keywords
def depth_errors(
    a: str | Path, b: str | Path, out: str | Path, *, settings: DepthSettings, log: Log = no_log
) -> DepthErrors:
    """Write how far a depth detector is off in two sets, as tables that `compare` takes for a performance.

    Pixels without true depth (0, NaN, infinite) do not count. Those without predicted depth are counted as unpredicted.

    Args:
        a, b: the real and the simulated set. The depth images of each are named as its frames: PNG of 16 bits
            (millimetres), TIFF, EXR or .npy of floats (metres); in recordings 16UC1 or 32FC1, by stamp.
        out: folder to write errors.csv into and, of frames, features.csv: contexts by the layout of true depth.
            Earlier tables there are replaced.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read.

    Returns:
        The errors of both sets, and their means as a table.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a file cannot be read, its unit is not known or looks like another one, or sizes differ.
    """
    regions = settings.regions
    folder, losses, invalid = Path(out), Losses(), Losses()
    if check_output_folder(folder, _OUT):
        log(f"note: {folder} holds earlier tables, which will be replaced")
    keys = ["set", "frame", *(["object"] if regions == OBJECTS else [])]
    rows: list[list[Cell]] = []
    layouts: list[list[Cell]] = []
    names, errors = [], []
    for side, path in (("a", Path(a)), ("b", Path(b))):
        frames = read_set(path)
        images = (
            open_depth(path, frames, settings.truth, settings.truth_scale, losses),
            open_depth(path, frames, settings.predicted, settings.predicted_scale, losses),
        )
        _check_units(frames, images, log)
        found = []
        for name, place, measured, layout in _measured(frames, images, regions, losses, invalid):
            rows.append([side, name, *place, *measured.tolist()])
            found.append(measured)
            if layout is not None:
                layouts.append([side, name, *np.round(layout, 4).tolist()])
        if not found:
            raise SimjudgeError(f"{frames.name}: no {regions[:-1]} has both depths{losses.reason}")
        names.append(frames.name)
        errors.append(np.array(found))
    written = {TABLE: ([*keys, *ERRORS], rows)}
    if layouts:
        cells = [f"row_{r}_column_{c}_step_{s}" for r in range(ROWS) for c in range(COLUMNS) for s in range(_STEPS)]
        written[LAYOUTS] = ([*keys, *cells], layouts)
    with atomic_folder(folder, _OUT) as temporary:
        for name, (heads, lines) in written.items():
            _write(temporary / name, heads, lines)
    files = [folder / name for name in written]
    for kind, count in invalid.counts.items():
        log(f"note: left out {count:,} {kind}")
    log(f"wrote {', '.join(map(str, files))}")
    return DepthErrors((names[0], names[1]), (errors[0], errors[1]), tuple(files), losses, invalid)


def _check_units(frames: FrameSet, images: tuple[DepthImages, DepthImages], log: Log) -> None:
    """Refuse depths that look like millimetres where nobody said their unit, by the first frames with both."""
    both = [index for index in range(len(frames)) if all(index in held.found for held in images)]
    medians = [[_median(held.read(index)) for held in images] for index in both[:_TRIED]]
    known = np.array([pair for pair in medians if np.isfinite(pair).all()])
    if not len(known):
        return
    truth, predicted = (float(value) for value in np.median(known, axis=0))
    ratio = float(np.median(known[:, 1] / known[:, 0]))
    said = f"{frames.name}: depth is {truth:.4g} m in truth and {predicted:.4g} m predicted (medians)"
    for held, median, other, option in (
        (images[0], truth, 1 / ratio, "--truth-scale"),
        (images[1], predicted, ratio, "--predicted-scale"),
    ):
        if held.scale is None and (median > _FAR or _MILLIMETRES[0] < other < _MILLIMETRES[1]):
            raise SimjudgeError(
                f"{said}; {held.where} probably holds millimetres: say {option} 0.001, or {option} 1 if it is in metres"
            )
    if not 1 / _UNLIKE < ratio < _UNLIKE:
        log(f"note: {said}; if a unit is wrong, say the metres of a step (--truth-scale, --predicted-scale)")


def _median(image: DepthValues | None) -> float:
    known = np.empty(0) if image is None else image[~np.isnan(image)]
    return float(np.median(known)) if len(known) else np.nan


def _measured(
    frames: FrameSet, images: tuple[DepthImages, DepthImages], regions: str, losses: Losses, invalid: Losses
) -> Iterator[tuple[str, list[int], FloatArray, FloatArray | None]]:
    """Name of the frame, number of the object, errors, and layout of the true depth of a whole frame."""
    start = row_offsets(frames.objects.frame, len(frames))
    for index, name in enumerate(frames.frame_name):
        where = frames.describe_frame(index)
        truth, predicted = (held.read(index) for held in images)
        if truth is None or predicted is None:
            kind = "true" if truth is None else "predicted"
            losses.add(f"frames without a {kind} depth image", where)
            continue
        if truth.shape != predicted.shape:
            raise SimjudgeError(
                f"{where}: its true depth is {_size(truth)} and its predicted one {_size(predicted)}; write both in"
                " one size"
            )
        invalid.add("pixels without true depth (0, NaN or infinite)", where, int(np.isnan(truth).sum()))
        unknown = np.isnan(predicted) & ~np.isnan(truth)
        invalid.add("pixels with true depth and no predicted one", where, int(unknown.sum()))
        if regions == FRAMES:
            errors = errors_of_region(truth, predicted)
            if errors is None:
                losses.add("frames without a pixel that has both depths", where)
            else:
                yield name, [], errors, depth_layout(truth)
            continue
        if truth.shape != tuple(frames.size[index, ::-1].tolist()):
            size = "x".join(str(side) for side in frames.size[index].tolist())
            raise SimjudgeError(f"{where}: its picture is {size} and its depth {_size(truth)}; objects need one size")
        for row in range(start[index], start[index + 1]):
            inside = _object_pixels(frames, row, truth.shape)
            errors = errors_of_region(truth[inside], predicted[inside])
            if errors is None:
                losses.add("objects without a pixel that has both depths", where)
            else:
                yield name, [row - int(start[index])], errors, None


def _size(image: DepthValues) -> str:
    return f"{image.shape[1]}x{image.shape[0]}"


def _object_pixels(frames: FrameSet, row: int, shape: tuple[int, ...]) -> BoolArray:
    """The pixels of an object: its mask's, else its box's."""
    height, width = shape
    masks = frames.objects.masks
    if masks is not None and masks.has(row):
        return np.asarray(masks.to_image(row, width, height), np.bool_)
    x0, y0, x1, y1 = frames.objects.box[row].tolist()
    inside = np.zeros((height, width), np.bool_)
    inside[max(0, int(np.floor(y0))) : int(np.ceil(y1)), max(0, int(np.floor(x0))) : int(np.ceil(x1))] = True
    return inside


def errors_of_region(truth: DepthValues, predicted: DepthValues) -> FloatArray | None:
    """Errors over the pixels that have both depths, by ERRORS; None where no pixel has."""
    known = ~np.isnan(truth)
    both = known & ~np.isnan(predicted)
    if not both.any():
        return None
    true, told = truth[both].astype(np.float64), predicted[both].astype(np.float64)
    error = told - true
    within = np.maximum(true / told, told / true) < 1.25
    return np.array(
        [
            np.mean(np.abs(error) / true),
            np.mean(np.abs(error)),
            np.sqrt(np.mean(error**2)),
            np.mean(within),
            1 - both.sum() / known.sum(),
        ]
    )


def depth_layout(truth: DepthValues) -> FloatArray:
    """Where a picture is how deep: the share of pixels by cell of a grid and doubling of depth, (rows, columns, steps).

    A pixel between two steps counts to both, so that contexts change as little as depth does.
    """
    height, width = truth.shape
    step = np.log2(np.clip(truth.astype(np.float64), NEAREST, FARTHEST) / NEAREST)
    known = ~np.isnan(step)
    cell = (np.arange(height) * ROWS // height)[:, np.newaxis] * COLUMNS + np.arange(width) * COLUMNS // width
    cell, step = cell[known], step[known]
    below = np.minimum(step.astype(np.int64), _STEPS - 2)
    above = step - below
    count = ROWS * COLUMNS * _STEPS
    layout = np.bincount(cell * _STEPS + below, 1 - above, count) + np.bincount(cell * _STEPS + below + 1, above, count)
    return np.asarray(layout / (height * width))


def _write(path: Path, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(heads)
        writer.writerows(rows)
