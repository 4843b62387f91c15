"""What the steps of a study can do: verbs by their names in a study's file, each a function of the library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.capture.rendering import render
from simjudge.capture.replaying import replay
from simjudge.core.frames import FrameSet
from simjudge.data.set_join import join
from simjudge.data.splits import split
from simjudge.driving.drive import drive
from simjudge.perception.detection import detect
from simjudge.perception.semantic.prediction import predict_semantic
from simjudge.perception.training import train
from simjudge.questions.objects.result import compare_objects
from simjudge.questions.study.steps import ANY_NAME, SAME_NAMES, Verb
from simjudge.reports.comparison_result import compare, sweep
from simjudge.sensors.camera.filtering import filter_images
from simjudge.studies.ablation import compare_variants
from simjudge.studies.krc_findings import find_krc
from simjudge.studies.many_sets import compare_many_sets
from simjudge.studies.real_performance import estimate_real_performance
from simjudge.studies.sets_findings import find_sets

_RECORDINGS = ("mcap", "db3")
_SETS = ("json", *_RECORDINGS)
_FOLDER = "yolo"


def join_sets(
    sources: Sequence[Path | str], out: Path, *, to: str | None = None, allow_outside: bool = False
) -> FrameSet:
    """Join data sets to one: `simjudge.join` with the sources as one argument, as a study's file has them.

    Args:
        sources: two or more data sets.
        out: the joined set.
        to: the format of a folder at `out`.
        allow_outside: take pictures that lie outside of the folder of their data set.

    Returns:
        The joined set.

    Raises:
        SimjudgeError: a source cannot be read, or they do not go together.
    """
    return join(*sources, out=out, to=to, allow_outside=allow_outside)


VERBS = {
    "drive": Verb(drive, ".mcap", reuse=ANY_NAME),
    "replay": Verb(replay, ".mcap", reuse=ANY_NAME),
    "render": Verb(render, "", _RECORDINGS, reuse=ANY_NAME),
    "filter": Verb(filter_images, "", _RECORDINGS, _FOLDER, reuse=ANY_NAME),
    "split": Verb(split, "", reuse=ANY_NAME),
    "join": Verb(join_sets, "", _SETS, _FOLDER, reuse=SAME_NAMES),
    "train": Verb(train, ".onnx", reuse=ANY_NAME),
    "detect": Verb(detect, ".json", _RECORDINGS, reuse=SAME_NAMES),
    "segment": Verb(predict_semantic, "", (), _FOLDER, reuse=SAME_NAMES),
    "compare": Verb(compare, ""),
    "sweep": Verb(sweep, ""),
    "objects": Verb(compare_objects, ""),
    "compare_sets": Verb(compare_many_sets, ""),
    "ablation": Verb(compare_variants, ""),
    "control_variates": Verb(estimate_real_performance, ""),
    "krc_findings": Verb(find_krc, ""),
    "sets_findings": Verb(find_sets, ""),
}
"""What steps can do, by their names in a study's file."""
