"""Does the simulator predict how my robot will do? Trials of policies, real and simulated: rates and ranking."""
