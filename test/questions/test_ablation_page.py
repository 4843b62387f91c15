"""What a page shows of an ablation: every bar, the ranking in words, files for papers."""

import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from ablation_sets import CHANGES, SETTINGS, ablation_predictions

from simjudge.core.images import ArrayImages
from simjudge.page.chart_data import NothingToDrawError
from simjudge.page.figures import write_figure_data
from simjudge.page.kit import FigureEmbedder
from simjudge.questions.ablation import (
    DIFFERS,
    PREDICTS_REALITY,
    QUESTIONS,
    TRAINED_BASELINE,
    TRAINED_REALITY,
    AblationResult,
    ablation_figures,
    ablation_sections,
    colours_figure,
    compare_variants,
    load_ablation,
    question_figure,
    ranking_sentences,
)
from simjudge.questions.study.file import Study
from simjudge.questions.study.run import StudyResult
from simjudge.questions.study.study import write_study_page
from simjudge.questions.study.work import StepRecord


@pytest.fixture(scope="module")
def ablation(tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "ablation"
    return compare_variants(ablation_predictions(), out, changes=CHANGES, **SETTINGS), out


def test_the_words_follow_from_the_ranking(ablation):
    result, _ = ablation
    worth, *_, untrained = ranking_sentences(result)
    assert worth.startswith("Worth modelling here: pinhole (a net does differently on the variant and on the baseline")
    assert untrained.startswith("No net was trained on noise: ")
    page = re.sub(r"<svg.*?</svg>", "", ablation_sections(result, "ablation", FigureEmbedder()), flags=re.DOTALL)
    assert re.findall(r'<tr><th class="word" scope="row">([^<]*)</th>', page) == [
        rank.variant for rank in result.ranking()
    ]
    sets = result.sets.content["sets"]
    home = [sets[name]["nets"][name]["mean_performance"] for name in ("real", "baseline", "pinhole")]
    said = "real {:.2f}, baseline {:.2f}, pinhole {:.2f}.".format(*home)
    assert f"<li>Mean performance of each net on the set that it was trained for: {said}</li></ul>" in page
    seen, learnt = (
        result.answers(each)[0].entry("overall").numbers.gap for each in (PREDICTS_REALITY, TRAINED_REALITY)
    )
    between = f"Gap between real and baseline: {seen:.3f} of the net real, {learnt:.3f} of its own net."
    assert f"<li>{between}</li>" in page
    assert "<img" not in page  # these sets are not on disk
    assert [title for title in re.findall("<h2>([^<]*)</h2>", page) if title in QUESTIONS.values()] == [
        *QUESTIONS.values()
    ]


def test_a_figure_has_a_bar_a_variant_and_a_panel_a_class(ablation, tmp_path):
    result, _ = ablation
    assert list(ablation_figures(result)) == list(QUESTIONS)
    for question in QUESTIONS:
        answers = result.answers(question)
        figure = question_figure(result, question)
        text = figure.svg()
        assert all(text.count(f">{name}<") == 1 for name in ("all classes", "cone", "post"))
        assert all(f">{each.variant}<" in text for each in answers)
        write_figure_data(figure, tmp_path / "drawn.csv")
        with (tmp_path / "drawn.csv").open() as file:
            points = [row for row in csv.DictReader(file) if row["mark"] == "point"]
        numbers = [each.entry(key).numbers for key in result.classes for each in answers]
        w1 = [float(row["x"]) for row in points if row["series"] == "mean W1"]
        gaps = [float(row["x"]) for row in points if row["series"] != "mean W1"]
        assert w1 == pytest.approx([each.mean_w1 for each in numbers])
        assert gaps == pytest.approx([each.gap for each in numbers])


def test_a_question_without_nets_has_no_figure(ablation):
    result, _ = ablation
    alone = AblationResult(result.sets, "real", "baseline", result.changes, ("baseline",))
    with pytest.raises(NothingToDrawError, match="no net was trained on a variant"):
        question_figure(alone, TRAINED_BASELINE)
    page = ablation_sections(alone, "ablation", FigureEmbedder())
    assert page.count("<svg") == 3
    assert page.count("No net was trained on a variant in this size.") == 1


def test_one_net_for_all_has_no_questions_of_other_nets():
    tables = ablation_predictions()
    given = {"real": {"real": tables["real"]["real"]}, "by_real": tables["by_real"]}
    result = compare_variants(given, changes=CHANGES, **SETTINGS)
    page = ablation_sections(result, "ablation", FigureEmbedder())
    shown = [title for title in re.findall("<h2>([^<]*)</h2>", page) if title in QUESTIONS.values()]
    assert shown == [QUESTIONS[PREDICTS_REALITY], QUESTIONS[DIFFERS]]
    assert "How well each variant predicts the set baseline, by the net that was trained on real images." in page
    seen = result.answers(PREDICTS_REALITY)[0].entry("overall").numbers.gap
    assert f"Gap between real and baseline: {seen:.3f} of the net real." in page
    assert "gap to reality: seen" in page
    assert ">learnt<" not in page


def test_the_page_of_a_study_has_the_ablation_once(ablation):
    _, out = ablation
    study = Study("ablation", "Which parts matter?", "Nothing here is real.", "tiny")
    path = out.parent / "index.html"
    write_study_page(StudyResult(study, out.parent, (StepRecord("ablation", "ablation", out, 1.0),)), path)
    page = path.read_text()
    for title in QUESTIONS.values():
        assert page.count(f"<h2>{title}</h2>") == 1
    assert page.count("worth modelling here</span>") >= 1
    assert "many sets, many nets" not in page
    assert not re.search(r"\bNone\b|nan", re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def coloured(tmp_path_factory):
    """The real pictures are random, those of the baseline 8 levels brighter in red, those of the pinhole 16 darker."""
    tables = ablation_predictions()
    random = np.random.default_rng(2)
    pictures = [random.integers(40, 200, (20, 30, 3)).astype(np.uint8) for _ in range(30)]

    def shifted(frames, red):
        return replace(frames, images=ArrayImages([np.add(image, [red, 0, 0]).astype(np.uint8) for image in pictures]))

    shifts = {"baseline": 8, "pinhole": -16, "noise": 0}
    by_real = {name: shifted(frames, shifts[name]) for name, frames in tables["by_real"].items()}
    real = tables["real"] | {"real": shifted(tables["real"]["real"], 0)}
    out = tmp_path_factory.mktemp("coloured") / "ablation"
    return (
        compare_variants(tables | {"real": real, "by_real": by_real}, out, changes=CHANGES, **SETTINGS),
        out,
        pictures,
    )


def test_colours_of_reality_the_baseline_and_each_variant_are_on_the_page(coloured):
    _, out, pictures = coloured
    saved = load_ablation(out)
    assert list(saved.colours) == ["real", "baseline", "pinhole", "noise"]
    stacked = np.stack(pictures).reshape(-1, 3)
    for channel in range(3):
        counts, _ = np.histogram(stacked[:, channel], np.arange(0, 260, 4))
        assert saved.colours["real"][channel] == pytest.approx(counts / len(stacked), abs=1e-6)
    page = ablation_sections(saved, "ablation", FigureEmbedder())
    part = page[page.index("<h2>Colours of real, baseline and each variant</h2>") :]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in re.findall("<tr>.*?</tr>", part, re.DOTALL)]
    assert rows[1:4] == [
        ["baseline", "8.0", "0.0", "0.0"],
        ["pinhole", "16.0", "0.0", "0.0"],
        ["noise", "0.0", "0.0", "0.0"],
    ]
    text = colours_figure(saved).svg()
    assert all(f">{name}, {channel}<" in text for name in ("pinhole", "noise") for channel in ("red", "green", "blue"))
    assert list(ablation_figures(saved)) == [*QUESTIONS, "colours"]


def test_without_pictures_no_colours_are_shown(ablation):
    result, _ = ablation
    assert not result.colours
    assert "<h2>Colours" not in ablation_sections(result, "ablation", FigureEmbedder())
