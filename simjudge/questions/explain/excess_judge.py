"""What is left of a gap with some causes undone, by the code that `compare` uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.object_tables import Objects
from simjudge.method.bootstrap import Bootstrap
from simjudge.method.certainty import Certainty, gap_draws
from simjudge.method.reductions import reduce_comparisons
from simjudge.questions.explain.attribution import Causes
from simjudge.questions.explain.carried_units import carried_units
from simjudge.questions.explain.changed_sets import ChangedSets
from simjudge.questions.explain.label_margins import LabelMargins
from simjudge.sim.sensors.camera_matching.camera_difference import CameraDifference
from simjudge.sim.sensors.camera_matching.cause_names import LABEL_MARGINS, RENDERED_CAUSES
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.painted_masks import painted_geometry
from simjudge.studies.pair import compare_judged, painted_sets
from simjudge.studies.set_comparison import ScheduledComparison, SetComparison, compare_together
from simjudge.studies.units.sampling_units import SampleUnits

_MOVING = frozenset({LABEL_MARGINS, *RENDERED_CAUSES})
"""Causes that change labels: sets with the same of them undone are compared on one join."""


@dataclass(repr=False, eq=False)
class ExcessJudge(ShortRepr):
    """Says what is left of the gap with some causes undone, by the code that `compare` uses.

    Attributes:
        sample: pictures of each set on which the cameras were compared.
        certainty: of the sets as they are, once they have been compared.
        mean_w1: of the sets as they are.
        excess: by set of causes, the gap: (D,), the estimate first, then what each draw makes of it.
        frames: of A and B that were compared.
    """

    sets: ChangedSets
    difference: CameraDifference
    settings: CompareSettings
    sample: int
    margins: LabelMargins | None = None
    certainty: Certainty | None = None
    mean_w1: float | None = None
    excess: dict[Causes, FloatArray] = field(default_factory=dict)
    frames: tuple[int, int] = (0, 0)
    _units: SampleUnits | None = None
    _objects: tuple[Objects, Objects] | None = None

    def __call__(self, wanted: Sequence[Causes]) -> list[FloatArray]:
        """The gap with some causes undone.

        Returns:
            For each (D,): the gap, the estimate first, then what each draw makes of it. Draws are the same for all, so
            that differences have the spread of pairs.
        """
        new = [causes for causes in dict.fromkeys([frozenset[str](), *wanted]) if causes not in self.excess]
        groups: dict[Causes, list[Causes]] = {}
        for causes in new:
            groups.setdefault(causes & _MOVING, []).append(causes)
        for group in groups.values():
            self._compare(group)
        return [self.excess[causes] for causes in wanted]

    def with_difference(self, difference: CameraDifference) -> ExcessJudge:
        """The same sets, units and draws, with another difference between the cameras.

        Args:
            difference: what is undone in place of the one that was estimated.
        """
        return replace(self, difference=difference, excess={frozenset(): self.excess[frozenset()]})

    def _compare(self, group: Sequence[Causes]) -> None:
        """Compare changed sets that have the same labels, on one join."""
        scheduled = []
        for causes in group:
            a, b = self.sets.judged(self.difference, causes, self.margins)
            objects = (a.frames.objects, b.frames.objects)
            if self._units is None or self._objects is None:
                # The very comparison that `compare` makes, so that both say the same.
                settings, painted = self.settings, painted_sets(a, b, self.settings)
                result = compare_judged((a, b), painted, settings, Losses())
                self.certainty, self.mean_w1 = result.overall, result.numbers.overall.mean_w1
                self._units, self._objects, self.frames = result.units, objects, (len(a.frames), len(b.frames))
            units = self._units
            if not causes.isdisjoint(RENDERED_CAUSES):
                units = carried_units(units, self._objects, objects)
            painted = painted_geometry((a.frames, b.frames), self.settings.masks)
            method = replace(self.settings.method, paint_masks=painted.use_masks)
            comparison = SetComparison((a, b), units, method, adjusts=self.settings.preset != "cpd")
            scheduled.append(ScheduledComparison(comparison, comparison.schedule(self.settings)))
        with self.sets.progress("comparing contexts") as advance:
            compared = compare_together(scheduled, advance=advance)
        for causes, each, (by_theta, drawn) in zip(group, scheduled, compared, strict=True):
            _, overall = each.comparison.certainty(by_theta[0], drawn, 0, self.settings.margin)
            mean = reduce_comparisons(list(by_theta[0].values())).mean_w1
            classes = [of_class[0] for of_class in drawn.values() if of_class]
            together = Bootstrap.together([one for one in classes if one is not None])
            if mean is None or overall.gap is None or together is None:
                raise SimjudgeError("no context of A has a like one in B: there is no W1 to explain")
            self.excess[causes] = np.concatenate([[overall.gap], gap_draws(together)])
