"""Does the simulator predict how my robot will do? Trials of policies, real and simulated, cell by cell and as a ranking."""
