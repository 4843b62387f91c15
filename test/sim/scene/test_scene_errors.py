"""Scenes that are none: each is one line that names the file and the field."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from scene_files import TRIANGLE, scene_file

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.forms import Form, Piece, PlacedForm
from simjudge.sim.scene.model import Collider, Surface, plane
from simjudge.sim.scene.read import _numbered, read_scene

NAN = float("nan")
CONE = {"kind": "red_cone", "at": [0, 0]}
WRONG = {
    # Fields and types.
    "unknown field": ({"thinks": {}}, r"thinks: no such field; is things meant\?"),
    "unknown field of a thing": ({"things__crate__color": "red"}, r"things\.crate\.color: no such field"),
    "nothing like it": ({"things__crate__zzz": 1}, r"things\.crate\.zzz: no such field; there are at, "),
    "things are a list": ({"things": [1]}, r"things: fields are needed; this is \[1\]"),
    "a thing is a number": ({"things__crate": 3}, r"things\.crate: fields such as at, .* are needed; this is 3"),
    "a name with a stroke": ({"things__a/b": {"box": [1, 1, 1]}}, r"things\.a/b: 'a/b' is no name"),
    "no shape": ({"things__crate": {"at": [0, 0]}}, r"things\.crate: a thing needs one of mesh, .*; none is given"),
    "two shapes": ({"things__crate__plane": [1, 1]}, r"things\.crate: .*; box and plane are given"),
    "a box of two": ({"things__crate__box": [1, 1]}, r"things\.crate\.box: 3 numbers above 0 \[x, y, z\] are needed"),
    "a box of no height": ({"things__crate__box": [1, 1, 0]}, r"things\.crate\.box: 3 numbers above 0"),
    "NaN": ({"things__crate__at": [NAN, 0]}, r"things\.crate\.at\[0\]: a finite number is needed; this is nan"),
    "far away": ({"things__crate__at": [1e9, 0, 0]}, r"things\.crate\.at: 3 numbers"),
    "a text for a number": ({"things__crate__yaw": "1e1"}, r"crate\.yaw: a number .*1e1, a text to YAML; write 10\.0"),
    "two ways to turn": (
        {"things__crate__quaternion": [0, 0, 0, 1]},
        r"crate\.yaw: the quaternion says it; remove one of the two",
    ),
    "no unit quaternion": (
        {"things__first__quaternion": [0, 0, 0, 2]},
        r"first\.quaternion: four numbers \[x, y, z, w\] of length 1",
    ),
    "a cone without height": ({"things__c": {"cone": {"radius": 1}}}, r"things\.c\.cone\.height: a number above 0"),
    "a top on a cylinder": (
        {"things__c": {"cylinder": {"radius": 1, "height": 1, "top": 1}}},
        r"things\.c\.cylinder\.top: no such field",
    ),
    "two corners": (
        {"things__c": {"cylinder": {"radius": 1, "height": 1, "segments": 2}}},
        r"cylinder\.segments: a whole number from 3",
    ),
    "an area inside out": ({"area": [1, 0, 0, 1]}, r"area: \[x0, y0, x1, y1\] with x0 < x1"),
    "a negative ambient": ({"ambient": -1}, r"ambient: a number of 0 or more is needed; this is -1"),
    "a truth for a number": ({"ambient": True}, r"ambient: a number"),
    # Classes, instances and motion.
    "stuff that is no class": ({"stuff": ["grean"]}, r"stuff\[0\]: there is no 'grean'; is green meant\?"),
    "a background without class": ({"background_class": 7}, r"background_class: a name or number from classes"),
    "an instance of stuff": ({"stuff": ["red"], "things__first__instance": 3}, r"instance: .* no class of stuff"),
    "class 0": ({"classes": {0: "none"}}, r"classes\.0: a whole number from 1 to 255 is needed; this is 0"),
    "class 256": ({"classes": {256: "many"}}, r"classes\.256: a whole number"),
    "two classes of a name": ({"classes": {1: "red", 2: "red"}}, r"classes\.2: two classes are called red"),
    "a class that is not there": ({"things__first__class": "bleu"}, r"things\.first\.class: there is no 'bleu'"),
    "nearly a class": ({"things__first__class": "gren"}, r"things\.first\.class: .*is green meant\?"),
    "class id too large": ({"things__first__class": 300}, r"things\.first\.class: a whole number from 1 to 255"),
    "class id not there": ({"things__first__class": 7}, r"things\.first\.class: a name or number from classes"),
    "instance too large": ({"things__first__instance": 65536}, r"first\.instance: a whole number from 1 to 65535"),
    "instance twice": (
        {"things__first__instance": 4, "things__next": {**CONE, "instance": 4}},
        r"things\.next\.instance: first has 4 already",
    ),
    "instance of a crate": ({"things__crate__instance": 4}, r"crate\.instance: only for one thing that has a class"),
    "instance of copies": (
        {"things__more": {"kind": "red_cone", "instance": 3, "copies": [{"at": [0, 0]}]}},
        r"more\.instance: only for one thing",
    ),
    "a motion": ({"things__crate__motion": "fre"}, r"crate\.motion: there is no 'fre'; is free meant\?"),
    "mass of what is static": ({"things__crate__mass": 1}, r"crate\.mass: only free things have one"),
    "free without mass": ({"things__crate__motion": "free"}, r"crate\.mass: a number above 0 is needed; noth"),
    "free without weight": (
        {"things__crate__motion": "free", "things__crate__mass": 0},
        r"crate\.mass: a number above 0",
    ),
    "a free plane": ({"things__floor__motion": "free"}, r"floor\.motion: a plane has no volume"),
    "nothing to lie on": (
        {"things__floor": None, "things__crate": None},
        r"first: it is free and would fall for ever; add a plane at z = 0",
    ),
    "a flat box": (
        {"things__sign": {"plane": [1, 1], "collider": "box"}},
        r"sign\.collider: a flat mesh fills no box",
    ),
    # Kinds, parts, copies and names.
    "no such kind": ({"things__first__kind": "red_con"}, r"first\.kind: there is no 'red_con'; is red_cone meant\?"),
    "a shape over a kind": ({"things__first__box": [1, 1, 1]}, r"first\.box: the kind says it"),
    "a kind in a circle": ({"kinds__a": {"kind": "b"}, "kinds__b": {"kind": "a"}}, r"kind: it comes back to itself"),
    "parts in a circle": (
        {"kinds__a": {"parts": [{"kind": "a"}]}},
        r"kinds\.a.*parts of parts of parts, too deep; break the circle",
    ),
    "a kind that nothing uses": ({"kinds__bad": {"box": [1, 1]}}, r"kinds\.bad\.box: 3 numbers"),
    "no parts": ({"things__c": {"parts": []}}, r"things\.c\.parts: a list that is not empty is needed"),
    "a part without fields": ({"things__c": {"parts": [1]}}, r"things\.c\.parts\[0\]: fields such as .*; this is 1"),
    "a part with a class": (
        {"things__c": {"parts": [{"box": [1, 1, 1], "class": 1}]}},
        r"things\.c\.parts\[0\]\.class: no such field",
    ),
    "a copy of two numbers": (
        {"things__c": {"parts": [{"box": [1, 1, 1], "copies": [[0, 0]]}]}},
        r"things\.c\.parts\[0\]\.copies\[0\]: 3 numbers \[x, y, z\] are needed",
    ),
    "a pose and copies": (
        {"things__c": {"box": [1, 1, 1], "at": [0, 0], "copies": [{"at": [1, 1]}]}},
        r"things\.c\.at: copies have poses of their own",
    ),
    "a name that copies get": (
        {"things__crate_1": {"box": [1, 1, 1]}, "things__crate": {"box": [1, 1, 1], "copies": [{"at": [0, 2]}]}},
        r"crate_1: two things have this name; rename one",
    ),
    "the car's name": ({"things__vehicle": {"box": [1, 1, 1]}}, r"vehicle: the car is called so"),
    # Surfaces.
    "no such surface": ({"things__crate__surface": "gray"}, r"crate\.surface: there is no 'gray'; is grey meant\?"),
    "a colour by name": (
        {"things__crate__surface": {"colour": "red"}},
        r'crate\.surface\.colour: a colour "#rrggbb" or .* is needed; this is red',
    ),
    "a colour of 255": ({"things__crate__surface": {"colour": [255, 0, 0]}}, r"surface\.colour: a colour .* is needed"),
    "a surface that nothing uses": ({"surfaces__s": {"roughness": 2}}, r"surfaces\.s\.roughness: a number from 0 to 1"),
    "no pattern": (
        {"surfaces__s": {"texture": {"pattern": "concret"}}},
        r"surfaces\.s\.texture: pattern: there is no 'concret'; is concrete meant\?",
    ),
    "no parameter": (
        {"surfaces__s": {"texture": {"pattern": "concrete", "stain": 1}}},
        r"surfaces\.s\.texture: concrete\.stain: no such parameter; is stains meant\?",
    ),
    "a parameter": (
        {"surfaces__s": {"texture": {"pattern": "concrete", "stains": 3}}},
        r"concrete\.stains: a number from 0 to 1 is needed; this is 3",
    ),
    "a size": (
        {"surfaces__s": {"texture": {"pattern": "concrete", "size": 100000}}},
        r"concrete\.size: a whole number from 16 to 4096",
    ),
    "neither file nor pattern": ({"surfaces__s": {"texture": {}}}, r"surfaces\.s\.texture: a texture needs one of"),
    "no picture": (
        {"surfaces__s": {"texture": {"file": "no.png"}}},
        r"texture\.file: .*no\.png: cannot be read: No such",
    ),
    "something that repeats": ({"surfaces__s": {"repeat": 2}}, r"surfaces\.s\.repeat: there is no texture"),
    "repeat of nothing": (
        {"surfaces__s": {"texture": {"pattern": "wood", "size": 16}, "repeat": 0}},
        r"surfaces\.s\.repeat: a number above 0",
    ),
    # Meshes.
    "no mesh": ({"things__m": {"mesh": "no.obj"}}, r"things\.m\.mesh: .*no\.obj does not exist; correct the path"),
    "uv of a box": ({"things__crate__uv": "box"}, r"crate\.uv: only for meshes; a box has its own"),
    "texture on bare mesh": (
        {"things__m": {"mesh": "bare.obj", "surface": {"texture": {"pattern": "wood", "size": 16}}}},
        r"things\.m\.mesh: .*bare\.obj has no texture coordinates, .*add uv: box",
    ),
    "a broken mesh": ({"things__m": {"mesh": "flat.obj"}}, r"flat\.obj:4: a triangle without area"),
    # Lamps.
    "neither at nor grid": ({"lights__lamp__at": None}, r"lights\.lamp: a light needs one of at, grid; none is given"),
    "a lamp below": ({"lights__lamp__at": [0, 0, -1]}, r"lamp\.at: \[x, y, z\] with z above 0 is needed"),
    "a lamp without z": ({"lights__lamp__at": [0, 0]}, r"lamp\.at: \[x, y, z\] with z above 0 is needed"),
    "no range": ({"lights__lamp__range": None}, r"lights\.lamp\.range: a number above 0 is needed; nothing is given"),
    "a dark lamp": ({"lights__lamp__intensity": -3}, r"lights\.lamp\.intensity: a number of 0 or more"),
    "too cold": ({"lights__lamp__temperature": 50}, r"lights\.lamp\.temperature: a number from 1667 to 25000"),
    "two tints": (
        {"lights__lamp__temperature": 5000, "lights__lamp__colour": "#ffffff"},
        r"lights\.lamp\.temperature: the colour says it",
    ),
    "a grid of nothing": (
        {"lights__g": {"grid": {"columns": 0}, "intensity": 1, "range": 5}},
        r"lights\.g\.grid\.columns: a whole number from 1 to 64",
    ),
    "a labelled fixture": ({"lights__lamp__fixture": "red_cone"}, r"lamp\.fixture: fixtures are neither labelled nor"),
    "a lamp in a box": (
        {"things__wall": {"box": [1, 1, 3], "at": [0.2, 0.1]}},
        r"lights: the lamp at x 0, y 0, z 2.5 is inside wall, where it lights nothing",
    ),
    "a lamp in a turned box": (
        {"things__wall": {"box": [2, 0.2, 3], "at": [0.5, 0.5], "yaw": 45}},
        r"lights: the lamp at .* is inside wall",
    ),
    # Draws.
    "between what": ({"ambient": {"between": [2, 1]}}, r"ambient\.between: \[low, high\] is needed; this is \[2, 1\]"),
    "one of nothing": ({"ambient": {"one_of": []}}, r"ambient\.one_of: a list is needed"),
    "extends itself": ({"extends": "mine.yaml"}, r"mine\.yaml: extends: it comes back to itself"),
    "extends nothing": ({"extends": "nowhere"}, r"extends: nowhere: neither a file nor .*lab"),
    "extends a number": ({"extends": 3}, r"extends: a scene's name or file is needed; this is 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_scene_is_one_clear_line(tmp_path, name):
    changes, message = WRONG[name]
    (tmp_path / "bare.obj").write_text(TRIANGLE + "f 1 2 3\n")
    (tmp_path / "flat.obj").write_text(TRIANGLE + "f 1 2 2\n")
    path = scene_file(tmp_path, **changes)
    with pytest.raises(SimjudgeError, match=message) as caught:
        read_scene(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no scene: fields such as things and lights are needed"),
        ("- 1\n- 2\n", "no scene"),
        ("things: {a: [}", r"mine\.yaml:1: not valid YAML"),
        ("things:\n  a: {box: [1, 1, 1]}\n  a: {plane: [1, 1]}\n", r"mine\.yaml:3: .*a stands there twice"),
        ("things: &a\n  b: *a\n", r":2: not valid YAML .\*a stands within"),
        ("things:\n  1: {box: [1, 1, 1]}\n", r"things\.1: 1 is no name; a text without / is needed"),
    ],
)
def test_a_file_that_is_no_scene(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SimjudgeError, match=message):
        read_scene(path)


def test_lamps_in_rooms_and_below_planes_are_right(tmp_path):
    """A lamp near a large plane, or within a room of walls, is in nothing."""
    walls = {
        "ceiling": {"plane": [8, 6], "at": [0, 0, 2.501], "roll": 180},
        "wall": {"box": [8, 0.1, 3], "at": [0, 3]},
        "other": {"box": [0.1, 6, 3], "at": [4, 0]},
    }
    path = scene_file(tmp_path, **{f"things__{name}": wall for name, wall in walls.items()})
    assert len(read_scene(path).lights) == 1


def test_more_than_65535_labelled_things_are_too_many(tmp_path):
    document = SimpleNamespace(path=tmp_path)
    form = Form((Piece(plane(1, 1), Surface(), Collider()),), 1, "static", 0.0, counted=True, ground=False)
    placed = [PlacedForm("one", form, Pose())] * 65535
    assert _numbered(document, placed, {})[-1].instance == 65535
    with pytest.raises(SimjudgeError, match="one: more than 65535 things with a class; place fewer"):
        _numbered(document, [*placed, *placed[:1]], {})


ODD = [
    None,
    -1,
    0,
    3,
    1e9,
    NAN,
    "",
    "text",
    "red_cone",
    True,
    [],
    [1],
    [[1, 2]],
    {},
    {"a": 1},
    [None, {}],
    {"between": 1},
]
WHOLE = {
    "placements": {
        "row": {
            "path": {
                "sine": {"from": [-2, -1], "to": [2, -1], "amplitude": 0.1, "periods": 1},
                "width": 0.8,
                "spacing": 1,
                "left": "green_cone",
                "right": "red_cone",
                "jitter": 0.01,
            }
        },
        "measured": {"table": {"rows": "1 1 -2 1\n2 1 -1 1\n", "kinds": {1: "red_cone"}, "at": [0, 0], "yaw": 1}},
        "strewn": {"random": {"kinds": ["red_cone"], "count": 3, "spacing": 0.3, "keep_out": [[0, 0, 1, 1]]}},
    },
    "things__table": {"parts": [{"box": [1, 1, 1], "copies": [[0, 0, 0]]}], "at": [3, 2, 0]},
    "things__more": {"kind": "green_cone", "copies": [{"at": [0, 1.5], "yaw": 5}]},
    "surfaces__made": {"texture": {"pattern": "wood", "size": 16, "contrast": 0.1}, "repeat": [1, 2]},
    "lights__grid": {
        "grid": {"columns": 2, "rows": 1, "from": [0, 0], "to": [1, 1], "height": 2},
        "intensity": 1,
        "range": 5,
        "colour": "#ffffff",
        "spread": 0.1,
    },
}


def fields_of(content, where=()):
    """All places in a nested content."""
    yield where
    for key, part in content.items() if isinstance(content, dict) else enumerate(content):
        yield from fields_of(part, (*where, key)) if isinstance(part, dict | list) else [(*where, key)]


def test_whatever_stands_in_a_field_it_is_a_scene_or_one_clear_line(tmp_path):
    path = scene_file(tmp_path, **WHOLE)
    content = yaml.safe_load(path.read_text())
    read_scene(path)
    random, lines = np.random.default_rng(0), []
    places = [place for place in fields_of(content) if place]
    for number in range(400):
        changed = copy.deepcopy(content)
        *way, last = places[number % len(places)]
        part = changed
        for key in way:
            part = part[key]
        part[last] = ODD[random.integers(len(ODD))]
        path.write_text(yaml.safe_dump(changed))
        try:
            read_scene(path)
        except SimjudgeError as error:
            lines.append(str(error))
    assert len(lines) > 200
    assert all(line.startswith(str(tmp_path)) and "\n" not in line for line in lines)
