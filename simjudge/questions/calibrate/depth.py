"""`simjudge sim calibrate depth` as a function: depth images of a standing scene make a depth camera."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from simjudge.core.arrays import ShortRepr, SummaryTable
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file, begins_with, check_output, output_path
from simjudge.data.depth_images import MOST_PIXELS, fills_memory, read_depth_images
from simjudge.sim.sensors.camera.depth_calibration import DepthCalibration
from simjudge.sim.sensors.camera.depth_calibration import calibrate_depth as fit_depth

_OWN = "# Depth of "


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedDepth(ShortRepr):
    """What a recording told of a depth camera."""

    calibration: DepthCalibration
    path: Path
    losses: Losses  # what was left out of the recording

    @property
    def table(self) -> SummaryTable:
        """The recording beside the simulated camera."""
        rows = [[row.what, row.unit, f"{row.recorded:.4g}", f"{row.simulated:.4g}"] for row in self.calibration.judged]
        return SummaryTable(("", "", "recorded", "simulated"), rows, text_columns=2)


def calibrate_depth(
    source: str | Path, out: str | Path, *, topic: str | None = None, most: int = 300, overwrite: bool = False
) -> CalibratedDepth:
    """Fit noise and holes of a depth camera from images of a standing scene, and write them for a camera's file.

    Args:
        source: a recording, or a folder of 16-bit PNG or TIFF files in millimetres, 0 where nothing is measured.
        out: the file with the part `depth` of a camera's file, x.yaml.
        topic: of the images in a recording; None: the only one whose name says depth.
        most: images that are read; fewer where they are large, which a note says.
        overwrite: replace a file that something else wrote.

    Raises:
        UsageError: `out` is no .yaml file, or the topic must be named.
        SimjudgeError: the images cannot be read, are too few, or the scene moves; a file is in the way.
    """
    path = output_path(Path(out))
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--out {out}: the file of the depth camera ends in .yaml")
    ours = begins_with(path, _OWN)
    check_output(path, lambda _: ours, overwrite=overwrite)
    images, losses = read_depth_images(source, topic, most=most)
    made = fit_depth(Path(source).name, images)
    if len(images) < most and fills_memory(images):
        note = (
            f"the first {len(images)} images are read: with more they have over {MOST_PIXELS // 10**6} million pixels"
        )
        made = replace(made, notes=(*made.notes, note))
    with atomic_file(path) as temporary:
        temporary.write_text(made.depth_file(), encoding="utf-8")
    return CalibratedDepth(made, path, losses)
