"""Cars: their parameters, state and appearance."""
