"""The registry of data formats: every one is documented, and a new one is one file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data import formats
from simjudge.data.set_parts import convert
from simjudge.data.sets import describe_readable, read_predictions, read_set, sniff_format, write_set

NEW_FORMAT = """
from pathlib import Path
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.format_support.image_files import Format

def read(source, options):
    rows = [line.split() for line in (source.path / "boxes.txt").read_text().splitlines()]
    boxes = [[float(value) for value in row] for row in rows]
    return FrameSet.build(source.path.name, [(40, 30)], Objects.build([0] * len(boxes), [0] * len(boxes), boxes))

def write(frames, path):
    path.mkdir()
    (path / "boxes.txt").write_text("".join(" ".join(map(str, box)) + "\\n" for box in frames.objects.box.tolist()))
    return Losses()

FORMATS = (
    Format("boxes", "Boxes", "a folder with boxes.txt", lambda source: (source.path / "boxes.txt").is_file(), 5,
           read=read, write=write),
)
"""


@pytest.fixture
def new_format(tmp_path, monkeypatch):
    """One more file in the folder of formats."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more/boxes.py").write_text(NEW_FORMAT)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path / "more")])
    formats.all_formats.cache_clear()
    yield
    formats.all_formats.cache_clear()
    sys.modules.pop("simjudge.data.formats.boxes", None)
    vars(formats).pop("boxes", None)


@pytest.fixture
def frames():
    return FrameSet.build("set", [(40, 30)], Objects.build([0], [0], [[1, 2, 3.5, 4]]))


def test_names_and_orders_are_unique():
    known = formats.all_formats()
    assert len({each.name for each in known}) == len({each.order for each in known}) == len(known)
    assert all(each.read or each.read_predictions or each.read_clouds for each in known)


@pytest.mark.parametrize("form", formats.all_formats(), ids=lambda form: form.name)
def test_every_format_is_in_the_table_of_the_docs(form):
    page = (Path(__file__).parents[3] / "docs/reference/formats.md").read_text(encoding="utf-8")
    assert f"| {form.title} |" in page
    assert f"`{form.name}`" in page


@pytest.mark.usefixtures("new_format")
def test_a_new_format_is_one_file(frames, tmp_path):
    assert write_set(frames, tmp_path / "out", "boxes").lines() == []
    assert sniff_format(tmp_path / "out") == "boxes"
    np.testing.assert_array_equal(read_set(tmp_path / "out").objects.box, frames.objects.box)
    convert(tmp_path / "out", tmp_path / "out.json")
    convert(tmp_path / "out.json", tmp_path / "again", to="boxes")
    np.testing.assert_array_equal(read_set(tmp_path / "again").objects.box, frames.objects.box)
    assert ", Boxes, " in describe_readable()
    with pytest.raises(SimjudgeError, match="holds no predictions"):
        read_predictions(tmp_path / "again", frames)


@pytest.mark.parametrize("name", ["out.json", "out.mcap", "out"])
def test_paths_may_be_text(frames, tmp_path, name):
    path = str(tmp_path / name)
    write_set(frames, path, "coco" if name == "out" else None)
    assert len(read_set(path)) == 1
    assert sniff_format(path) in ("json", "bag", "coco")


def test_looking_for_a_format_loads_no_large_package():
    asked = "import sys; from simjudge.data.formats import all_formats; all_formats(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "numba", "pyarrow", "rosbags", "mitsuba"} & set(loaded)
