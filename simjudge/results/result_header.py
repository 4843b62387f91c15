"""What a result.json or sweep.json says beside the numbers, with types; what earlier versions did not write is None.

A performance of one's own as a result states it: its name, its range, and shares of the range in its own units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from simjudge.core.names import DetectorRecord
from simjudge.core.text import JsonMapping
from simjudge.method.detector_measures import DetectorMeasure
from simjudge.method.kinds import KindDifferences


@dataclass(frozen=True)
class StatedPerformance:
    """What performance was, where it was no metric of simjudge's."""

    name: str
    source: str  # where its numbers are from: a file, or a function
    low: float  # low, high: its range, which numbers of the result count as 0 to 1
    high: float
    lower: bool = False  # whether a lower number is better; 1 stands for `low` then
    stated: bool = True  # whether the range was stated; else it was found in both sets

    @classmethod
    def from_json(cls, content: JsonMapping | None) -> StatedPerformance | None:
        """Read the entry `parameters.performance`; None where there is none."""
        return None if not content else cls(**{name: content[name] for name in cls.__dataclass_fields__})

    def to_json(self) -> dict[str, object]:
        """The entry `parameters.performance` of result.json."""
        return asdict(self)

    def own_value(self, share: float) -> float:
        """A performance of the result in units of its own."""
        span = self.high - self.low
        return self.high - share * span if self.lower else self.low + share * span

    def own_difference(self, share: float) -> float:
        """A difference of the result, such as a gap, in units of its own."""
        return share * (self.high - self.low)

    @property
    def sentence(self) -> str:
        """What the numbers of the result are shares of."""
        best, worst = (self.low, self.high) if self.lower else (self.high, self.low)
        found = "" if self.stated else ", found in both sets"
        better = "lower" if self.lower else "higher"
        return (
            f"Performance is {self.name} ({self.source}), {self.low:g} to {self.high:g}{found}; {better} is better."
            f" It counts as 0 at {worst:g} and as 1 at {best:g}, so a gap of 0.1 is"
            f" {self.own_difference(0.1):g} of {self.name}."
        )


@dataclass(frozen=True)
class ResultParameters:
    """How sets were compared."""

    content: Mapping[str, object]  # all of them, as in the file
    theta: float | None = None
    patch: tuple[int, int] | None = None  # height and width, pixels
    margin: float | None = None  # difference of performance from which a gap matters
    min_score: float | None = None
    draws: int | None = None
    paired: bool = False
    painted: str | None = None  # what patches are painted from
    task: str | None = None  # None for objects
    sensor: str | None = None  # None for pictures
    certainty: str | None = None  # what a live run says of a certainty that is not found yet
    contexts: str | None = None  # "frames" where a context is a whole frame
    features: str | None = None  # the table of feature vectors that stand for patches
    performance: StatedPerformance | None = None  # one of one's own; None for a metric of simjudge's

    @classmethod
    def from_json(cls, content: JsonMapping) -> ResultParameters:
        """Read the entry `parameters`."""
        plain = (
            "theta",
            "margin",
            "min_score",
            "draws",
            "painted",
            "task",
            "sensor",
            "certainty",
            "contexts",
            "features",
        )
        known = {name: content.get(name) for name in plain}
        return cls(
            content,
            patch=tuple(content.get("patch") or ()) or None,
            paired=bool(content.get("paired")),
            performance=StatedPerformance.from_json(content.get("performance")),
            **known,
        )

    @property
    def compares_boxes(self) -> bool:
        """Whether it compares objects in pictures by what a detector finds: what explain, fit and cover take."""
        plain = (self.task or "objects", self.sensor or "camera") == ("objects", "camera")
        return plain and self.performance is None and self.features is None

    @property
    def samples(self) -> str:
        """What has a performance: "objects", "frames", or "patches" of label pictures."""
        return "patches" if self.task == "semantic" else self.contexts or "objects"


@dataclass(frozen=True)
class ComparedSet:
    """One of the two sets of a comparison."""

    name: str | None = None
    path: str | None = None
    format: str | None = None
    sha256: str | None = None
    frames: int | None = None
    objects: int | None = None
    predictions: int | None = None
    detector: DetectorRecord | None = None
    predictions_path: str | None = None
    predictions_sha256: str | None = None
    units: int | None = None
    unit_kind: str | None = None
    passes: int | None = None
    block_frames: int | None = None
    block_seconds: float | None = None
    time_blocks: int | None = None
    recordings: int | None = None  # None where a set is one
    mean_performance: float | None = None  # of a set among many
    thinned: str | None = None  # which frames of the input were taken; None for all
    labels: str | None = None  # what the labels are where nobody drew them; None where somebody did
    pixel_height: float = 1.0  # how much higher than wide a pixel is: of range images

    @classmethod
    def from_json(cls, content: JsonMapping | None) -> ComparedSet:
        """Read the entry of `inputs`."""
        held = content or {}
        given = {name: held.get(name) for name in _PLAIN}
        detector = DetectorRecord.from_json(held["detector"], "inputs.detector") if held.get("detector") else None
        stretch = float((held.get("range_image") or {}).get("pixel_height") or 1.0)
        return cls(detector=detector, pixel_height=stretch, **given)

    def called(self, otherwise: str) -> str:
        """Its name, else that of its file."""
        return str(self.name or Path(self.path or "").name or otherwise)

    @property
    def counts(self) -> str:
        """How much it holds."""
        return f"{self.frames} frames, {self.objects} objects"


_PLAIN = tuple(name for name in ComparedSet.__dataclass_fields__ if name not in ("detector", "pixel_height"))


@dataclass(frozen=True)
class UnlikeObjects:
    """How unlike the objects of like contexts of a class are."""

    differences: Mapping[str, float]  # in standard deviations by covariate, A less B
    adjusted: bool  # whether performance is adjusted to like objects


@dataclass(frozen=True)
class ResultHeader:
    """What the file of a result says beside the numbers."""

    content: JsonMapping  # everything, as in the file
    parameters: ResultParameters
    sets: Mapping[str, ComparedSet]  # both, by "a" and "b"
    model: Mapping[str, str]  # path and sha256 of the detector that ran; empty for none
    class_names: Mapping[str, str] = field(default_factory=dict)
    losses: tuple[str, ...] = ()
    balance: Mapping[str, UnlikeObjects] = field(default_factory=dict)  # by class id
    measures: tuple[DetectorMeasure, ...] = ()  # what else the detector does; empty for a sweep, and of old results
    where: KindDifferences | None = None  # kinds of contexts
    where_invented: KindDifferences | None = None  # kinds of places, by the share with an invention
    confusion: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, content: JsonMapping) -> ResultHeader:
        """Read the content of a result.json or sweep.json."""
        inputs, balance = content.get("inputs") or {}, content.get("balance") or {}
        where, invented = (
            None if (found := content.get(name)) is None else KindDifferences.from_json(found)
            for name in ("where", "where_invented")
        )
        return cls(
            content,
            ResultParameters.from_json(content.get("parameters") or {}),
            {side: ComparedSet.from_json(inputs.get(side)) for side in ("a", "b")},
            inputs.get("model") or {},
            {str(key): str(name) for key, name in (content.get("class_names") or {}).items()},
            tuple(str(line) for line in content.get("losses") or ()),
            {key: UnlikeObjects(found["differences"], bool(found["adjusted"])) for key, found in balance.items()},
            tuple(DetectorMeasure.from_json(*item) for item in (content.get("measures") or {}).items()),
            where,
            invented,
            content.get("confusion") or {},
        )

    @property
    def version(self) -> str:
        """The simjudge that made it."""
        return str(self.content.get("version", ""))
