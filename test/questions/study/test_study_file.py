"""What a study's file may say: references at any depth, matrices, sizes, inputs; every refusal in words."""

import pytest

from simjudge.core.documents import read_document
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import STUDY, find_file, shipped_files
from simjudge.questions.study.file import StepReference, StudyFields, Verb, put_paths, read_study
from simjudge.questions.study.study import VERBS

CONTENT = """
title: How do letters join?
sizes: {small: {times: 2}, full: {times: 5}}
steps:
  one: {write: {text: ab, times: {size: times}}}
  two: {write: {text: words.txt}}
  both: {join: {first: {step: one}, second: {step: two}}}
"""
MATRIX = """
title: A matrix
sizes: {small: {nets: [c, d], k: 3}}
steps:
  scores:
    score: {found: {steps: seen}, names: ["${set", {step: made-b, file: best.txt}], k: {deep: [{size: k}]}}
  seen:
    matrix: {set: [a, b], net: {size: nets}}
    look: {at: {step: "made-${set}"}, by: "${net} of ${set}", tables: {"${net}": "${set}"}}
  made:
    matrix: {set: {a: {seed: 4, files: [x, y]}, b: {seed: 5, files: []}}}
    look: {at: "${set}", by: "${set.seed}", tables: "${set.files}"}
"""


@pytest.fixture
def verbs():
    def write(text, out, *, times=1, log, progress):
        return text, out, times, log, progress

    def join(first, second, out, *, log, progress):
        return first, second, out, log, progress

    def look(out, *, at, by, tables=None):
        return out, at, by, tables

    def score(found, out, *, names=(), k=None):
        return found, out, names, k

    return {"write": Verb(write, ".txt"), "join": Verb(join, ""), "look": Verb(look, ""), "score": Verb(score, "")}


@pytest.fixture
def study_file(tmp_path):
    (tmp_path / "words.txt").write_text("cd")
    path = tmp_path / "letters.yaml"

    def written(content):
        path.write_text(content)
        return path

    return written


def test_a_matrix_makes_a_step_of_each_combination(study_file, verbs):
    study = read_study(study_file(MATRIX.replace('"${set"', "plain")), verbs)
    assert [step.name for step in study.steps] == [
        "made-a",
        "seen-a-c",
        "seen-a-d",
        "made-b",
        "seen-b-c",
        "seen-b-d",
        "scores",
    ]
    steps = {step.name: step for step in study.steps}
    assert steps["made-a"].arguments == {"at": "a", "by": 4, "tables": ["x", "y"]}
    assert steps["seen-b-c"].arguments == {"at": StepReference("made-b"), "by": "c of b", "tables": {"c": "b"}}
    assert steps["seen-b-c"].needs == ("made-b",)
    found = steps["scores"].arguments
    assert found["found"] == {
        "a": {"c": StepReference("seen-a-c"), "d": StepReference("seen-a-d")},
        "b": {"c": StepReference("seen-b-c"), "d": StepReference("seen-b-d")},
    }
    assert found["k"] == {"deep": [3]}
    assert steps["scores"].needs == ("seen-a-c", "seen-a-d", "seen-b-c", "seen-b-d", "made-b")


def test_references_become_paths_at_any_depth(tmp_path):
    found = {"a": [StepReference("x"), {"b": StepReference("y", "best.txt")}], "c": 1}
    outputs = {"x": tmp_path / "x.mcap", "y": tmp_path / "y"}
    assert put_paths(found, outputs) == {"a": [tmp_path / "x.mcap", {"b": tmp_path / "y" / "best.txt"}], "c": 1}


def test_steps_run_in_the_order_of_the_graph(study_file, verbs):
    content = CONTENT.replace("  one:", "  both: {join: {first: {step: one}, second: {step: two}}}\n  one:", 1)
    content = content.rpartition("  both:")[0]
    assert [step.name for step in read_study(study_file(content), verbs).steps] == ["one", "two", "both"]


def test_files_folders_and_inputs(study_file, verbs, tmp_path):
    content = CONTENT.replace("sizes:", "inputs: {photos: a folder of photographs}\nsizes:").replace(
        "{text: words.txt}", "{text: {input: photos}}"
    )
    file = study_file(content)
    (tmp_path / "seen").mkdir()
    study = read_study(file, verbs, inputs={"photos": tmp_path / "seen"})
    assert study.steps[1].arguments == {"text": (tmp_path / "seen").resolve()}
    with pytest.raises(UsageError, match="letters needs --input photos=PATH: a folder of photographs"):
        read_study(file, verbs)
    with pytest.raises(UsageError, match=r"--input photo: study letters has none.*photos"):
        read_study(file, verbs, inputs={"photo": tmp_path})
    with pytest.raises(UsageError, match=r"--input photos=.*sen: no such file or folder"):
        read_study(file, verbs, inputs={"photos": tmp_path / "sen"})
    study = read_study(study_file(CONTENT.replace("words.txt", "./seen")), verbs)
    assert study.steps[1].arguments == {"text": tmp_path / "seen"}
    assert read_study(study_file(CONTENT.replace("words.txt", "seen")), verbs).steps[1].arguments == {"text": "seen"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("write: {text: ab", "wirte: {text: ab", r"letters.yaml:5: steps.one: there is no verb wirte; is write meant"),
        ("write: {text: ab", "write: {txet: ab", r"letters.yaml:5: steps.one.write.txet: no such argument.*text"),
        ("{text: ab, times", "{times", r"letters.yaml:5: steps.one.write: needs text"),
        ("{write: {text: words.txt}}", "{write: words.txt}", r"letters.yaml:6: steps.two.write: arguments by name"),
        ("{step: one}", "{step: oen}", r"letters.yaml:7: steps.both.join.first: oen: no step has that name.* one"),
        ("{step: one}", "{step: both}", r"letters.yaml:4: steps: steps need each other in a circle: both needs both"),
        ("{text: words.txt}", "{text: {step: both}}", r"circle: (both needs two needs both|two needs both)"),
        ("{step: one}", "{steps: one}", r"first: one: no step with a matrix has that name; write {step: one}"),
        ("{size: times}", "{size: tmies}", r"letters.yaml:5: steps.one.write.times: tmies: the size has no such value"),
        ("words.txt", "{input: real}", r"steps.two.write.text: real: the study has no such input"),
        ("words.txt", "./wrods.txt", r"letters.yaml:6: steps.two.write.text: ./wrods.txt: no such file or folder"),
        ("words.txt", '"${set}"', r"steps.two.write.text: \$\{set\}: the matrix has no set; the step has no matrix"),
        ("two: {write", "one.txt: {join", r"letters.yaml:6: steps.one.txt.join.text: no such argument"),
        ("  both:", "  One: {write: {text: x}}\n  both:", r"steps.One: one and One would both make One.txt; rename"),
        ("two: {write", "../two: {write", r"steps.../two: ../two: no name for a step; letters, digits"),
        ("full: {times: 5}", "full: {}", r"letters.yaml:3: sizes.full: times: other sizes have it, this one has not"),
        ("title: How do letters join?", "titel: x", r"letters.yaml:2: titel: no such field.*title"),
    ],
)
def test_what_a_file_may_not_say(study_file, verbs, old, new, words):
    assert old in CONTENT
    with pytest.raises(SimjudgeError, match=words):
        read_study(study_file(CONTENT.replace(old, new)), verbs)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("made-b", "made", r"names: made: is a matrix; name one of its steps \(made-a, ...\), or all: {steps: made}"),
        ("{size: nets}", "{size: net}", r"letters.yaml:8: steps.seen.matrix: net: the size has no such value.*nets"),
        ("[a, b]", "[a, a]", r"letters.yaml:8: steps.seen.matrix: set: a stands there twice"),
        ("[a, b]", "a", r"steps.seen.matrix: set: a list of texts or numbers is needed, or a table of tables"),
        ("[a, b]", "[]", r"steps.seen.matrix: set: a list of texts or numbers is needed"),
        ("[a, b]", "[a, b, x]", r"steps.seen.look.at: made-x: no step has that name"),
        ("[a, b]", '["a/b"]', r"no step has that name|no name for a step"),
        ("${set.seed}", "${set.sede}", r"steps.made.look.by: \$\{set.sede\}: the matrix has no set.sede.*set.seed"),
        ("{set: [a, b], net: {size: nets}}", "3", r"steps.seen.matrix: lists of values by name are needed"),
    ],
)
def test_what_a_matrix_may_not_say(study_file, verbs, old, new, words):
    assert old in MATRIX
    with pytest.raises(SimjudgeError, match=words):
        read_study(study_file(MATRIX.replace(old, new)), verbs)


ASKS = "title: x\nsteps: {one: {train: {data: ./, start: net.pt, trust: VALUE}}}"


@pytest.mark.parametrize("value", ["true", "false", "1", '"${all}"', "{size: times}"])
def test_a_file_cannot_let_the_code_of_a_model_run(study_file, value):
    with pytest.raises(SimjudgeError, match=r"letters.yaml:2: steps.one.train.trust: .* cannot .*--trust FILE"):
        read_study(study_file(ASKS.replace("VALUE", value)), VERBS, trust=["all"])


@pytest.mark.parametrize(("trust", "trusted"), [([], []), (["all"], ["b", "c"]), (["other.pt"], ["c"])])
def test_a_person_trusts_models_by_name_or_all(study_file, tmp_path, trust, trusted):
    for name in ("net.pt", "other.pt"):
        (tmp_path / name).touch()
    text = """title: x\nsteps:
  a: {detect: {source: ./, detector: net.pt}}
  b: {train: {data: ./, start: net.pt}}
  c: {compare: {a: ./, b: ./, model: other.pt}}"""
    given = [item if item == "all" else tmp_path / "." / item for item in trust]
    study = read_study(study_file(text), VERBS, trust=given)
    assert [step.name for step in study.steps if step.arguments.get("trust") is True] == trusted
    with pytest.raises(UsageError, match=r"--trust .*/words.txt: no step of the study loads that file"):
        read_study(study_file(text), VERBS, trust=[*given, tmp_path / "words.txt"])


def test_sizes_and_names(study_file, verbs, tmp_path):
    with pytest.raises(UsageError, match=r"--size smal: study letters has none.*small"):
        read_study(study_file(CONTENT), verbs, "smal")
    with pytest.raises(UsageError, match=r"neither a file nor the name of a study .*krc"):
        read_study(tmp_path / "krd.yaml", verbs)
    plain = study_file("title: x\nsteps: {one: {write: {text: ab}}}")
    assert read_study(plain, verbs).size == "small"
    with pytest.raises(SimjudgeError, match=r"letters.yaml:2: steps: a step is needed"):
        read_study(study_file("title: x\nsteps: {}"), verbs)


@pytest.mark.parametrize("name", sorted(shipped_files(STUDY)))
def test_the_studies_that_come_along_can_be_read(name, tmp_path):
    fields = read_document(find_file(name, STUDY), StudyFields, "study").content
    for size in fields.sizes:
        assert read_study(name, VERBS, size, dict.fromkeys(fields.inputs, tmp_path)).steps
