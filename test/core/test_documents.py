"""Files that people write: every message names file, line, field, what is needed, and what was found."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, RootModel

from simjudge.core.documents import Fields, read_document
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Flag, Label, Number, NumberList, Text, Vector, Whole, conflict, is_number


class Wheel(Fields):
    radius: Annotated[float, Number(gt=0)]
    count: Annotated[int, Whole(1, 8)] = 4


class Toy(Fields):
    name: Annotated[str, Text()] | None = None
    wheels: tuple[Wheel, ...] = Field(default=(), min_length=1)
    named: dict[Annotated[str, Text("a name")], Wheel] = Field(default_factory=dict)
    size: Annotated[tuple[float, float], Vector("x y", gt=0)]
    class_: Annotated[Literal["car", "cart"], Choice()] = Field(default="car", alias="class")
    loud: Annotated[bool, Flag()] = False
    label: Annotated[str, Label()] = ""
    row: Annotated[tuple[float, ...], NumberList()] = ()


class Lion(Fields):
    kind: Literal["lion"]
    teeth: Annotated[int, Whole(0, 30)]


class Mouse(Fields):
    kind: Literal["mouse"]
    tail: Annotated[float, Number()]


class Zoo(RootModel[dict[str, Annotated[Lion | Mouse, Field(discriminator="kind")]]]):
    pass


def read(folder, text, model=Toy):
    path = folder / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    return read_document(path, model, "toy")


def test_a_good_file(tmp_path):
    text = "name:\nsize: [1, 2]\nwheels: [{radius: 0.1}]\nclass: cart\nlabel: 0815\nrow: [1, 2.5]\nloud: true\n"
    document = read(tmp_path, text)
    toy = document.content
    assert (toy.name, toy.size, toy.class_, toy.loud, toy.row) == (None, (1.0, 2.0), "cart", True, (1.0, 2.5))
    assert toy.wheels == (Wheel(radius=0.1),)
    assert set(toy.given()) == {"size", "wheels", "class_", "label", "row", "loud"}
    error = document.error(("wheels", 0, "radius"), "too small; take a larger one")
    assert str(error) == f"{tmp_path}/toy.yaml:3: wheels[0].radius: too small; take a larger one"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"toy\.yaml: no toy: a table is needed \(name, wheels, named, size, class\)"),
        ("[1]", r"toy\.yaml: no toy: a table is needed"),
        ("name: a", r"toy\.yaml: size: 2 numbers above 0 \[x, y\] are needed; nothing is given"),
        ("size: [1, 2]\nsiez: 3", r"toy\.yaml:2: siez: no such field; is size meant\?"),
        ("size: [1, 2]\nzzz: 3", r":2: zzz: no such field; there are class, label, "),
        ("size: [1, 2]\n3: 3", r":2: 3: no such field"),
        ("size: [1]", r":1: size: 2 numbers above 0 \[x, y\] are needed; this is \[1\]"),
        ("size: [1, true]", ":1: size: 2 numbers above 0"),
        ("size:\n  [1, .nan]", r":2: size\[1\]: a finite number is needed; this is nan"),
        ("size: [1, 1e999]", r"size: 2 numbers|size\[1\]: a finite number"),
        ("size: [1, 2]\nwheels: []", ":2: wheels: a list that is not empty is needed"),
        ("size: [1, 2]\nwheels: 3", ":2: wheels: a list is needed; this is 3"),
        (
            "size: [1, 2]\nwheels:\n  - {radius: 1}\n  - {}",
            r":4: wheels\[1\]\.radius: a number above 0 is needed; noth",
        ),
        (
            "size: [1, 2]\nwheels:\n  - {radius: 1e1}",
            r":3: wheels\[0\]\.radius: .* is 1e1, a text to YAML; write 10\.0",
        ),
        ("size: [1, 2]\nwheels: [[1]]", r"wheels\[0\]: fields \(radius, count\) are needed; this is \[1\]"),
        (
            "size: [1, 2]\nnamed: {a: {radius: 1, count: 9}}",
            r"named\.a\.count: a whole number from 1 to 8 is needed; th",
        ),
        ("size: [1, 2]\nnamed: {a: {radius: 1, count: 2.0}}", r"named\.a\.count: a whole number"),
        ("size: [1, 2]\nnamed: {a: {radius: true}}", r"named\.a\.radius: a number above 0 is needed; this is True"),
        ("size: [1, 2]\nnamed: 3", "named: fields are needed; this is 3"),
        ("size: [1, 2]\nclass: catr", r"class: there is no 'catr'; is car meant\?"),
        ("size: [1, 2]\nclass: 3", "class: one of car, cart is needed; this is 3"),
        ("size: [1, 2]\nloud: 1", "loud: true or false is needed; this is 1"),
        ("size: [1, 2]\nname: 3", "name: a text is needed; this is 3"),
        (
            "size: [1, 2]\nname: 2020-01-02",
            "name: a text or a number is needed; this is a date to YAML; put it in quotes",
        ),
        ("size: [1, 2]\nname: !!set {a}", "name: a text or a number is needed; this is a set"),
        ("size: [1, 2]\nrow: [a]", "row: a list of numbers is needed"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, text, message):
    with pytest.raises(SimjudgeError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("leo: {kind: lion, teeth: 31}", r"leo\.teeth: a whole number from 0 to 30 is needed; this is 31"),
        ("leo: {kind: lion}", r"leo\.teeth: a whole number .*; nothing is given"),
        ("leo: {kind: loin}", r"leo\.kind: one of lion, mouse is needed; this is loin"),
        ("leo: {teeth: 3}", r"leo\.kind: one of lion, mouse is needed; nothing is given"),
        ("leo: 3", r"leo: fields are needed; this is 3|leo\.kind: one of"),
        ("leo: {kind: lion, teeth: 3, tail: 4}", r"leo\.tail: no such field; there are kind, teeth"),
    ],
)
def test_one_of_several_tables(tmp_path, text, message):
    with pytest.raises(SimjudgeError, match=rf"toy\.yaml:1: {message}"):
        read(tmp_path, text, Zoo)


@pytest.mark.parametrize(
    ("kind", "phrase"),
    [
        (Number(), "a number"),
        (Number(ge=0, le=1), "a number from 0 to 1"),
        (Number(ge=2), "a number of 2 or more"),
        (Number(le=2), "a number of 2 or less"),
        (Number(gt=0, lt=90), "a number above 0 and below 90"),
        (Vector("x y z"), "3 numbers [x, y, z]"),
        (Vector("w h", ge=1, le=9, whole=True), "2 whole numbers from 1 to 9 [w, h]"),
    ],
)
def test_phrases(kind, phrase):
    assert kind.needed == phrase


@pytest.mark.parametrize(
    ("value", "number"), [(1, True), (1.5, True), (True, False), ("1", False), (float("nan"), False), (10**400, False)]
)
def test_numbers(value, number):
    assert is_number(value) == number


def test_a_conflict_names_its_field():
    assert conflict("no {braces} matter", "a", 1).context == {"message": "no {braces} matter", "at": ("a", 1)}
