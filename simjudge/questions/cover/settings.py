"""The settings of a coverage search (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simjudge.core.settings import JobSettings, LabelSettings, setting
from simjudge.judging.compare_settings import AUTO, PATCH_FORM
from simjudge.method.method import Method

if TYPE_CHECKING:
    from simjudge.sim.capture.ground_truth import Labelling


@dataclass(frozen=True, kw_only=True)
class CoverSettings(LabelSettings, JobSettings, panel="Search"):
    """The settings of a coverage search.

    Attributes:
        theta, patch: as in `Method`; a patch of None is chosen.
        chosen_patch: what was chosen where none was given.
        seed: seed of placements, poses and noise.
        scenes: placements of the scene's random things that are searched.
        tries: random poses whose labels are looked at, in all placements together.
        refinements: poses tried for each context that the random poses do not resemble, in each placement.
        model: a detector, for W1 on the newly covered contexts; None for none.
    """

    theta: float = setting(
        0.8, "Similarity threshold: IoU from which two patches count as similar.", low=0, high=1, common=True
    )
    patch: tuple[int, int] | None = setting(
        None,
        "Size of the patch, height x width; auto: by the size of images and objects.",
        unit="px",
        form=PATCH_FORM,
        by_preset={"paper": AUTO},
        common=True,
    )
    chosen_patch: tuple[int, int] | None = None
    seed: int = setting(0, "Seed of placements, poses and noise.", low=0)
    scenes: int = setting(1, "Random placements of the scene to search.", low=1, high=10_000)
    tries: int = setting(1000, "Random poses to try.", low=1, high=1_000_000)
    refinements: int = setting(
        3000,
        "Poses built for each context that no random pose resembles, per placement; 0 for none.",
        low=0,
        high=1_000_000,
    )
    model: Path | None = setting(
        None, "Detector for W1 on the newly covered contexts: .onnx, .pt, .yaml, or a name.", common=True
    )

    @property
    def method(self) -> Method:
        """Patch and threshold."""
        return Method(theta=self.theta, patch=self.patch or self.chosen_patch or Method.patch, paint_masks=False)

    @property
    def labelling(self) -> Labelling:
        """Which objects are labelled."""
        from simjudge.sim.capture.ground_truth import Labelling  # noqa: PLC0415 - compiles its loops

        return Labelling(self.min_size, self.min_visible)
