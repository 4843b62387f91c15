"""`compare-trajectories`: whether a localization errs in simulation as it does in reality."""
