"""What pages show of a sweep: its charts, and the key to their colours."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from simjudge.page.html import FigureEmbedder
from simjudge.page.palette import entry_colours
from simjudge.questions.compare.figures import sweep_panels
from simjudge.questions.compare.result_charts import sweep_entries
from simjudge.results.saved_result import Result


@dataclass(frozen=True)
class SweepCharts:
    """How the answer depends on theta and on the patch.

    Attributes:
        axes: for each setting that was varied a heading, and its charts by name.
        keys: label and colour name of each class that is drawn.
    """

    axes: list[tuple[str, list[tuple[str, Markup]]]]
    keys: list[tuple[str, str]]
    has_noise: bool


def sweep_charts(result: Result, embedder: FigureEmbedder) -> SweepCharts | None:
    """Draw the sweep of a result.

    Returns:
        The charts; None for a result without a sweep.
    """
    if not result.curves:
        return None
    shown = sweep_entries(result.curves)
    axes = [
        (heading, [(name, embedder.embed(figure)) for name, figure in drawn]) for heading, drawn in sweep_panels(result)
    ]
    keys = list(zip((e.label for e in shown), entry_colours(shown), strict=True))
    has_noise = any(e.numbers.noise is not None for c in result.curves for e in c.entries)
    return SweepCharts(axes, keys, has_noise)
