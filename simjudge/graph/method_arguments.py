"""The arguments of a comparison, and the node's parameters that they are."""

from __future__ import annotations

from simjudge.graph.description import Argument, Value, Values, parse_bool, parse_float, parse_int

ARGUMENTS = (
    Argument("preset", "paper", "paper: the method's defaults; cpd: as the authors' tool has it", ("paper", "cpd")),
    Argument("theta", "", "similarity threshold; empty: the preset's"),
    Argument("patch", "", "patch, height x width in pixels, as in 120x120; empty: the preset's"),
    Argument("mask_factor", "", "blank the patch outside the box grown by this; empty: the preset's"),
    Argument("class_blind", "false", "one mask for all classes", ("true", "false")),
    Argument("min_score", "", "predictions below this score do not take part; empty: the preset's"),
    Argument("metric", "iou", "what performance is", ("iou", "detected", "score")),
    Argument("bootstrap", "1000", "bootstrap draws of frames for the 95 % interval; 0 for none"),
    Argument("permutations", "1000", "relabellings of frames for the floor and p; 0 for none"),
    Argument("seed", "0", "of the resampling"),
    Argument("block", "0", "draw frames of so many seconds together: neighbours are alike"),
)  # fmt: skip


def parameters(values: Values) -> dict[str, Value]:
    """The parameters of validation_node that were given."""
    out: dict[str, Value] = {"preset": values["preset"], "metric": values["metric"]}
    for name in ("theta", "mask_factor", "min_score"):
        if values[name]:
            out[name] = parse_float(name, values[name])
    out["block"] = parse_float("block", values["block"])
    for name in ("bootstrap", "permutations", "seed"):
        out[name] = parse_int(name, values[name])
    if values["patch"]:
        out["patch"] = values["patch"]
    out["class_blind"] = parse_bool("class_blind", values["class_blind"])
    return out
