"""Finished frames in a folder beside the output: if the work stops, the finished frames stay and the work can go on.

A frame is an image file and, once that is whole, a text file with its objects. `plan.json` says what the frames depend
on; frames of another plan are never used.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file, output_path
from simjudge.core.frames import FrameSet, IntArray, Objects
from simjudge.core.images import EncodedImage, FileImages
from simjudge.core.progress import Advance, Log

_PLAN = "plan.json"
_AHEAD = 1
"""Frames that may wait to be finished while the engine observes the next one."""


@dataclass(frozen=True)
class FrameStore:
    """A folder of finished frames.

    Attributes:
        folder: the folder.
    """

    folder: Path

    @classmethod
    def beside(cls, out: Path, plan: Mapping[str, Any]) -> FrameStore:
        """The store for what will be `out`: `.NAME.partial` in the same folder; made, or found again.

        Args:
            out: what will be written.
            plan: all that the frames depend on, as JSON has it.

        Raises:
            SimjudgeError: the folder holds frames of another plan.
        """
        folder = output_path(out).parent / f".{out.name}.partial"
        wanted = json.loads(json.dumps(plan))
        file = folder / _PLAN
        if file.is_file():
            found = json.loads(file.read_text(encoding="utf-8"))
            other = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
            if other:
                raise SimjudgeError(
                    f"{folder}: holds unfinished frames of another run ({', '.join(other)} differ); go on with the"
                    " options of that run, or remove the folder"
                )
        else:
            with atomic_file(file) as temporary:
                temporary.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
        return cls(folder)

    def has(self, index: int) -> bool:
        """Whether a frame is finished.

        Args:
            index: index of the frame.
        """
        return self._text(index).is_file()

    def add(self, index: int, image: EncodedImage, objects: Objects, about: Mapping[str, Any] | None = None) -> None:
        """Keep a finished frame.

        Args:
            index: index of the frame.
            image: the image as a file.
            objects: the frame's objects; all rows are taken as this frame's.
            about: what else is kept of the frame, as JSON has it.

        Raises:
            SimjudgeError: the disk is full, or the folder cannot be written to.
        """
        with atomic_file(self.folder / f"{index:06d}{image.suffix}") as temporary:
            temporary.write_bytes(image.data)
        rows = {
            "picture": f"{index:06d}{image.suffix}",
            "class_id": objects.class_id.tolist(),
            "box": objects.box.tolist(),
            "instance": objects.instance.tolist(),
            "about": dict(about or {}),
        }
        with atomic_file(self._text(index)) as temporary:
            temporary.write_text(json.dumps(rows), encoding="utf-8")

    def fill(self, count: int, observe: Callable[[int], Callable[[], None]], advance: Advance) -> None:
        """Finish the frames that are missing; finished frames stay, whatever happens.

        Args:
            count: how many frames there are to be.
            observe: does the part of a frame that needs the engine, and returns a function that finishes the frame
                and adds it. That function runs in a thread while the next frame is observed.
            advance: receives how many frames are done, and how many there are.
        """
        missing = [index for index in range(count) if not self.has(index)]
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
                for each in waiting:
                    each.result()
                    done += 1
                    advance(done, count)

    @contextmanager
    def kept_if_stopped(self, count: int, log: Log) -> Iterator[None]:
        """Within this block, Ctrl-C or an error is followed by a line that says what is kept.

        Args:
            count: how many frames there are to be.
            log: receives the line.
        """
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
        """All frames, which must be finished, as a labelled set.

        Args:
            name: name of the set.
            frame_name: names of the frames, unique.
            stamp: int64 (N,), nanoseconds.
            size: width and height of all images, pixels.
            class_names: names of the classes, by class id.
        """
        rows = [json.loads(self._text(index).read_text(encoding="utf-8")) for index in range(len(frame_name))]
        frame = np.repeat(np.arange(len(rows)), [len(row["class_id"]) for row in rows])
        class_id, box, instance = ([v for row in rows for v in row[key]] for key in ("class_id", "box", "instance"))
        return FrameSet.build(
            name,
            np.tile(size, (len(rows), 1)),
            Objects.build(frame, class_id, box, instance),
            frame_name=frame_name,
            stamp=stamp,
            class_names=class_names,
            images=FileImages([self.folder / row["picture"] for row in rows]),
        )

    def about(self, index: int) -> dict[str, Any]:
        """What was kept of a finished frame beside its image and objects.

        Args:
            index: index of the frame.
        """
        found: dict[str, Any] = json.loads(self._text(index).read_text(encoding="utf-8"))["about"]
        return found

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _text(self, index: int) -> Path:
        return self.folder / f"{index:06d}.json"
