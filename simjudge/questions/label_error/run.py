"""Two sets, and an error that A's labels are known to have: the gap as labelled, and as it is without the error."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import Log, Losses, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.installed import version
from simjudge.core.settings import takes_setting_keywords
from simjudge.judging.compare_settings import LIDAR, SEMANTIC, CompareSettings
from simjudge.judging.comparison import Source, paired_frames, read_inputs
from simjudge.judging.inputs import describe_model
from simjudge.judging.label_noise import LabelError, price_labels
from simjudge.judging.painted_masks import choose_patch, log_patch
from simjudge.judging.pair import judge_sets
from simjudge.judging.result_writing import comparison_parameters, describe_draws, false_positives, part_table
from simjudge.judging.set_comparison import SetComparison
from simjudge.method.compiled import choose_loops
from simjudge.questions.label_error.page import LabelErrorResult
from simjudge.questions.label_error.result import SavedLabelError, price_content
from simjudge.results.context_table import ContextParts
from simjudge.results.saved_result import check_result_folder


@takes_setting_keywords
def price_label_error(
    a: Source,
    b: Source,
    error: LabelError | str,
    out: str | Path | None = None,
    *,
    settings: CompareSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> LabelErrorResult:
    """Price an error of A's labels: how far it moves W1, gap and verdict, and what the gap is without it.

    B's labels are taken to be right, as those of a simulation are.

    Args:
        a: the set to be predicted, whose labels are made by hand.
        b: the set that predicts it.
        error: such as "1.5px,2%missed": the standard deviation of each edge of a box, and the share of objects without
            a label.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once, those of `compare`; keywords change single ones.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The price. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting or the error makes no sense.
        SimjudgeError: a set cannot be read or holds no predictions, or its labels are no boxes.
    """
    error = LabelError.parse(error) if isinstance(error, str) else error
    if settings.sensor == LIDAR:
        raise UsageError(
            "--label-error: is in pixels, of boxes in pictures, not of boxes in 3D; leave it out, or compare the same "
            "frames as two people labelled them: simjudge compare FIRST SECOND --sensor lidar"
        )
    if settings.task == SEMANTIC or settings.preset == "cpd":
        raise UsageError("--label-error: is of boxes in pictures, judged by the default preset")
    if not settings.draws:
        raise UsageError("--label-error: needs bootstrap draws; leave out --draws 0")
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")
    sides, losses = read_inputs(a, b, settings, log=log, progress=progress), Losses()
    frames = (sides[0].frames, sides[1].frames)
    for one in frames:
        losses.extend(one.losses)
    if settings.paired:
        frames = paired_frames(*frames, settings.pair_tolerance, losses)
    settings = choose_patch(settings, frames)
    of_a, of_b, painted = judge_sets(*frames, settings, losses, precision=False)
    choose_loops(len(of_a.frames.objects) + len(of_b.frames.objects))
    log_patch(settings, log)
    contexts, draws = ContextParts(), list[dict[str, object]]()

    def record(comparison: SetComparison) -> None:
        if not contexts.count:
            draws.append(describe_draws(comparison.units))
        contexts.add(part_table(comparison, contexts.count))

    with progress("adding errors to labels") as advance:
        found = price_labels(of_a, of_b, error, settings, painted, advance=advance, record=record)
    inputs: dict[str, object] = {
        "a": sides[0].describe(of_a.frames, false_positives(of_a)),
        "b": sides[1].describe(of_b.frames, false_positives(of_b)),
        "model": describe_model(settings),
    }
    content = {
        "version": version(),
        "parameters": comparison_parameters(settings, found.as_labelled, painted),
        "inputs": inputs,
        **price_content(found),
        "draws": draws,
        "losses": losses.lines(),
    }
    saved = SavedLabelError(f"labels of {of_a.frames.name}", content, contexts)
    result = LabelErrorResult(saved, None)
    if out is not None:
        result.save(out)
    return result
