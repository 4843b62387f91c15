"""Many sets, many nets: every set predicts every other one."""
