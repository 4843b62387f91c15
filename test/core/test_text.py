"""YAML from anywhere: lines for every value, and nothing that ends the process."""

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import MOST_LEVELS, read_yaml

BILLION = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)


def written(folder, text):
    path = folder / "some.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_content_and_lines(tmp_path):
    file = read_yaml(written(tmp_path, "# a comment\na: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n1: e\n"))
    assert file.content == {"a": 1, "b": ["x", {"c": 2, "d": 3}], 1: "e"}
    lines = {(): None, ("a",): 2, ("b",): 3, ("b", 0): 4, ("b", 1, "c"): 5, ("b", 1, "d"): 6, (1,): 7}
    assert {location: file.line(location) for location in lines} == lines
    assert file.line(("b", 1, "gone")) == 5, "the part that there is"
    assert file.line(("gone", "too")) is None
    assert read_yaml(written(tmp_path, "")).content is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[" * 50_000,
            rf":1: not valid YAML \(more than {MOST_LEVELS} levels of lists and tables\); correct that line",
        ),
        ("a:\n  " + "{a: " * 50_000, f"more than {MOST_LEVELS} levels"),
        ("- " * 50_000, f"more than {MOST_LEVELS} levels"),
        (BILLION, r":\d: not valid YAML \(more than 200000 values, what aliases repeat counted again\)"),
        ("a: &a\n  b: *a\n", r":2: not valid YAML \(\*a stands within what it repeats\)"),
        ("a: *b\n", ":1: not valid YAML"),
        ("when: 2020-13-45\n", r":1: not valid YAML \('2020-13-45' is no timestamp; put a text in quotes\)"),
        ("a: 1\nb: !!int\n", r":2: not valid YAML \('' is no int;"),
        ("a: !!int x\n", "'x' is no int"),
        ("a: !!bool x\n", "'x' is no bool"),
        ("a: !!timestamp x\n", "'x' is no timestamp"),
        (f"a: {'9' * 5000}\n", r"'9+\.\.\.' is no int"),
        ("a: 1\na: 2\n", ":2: .*a stands there twice"),
        ("a: [1, 2\n", "not valid YAML .*did not find expected"),
        ("a: \x00\n", "not valid YAML"),
        ("a: !thing 1\n", ":1: not valid YAML .*could not determine a constructor"),
        ("? [a]\n: 1\n", "not valid YAML"),
        ("a: 1\n---\na: 2\n", "not valid YAML"),
    ],
)
def test_what_is_no_yaml_is_one_line(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(SimjudgeError, match=message) as caught:
        read_yaml(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_field_may_stand_twice_where_that_is_allowed(tmp_path):
    assert read_yaml(written(tmp_path, "a: 1\na: 2\n"), unique=False).content == {"a": 2}


def test_aliases_and_merges_are_read(tmp_path):
    text = "base: &base {a: 1, b: 2}\nown: {<<: *base, b: 3}\nsame: *base\n"
    base = {"a": 1, "b": 2}
    assert read_yaml(written(tmp_path, text)).content == {"base": base, "own": {"a": 1, "b": 3}, "same": base}
