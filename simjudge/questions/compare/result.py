"""Results as Python has them: a comparison or a sweep, fresh or read again, that shows itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simjudge.core.arrays import Summary, SummaryTable
from simjudge.core.errors import Log, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import Json
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.judging.comparison import Comparison, Source, compare_sets
from simjudge.judging.join_cluster import join_runner
from simjudge.judging.sweep import Sweep, sweep_sets
from simjudge.method.detector_measures import DetectorMeasure
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.method.kinds import KindDifferences
from simjudge.method.verdicts import Verdict
from simjudge.page.kept_result import TabledResult
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.compare.facts import balance_sentence, control_sentence, next_step
from simjudge.questions.compare.overall_words import overall_headline, overall_meaning
from simjudge.questions.compare.tables import comparison_table, latex_table, sweep_table
from simjudge.questions.compare.words import given_sentences
from simjudge.results.context_table import ContextTable
from simjudge.results.metric_rows import verdict_words
from simjudge.results.result_header import ComparedSet
from simjudge.results.saved_result import (
    SWEEP,
    Result,
    check_result_folder,
    check_result_place,
    comparison_from_content,
    sweep_from_content,
)

if TYPE_CHECKING:
    from simjudge.page.figures import Figures, ReportFigure


class ShownResult(TabledResult[Result]):
    """What a comparison and a sweep have in common. `saved`: the result as figures and pages read it."""

    def __init__(self, saved: Result, folder: Path | None, fresh: Comparison | Sweep | None = None) -> None:
        """Wrap a result."""
        super().__init__(folder, None if fresh is None else fresh.save)
        self.saved, self._fresh = saved, fresh

    @property
    def parameters(self) -> Mapping[str, object]:
        """The settings that it was computed with."""
        return dict(self.saved.header.parameters.content)

    @property
    def inputs(self) -> Mapping[str, object]:
        """What was compared: paths, content hashes and counts of both sets."""
        return dict(self.content["inputs"])

    @property
    def class_names(self) -> dict[int, str]:
        """Names by class id."""
        return {int(key): name for key, name in self.saved.header.class_names.items()}

    @property
    def lines(self) -> list[str]:
        """The verdict and what it rests on; empty of a sweep."""
        return [self.meaning] if self.meaning else []

    @property
    def losses(self) -> Sequence[str]:
        """What was left out, one line a kind; empty where nothing was."""
        return self._fresh.losses.lines() if self._fresh else list(self.saved.header.losses)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"{type(self).__name__}({self.name!r})"

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        sides = [(side.upper(), _input_text(held)) for side, held in self.saved.header.sets.items()]
        return Summary(self.name, type(self).__name__, [*sides, self.table, *self.losses]).html()

    @property
    def figures(self) -> Figures:
        """All figures by name, not drawn yet: `result.figures["overview"]()` draws one; `savefig` saves it."""
        from simjudge.questions.compare.figures import result_figures  # noqa: PLC0415 - matplotlib is slow to import

        return result_figures(self.saved)

    def _report(self, folder: Path, out: Path, settings: ReportSettings) -> Report:
        from simjudge.questions.compare.reporting import report_comparisons  # noqa: PLC0415 - matplotlib is slow to import

        return report_comparisons([folder], out, settings, no_log, no_progress)

    def plot(self) -> ReportFigure:
        """Draw the result at a glance; `savefig` saves it as SVG or PDF."""
        from simjudge.questions.compare.charts import plot  # noqa: PLC0415 - matplotlib is slow to import

        return plot(self.saved)

    def to_latex(self, caption: str = "") -> str:
        """Write the table as LaTeX (package booktabs), for papers."""
        return latex_table(self.table, caption)


class ComparisonResult(ShownResult):
    """How well set B predicts set A, class by class. Printing it gives the table of `simjudge compare`.

    Attributes:
        comparison: what was computed, with the frames; None for a result that was read again.
    """

    def __init__(self, saved: Result, folder: Path | None, comparison: Comparison | None = None) -> None:
        """Wrap a comparison; `compare` and `load_result` make one."""
        super().__init__(saved, folder, comparison)
        self.comparison = comparison

    @property
    def numbers(self) -> ComparisonNumbers:
        """The numbers of each class, by its id as text, and of all classes together."""
        return ComparisonNumbers.from_json(self.content)

    @property
    def verdict(self) -> Verdict:
        """The worst of all that was judged: performance over all classes together, and what else the detector does."""
        return self.saved.verdict

    @property
    def measures(self) -> Sequence[DetectorMeasure]:
        """What else the detector does: false positives a frame, scores, recall, average precision, each judged."""
        return self.saved.measures

    @property
    def meaning(self) -> str:
        """What the verdict means, and which numbers it rests on."""
        if self.saved.overall is None:
            return ""
        said = f"{overall_headline(self.saved)}: {overall_meaning(self.saved)}"
        return " ".join([said, *given_sentences(self.saved)])

    @property
    def balance(self) -> str:
        """How unlike the objects of like contexts are; empty where they are alike."""
        return balance_sentence(self.saved)

    @property
    def control(self) -> str:
        """What the same judge says between halves of A, and of B; empty where nothing was drawn."""
        return control_sentence(self.saved)

    @property
    def next_step(self) -> str:
        """What to do after this verdict."""
        return next_step(self.saved)

    @property
    def contexts(self) -> ContextTable:
        """Every context of both sets, one a row; `to_pandas()` and `to_arrow()` give it to other libraries."""
        if self.saved.contexts is None:
            raise SimjudgeError(f"{self.name}: has no contexts")
        return self.saved.contexts

    @property
    def where(self) -> KindDifferences | None:
        """How the sets differ in each kind of contexts, by class, size, place and so on; None where not tested."""
        return self.saved.header.where

    @property
    def where_invented(self) -> KindDifferences | None:
        """The share of places with an invention, in each kind of places; None where there are no inventions."""
        return self.saved.header.where_invented

    @property
    def confusion(self) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
        """By set ("a", "b"), class of the object and class of the prediction that landed on it: how often."""
        return self.saved.header.confusion

    @property
    def table(self) -> SummaryTable:
        """One line a class: the gap, W1 beside its noise, how much of each set the other one shows."""
        return comparison_table(self.numbers, self.saved.header.class_names)

    def __repr__(self) -> str:
        """Name, gap over all classes, verdict."""
        gap = self.numbers.overall.gap
        words = verdict_words(self.verdict, self.numbers.overall.margin)
        return f"ComparisonResult({self.name!r}, gap {'-' if gap is None else f'{gap:.3f}'}, {words})"


class SweepResult(ShownResult):
    """How the answer depends on theta and on the patch. Printing it gives the table of `simjudge compare --sweep`."""

    @property
    def meaning(self) -> str:
        """Empty: a sweep has no verdict."""
        return ""

    @property
    def points(self) -> list[Json]:
        """The points, each "theta", "patch" (height, width), "by_class" and "overall"."""
        return list(self.content["curves"])

    @property
    def table(self) -> SummaryTable:
        """One line a point, over all classes."""
        return sweep_table(self.saved.curves)


@takes_setting_keywords
def compare(
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: CompareSettings,
    scheduler: str | None = None,
    share: str | Path | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> ComparisonResult:
    """Compare how a detector performs on two sets, context by context: how well does B predict A?

    Args:
        a: the set to be predicted, usually real: a FrameSet, or the path of anything that `read` reads.
        b: the set that predicts it, usually simulated.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once; keywords change single ones.
        scheduler: address of a Dask scheduler whose workers do the similarity join; the numbers are the same.
        share: folder, or address that fsspec knows, through which the workers get the contexts; a temporary folder of
            this machine where not given.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The result. Printing it gives a table; it draws, saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a set cannot be read or holds no predictions, the sets have no class in common, or `out` cannot
            be written.
    """
    check_result_place(out, log)
    if out is not None and (Path(out) / SWEEP).exists():
        log(f"note: the sweep in {out} goes with the result that is replaced; run it again afterwards")
    with join_runner(scheduler, None if share is None else str(share), log) as run:
        compared = compare_sets(a, b, settings, log=log, progress=progress, run=run)
    saved = comparison_from_content(compared.content(), compared.contexts, compared.name, Path())
    result = ComparisonResult(saved, None, compared)
    if out is not None:
        result.save(out)
    return result


@takes_setting_keywords
def sweep(
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: SweepSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> SweepResult:
    """Compare two sets along theta and along the patch size: W1, overlap and batch size, as in the paper.

    Args:
        a: the set to be predicted, usually real: a FrameSet, or the path of anything that `read` reads.
        b: the set that predicts it, usually simulated.
        out: folder to save the result in, beside a comparison of the same sets if one is there; None saves nothing.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The result. Printing it gives a table; it draws, saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a set cannot be read or holds no predictions, the sets have no class in common, or `out` cannot
            be written.
    """
    if out is not None:
        check_result_folder(Path(out))
    swept = sweep_sets(a, b, settings, log=log, progress=progress)
    result = SweepResult(sweep_from_content(swept.content, swept.name, Path()), None, swept)
    if out is not None:
        result.save(out)
    return result


def _input_text(held: ComparedSet) -> str:
    return f"{held.path or held.name}: {held.counts}, {held.predictions} predictions"
