"""`rank`: which of several simulations is nearer to one reality, and where it cannot be told."""
