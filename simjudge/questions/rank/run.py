"""Several simulations of one reality, read, compared under the same draws, and ranked by their gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.core.settings import takes_setting_keywords
from simjudge.judging.compare_settings import CAMERA, SEMANTIC, CompareSettings
from simjudge.judging.comparison import Source, read_inputs
from simjudge.judging.inputs import InputSet, comparable_pairs, describe_model
from simjudge.judging.joint_comparison import compare_jointly
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.painted_masks import choose_patch, log_patch
from simjudge.judging.pair import judge_sets
from simjudge.judging.result_writing import comparison_parameters, describe_draws, false_positives, part_table
from simjudge.method.compiled import choose_loops
from simjudge.questions.rank.page import RankingResult
from simjudge.questions.rank.result import RankedSimulation, SavedRanking, SimulationPair
from simjudge.results.context_table import ContextParts
from simjudge.results.saved_result import check_result_folder

_ONE_ALONE = ("b_predictions", "b_image_topic", "b_cloud_topic")
"""Settings that are of one simulation."""


@takes_setting_keywords
def rank(
    a: Source,
    simulations: Sequence[Source],
    out: str | Path | None = None,
    *,
    settings: CompareSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> RankingResult:
    """Rank simulations by how well they predict A: which is nearer, by how much, and where it cannot be told.

    All are judged on the contexts of A that all of them show. A's sampling units are drawn once for all of them, and
    simulations of the same poses are drawn as pairs.

    Args:
        a: the set to be predicted, usually real: a FrameSet, or the path of anything that `read` reads.
        simulations: two or more sets that predict it.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once, those of `compare`; keywords change single ones.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The ranking. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense, or fewer than two simulations are given.
        SimjudgeError: a set cannot be read or holds no predictions, or has no class in common with A.
    """
    if len(simulations) < 2:
        raise UsageError("rank: takes two simulations or more; compare judges one")
    for name in _ONE_ALONE:
        if getattr(settings, name) is not None:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag}: is of one simulation; with several, each brings its own, or give --model")
    if not settings.draws:
        raise UsageError("--draws 0: which simulation is nearer cannot be told without draws; leave it out")
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")
    sides = _read(a, simulations, settings, log, progress)
    names = simulation_names([b for _, b in sides])
    losses = Losses()
    judged, settings = _judge(sides, settings, losses)
    if choose_loops(sum(len(one.frames.objects) for pair in judged for one in pair)):
        log("compiling for this machine, once: about half a minute")
    log_patch(settings, log)
    with progress("comparing simulations") as advance:
        found = compare_jointly(judged, settings, advance=advance)
    for i, j in found.twins:
        log(f"{names[i]} and {names[j]} show the same poses: their frames are drawn as pairs")
    ranked = tuple(
        RankedSimulation(name, cover, numbers)
        for name, cover, numbers in zip(names, found.own_cover, found.numbers, strict=True)
    )
    inputs: dict[str, object] = {
        "a": sides[0][0].describe(judged[0][0].frames, false_positives(judged[0][0])),
        "simulations": [
            side.describe(of_b.frames, false_positives(of_b)) | {"name": name}
            for name, (_, side), (_, of_b) in zip(names, sides, judged, strict=True)
        ],
        "model": describe_model(settings),
    }
    classes = dict(judged[0][0].frames.class_names)
    saved = SavedRanking(
        name=f"{len(names)} simulations of {sides[0][0].frames.name}",
        content={
            "version": version(),
            "parameters": comparison_parameters(settings, found.numbers[0].overall, found.painted),
            "inputs": inputs,
            "class_names": {str(k): name for k, name in sorted(classes.items())},
            "covered": found.covered,
            "same_poses": [[names[i], names[j]] for i, j in found.twins],
            "simulations": [one.to_json() for one in ranked],
            "pairs": [SimulationPair.of(one, names).to_json() for one in found.differences],
            "pairs_by_class": {
                str(k): [SimulationPair.of(one, names).to_json() for one in pairs]
                for k, pairs in found.by_class.items()
            },
            "draws": [describe_draws(one.units) for one in found.comparisons],
            "losses": losses.lines(),
        },
        contexts=None
        if settings.task == SEMANTIC
        else ContextParts(part_table(one, part) for part, one in enumerate(found.comparisons)),
    )
    result = RankingResult(saved, None)
    if out is not None:
        result.save(out)
    return result


def _read(
    a: Source, simulations: Sequence[Source], settings: CompareSettings, log: Log, progress: ProgressBar
) -> list[tuple[InputSet, InputSet]]:
    """A with each simulation; a detector runs on A once."""
    first = read_inputs(a, simulations[0], settings, log=log, progress=progress)
    detected = settings.model is not None and settings.sensor == CAMERA and settings.task != SEMANTIC
    source: Source | InputSet = first[0] if detected else a
    others = [read_inputs(source, b, settings, log=log, progress=progress) for b in simulations[1:]]
    return [first, *others]


def simulation_names(sides: Sequence[InputSet]) -> list[str]:
    """A name for each: its own, behind its folder's where several are called alike, else with a number."""
    names = [side.frames.name for side in sides]
    alike = Counter(names)
    names = [
        f"{side.path.parent.name}/{name}" if alike[name] > 1 and side.path is not None else name
        for side, name in zip(sides, names, strict=True)
    ]
    alike, seen, out = Counter(names), Counter[str](), []
    for name in names:
        seen[name] += 1
        out.append(f"{name} ({seen[name]})" if alike[name] > 1 else name)
    return out


def _judge(
    sides: Sequence[tuple[InputSet, InputSet]], settings: CompareSettings, losses: Losses
) -> tuple[list[tuple[JudgedSet, JudgedSet]], CompareSettings]:
    """The performance of all objects; of pairs, on the frames of A that have a partner in every simulation."""
    frames = [(a.frames, b.frames) for a, b in sides]
    for one in (frames[0][0], *(b for _, b in frames)):
        losses.extend(one.losses)
    if settings.paired:
        frames = _partners(frames, round(settings.pair_tolerance * 1e9), losses)
    settings = choose_patch(settings, [frames[0][0], *(b for _, b in frames)])
    judged = []
    for number, (a, b) in enumerate(frames):
        of_pair = Losses()
        first, second, _ = judge_sets(a, b, settings, of_pair, precision=False)
        judged.append((first, second))
        if number == 0:
            losses.extend(of_pair)
        else:
            losses.count_once(of_pair)
    return judged, settings


def _partners(
    frames: Sequence[tuple[FrameSet, FrameSet]], tolerance_ns: int, losses: Losses
) -> list[tuple[FrameSet, FrameSet]]:
    pairs: list[tuple[IntArray, IntArray]] = [comparable_pairs(a, b, tolerance_ns, losses) for a, b in frames]
    common = reduce(np.intersect1d, [of_a for of_a, _ in pairs])
    if not len(common):
        name = frames[0][0].name
        raise SimjudgeError(f"{name}: no frame has a partner in every simulation; compare without --paired")
    out = []
    for (a, b), (of_a, of_b) in zip(frames, pairs, strict=True):
        order = np.argsort(of_a, kind="stable")
        place = order[np.searchsorted(of_a[order], common)]
        out.append((a.take(common), b.take(of_b[place])))
    return out
