"""`simjudge doctor`: what of a recording or a data set is usable for which question."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.data.sets import find_format
from simjudge.questions.doctor.diagnosis import Diagnosis
from simjudge.questions.doctor.recording_diagnosis import diagnose_recording
from simjudge.questions.doctor.set_diagnosis import diagnose_set


def diagnose(path: str | Path, *, image_topic: str | None = None) -> Diagnosis:
    """Find out what of a recording or a data set is usable for which question.

    Args:
        path: a recording, or a data set of pictures or clouds in any format.
        image_topic: in a recording of several cameras, the images to look at, or the camera's name.

    Raises:
        SimjudgeError: nothing is there, or nothing that simjudge knows.
    """
    path = Path(path)
    form = find_format(path)
    if form is not None and form.name == "bag":
        return diagnose_recording(path, image_topic)
    if image_topic is not None:
        raise UsageError(f"{path}: is no recording; topics cannot be chosen in it")
    return diagnose_set(path, "scans" if form is None else form.name)
