"""A sensor in a world: labelled frames."""
