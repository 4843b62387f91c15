"""The figures of an ablation: a bar a variant for each question, a panel a class."""

from __future__ import annotations

from functools import partial

from simjudge.page.chart_data import NothingToDrawError
from simjudge.page.figures import Figures, ReportFigure, add_axes, plain_text, report_style
from simjudge.questions.ablation.saved import QUESTIONS, AblationResult
from simjudge.questions.compare.figures import GAP_LEGEND_HEIGHT, add_gap_legend
from simjudge.questions.compare.result_charts import draw_gaps
from simjudge.questions.compare.verdict_rows import w1_axis_end
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import ResultEntry

MOST_CLASSES = 3
"""Classes that have a panel beside that of all classes."""
_ROW, _NAMES, _PANEL = 32.0, 150.0, 250.0
_ONE_PANEL = 420.0
"""Width of a panel that stands alone, points: its legend needs this."""
_TOP, _BOTTOM, _BETWEEN, _LEGEND = 30.0, 42.0, 16.0, GAP_LEGEND_HEIGHT + 20.0


def ablation_figures(result: AblationResult) -> Figures:
    """List the figures of an ablation."""
    return {question: partial(question_figure, result, question) for question in QUESTIONS}


def question_figure(result: AblationResult, question: str) -> ReportFigure:
    """Draw the answers to a question: the gap of each variant with its interval, and mean W1 over what chance gives."""
    answers = result.answers(question)
    if not answers:
        raise NothingToDrawError(f"{question}: no net was trained on a variant")
    panels = {key: [each.entry(key) for each in answers] for key in _panel_keys(result)}
    shown: dict[str, list[ResultEntry]] = {
        key: [each for each in entries if each is not None] for key, entries in panels.items() if None not in entries
    }
    height = _TOP + _ROW * len(answers) + _BOTTOM + _LEGEND
    with report_style():
        panel = _PANEL if len(shown) > 1 else _ONE_PANEL
        width = _NAMES + panel * len(shown)
        figure = ReportFigure(width, height, f"{QUESTIONS[question]} Gap and W1 of each variant, and the W1 by chance.")
        end = max(w1_axis_end(entries) for entries in shown.values())
        for number, (key, entries) in enumerate(shown.items()):
            names = _NAMES if number == 0 else _BETWEEN
            left = 0.0 if number == 0 else _NAMES + panel * number - _BETWEEN
            size = (left, 0.0, panel + names, height - _LEGEND)
            axes = add_axes(figure, size, (names, _BETWEEN, _TOP, _BOTTOM))
            draw_gaps(axes, entries)
            axes.set_xlim(0.0, end * 1.06)  # the last number stays clear of the next panel's first
            axes.set_title(plain_text(result.classes[key], 30))
            if number:
                axes.set_yticklabels([])
            else:
                add_gap_legend(axes)
    return figure


def _panel_keys(result: AblationResult) -> list[str]:
    """All classes together and a few classes; a single class alone."""
    classes = [key for key in result.classes if key != OVERALL]
    return classes if len(classes) == 1 else [OVERALL, *classes[:MOST_CLASSES]]
