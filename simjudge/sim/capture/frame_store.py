"""Finished frames in a folder beside the output: if the work stops, the finished frames stay and the work can go on.

A frame is an image file and, once that is whole, a text file with its objects and the digests of both and of the plan.
`plan.json` says what the frames depend on; frames of another plan are never used, and damaged ones are made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Advance, Log, SimjudgeError
from simjudge.core.files import atomic_file, is_file, output_path
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, FileImages
from simjudge.core.object_tables import Objects
from simjudge.core.text import Json, JsonMapping, list_some
from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.sensors.camera.camera import MeteredFrame
from simjudge.sim.sensors.camera.depth_filters import DepthImage

_PLAN = "plan.json"
_AHEAD = 1  # Frames that may wait to be finished while the engine observes the next one


@dataclass(frozen=True)
class FrameStore:
    """A folder of finished frames."""

    folder: Path
    plan_digest: str

    @classmethod
    def beside(cls, out: Path, plan: JsonMapping) -> FrameStore:
        """The store for what will be `out`: `.NAME.partial` in the same folder; made, or found again."""
        folder = output_path(out).parent / f".{out.name}.partial"
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
            raise SimjudgeError(f"{folder}: is no folder of unfinished frames but a link or a file; remove it")
        wanted = json.loads(json.dumps(plan))
        file = folder / _PLAN
        content = _read_object(file) or {}
        found = content.get("plan")
        if isinstance(found, dict) and content.get("sha256") == _digest_of(found):
            other = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
            if other:
                raise SimjudgeError(
                    f"{folder}: holds unfinished frames of another run ({', '.join(other)} differ); go on with the"
                    " options of that run, or remove the folder"
                )
        else:
            with atomic_file(file) as temporary:
                text = json.dumps({"sha256": _digest_of(wanted), "plan": wanted}, indent=2)
                temporary.write_text(text + "\n", encoding="utf-8")
        return cls(folder, _digest_of(wanted))

    def has(self, index: int) -> bool:
        """Whether a frame is finished."""
        return self._text(index).is_file()

    def add(
        self,
        index: int,
        image: EncodedImage,
        objects: Objects,
        about: JsonMapping | None = None,
        depth: DepthImage | None = None,
        label_images: Mapping[str, bytes] | None = None,
    ) -> None:
        """Keep a finished frame: what else is known of it as JSON, its depth image, its label images as PNG by kind."""
        if depth is not None:
            with atomic_file(self.folder / f"{index:06d}.npy") as temporary, temporary.open("wb") as file:
                np.save(file, depth)
        for kind, data in (label_images or {}).items():
            with atomic_file(self._label_file(index, kind)) as temporary:
                temporary.write_bytes(data)
        with atomic_file(self.folder / f"{index:06d}{image.suffix}") as temporary:
            temporary.write_bytes(image.data)
        rows = {
            "picture": f"{index:06d}{image.suffix}",
            "picture_sha256": _digest(image.data),
            "class_id": objects.class_id.tolist(),
            "box": objects.box.tolist(),
            "instance": objects.instance.tolist(),
            "distance": objects.distance.tolist(),
            "visible": objects.visible.tolist(),
            "about": dict(about or {}),
            "depth_sha256": None if depth is None else _digest(depth.tobytes()),
            "label_images_sha256": {kind: _digest(data) for kind, data in (label_images or {}).items()},
        }
        held = {"plan": self.plan_digest, "frame": _digest_of(rows)}
        with atomic_file(self._text(index)) as temporary:
            temporary.write_text(json.dumps({"sha256": held, "frame": rows}), encoding="utf-8")

    def fill(self, frames: Sequence[int], observe: Callable[[int], Callable[[], None]], advance: Advance) -> None:
        """Finish those of some frames that are missing; finished frames stay, whatever happens."""
        count = len(frames)
        missing = [index for index in frames if not self.has(index)]
        done = count - len(missing)
        advance(done, count)
        waiting: deque[Future[None]] = deque()
        with ThreadPoolExecutor(1, "finishing") as beside:
            try:
                for index in missing:
                    waiting.append(beside.submit(observe(index)))
                    while len(waiting) > _AHEAD:
                        waiting.popleft().result()
                        done += 1
                        advance(done, count)
            finally:
                # Observed frames are finished, also where the work was stopped.
                for frame_work in waiting:
                    frame_work.result()
                    done += 1
                    advance(done, count)

    @contextmanager
    def kept_if_stopped(self, count: int, log: Log) -> Iterator[None]:
        """Within this block Ctrl-C or an error is followed by a line on what is kept; damaged frames go first."""
        self._drop_damaged(count, log)
        try:
            yield
        except BaseException:  # also where a library makes another error of Ctrl-C
            done = sum(self.has(index) for index in range(count))
            kept = f"{done} of {count} frames are finished and kept in {self.folder}"
            log(f"{kept}; the same command goes on with the rest")
            raise

    def frames(
        self, name: str, frame_name: Sequence[str], stamp: IntArray, size: tuple[int, int], class_names: dict[int, str]
    ) -> FrameSet:
        """All frames, which must be finished, as a labelled set (stamp: int64 (N,), nanoseconds)."""
        rows = [self._row(index) for index in range(len(frame_name))]
        frame = np.repeat(np.arange(len(rows)), [len(row["class_id"]) for row in rows])
        names = ("class_id", "box", "instance", "distance", "visible")
        columns = {name: [value for row in rows for value in row[name]] for name in names}
        return FrameSet.build(
            name,
            np.tile(size, (len(rows), 1)),
            Objects.build(
                frame,
                columns["class_id"],
                columns["box"],
                columns["instance"],
                distance=columns["distance"],
                visible=columns["visible"],
            ),
            frame_name=frame_name,
            stamp=stamp,
            class_names=class_names,
            images=FileImages([self.folder / row["picture"] for row in rows]),
        )

    def about(self, index: int) -> Json:
        """What was kept of a finished frame beside its image and objects."""
        found: Json = self._row(index)["about"]
        return found

    def depth(self, index: int) -> DepthImage:
        """The depth image of a finished frame that was kept with one."""
        depth: DepthImage = np.load(self.folder / f"{index:06d}.npy", allow_pickle=False)
        return depth

    def label_image(self, index: int, kind: str) -> bytes:
        """PNG of a label image of a finished frame that was kept with some."""
        return self._label_file(index, kind).read_bytes()

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _row(self, index: int) -> Json:
        """What is kept of a finished frame."""
        row = self._checked_row(index)
        if row is None:
            raise SimjudgeError(f"{self._text(index)}: was damaged meanwhile; the same command makes the frame again")
        return row

    def _checked_row(self, index: int) -> Json | None:
        """What is kept of a frame, None where it is damaged or of another plan."""
        content = _read_object(self._text(index)) or {}
        held, row = content.get("sha256"), content.get("frame")
        if not (isinstance(held, dict) and isinstance(row, dict)):
            return None
        whole = held.get("plan") == self.plan_digest and held.get("frame") == _digest_of(row)
        return row if whole else None

    def _is_whole(self, index: int) -> bool:
        """Whether a kept frame and its image are as they were written."""
        row = self._checked_row(index)
        if row is None:
            return False
        file = self.folder / str(row["picture"])
        try:
            kept = [file, *(self._label_file(index, kind) for kind in row["label_images_sha256"])]
            kept += [self.folder / f"{index:06d}.npy"] * (row["depth_sha256"] is not None)
            if not all(map(is_file, kept)):
                return False
            if row["depth_sha256"] is not None and _digest(self.depth(index).tobytes()) != row["depth_sha256"]:
                return False
            digests = row["label_images_sha256"].items()
            if any(_digest(self.label_image(index, kind)) != digest for kind, digest in digests):
                return False
            return not file.is_symlink() and _digest(file.read_bytes()) == row["picture_sha256"]
        except (OSError, ValueError, EOFError):
            return False

    def _drop_damaged(self, count: int, log: Log) -> None:
        damaged = [index for index in range(count) if self.has(index) and not self._is_whole(index)]
        for index in damaged:
            self._text(index).unlink()
        if damaged:
            named = list_some([f"{index:06d}" for index in damaged])
            log(f"note: {len(damaged)} kept frames in {self.folder} are damaged and made again: {named}")

    def _label_file(self, index: int, kind: str) -> Path:
        return self.folder / f"{index:06d}.{kind}.png"

    def _text(self, index: int) -> Path:
        return self.folder / f"{index:06d}.json"


def _read_object(file: Path) -> Json | None:
    """A JSON object, None where there is none or it is damaged."""
    try:
        content = json.loads(file.read_bytes()) if is_file(file) else None
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _digest_of(content: JsonMapping) -> str:
    """SHA-256 of JSON that is the same whenever it is written and read again."""
    return _digest(json.dumps(content, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_KEY = "auto_exposure"


def describe_metering(frame: CapturedFrame) -> Json:
    """What is kept of a frame's automatic exposure, as JSON has it; nothing where it has none."""
    metered = frame.image.metered if frame.image is not None else None
    return {} if metered is None else {_KEY: asdict(metered)}


def metered_before(store: FrameStore, index: int) -> MeteredFrame | None:
    """The automatic exposure of the frame before; None for the first."""
    return MeteredFrame(**store.about(index - 1)[_KEY]) if index else None
