"""Labelling a recording of another simulator by that simulator's own ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.format_support.format import Topics
from simjudge.data.sets import refuse_input_as_output
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.capture.simulators.recorded_labels import read_simulator_recording
from simjudge.sim.capture.simulators.simulator_file import SimulatorFile, read_simulator


def label_recording(
    source: str | Path,
    simulator: str | Path,
    *,
    classes: Sequence[str] = (),
    min_size: float | None = None,
    min_visible: float | None = None,
    topics: Topics | None = None,
    label_tolerance: float = 0.0,
    out: str | Path | None = None,
) -> FrameSet:
    """Read a recording of another simulator, labelled by its own ground truth and by our rules.

    Args:
        source: the recording.
        simulator: a file that says where and how the ground truth is, or the name of one of config/simulators.
        classes: "NUMBER=NAME" each, what the simulator's numbers mean; they replace those of the file.
        min_size: objects whose box is narrower or lower are not labelled, pixels; None: 5.
        min_visible: objects of which a smaller share can be seen are not labelled, where it is known; None: 0.25.
        topics: in the recording, the topics to read where several would do.
        label_tolerance: how far the stamps of an image and of its ground truth may lie apart, seconds.
        out: what will be written; it must not be the source.

    Returns:
        The set; its `losses` count what was left out.

    Raises:
        UsageError: an argument makes no sense, or there is no such simulator.
        SimjudgeError: nothing can be read, the ground truth is not there, or nothing says what its numbers mean.
    """
    refuse_input_as_output(out, source)
    defaults = Labelling()
    limits = Labelling(
        defaults.min_size if min_size is None else min_size,
        defaults.min_visible if min_visible is None else min_visible,
    )
    described = with_classes(read_simulator(simulator).content, parse_classes(classes))
    return read_simulator_recording(
        source, described, limits, topics=topics, tolerance_ns=round(label_tolerance * 1e9)
    )


def parse_classes(texts: Sequence[str]) -> dict[int, str]:
    """Read what numbers mean.

    Args:
        texts: "NUMBER=NAME" each.
    """
    classes: dict[int, str] = {}
    for text in texts:
        number, equals, name = text.partition("=")
        if not equals or not number.strip().isdecimal() or len(number) > 9 or not name.strip():
            raise UsageError(f"--class {text}: a number and a name are needed, such as --class 1=cone")
        if int(number) in classes:
            raise UsageError(f"--class {text}: {number} is {classes[int(number)]} already")
        classes[int(number)] = name.strip()
    return classes


def with_classes(simulator: SimulatorFile, classes: dict[int, str]) -> SimulatorFile:
    """Replace what the numbers of a simulator mean."""
    if not classes:
        return simulator
    forms = {name: getattr(simulator, name) for name in ("pictures", "solids", "boxes")}
    changed = {
        name: fields.model_copy(update={"classes": classes, "labelled": None, "names_from": None})
        for name, fields in forms.items()
        if fields is not None
    }
    return simulator.model_copy(update=changed)
