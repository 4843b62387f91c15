"""What to simulate next: pictures of a scene that resemble the contexts of A that B lacks; its inputs and folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import atomic_file, hash_files, output_path
from simjudge.core.frames import FrameSet
from simjudge.core.installed import DEFAULT_CAMERA
from simjudge.core.names import normalized_name
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import list_some
from simjudge.data.sets import as_frames
from simjudge.judging.class_numbering import ClassNumbering, match_classes
from simjudge.judging.judged_set import require_labels
from simjudge.judging.painted_masks import patch_line
from simjudge.method.patch_size import default_patch
from simjudge.questions.cover.candidates import (
    Candidate,
    CandidatePool,
    LabelView,
    PlacementSearch,
    context_planes,
    labelled_frames,
)
from simjudge.questions.cover.page import write_cover_page
from simjudge.questions.cover.result import (
    COVER,
    NEVER,
    NOT_FOUND,
    NOT_TAKEN,
    CoverageCurve,
    CoverResult,
    ReachRules,
    SimilarPairs,
    choose_pictures,
    coverage_curve,
    first_pictures,
    judge_newly_covered,
    overlap_numbers,
    similar_pairs,
    uncovered_rows,
)
from simjudge.questions.cover.settings import CoverSettings
from simjudge.sim.capture.camera_poses import RandomPoses, StillPoses, camera_mount, carrying_vehicle
from simjudge.sim.capture.render_plan import RenderPlan, placement_seed
from simjudge.sim.capture.rendering import render_plans
from simjudge.sim.engines.registry import check_engine, make_engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera

PICTURES, POSES = "pictures", "poses.csv"
"""Names of the rendered set and of the poses in the folder of a coverage search."""


def write_poses(path: Path, poses: Sequence[Candidate], ranks: Sequence[int], rate: float) -> None:
    """Write poses of the optical frame as `simjudge sim render --mount optical --poses FILE` reads them.

    `rate`: pictures a second, for the stamps.
    """
    still = StillPoses("poses", tuple(pose.camera for pose in poses), rate)
    rows = ["stamp,x,y,z,qx,qy,qz,qw,scene_seed,rank"]
    for stamp, each, rank in zip(still.stamp, poses, ranks, strict=True):
        numbers = [repr(value) for value in (*each.camera.position, *each.camera.orientation)]
        rows.append(",".join([f"{stamp // 10**9}.{stamp % 10**9:09d}", *numbers, str(each.scene_seed), str(rank)]))
    with atomic_file(path) as temporary:
        temporary.write_text("\n".join(rows) + "\n", encoding="utf-8")


def check_folder(out: Path) -> Path:
    """Refuse a folder that holds anything but a search that was stopped."""
    folder = output_path(out)
    if folder.is_file():
        raise SimjudgeError(f"{folder}: is a file; --out must be a folder")
    if folder.is_dir():
        ours = {POSES, f".{PICTURES}.partial"}
        others = sorted(path.name for path in folder.iterdir() if path.name not in ours)
        if (folder / COVER).exists():
            raise SimjudgeError(f"{folder}: holds the result of another search; choose another --out")
        if others:
            raise SimjudgeError(f"{folder}: holds {others[0]!r}, which was not written here; choose another --out")
    return folder


def same_labels(frames: FrameSet, predicted: FrameSet, index: int) -> bool:
    """Tell whether two sets have the same labels in a frame."""
    tables = []
    for frame_set in (frames, predicted):
        rows = frame_set.objects.frame == index
        table = np.column_stack([frame_set.objects.class_id[rows], np.rint(frame_set.objects.box[rows])])
        tables.append(table[np.lexsort(table.T)])
    return bool(np.array_equal(tables[0], tables[1]))


def read_cover_sets(a: FrameSet | str | Path, b: FrameSet | str | Path | None) -> tuple[FrameSet, FrameSet | None]:
    """The labelled frames of both sets, with A's class ids."""
    sets = []
    for source in (a, b):
        if source is None:
            continue
        frames = as_frames(source)
        require_labels(frames)
        sets.append(frames if frames.labelled.all() else frames.take(frames.labelled))
    return sets[0], match_classes(sets[0], sets[1]) if len(sets) > 1 else None


def check_cover_scene(scene: Scene, given: str | Path) -> None:
    """Refuse a scene that cannot be searched."""
    if not scene.labelled():
        raise UsageError(f"--scene {given}: has nothing that is labelled, so it can cover nothing")
    if scene.area is None:
        raise UsageError(f"--scene {given}: has no area for cameras; give it area: [x0, y0, x1, y1]")
    if any(thing.path is not None for thing in scene.things):
        raise UsageError(f"--scene {given}: has things that move along paths; give a scene that stands still")


def check_cover_classes(a: FrameSet, scene: Scene, given: str | Path) -> None:
    """Refuse a scene that shows no class of A's objects: no picture of it covers any of them."""
    held = np.unique(a.objects.class_id).tolist()
    if not a.class_names or not held:
        return
    theirs = {thing.class_id: scene.class_names.get(thing.class_id, str(thing.class_id)) for thing in scene.labelled()}
    ours = [a.class_names.get(class_id, str(class_id)) for class_id in held]
    if not {normalized_name(name) for name in ours} & {normalized_name(name) for name in theirs.values()}:
        raise SimjudgeError(
            f"{a.name} and scene {given} have no class in common: {list_some(ours)} against "
            f"{list_some(list(theirs.values()))}; give them the same names"
        )


def describe_inputs(*sources: FrameSet | str | Path | None) -> dict[str, object]:
    """Paths and digests of A and B, as cover.json has them; null for sets in memory."""
    return {
        key: None
        if source is None or isinstance(source, FrameSet)
        else {"path": str(source), "sha256": hash_files(Path(source))}
        for key, source in zip("ab", sources, strict=True)
    }


def describe_parameters(settings: CoverSettings) -> dict[str, object]:
    """The settings, as cover.json has them."""
    return {
        "model": None if settings.model is None else str(settings.model),
        "theta": settings.theta,
        "patch": list(settings.method.patch),
        "patch_chosen": settings.patch is None,
        "seed": settings.seed,
        "scenes": settings.scenes,
        "tries": settings.tries,
        "refinements": settings.refinements,
        "min_size": settings.min_size,
        "min_visible": settings.min_visible,
    }


_MOST_PICTURES = 100_000


@takes_setting_keywords
def cover(  # noqa: PLR0913 - the options of the command
    a: FrameSet | str | Path,
    out: str | Path,
    *,
    scene: str | Path,
    camera: str | Path | Camera = DEFAULT_CAMERA,
    n: int = 300,
    b: FrameSet | str | Path | None = None,
    vehicle: str | Path | None = None,
    mount: str | None = None,
    engine: str = "default",
    settings: CoverSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> CoverResult:
    """Render the pictures of a scene that resemble most of the contexts of A that B lacks, and write a page.

    Poses are tried in label space: their labels are those of the rendering, without its light. A pose is taken if its
    picture resembles the most contexts that no picture before it resembles. Only the chosen pictures are rendered.

    Args:
        a: the set to be predicted, with labels, or the path of one.
        out: folder for the pictures, poses.csv, cover.json, curve.csv, uncovered.csv and the page cover.html.
        scene: a scene's file, or the name of one that comes with simjudge.
        camera: a camera's file or name, or a camera.
        n: pictures at most; fewer where no further one would resemble anything new.
        b: simulated pictures that there are already; None for none.
        vehicle: file or name of the car that carries the camera; None for the scene's own, else art1.
        mount: the camera on the body, in place of a car, as in `simjudge.render`.
        engine: name of the engine, or `package:Class`.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        O_A before and after, beside that of random pictures, and the contexts that stay uncovered.

    Raises:
        UsageError: an option makes no sense here.
        SimjudgeError: something cannot be read or written, or the sets have no class in common.
    """
    if not 1 <= n <= _MOST_PICTURES:
        raise UsageError(f"-n {n}: must be 1 to {_MOST_PICTURES}")
    if settings.model is not None:
        from simjudge.detectors.detection import load_detector  # noqa: PLC0415 - slow to import

        load_detector(settings.model)  # refused before the work, where it cannot be read
    check_engine(engine)
    folder = check_folder(Path(out))
    frames, before = read_cover_sets(a, b)
    taken_by = camera if isinstance(camera, Camera) else read_camera(camera)
    if settings.patch is None:
        settings = replace(settings, chosen_patch=_suitable_patch(frames, before, taken_by))
        log(patch_line(settings.method.patch))
    search = _Search(frames, before, settings, scene, taken_by, engine, vehicle, mount)
    search.note_sizes(log)
    pool, rules = search.candidates(n, progress)
    chosen = _by_placement(pool, choose_pictures(pool.covers, len(frames.objects), n))
    inputs = {"scene": str(scene), "camera": taken_by.name, "engine": engine, "most": n, **describe_inputs(a, b)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimjudgeError(f"{folder}: cannot be made: {error.strerror}") from error
    rendered = _Rendered.none()
    if chosen:
        poses = [pool.candidates[choice.number] for choice in chosen]
        write_poses(folder / POSES, poses, [choice.rank for choice in chosen], taken_by.rate)
        rendered = search.render(folder / PICTURES, poses, log, progress)
    result = search.result(pool, rules, chosen, rendered, inputs, progress)
    result.save(folder)
    write_cover_page(result, frames, folder)
    return result


@dataclass(frozen=True)
class ChosenPicture:
    """A candidate that is rendered: its number in the pool, and the how manieth it was in the choice, from 1 on."""

    number: int
    rank: int


@dataclass(frozen=True, repr=False, eq=False)
class _Rendered(ShortRepr):
    """The rendered set, and how many of its frames have the labels that were predicted."""

    path: Path | None
    frames: FrameSet | None
    same: int
    losses: Losses

    @classmethod
    def none(cls) -> _Rendered:
        return cls(None, None, 0, Losses())


class _Search:
    """The sets, the scene and the camera of a search."""

    def __init__(
        self,
        a: FrameSet,
        b: FrameSet | None,
        settings: CoverSettings,
        scene: str | Path,
        camera: Camera,
        engine: str,
        vehicle: str | Path | None,
        mount: str | None,
    ) -> None:
        self.a, self.b, self.settings, self.scene, self.camera, self.engine = a, b, settings, scene, camera, engine
        described = read_scene(scene, settings.seed)
        check_cover_scene(described, scene)
        check_cover_classes(a, described, scene)
        self.mount = camera_mount(carrying_vehicle(vehicle, mount, described), mount)[0]
        self.numbering = ClassNumbering(a.class_names)
        self.class_names = dict(described.class_names)
        self.own = similar_pairs(a, a, settings.method)
        with_b = _no_pairs() if b is None else similar_pairs(a, b, settings.method)
        self.before = first_pictures(with_b, len(a.objects), np.zeros(0 if b is None else len(b.objects), np.int64))

    def note_sizes(self, log: Log) -> None:
        """Tell where the pictures of A are of another size than the camera's."""
        sizes = {(int(w), int(h)) for w, h in self.a.size}
        if sizes != {tuple(self.camera.lens.size)}:
            shown = ", ".join(f"{w}x{h}" for w, h in sorted(sizes)[:3])
            width, height = self.camera.lens.size
            log(
                f"note: A's pictures are {shown}, camera {self.camera.name} makes {width}x{height}; patches are cut in"
                " pixels of each"
            )

    def candidates(self, n: int, progress: ProgressBar) -> tuple[CandidatePool, ReachRules]:
        """Look at random poses and search others, in every placement."""
        settings = self.settings
        pool = CandidatePool(self.a, np.flatnonzero(self.before == NEVER), settings, self.class_names)
        count = max(settings.tries, n)
        lens = self.camera.lens
        poses = RandomPoses(
            Path(self.scene).stem, count, self.camera.rate, self.mount, lens.horizontal_field(), settings.seed
        )
        rules: ReachRules | None = None
        for placement in range(settings.scenes):
            seed = placement_seed(settings.seed, placement, settings.scenes)
            with closing(make_engine(self.engine, read_scene(self.scene, seed))) as engine:
                view = LabelView(engine, self.camera, settings.labelling)
                search = PlacementSearch(pool, view, self.numbering, self.mount)
                of = f", placement {placement + 1} of {settings.scenes}" if settings.scenes > 1 else ""
                with progress(f"labels of random poses{of}") as advance:
                    indices = _indices(placement, settings.scenes, n, count)
                    search.add_random(poses, indices, advance, n)
                with progress(f"searching poses{of}") as advance:
                    search.add_searched(advance)
                if rules is None:
                    rules = ReachRules(
                        self.a, search.things, lens, settings.labelling, settings.theta, settings.method.patch
                    )
        assert rules is not None  # noqa: S101 - there is a placement
        return pool, rules

    def render(self, out: Path, poses: Sequence[Candidate], log: Log, progress: ProgressBar) -> _Rendered:
        """Render pictures, and compare their labels with those that were predicted."""
        settings = self.settings
        still = StillPoses(f"{Path(self.scene).stem}_cover", tuple(pose.camera for pose in poses), self.camera.rate)
        plan = RenderPlan(
            self.scene,
            self.camera,
            still,
            labelling=settings.labelling,
            seed=settings.seed,
            engine=self.engine,
            scene_seeds=tuple(pose.scene_seed for pose in poses),
        )
        done = render_plans([plan], out, jobs=settings.jobs, log=log, progress=progress)
        frames = as_frames(out)
        order = np.argsort([frames.frame_name.index(name) for name in still.frame_name])
        frames = frames.take(np.argsort(order)) if len(order) == len(frames) else frames
        predicted = self._numbered(
            labelled_frames("predicted", self.camera, self.class_names, [pose.objects for pose in poses])
        )
        frames = self._numbered(frames)
        same = sum(same_labels(frames, predicted, index) for index in range(len(frames)))
        return _Rendered(out, frames, same, done.losses)

    def _numbered(self, frames: FrameSet) -> FrameSet:
        return self.numbering.apply(frames)

    def result(
        self,
        pool: CandidatePool,
        rules: ReachRules,
        chosen: Sequence[ChosenPicture],
        rendered: _Rendered,
        inputs: dict[str, object],
        progress: ProgressBar,
    ) -> CoverResult:
        """Measure the overlap on the rendered pictures, and say why contexts stay uncovered."""
        a, settings = self.a, self.settings
        first = self._first(rendered.frames, np.array([choice.rank for choice in chosen], np.int64))
        random = [pool.candidates[number].objects for number in pool.random]
        by_chance = self._first(
            self._numbered(labelled_frames("random", self.camera, self.class_names, random)),
            np.arange(1, len(random) + 1),
        )
        left = np.flatnonzero(first == NEVER)
        newly = None
        if settings.model is not None and rendered.frames is not None:
            rows = np.flatnonzero((self.before == NEVER) & (first < NEVER))
            newly = judge_newly_covered(a, rendered.frames, rows, settings.model, settings, progress)
        reasons = [
            NOT_TAKEN if pool.resembled[row] else rules.reason(row, planes) or NOT_FOUND
            for row, planes in zip(left.tolist(), context_planes(a, left, settings), strict=True)
        ]
        losses = Losses()
        for lost in (a.losses, rendered.losses):
            losses.extend(lost)
        return CoverResult(
            names=(a.name, None if self.b is None else self.b.name),
            contexts=len(a.objects),
            wanted=len(pool.wanted),
            curve=self._curve(first, len(chosen)),
            random=self._curve(by_chance, len(random)),
            pictures=rendered.path,
            same_labels=rendered.same,
            uncovered=uncovered_rows(left, reasons, a),
            candidates=len(pool.candidates),
            patch=settings.method.patch,
            parameters=describe_parameters(settings) | inputs,
            losses=losses,
            newly_covered=newly,
        )

    def _first(self, new: FrameSet | None, picture: IntArray) -> IntArray:
        """With how many of the new pictures each context is first resembled; 0 where B resembles it."""
        if new is None:
            return self.before
        pairs = similar_pairs(self.a, new, self.settings.method)
        first = first_pictures(pairs, len(self.a.objects), picture[new.objects.frame])
        return np.minimum(first, self.before)

    def _curve(self, first: IntArray, pictures: int) -> CoverageCurve:
        entered = overlap_numbers(self.own, first)
        return CoverageCurve(coverage_curve(entered, pictures), coverage_curve(first, pictures))


def _indices(placement: int, placements: int, baseline: int, count: int) -> list[int]:
    """The random poses of a placement: those that `render` would take of so many frames, and its share of the rest."""
    return [
        index
        for index in range(count)
        if (index * placements // baseline if index < baseline else (index - baseline) % placements) == placement
    ]


def _by_placement(pool: CandidatePool, chosen: Sequence[int]) -> list[ChosenPicture]:
    """The chosen pictures, those of one placement in a row."""
    pictures = [ChosenPicture(number, rank) for rank, number in enumerate(chosen, 1)]
    seeds = list(dict.fromkeys(pool.candidates[picture.number].scene_seed for picture in pictures))
    return sorted(pictures, key=lambda each: (seeds.index(pool.candidates[each.number].scene_seed), each.rank))


def _suitable_patch(a: FrameSet, b: FrameSet | None, camera: Camera) -> tuple[int, int]:
    """A patch by the sets at hand and the pictures to come."""
    sets = [a] if b is None else [a, b]
    sizes = [*(frames.size for frames in sets), np.array([camera.lens.size], np.int64)]
    return default_patch(sizes, [frames.objects.box for frames in sets])


def _no_pairs() -> SimilarPairs:
    return SimilarPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
