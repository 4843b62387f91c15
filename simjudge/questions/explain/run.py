"""Why B predicts A badly: causes are undone one by one and together, and the judge says what is left of the gap."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import hash_files, output_path
from simjudge.core.installed import need_module
from simjudge.core.object_tables import Predictions
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.sets import as_frames
from simjudge.detectors.detector import Detector, map_classes
from simjudge.judging.class_numbering import chosen_classes, match_classes
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import Source, paired_frames, read_inputs
from simjudge.judging.inputs import InputSet, describe_model
from simjudge.judging.painted_masks import Chosen, choose_patch, log_patch
from simjudge.judging.result_writing import certainty_parameters, method_parameters
from simjudge.method.compiled import choose_loops
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.questions.explain.changed_sets import (
    WORDS,
    ChangedSets,
    ExcessJudge,
    estimate_margins,
    needed_causes,
    part_errors,
    why_not_scene,
)
from simjudge.questions.explain.page import write_explanation_page
from simjudge.questions.explain.rendered_sets import RENDERS, RenderOptions, rendered_sets, renders_folder
from simjudge.questions.explain.result import (
    EXPLANATION,
    EXPLANATION_TABLE,
    FORWARD,
    MOST_SHAPLEY,
    PIXELS_OF_A,
    RENDERED,
    SHAPLEY,
    Causes,
    CauseShare,
    Explanation,
    FilterUse,
    Interval,
    all_subsets,
    forward_order,
    order_certainty,
    resampled_interval,
    shapley_values,
    share_of_whole,
)
from simjudge.questions.explain.scene_light import LensGlare, why_not_light, with_light
from simjudge.questions.explain.settings import CAUSE_NAMES, ExplainSettings
from simjudge.sim.sensors.camera_matching.camera_difference import SIDES, CameraDifference, cause_words
from simjudge.sim.sensors.camera_matching.camera_estimation import (
    EstimationError,
    estimate_difference,
    estimation_error,
    sample_pictures,
)
from simjudge.sim.sensors.camera_matching.cause_names import GLARE, LABEL_MARGINS, RENDERED_CAUSES, SCENE_CAUSES


def required_detector(settings: CompareSettings) -> Detector:
    """Load the detector of the settings."""
    if settings.model is None:
        raise UsageError("--model: is needed, because the detector must see the changed pictures too")
    from simjudge.detectors.detection import load_detector  # noqa: PLC0415 - slow to import

    return load_detector(settings.model, trust=settings.trust)


def claimed_folder(folder: Path, ours: Collection[str]) -> Path:
    """Make a folder for what is written, unless it holds something else."""
    folder = output_path(folder)
    if folder.is_file():
        raise SimjudgeError(f"{folder}: is a file; --out must be a folder")
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in ours) if folder.is_dir() else []
    if strangers:
        raise SimjudgeError(f"{folder}: holds {strangers[0]!r}, which was not written here; choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimjudgeError(f"{folder}: cannot be made: {error.strerror}") from error
    return folder


def read_pictures(
    a: Source, b: Source, detector: Detector, settings: CompareSettings, log: Log, progress: ProgressBar
) -> tuple[InputSet, InputSet]:
    """Both sets without predictions; frames of pairs in one order."""
    bare = replace(settings, model=None, rename=None, classes=None)
    sides = [
        replace(side, frames=side.frames.with_predictions(None))
        for side in read_inputs(a, b, bare, own_predictions=False, log=log, progress=progress)
    ]
    for side in sides:
        if side.frames.images is None:
            raise SimjudgeError(f"{side.frames.name}: has no pictures; what a camera does cannot be undone in labels")
        # Refused before cameras are compared, which takes minutes.
        map_classes(detector.name, detector.class_names, side.frames, dict(settings.rename or ()))
    if all(side.frames.class_names for side in sides):
        match_classes(sides[0].frames, sides[1].frames)
    if settings.paired:
        # Whether a frame is predicted is not known yet: all are taken for it.
        ready = [side.frames.with_predictions(Predictions.empty()) for side in sides]
        first, second = paired_frames(ready[0], ready[1], settings.pair_tolerance, Losses())
        sides = [
            replace(side, frames=frames.with_predictions(None))
            for side, frames in zip(sides, (first, second), strict=True)
        ]
    return sides[0], sides[1]


def with_patch(settings: Chosen, sides: tuple[InputSet, InputSet], log: Log) -> Chosen:
    """Settings with the patch that `compare` would take: one for both sets as they are, and for what is changed."""
    sets = chosen_classes(sides[0].frames, sides[1].frames, settings.classes)
    settings = choose_patch(settings, sets)
    log_patch(settings, log)
    return settings


DETECTIONS = "detections"
"""Folder beside explain.json: what the detector found on every changed set, so that an explanation goes on."""
_OURS = {
    EXPLANATION,
    EXPLANATION_TABLE,
    DETECTIONS,
    RENDERS,
    "explain.html",
    "waterfall.svg",
    "waterfall.pdf",
    "waterfall.png",
    "waterfall.csv",
}


@takes_setting_keywords
def explain(  # noqa: PLR0913 - the options of the command
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: ExplainSettings,
    camera: str | Path | None = None,
    scene: str | Path | None = None,
    a_camera: str | Path | None = None,
    detector: Detector | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> Explanation:
    """Explain a gap: which differences of two cameras cause it, and what share each of them has.

    The difference of the cameras is estimated from the pictures. Each part of it is undone by a filter, alone and
    together with others, and the detector and the method say what is left of the gap.

    Args:
        a: the set to be predicted, usually real: with images and labels, or the path of one.
        b: the set that predicts it, usually simulated.
        out: folder for explain.json, explain.csv, the page explain.html and the figure; None writes nothing. An
            explanation that was stopped goes on there.
        settings: all settings at once; keywords change single ones.
        camera: that B was rendered through: a file or a name. With `scene`, lens, resolution, motion and lighting are
            tried too: B, which `simjudge sim render` or `simjudge sim replay` wrote, is rendered again.
        scene: that B was rendered from: a file or a name.
        a_camera: A's camera: a file, a name or a calibration; None: the camera_info of A's recording tells its lens.
        detector: a loaded detector; None: that of the settings.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The share of each cause, with intervals, and how sure the order is.

    Raises:
        UsageError: no detector is given, or a setting makes no sense here.
        SimjudgeError: a set cannot be read, has no images, or cannot be compared.
    """
    compared = settings.comparison
    loaded = required_detector(compared) if detector is None else detector
    sides = read_pictures(a, b, loaded, compared, log, progress)
    compared = with_patch(compared, sides, log)
    folder = None if out is None else claimed_folder(Path(out), _OURS)
    sets = ChangedSets(sides, loaded, compared, None if folder is None else folder / DETECTIONS, progress)
    choose_loops()
    with renders_folder(folder) as renders:
        given = RenderOptions(camera, scene, a_camera, renders)
        explanation = _tried(sets, given, settings, log)
    if folder is not None:
        explanation.save(folder)
        outside, thinning = settings.allow_outside, settings.thinning
        shown = [as_frames(side, allow_outside=outside, thinning=thinning) for side in (a, b)]  # type: ignore[arg-type]
        write_explanation_page(explanation, (shown[0], shown[1]), folder)
    return explanation


def _tried(sets: ChangedSets, given: RenderOptions, settings: ExplainSettings, log: Log) -> Explanation:
    """Estimate every cause, undo all of them, and share the gap."""
    wanted, progress = settings.causes or CAUSE_NAMES, sets.progress
    if given.scene is not None and given.camera is not None:
        need_module("mitsuba", "--scene: B is rendered again with Mitsuba")
    unchanged = ExcessJudge(sets, CameraDifference(), sets.settings, settings.sample)
    none = _Sharing({}, {}, {}, SHAPLEY, 0 * unchanged([frozenset()])[0])
    nothing = _explanation(unchanged, none, ())
    if not nothing.is_gap:
        return nothing
    sets.rendered, not_tried = rendered_sets(sets.sides, given, settings, log, progress)
    rendered = [] if sets.rendered is None else sets.rendered.changes.causes()
    b = sets.sides[1].frames if sets.rendered is None else sets.rendered.of(rendered)
    lens = LensGlare(CameraDifference())
    if GLARE in wanted:
        reason = why_not_light(given.camera)
        not_tried |= {} if reason is None else {GLARE: reason}
        if reason is None:
            sets.sides = (sets.sides[0], with_light(sets.sides[1], given, log, progress))
            lens = LensGlare.between(sets.sides[0].frames, sets.sides[1].frames, settings.seed)
            b = b if rendered else sets.sides[1].frames
    with progress("comparing the cameras") as advance:
        pictures = [sample_pictures(frames, settings.sample) for frames in (sets.sides[0].frames, lens.before(b))]
        difference = estimate_difference(pictures[0], pictures[1], advance=advance)
    with progress("estimating them again") as advance:
        error = estimation_error(
            pictures[0], pictures[1], difference, paired=settings.paired, seed=settings.seed, advance=advance
        )
    difference = lens.beside(difference)
    error = replace(error, refits=tuple(lens.beside(refit, number) for number, refit in enumerate(error.refits)))
    found = [*rendered, *(name for name in difference.causes() if name in wanted)]
    judge = replace(unchanged.with_difference(difference), refits=error.refits)
    if LABEL_MARGINS in wanted:
        judge.margins = estimate_margins(*sets.judged(difference, frozenset(found)))
        found += [LABEL_MARGINS] if judge.margins.matters else []
    asked_last = [name for name in wanted if name in SCENE_CAUSES]
    missing = [name for name in wanted if name not in [*found, *not_tried, *asked_last]]
    # What is rendered for one answer alone is gone after it.
    kept = b if given.renders.kept and rendered else None
    with sets.one_bar("judging the sets with causes undone"):
        sharing = _shared(judge, error, found, log)
    explained = _explanation(judge, sharing, missing)
    if asked_last and explained.is_gap and explained.rest.sign > 0:
        last_b = b if sets.rendered is None else sets.rendered.of(frozenset(sharing.parts))
        reason = why_not_scene(sets.sides[0].frames, last_b, paired=settings.paired)
        not_tried |= dict.fromkeys(asked_last, reason) if reason is not None else {}
        if reason is None:
            explained = _explanation(judge, _with_scene(judge, sharing, asked_last), missing)
    return replace(explained, not_tried=not_tried, rendered=sets.rendered is not None, changed_b=kept)


@dataclass(frozen=True)
class _Sharing:
    """A gap that was shared: by cause its part, and by how much the gap falls if it is undone alone, and last."""

    parts: dict[str, FloatArray]
    alone: dict[str, Interval]
    last: dict[str, Interval]
    way: str
    rest_error: FloatArray


def _shared(judge: ExcessJudge, error: EstimationError, found: Sequence[str], log: Log) -> _Sharing:
    """Try every cause alone and last, and share the gap among those that matter.

    The draws of frames say how far each part may be off, and so does the error of the estimated cameras.
    """
    none, every = frozenset[str](), frozenset(found)
    first = needed_causes(found, ())
    judge.sets.expect(len(judge.unknown(first)) + (len(error.refits) + 1) * (len(first) - 1))
    judge(first)
    alone = {name: _fall(judge, none, frozenset({name})) for name in found}
    last = {name: _fall(judge, every - {name}, every) for name in found}
    players = list(found)
    if len(players) > MOST_SHAPLEY:
        players = [name for name in found if alone[name].sign or last[name].sign]
    if len(players) <= MOST_SHAPLEY:
        sharing = SHAPLEY
        subsets = all_subsets(players)
        more = len(needed_causes(found, players)) - len(first)
        judge.sets.expect(len(judge.unknown(subsets)) + (len(error.refits) + 1) * more)
        values = shapley_values(dict(zip(subsets, judge(subsets), strict=True)), players)
    else:
        sharing = FORWARD
        judge.sets.expect(len(players) * (len(players) + 1) // 2)
        log(f"note: {len(players)} causes matter; the gap is shared in a forward order, not by Shapley values")
        values = forward_order(players, judge)
    errors = part_errors(judge, error, found, list(values))
    return _Sharing(
        {name: value + errors.parts[name] for name, value in values.items()},
        {name: _fall(judge, none, frozenset({name}), errors.alone[name]) for name in found},
        {name: _fall(judge, every - {name}, every, errors.last[name]) for name in found},
        sharing,
        errors.rest,
    )


def _with_scene(judge: ExcessJudge, sharing: _Sharing, names: Sequence[str]) -> _Sharing:
    """Share what is left, once all causes of a sharing are undone, among what the scene shows."""
    before = frozenset(sharing.parts)
    every = before.union(names)
    subsets = all_subsets(names)
    left = judge([before | chosen for chosen in subsets])
    shares = shapley_values(dict(zip(subsets, left, strict=True)), names)
    # What the estimated cameras leave too much or too little falls to what A's pixels close.
    each = sharing.rest_error / len(names)
    return replace(
        sharing,
        parts=sharing.parts | {name: share + each for name, share in shares.items()},
        alone=sharing.alone | {name: _fall(judge, before, before | {name}, each) for name in names},
        last=sharing.last | {name: _fall(judge, every - {name}, every) for name in names},
        rest_error=0 * sharing.rest_error,
    )


def _fall(judge: ExcessJudge, before: Causes, after: Causes, error: FloatArray | float = 0.0) -> Interval:
    """By how much the gap falls from one set of undone causes to another, and by how much this moves in each draw."""
    first, second = judge([before, after])
    return _interval(first - second + error)


def _interval(values: FloatArray) -> Interval:
    return Interval(float(values[0]), *resampled_interval(values))


def _explanation(judge: ExcessJudge, sharing: _Sharing, missing: Sequence[str]) -> Explanation:
    whole, left = judge([frozenset(), frozenset(sharing.parts)])
    left, sure = left + sharing.rest_error, judge.certainty
    if sure is None:
        raise SimjudgeError("nothing was compared")
    ordered = dict(sorted(sharing.parts.items(), key=lambda item: -float(item[1][0])))
    draft = Explanation(
        names=(judge.sets.sides[0].frames.name, judge.sets.sides[1].frames.name),
        frames=judge.frames,
        mean_w1=judge.mean_w1,
        certainty=sure,
        causes=(),
        rest=_interval(left),
        rest_share=None,
        sharing=sharing.way,
        first_sure=None,
        order_sure=None,
        without_effect=tuple(missing),
        parameters=_parameters(judge),
        runs=judge.sets.runs,
        losses=judge.sets.losses,
    )
    first, order = order_certainty(ordered)
    names = [*ordered, *(name for name in sharing.alone if name not in ordered)]
    causes = tuple(
        _cause(
            judge, name, (sharing.alone[name], sharing.last[name]), ordered.get(name), whole if draft.is_gap else None
        )
        for name in names
    )
    rest_share = _interval(share_of_whole(left, whole)) if draft.is_gap else None
    return replace(draft, causes=causes, rest_share=rest_share, first_sure=first, order_sure=order)


def _cause(
    judge: ExcessJudge, name: str, tried: tuple[Interval, Interval], value: FloatArray | None, whole: FloatArray | None
) -> CauseShare:
    """One row; a share only where the whole can be told from nothing."""
    share = None if value is None or whole is None else _interval(share_of_whole(value, whole))
    w1 = None if value is None else _interval(value)
    if name == LABEL_MARGINS:
        growth = [] if judge.margins is None else judge.margins.growth.tolist()
        moved = FilterUse(LABEL_MARGINS, {"growth": growth})
        return CauseShare(name, WORDS, "b", (moved,), *tried, w1, share)
    if name in SCENE_CAUSES:
        pasted = FilterUse(PIXELS_OF_A, {})
        return CauseShare(name, SCENE_CAUSES[name], "b", (pasted,), *tried, w1, share)
    if name in RENDERED_CAUSES and judge.sets.rendered is not None:
        changed = FilterUse(RENDERED, judge.sets.rendered.changes.parameters(name))
        return CauseShare(name, RENDERED_CAUSES[name], "b", (changed,), *tried, w1, share)
    side = judge.difference.side(name)
    filters = tuple(
        FilterUse(step.name, dict(step.parameters)) for side in SIDES for step in judge.difference.steps(side, {name})
    )
    ends = tuple(judge.difference.at_end(name, judge.refits))
    return CauseShare(name, cause_words(name), side, filters, *tried, w1, share, ends)


def _parameters(judge: ExcessJudge) -> dict[str, object]:
    settings = judge.settings
    sure = judge.certainty
    made = None if sure is None else EntryNumbers().judged(sure)
    sides = {
        which: None if side.path is None else {"path": str(side.path), "sha256": hash_files(side.path)}
        for which, side in zip("ab", judge.sets.sides, strict=True)
    }
    return (
        method_parameters(settings, None)
        | certainty_parameters(settings, made)
        | {
            "metric": settings.metric,
            "paired": settings.paired,
            "sample": judge.sample,
            "inputs": sides,
            "model": describe_model(settings),
        }
    )
