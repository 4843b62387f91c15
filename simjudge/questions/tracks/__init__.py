"""`compare-tracks`: whether a multi-object tracker does in simulation as it does in reality."""
