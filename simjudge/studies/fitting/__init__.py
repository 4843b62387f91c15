"""Finding the camera under which B predicts A best."""
