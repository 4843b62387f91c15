"""What a result.json says beside the numbers (docs/reference/results.md), whether a command or a node made it."""

from __future__ import annotations

from typing import Any

from simjudge.core.errors import Losses
from simjudge.core.installed import version
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.studies.compare_settings import LIDAR, SEMANTIC, CompareSettings, MethodSettings, SweepSettings
from simjudge.studies.judged_set import JudgedSet
from simjudge.studies.painted_masks import PaintedGeometry
from simjudge.studies.pair import PairResult
from simjudge.studies.units.words import SideUnits
from simjudge.studies.unlike_objects import ClassBalance


def comparison_parameters(
    settings: CompareSettings, overall: EntryNumbers | None = None, painted: PaintedGeometry | None = None
) -> dict[str, Any]:
    """The entry `parameters` of result.json.

    Args:
        overall: the numbers of all classes together; None while nothing is compared.
        painted: what the patches are painted from; None while this is not known.
    """
    return (
        method_parameters(settings, painted)
        | certainty_parameters(settings, overall)
        | {
            "paired": settings.paired,
            "metric": settings.metric,
            "model": None if settings.model is None else str(settings.model),
        }
    )


def method_parameters(settings: MethodSettings, painted: PaintedGeometry | None) -> dict[str, Any]:
    """The part of `parameters` that says what a context is: preset and `Method`, and the classes where not all count.

    Args:
        painted: what the patches are painted from; None while this is not known.
    """
    method = settings.method
    chosen = {} if settings.classes is None else {"classes": list(settings.classes)}
    return (
        chosen
        | _lidar_parameters(settings)
        | _semantic_parameters(settings)
        | {
            "preset": settings.preset,
            "theta": method.theta,
            "patch": list(method.patch),
            "patch_chosen": settings.patch_chosen,
            "mask_factor": method.mask_factor,
            "class_aware": method.class_aware,
            "masks": settings.masks,
            "painted": "" if painted is None else painted.name,
            "min_score": method.min_score,
            "strict": method.strict,
            "min_batch_size": method.min_batch_size,
            "integer_boxes": method.integer_boxes,
        }
    )


def _semantic_parameters(settings: MethodSettings) -> dict[str, Any]:
    if settings.task != SEMANTIC:
        return {}
    return {"task": settings.task, "stride": settings.stride, "width": settings.width}


def _lidar_parameters(settings: MethodSettings) -> dict[str, Any]:
    if settings.sensor != LIDAR:
        return {}
    return {
        "sensor": settings.sensor,
        "iou": settings.cuboid_iou,
        "paint": settings.paint,
        "range_columns": settings.range_columns,
        "elevations": None if settings.elevations is None else list(settings.elevations),
    }


def certainty_parameters(settings: CompareSettings | SweepSettings, overall: EntryNumbers | None) -> dict[str, Any]:
    """The part of `parameters` that says how certainty was found.

    Args:
        overall: the numbers of all classes together, which say how many draws were made; None while nothing is
            compared: what was asked for.
    """
    return {
        "margin": settings.margin,
        "draws": settings.draws if overall is None else overall.draws,
        "seed": settings.seed,
        "block": settings.block,
        "unit": settings.unit,
    }


def describe_units(side: SideUnits) -> dict[str, Any]:
    """What an entry of `inputs` says of the sampling units of a set."""
    return {
        "units": side.count,
        "unit_kind": side.kind,
        "things": side.things,
        "passes": side.passes,
        "block_frames": side.block_frames,
        "block_seconds": side.block_seconds,
        "time_blocks": side.time_blocks,
    }


def _balance_content(balance: ClassBalance) -> dict[str, Any]:
    return {"differences": dict(balance.differences), "adjusted": balance.model is not None}


def false_positives(judged_set: JudgedSet) -> int:
    """Predictions left over after the assignment, of all classes."""
    return sum(judged_set.assignment.false_positives.values())


def result_content(
    result: PairResult, parameters: dict[str, Any], inputs: dict[str, Any], losses: Losses
) -> dict[str, Any]:
    """The content of result.json (docs/reference/results.md)."""
    names = result.b.frames.class_names | result.a.frames.class_names
    return {
        "version": version(),
        "parameters": parameters,
        "inputs": inputs,
        "class_names": {str(k): name for k, name in sorted(names.items())},
        **result.numbers.to_json(),
        "balance": {str(k): _balance_content(one) for k, one in sorted(result.balance.items())},
        **{
            name: found.to_json()
            for name, found in (("where", result.where), ("where_invented", result.where_invented))
            if found is not None
        },
        "losses": losses.lines(),
    }
