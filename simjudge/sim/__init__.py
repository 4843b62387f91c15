"""The simulator: scenes, sensors, engines, capture, driving, vehicles, and the contract of an engine as checks."""
