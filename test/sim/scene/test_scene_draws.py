"""What the seed draws: even, within its ends, and independent of what else the file holds."""

import numpy as np
import pytest
import yaml

from simjudge.sim.scene.scene_fields import read_content


def drawn(tmp_path, content, seed=0):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    return read_content(path, seed).content


def test_numbers_are_even_between_the_ends(tmp_path):
    values = np.array([drawn(tmp_path, {"a": {"b": {"between": [0.5, 1.5]}}}, seed)["a"]["b"] for seed in range(300)])
    assert values.min() >= 0.5
    assert values.max() <= 1.5
    assert values.mean() == pytest.approx(1, abs=4 / np.sqrt(12 * 300))
    assert np.histogram(values, 4, (0.5, 1.5))[0].min() > 45


def test_whole_numbers_have_both_ends(tmp_path):
    values = [drawn(tmp_path, {"a": {"between": [2, 4]}}, seed)["a"] for seed in range(60)]
    assert set(values) == {2, 3, 4}
    assert all(type(value) is int for value in values)


def test_one_of_may_hold_anything(tmp_path):
    choices = [{"pattern": "wood"}, {"between": [5, 6]}, "plain"]
    values = [drawn(tmp_path, {"a": [{"one_of": choices}]}, seed)["a"][0] for seed in range(60)]
    assert {str(value) for value in values} == {"{'pattern': 'wood'}", "5", "6", "plain"}


def test_a_draw_takes_the_place_of_what_is_extended_and_the_other_way_round(tmp_path):
    one = {"surfaces": {"floor": {"colour": "#ffffff"}, "wall": {"one_of": [1]}}}
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(one))
    other = {"extends": "base.yaml", "surfaces": {"floor": {"one_of": [{"roughness": 1}]}, "wall": {"roughness": 0}}}
    assert drawn(tmp_path, other)["surfaces"] == {"floor": {"roughness": 1}, "wall": {"roughness": 0}}


def test_a_draw_depends_on_the_fields_name_and_the_seed_only(tmp_path):
    draw = {"between": [0.0, 1.0]}
    alone = drawn(tmp_path, {"x": {"y": draw}}, 7)["x"]["y"]
    among = drawn(tmp_path, {"a": draw, "x": {"b": draw, "y": draw}}, 7)
    assert among["x"]["y"] == alone
    assert len({among["a"], among["x"]["b"], alone}) == 3
    assert drawn(tmp_path, {"x": {"y": draw}}, 8)["x"]["y"] != alone
