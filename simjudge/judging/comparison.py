"""A comparison from its paths to its result folder: what `simjudge compare` and the validation node both do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow.parquet as pq

from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.names import DetectorRecord, normalized_name
from simjudge.data.clouds import CloudSet
from simjudge.detectors.detector import Detector, map_classes
from simjudge.detectors.detector_settings import Renames
from simjudge.judging.class_numbering import (
    chosen_classes,
    describe_numbers,
    match_classes,
    match_predicted_classes,
    rename_classes,
)
from simjudge.judging.compare_settings import LIDAR, SEMANTIC, CompareSettings, MethodSettings
from simjudge.judging.control import with_control
from simjudge.judging.inputs import (
    InputSet,
    comparable_pairs,
    describe_model,
    read_input,
    read_lidar_inputs,
    read_semantic_inputs,
)
from simjudge.judging.own_numbers import GivenTables, number_objects, read_tables
from simjudge.judging.painted_masks import log_patch, performance_note
from simjudge.judging.pair import PairResult, compare_pair
from simjudge.judging.result_writing import (
    comparison_parameters,
    context_table,
    describe_units,
    false_positives,
    items_of_named_kind,
    result_content,
    with_neighbours,
)
from simjudge.method.compiled import choose_loops
from simjudge.method.join_parts import PartRunner
from simjudge.method.patch_size import small_patch_note
from simjudge.results.context_table import ContextTable
from simjudge.results.gallery import PER_KIND, save_gallery, select_items
from simjudge.results.saved_result import CONTEXTS, RESULT, atomic_result, write_json

Source: TypeAlias = FrameSet | CloudSet | Path | str
"""A set in memory, or the path of anything that `simjudge.data.sets.read_set` or, of lidar, `read_clouds` reads."""


@dataclass(frozen=True)
class Comparison:
    """A comparison, and what its result.json says beside the numbers."""

    result: PairResult  # numbers, and the contexts of every class
    parameters: Mapping[str, object]
    inputs: Mapping[str, object]
    losses: Losses  # what was left out; saving adds damaged pictures of the gallery

    @property
    def name(self) -> str:
        """What is compared with what."""
        return f"{self.result.a.frames.name} against {self.result.b.frames.name}"

    def content(self) -> dict[str, object]:
        """The content of result.json (docs/reference/results.md)."""
        return result_content(self.result, self.parameters, self.inputs, self.losses)

    @cached_property
    def contexts(self) -> ContextTable:
        """The table of contexts.parquet."""
        return ContextTable(context_table(self.result))

    def save(self, out: Path, per_kind: int = PER_KIND, alone: int | None = None) -> None:
        """Write result.json, contexts.parquet and the gallery; the folder appears whole or not at all."""
        sets = (self.result.a.frames, self.result.b.frames)
        method = self.result.settings.method
        with atomic_result(out) as folder:
            pq.write_table(self.contexts.table, folder / CONTEXTS)
            items = with_neighbours(select_items(self.contexts, per_kind, alone), self.result)
            items += items_of_named_kind(self.result, self.contexts, per_kind)
            shown = save_gallery(folder, *sets, self.contexts, method.patch, min_score=method.min_score, items=items)
            self.losses.extend(shown)
            write_json(folder / RESULT, self.content())


def compare_sets(
    a: Source,
    b: Source,
    settings: CompareSettings,
    *,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
    run: PartRunner | None = None,
) -> Comparison:
    """Read both sets, detect where a detector is given, and compare."""
    losses = Losses()
    sides, tables = _read_with_tables(a, b, settings, losses, log=log, progress=progress)
    sets = (sides[0].frames, sides[1].frames)
    for frame_set in sets:
        losses.extend(frame_set.losses)
    if settings.paired:
        sets = paired_frames(*sets, settings.pair_tolerance, losses)
    _log_sizes(*sets, log)
    if choose_loops(sum(len(one.objects) for one in sets)):
        log("compiling for this machine, once: about half a minute")
    with progress("comparing contexts") as advance:
        result = with_control(compare_pair(*sets, settings, advance=advance, run=run, tables=tables), settings, run=run)
    losses.extend(result.losses)
    settings = result.settings
    for judged, drawn in zip((result.a, result.b), result.units.sides, strict=True):
        if line := drawn.describe(judged.frames.name):
            log(f"note: {line}")
    _log_method(result, settings, log)
    inputs: dict[str, object] = {
        key: side.describe(judged.frames, false_positives(judged)) | describe_units(drawn)
        for key, side, judged, drawn in zip(("a", "b"), sides, (result.a, result.b), result.units.sides, strict=True)
    }
    inputs["model"] = describe_model(settings)
    if same_files(inputs["a"], inputs["b"]):
        log("note: A and B are the same files: what is compared with itself says nothing of a simulation")
    if result.performance is not None:
        log(result.performance.sentence)
    parameters = comparison_parameters(settings, result.numbers.overall, result.painted, result.performance)
    return Comparison(result, parameters, inputs, losses)


def same_files(a: object, b: object) -> bool:
    """Whether two sets, as a result describes them, hold the same content, labels and predictions."""
    keys = ("sha256", "predictions_sha256")
    first, second = ([one.get(key) for key in keys] if isinstance(one, dict) else [None] for one in (a, b))
    return bool(first[0]) and first == second


def _read_with_tables(
    a: Source, b: Source, settings: CompareSettings, losses: Losses, *, log: Log, progress: ProgressBar
) -> tuple[tuple[InputSet, InputSet], GivenTables]:
    """Read both sets, and what tables say of their objects as they were read."""
    if settings.performance is None and settings.features is None:
        return read_inputs(a, b, settings, log=log, progress=progress), GivenTables()
    read = read_inputs(a, b, replace(settings, classes=None), log=log, progress=progress)
    tables = read_tables(settings, read)
    sides = number_objects(read, settings, tables, losses)
    chosen = chosen_classes(sides[0].frames, sides[1].frames, settings.classes)
    return (replace(sides[0], frames=chosen[0]), replace(sides[1], frames=chosen[1])), tables


def read_inputs(
    a: Source | InputSet,
    b: Source,
    settings: MethodSettings,
    *,
    own_predictions: bool = True,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> tuple[InputSet, InputSet]:
    """Read both sets; the settings' model runs on every set whose predictions were not given. Other classes go.

    `a`: of pictures, may be what an earlier call has read and detected.
    """
    if settings.task == SEMANTIC and not isinstance(a, InputSet):
        sides = read_semantic_inputs(a, b, settings, log=log, progress=progress)
        _log_detectors(sides, log)
        return sides
    if settings.sensor == LIDAR and not isinstance(a, InputSet):
        sides = read_lidar_inputs(a, b, settings, log=log, progress=progress)
    else:
        sides = _read_pictures(a, b, settings, log=log, progress=progress)
    _log_detectors(sides, log)
    if note := describe_numbers(sides[0].frames, sides[1].frames):
        log(note)
    if settings.model is None and own_predictions and settings.sensor != LIDAR:
        rename = dict(settings.rename or ())
        first, second = (match_predicted_classes(side.frames, rename) for side in sides)
        sides = replace(sides[0], frames=first), replace(sides[1], frames=second)
    first, second = chosen_classes(sides[0].frames, sides[1].frames, settings.classes)
    return replace(sides[0], frames=first), replace(sides[1], frames=second)


def _read_pictures(
    a: Source | InputSet, b: Source, settings: MethodSettings, *, log: Log, progress: ProgressBar
) -> tuple[InputSet, InputSet]:
    sides = [
        source
        if isinstance(source, InputSet)
        else read_input(
            source,
            predictions,
            topic,
            allow_outside=settings.allow_outside,
            rename=settings.rename,
            thinning=settings.thinning,
        ).with_classes_renamed(pairs, option)
        for source, predictions, topic, pairs, option in (
            (a, settings.a_predictions, settings.a_image_topic, settings.a_rename, "--a-rename"),
            (b, settings.b_predictions, settings.b_image_topic, settings.b_rename, "--b-rename"),
        )
    ]
    sides, used = _renamed_sides(sides, settings.rename or (), log)
    if settings.model is None:
        return sides[0], sides[1]
    from simjudge.detectors.detection import load_detector  # noqa: PLC0415 - slow to import

    detector = load_detector(settings.model, trust=settings.trust)
    known = set(map(normalized_name, detector.class_names.values()))
    pairs = [(old, new) for old, new in settings.rename or () if old not in used or normalized_name(old) in known]
    settings = replace(settings, rename=tuple(pairs) or None)
    _check_classes(sides, detector, settings)
    if a is b and (settings.a_predictions, settings.a_rename) == (settings.b_predictions, settings.b_rename):
        found = detect_input(sides[0], detector, settings, log, progress)
        return found, found
    first = sides[0] if isinstance(a, InputSet) else detect_input(sides[0], detector, settings, log, progress)
    second = detect_input(sides[1], detector, settings, log, progress)
    return first, second


def _renamed_sides(sides: Sequence[InputSet], pairs: Renames, log: Log) -> tuple[list[InputSet], set[str]]:
    """The sides with the classes of their labels renamed as --rename says; a name may be the detector's alone.

    A set that labels both names keeps them: they are two classes there, and the name is the detector's. Returns the
    names that a set had, too.
    """
    out, used = [], set()
    for side in sides:
        for old, new in pairs:
            frames = side.frames
            held = {normalized_name(frames.class_name(k)) for k in np.unique(frames.objects.class_id).tolist()}
            if normalized_name(old) in held and normalized_name(new) not in held:
                used.add(old)
                log(f"{frames.name}: class {old} is called {new} (--rename)")
                named = rename_classes(frames, {old: new}, "--rename")
                side = replace(side, frames=named, rename={**side.rename, old: new})  # noqa: PLW2901 - one by one
        out.append(side)
    return out, used


def detect_input(
    given: InputSet, detector: Detector, settings: MethodSettings, log: Log, progress: ProgressBar
) -> InputSet:
    """Run a detector on a set, unless its predictions were given."""
    from simjudge.detectors.detection import detect  # noqa: PLC0415 - slow to import

    if given.predictions_path is not None:
        return given
    if given.frames.predictions is not None:
        log(f"{given.frames.name}: its own predictions are set aside, since --model was given")
    rename = dict(settings.rename or ())
    found = detect(given.frames, detector, rename=rename, progress=progress, log=log)
    return replace(given, frames=found)


def _check_classes(sides: Sequence[InputSet], detector: Detector, settings: MethodSettings) -> None:
    """Refuse sets without a class in common, and classes that do not exist, before a detector runs for long."""
    known = []
    for side in sides:
        frames = side.frames
        if side.predictions_path is None:
            classes = map_classes(detector.name, detector.class_names, frames, dict(settings.rename or ()))
            frames = replace(frames, class_names=classes.names)
        known.append(frames)
    a, b = chosen_classes(known[0], known[1], settings.classes)
    match_classes(a, b)


def paired_frames(a: FrameSet, b: FrameSet, tolerance: float, losses: Losses) -> tuple[FrameSet, FrameSet]:
    """The frames of both sets that are pairs, in the same order; what has no partner is counted.

    `tolerance`: how far the stamps of a pair may lie apart, seconds.
    """
    in_a, in_b = comparable_pairs(a, b, round(tolerance * 1e9), losses)
    if len(in_a) == 0:
        raise SimjudgeError(f"{a.name} and {b.name} have no frame in common by stamp or name; compare without --paired")
    return a.take(in_a), b.take(in_b)


def _log_method(result: PairResult, settings: CompareSettings, log: Log) -> None:
    """Tell what patches were painted from, and whether they are too small."""
    log_patch(settings, log)
    for note in (result.painted.note, performance_note((result.a.frames, result.b.frames))):
        if note:
            log(note)
    sets = (("A", result.a.frames), ("B", result.b.frames))
    boxes = {f"{which} ({frames.name})": frames.objects.box for which, frames in sets}
    if small := small_patch_note(boxes, settings.method.patch):
        log(f"note: {small}")


def _log_detectors(sides: tuple[InputSet, InputSet], log: Log) -> None:
    """Warn where two detectors are compared rather than two sets."""
    for frames in (side.frames for side in sides):
        if frames.label_source:
            log(f"note: {frames.name}: nobody drew these labels, so a gap may be of the labels")
        if frames.label_source and frames.detector is not None and frames.detector.name in frames.label_source:
            log(f"warning: {frames.name}: the detector judged made these labels itself, so it agrees with them")
    if warning := mixed_detectors(sides[0].frames, sides[1].frames.name, sides[1].frames.detector):
        log(warning)


def mixed_detectors(first: FrameSet, name: str, detector: DetectorRecord | None) -> str:
    """A warning where the predictions of a set and those of another (its name, its detector) are of two detectors."""
    known = first.detector
    if known is None or detector is None or known.is_like(detector):
        return ""
    return (
        f"warning: the predictions of {first.name} are of {known}, those of {name} are of {detector}: the comparison"
        " mixes the detectors' difference with the sets'; run one on both with --model"
    )


def _log_sizes(a: FrameSet, b: FrameSet, log: Log) -> None:
    size_a, size_b = (sorted({(int(w), int(h)) for w, h in side.size}) for side in (a, b))
    if size_a != size_b:
        shown = []
        for sizes in (size_a, size_b):
            more = ", ..." if len(sizes) > 3 else ""
            shown.append(", ".join(f"{w}x{h}" for w, h in sizes[:3]) + more)
        log(f"note: pictures differ in size, A {shown[0]}, B {shown[1]}; patches are cut in pixels of each")
