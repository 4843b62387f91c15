"""What a saved screen holds, read with rerun's own reader."""

import importlib

import pytest


def chunks(path):
    """(entity, rows) of a saved file, through rerun's own reader."""
    for place in ("rerun.chunk", "rerun.experimental"):
        try:
            reader = importlib.import_module(place).RrdReader(path)
        except (ImportError, AttributeError):
            continue
        return [(str(chunk.entity_path), chunk.to_record_batch()) for chunk in reader.stream()]
    pytest.skip("this rerun has no reader of its files")
    return None


def column(found, entity, name):
    """All values of a component of an entity, in the order of their stamps, without the static ones."""
    out = []
    for path, batch in found:
        if path == entity and "stamp" in batch.schema.names and any(each.endswith(name) for each in batch.schema.names):
            field = next(each for each in batch.schema.names if each.endswith(name))
            stamps = batch.column("stamp").cast("int64").to_pylist()
            out += zip(stamps, batch.column(field).to_pylist(), strict=True)
    return sorted(out, key=lambda pair: pair[0])
